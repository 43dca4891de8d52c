/* SPDX-License-Identifier: BSD-2-Clause */
#include "shm_loop.h"
#include "shm_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <unistd.h>

struct shm_loop {
    struct shm_view view;
    struct shm_host host;
    struct shm_wakes wakes;
    bool all;     /* there are more to wake than `wakes` takes */
    int fd;       /* of the segment; -1: nobody else has it */
    uint32_t own; /* the place, or SHM_NO_ROW */
    int bells[SHM_LOOP_PROCESSES];
    pid_t watched[SHM_LOOP_PROCESSES];      /* in these places; 0: nobody */
    struct pollfd ends[SHM_LOOP_PROCESSES]; /* pidfds of them, readable when they have ended; -1: there is none */
};

/* ---- making, attaching ------------------------------------------------------------------------------------------- */

static shm_loop_t *loop_new(const struct shm_loop_host *host, uint32_t processes, const char **why) {
    shm_loop_t *l = processes && processes <= SHM_LOOP_PROCESSES ? calloc(1, sizeof *l) : NULL;

    if (!l) {
        *why = processes && processes <= SHM_LOOP_PROCESSES ? "no memory" : "there are from 1 to 256 processes";
        return NULL;
    }
    if (host) l->host = (struct shm_host){ .lost = host->lost, .left = host->left };
    l->view.host = host ? &l->host : NULL;
    l->view.alarm = -1;
    l->fd = -1;
    l->own = SHM_NO_ROW;
    for (uint32_t i = 0; i < SHM_LOOP_PROCESSES; i++) {
        l->bells[i] = -1;
        l->ends[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
    }
    return l;
}

static struct shm_size loop_size(const struct shm_loop_size *z) {
    return (struct shm_size){ .owners = z->processes,
                              .classes = z->classes,
                              .tickets = z->tickets,
                              .outlets = 1,
                              .area = z->area,
                              .keys = z->keys };
}

void shm_loop_free(shm_loop_t **l) {
    if (!*l) return;
    for (uint32_t i = 0; i < SHM_LOOP_PROCESSES; i++) {
        if ((*l)->bells[i] >= 0) close((*l)->bells[i]);
        if ((*l)->ends[i].fd >= 0) close((*l)->ends[i].fd);
    }
    if ((*l)->fd >= 0) close((*l)->fd);
    shm_free(&(*l)->view);
    free(*l);
    *l = NULL;
}

static shm_loop_t *loop_refuse(shm_loop_t *l) {
    shm_loop_free(&l);
    return NULL;
}

static void loop_write_text(const shm_loop_t *l, char *text) {
    const struct shm_size *z = &l->view.size;
    int n = snprintf(text, SHM_LOOP_TEXT, "%d %u %u %u %u %llu %llu", l->fd, z->owners, z->classes, z->tickets, z->keys,
                     (unsigned long long)z->area, (unsigned long long)l->view.seal);

    for (uint32_t i = 0; i < z->owners; i++) n += snprintf(text + n, SHM_LOOP_TEXT - (size_t)n, " %d", l->bells[i]);
}

shm_loop_t *shm_loop_make(const struct shm_loop_size *z, const struct rs_settings *s,
                          const struct rs_class_settings *classes, uint32_t nclasses, char *text, const char **why) {
    struct shm_size size = loop_size(z);
    shm_loop_t *l = loop_new(NULL, z->processes, why);

    if (!l) return NULL;
    l->fd = shm_make_file(&l->view, &size, s, classes, nclasses, why);
    if (l->fd < 0) return loop_refuse(l);
    for (uint32_t i = 0; i < z->processes; i++) {
        l->bells[i] = eventfd(0, EFD_NONBLOCK);
        if (l->bells[i] >= 0) continue;
        *why = "no more descriptors";
        return loop_refuse(l);
    }
    loop_write_text(l, text);
    return l;
}

/* A number of the text, up to `most`, and the space behind it.  False: there is none. */
static bool loop_number(const char **text, uint64_t most, uint64_t *n) {
    const char *p = *text;

    for (*n = 0; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (*n > most / 10 || *n * 10 > most - digit) return false;
        *n = *n * 10 + digit;
    }
    if (p == *text || (*p && *p != ' ')) return false;
    *text = *p ? p + 1 : p;
    return true;
}

/* Inherited by this process, and by none that it starts: true if it is there. */
static bool loop_inherited(int fd) {
    int flags = fcntl(fd, F_GETFD);
    return flags >= 0 && !fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

shm_loop_t *shm_loop_attach(const char *text, const struct shm_loop_host *host, const char **why) {
    static const uint64_t most[] = { INT32_MAX,  SHM_LOOP_PROCESSES, UINT32_MAX, UINT32_MAX,
                                     UINT32_MAX, UINT64_C(1) << 40,  UINT64_MAX };
    enum { FD, PROCESSES, CLASSES, TICKETS, KEYS, AREA, SEAL, NUMBERS };
    uint64_t n[NUMBERS], bell[SHM_LOOP_PROCESSES] = { 0 };
    struct shm_size size;
    shm_loop_t *l;
    bool told = true;

    for (int i = 0; i < NUMBERS && told; i++) told = loop_number(&text, most[i], &n[i]);
    for (uint32_t i = 0; told && i < n[PROCESSES]; i++) told = loop_number(&text, INT32_MAX, &bell[i]);
    if (!told || *text) {
        *why = "what the parent tells of the segment is not to be understood";
        return NULL;
    }
    /* First of all: whatever comes of it here, it is nothing to programs that this process starts. */
    told = loop_inherited((int)n[FD]);
    for (uint32_t i = 0; i < n[PROCESSES]; i++) told = loop_inherited((int)bell[i]) && told;
    l = loop_new(host, (uint32_t)n[PROCESSES], why);
    if (!l) return NULL;
    size = (struct shm_size){ .owners = (uint32_t)n[PROCESSES],
                              .classes = (uint32_t)n[CLASSES],
                              .tickets = (uint32_t)n[TICKETS],
                              .outlets = 1,
                              .area = n[AREA],
                              .keys = (uint32_t)n[KEYS] };
    /* That the seal is there shows that the text is about these descriptors. */
    if (shm_attach(&l->view, (int)n[FD], &size, n[SEAL], why)) return loop_refuse(l);
    l->fd = (int)n[FD];
    for (uint32_t i = 0; i < size.owners; i++) l->bells[i] = (int)bell[i];
    l->view.bells = l->bells;
    if (told) return l;
    *why = "not all descriptors of the segment were inherited";
    return loop_refuse(l);
}

shm_loop_t *shm_loop_alone(const struct shm_loop_size *z, const struct shm_loop_host *host, const struct rs_settings *s,
                           const struct rs_class_settings *classes, uint32_t nclasses, const char **why) {
    struct shm_size size = loop_size(z);
    shm_loop_t *l = loop_new(host, z->processes, why);

    if (!l) return NULL;
    return shm_make_alone(&l->view, &size, s, classes, nclasses, why) ? loop_refuse(l) : l;
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

void shm_loop_ended(shm_loop_t *l, pid_t process) { shm_tell_ended(&l->view, process); }

bool shm_loop_join(shm_loop_t *l) {
    if (shm_has_left(&l->view) && !shm_return(&l->view)) return false;
    shm_loop_reclaim(l);
    l->own = shm_owner_started(&l->view, getpid());
    if (shm_has_left(&l->view)) l->own = SHM_NO_ROW; /* what it has taken is a place in memory of its own */
    return l->own != SHM_NO_ROW;
}

uint32_t shm_loop_place(const shm_loop_t *l) { return l->own; }

int shm_loop_bell(const shm_loop_t *l) { return l->view.bells && l->own != SHM_NO_ROW ? l->bells[l->own] : -1; }

void shm_loop_silence(const shm_loop_t *l) {
    eventfd_t n;
    int bell = shm_loop_bell(l);

    if (bell >= 0) (void)!eventfd_read(bell, &n);
}

uint32_t shm_loop_processes(const shm_loop_t *l) { return l->view.size.owners; }
void *shm_loop_area(const shm_loop_t *l) { return l->view.area; }
bool shm_loop_has_left(const shm_loop_t *l) { return shm_has_left(&l->view); }

void shm_loop_comes_back(shm_loop_t *l) {
    l->view.fd = l->fd;
    l->view.comes_back = l->fd >= 0;
}

bool shm_loop_is_away(const shm_loop_t *l) { return shm_is_away(&l->view); }

bool shm_loop_return(shm_loop_t *l) {
    return shm_return(&l->view) && (l->own == SHM_NO_ROW || shm_owner_returned(&l->view, l->own, getpid()));
}

pid_t shm_loop_process_locked(const shm_loop_t *l, uint32_t place) {
    return place < l->view.size.owners ? l->view.owners[place].pid : 0;
}

void shm_loop_leave_locked(shm_loop_t *l, const char *why) { shm_leave(&l->view, why); }

/* More have ended since somebody looked than are noted: the oldest are not there any more.  Their ends are seen. */
static void loop_forget_notes(const shm_loop_t *l) {
    struct shm_segment *sh = l->view.sh;

    if (atomic_load(&sh->ended) - atomic_load(&sh->reclaimed) <= l->view.ended_mask) return;
    shm_lock(&l->view);
    atomic_store(&sh->reclaimed, atomic_load(&sh->ended));
    shm_unlock(&l->view);
}

/* Whose place it is may have changed.  Without a descriptor it is tried again, for there may be one then. */
static void loop_watch(shm_loop_t *l, uint32_t place) {
    pid_t pid = place == l->own ? 0 : ONCE(l->view.owners[place].pid);
    struct pollfd *end = &l->ends[place];

    end->revents = 0;
    if (pid < 0) pid = 0; /* somebody wrote it */
    if (pid == l->watched[place] && (!pid || end->fd >= 0)) return;
    if (end->fd >= 0) close(end->fd);
    end->fd = pid ? pidfd_open(pid, 0) : -1;
    l->watched[place] = pid;
}

/* A kernel before 5.3 knows no pidfd: there it is seen when somebody has waited for the process. */
static bool loop_has_ended(const shm_loop_t *l, uint32_t place) {
    if (!l->watched[place]) return false;
    if (l->ends[place].fd >= 0) return l->ends[place].revents & POLLIN;
    return kill(l->watched[place], 0) && errno == ESRCH;
}

void shm_loop_reclaim(shm_loop_t *l) {
    if (l->fd < 0) return;
    loop_forget_notes(l);
    shm_reclaim(&l->view);
    for (uint32_t i = 0; i < l->view.size.owners; i++) loop_watch(l, i);
    poll(l->ends, l->view.size.owners, 0);
    for (uint32_t i = 0; i < l->view.size.owners; i++)
        if (loop_has_ended(l, i)) shm_reclaim_owner(&l->view, i, l->watched[i]);
}

/* ---- configurations ---------------------------------------------------------------------------------------------- */

int shm_loop_configure(shm_loop_t *l, uint32_t digest, const struct rs_settings *s,
                       const struct rs_class_settings *classes, uint32_t nclasses, uint32_t otherwise, uint32_t *number,
                       const char **why) {
    switch (shm_configure_as(&l->view, digest, s, classes, nclasses, otherwise, number, why)) {
    case SHM_CONFIGURED: return 1;
    case SHM_NOT_CONFIGURED: return -1;
    default: return 0;
    }
}

uint32_t shm_loop_configured(const shm_loop_t *l) { return shm_configured_as(&l->view); }

void shm_loop_number(shm_loop_t *l, const struct rs_class_settings *classes, uint32_t nclasses, uint32_t otherwise,
                     uint32_t *number) {
    shm_number(&l->view, classes, nclasses, otherwise, number);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

rs_engine_t *shm_loop_lock(shm_loop_t *l) {
    l->wakes.n = l->wakes.others = 0;
    l->all = false;
    shm_lock(&l->view);
    return l->view.engine;
}

/* All that there may be: more were let go at once than could be noted. */
static void loop_ring_all(const shm_loop_t *l) {
    for (uint32_t i = 0; i < l->view.size.owners; i++)
        if (i != l->own) eventfd_write(l->bells[i], 1);
}

void shm_loop_unlock(shm_loop_t *l) {
    struct shm_wakes *w = &l->wakes;

    shm_unlock(&l->view);
    if (!l->view.bells) return;
    if (l->all) {
        loop_ring_all(l);
        return;
    }
    /* Its own it takes by shm_loop_next_locked. */
    for (uint32_t i = 0; i < w->others; i++)
        if (w->other[i] == l->own) w->other[i--] = w->other[--w->others];
    shm_wake(&l->view, w);
}

enum rs_refusal shm_loop_submit_locked(shm_loop_t *l, rs_time_t now, uint32_t in_class, uint64_t estimate,
                                       const uint64_t *key, uint64_t tag, rs_ticket_t *t) {
    struct shm_request q = {
        .owner = l->own, .class = in_class, .estimate = estimate, .deadline = UINT64_MAX, .client_fd = -1, .tag = tag
    };
    enum rs_refusal refusal;

    if (key) memcpy(q.key, key, sizeof q.key);
    refusal = shm_begin_locked(&l->view, now, &q, t);
    if (refusal == RS_OK && rs_ticket_index(*t) >= l->view.size.tickets) {
        shm_leave(&l->view, "the scheduler took a request in a place that can't be");
        refusal = shm_begin_locked(&l->view, now, &q, t);
    }
    return refusal;
}

bool shm_loop_end_locked(shm_loop_t *l, rs_time_t now, rs_ticket_t t, bool whole) {
    bool done = whole ? rs_finish(l->view.engine, now, t) : rs_abort(l->view.engine, now, t);

    if (shm_row_of(&l->view, t)->ticket == t) shm_end_locked(&l->view, t);
    return done;
}

bool shm_loop_cancel_locked(shm_loop_t *l, rs_time_t now, rs_ticket_t t) {
    if (shm_cancel_locked(&l->view, now, t)) return true;
    shm_loop_end_locked(l, now, t, false);
    return false;
}

rs_time_t shm_loop_pump_locked(shm_loop_t *l, rs_time_t now) {
    uint64_t again;

    while (shm_pump_locked(&l->view, now, SHM_NO_ROW, RS_NO_TICKET, &l->wakes)) {
        l->all = true;
        l->wakes.n = l->wakes.others = 0;
    }
    again = atomic_load_explicit(&l->view.sh->pump_at, memory_order_relaxed);
    return again ? again : RS_NEVER;
}

rs_ticket_t shm_loop_next_locked(shm_loop_t *l) {
    struct shm_row *row = shm_next_released_locked(&l->view, l->own);
    rs_ticket_t t;

    if (!row) return RS_NO_TICKET;
    t = atomic_load_explicit(&row->ticket, memory_order_relaxed);
    if (rs_ticket_index(t) != (uint32_t)(row - l->view.rows)) {
        shm_leave(&l->view, "a request that was let go is not in its place");
        return RS_NO_TICKET;
    }
    /* Who rebuilds need not tell it again. */
    atomic_store_explicit(&row->running, 1, memory_order_relaxed);
    return t;
}
