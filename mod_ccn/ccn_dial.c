/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_dial.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <apr_strings.h>
#include <http_log.h>

#include "ccn_register.h"
#include "ccn_threads.h"

APLOG_USE_MODULE(ccn);

#define P         ccn_process
#define PAUSE_MIN 100000u /* microseconds */
#define PAUSE_MAX 5000000u

struct ccn_dialer {
    server_rec *server;
    const struct ccn_forwarder *to;
    struct ccn_dialed *shown;
    struct ccn_seen_as as;
    pthread_t thread;
    struct ccn_dialer *next;
};
static struct ccn_dialer *dialers;

/* ---- connecting -------------------------------------------------------------------------------------------------- */

static const struct timeval patience = { .tv_sec = 5 };

static int dial_unix(const char *path) {
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    apr_cpystrn(a.sun_path, path, sizeof a.sun_path);
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static int dial_tcp(const struct ccn_forwarder *to) {
    struct addrinfo want = { .ai_family = to->family, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG }, *all, *a;
    char service[8];
    int fd = -1;

    apr_snprintf(service, sizeof service, "%u", (unsigned)to->port);
    if (getaddrinfo(to->host, service, &want, &all)) {
        errno = EHOSTUNREACH;
        return -1;
    }
    for (a = all; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen)) {
            int error = errno;
            close(fd);
            fd = -1;
            errno = error;
        }
    }
    freeaddrinfo(all);
    return fd;
}

int ccn_dial_connect(const struct ccn_forwarder *to) { return to->path ? dial_unix(to->path) : dial_tcp(to); }

/* Who has left the shared memory knows of no others. */
static bool keeps(void) {
    return !atomic_load(&P.stop) && (shm_has_left(&P.view) || shm_keeps(&P.view, P.generation, P.row));
}
static bool dial_over(void) { return !keeps(); }

static void face_on(struct ccn_dialer *w, int fd) {
    struct ccn_face *f = ccn_threads_start() ? ccn_face_new(fd, &w->as) : NULL;
    struct ccn_register prefixes = { .server = w->server, .forwarder = w->to->text, .shown = w->shown };

    if (!f) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, w->server, "ccn: %s: no memory or threads for the connection",
                     w->to->text);
        return;
    }
    ccn_register_begin(&prefixes, f, fd);
    ccn_face_run(f, dial_over);
    ccn_register_end(&prefixes);
    ccn_face_release(f);
}

static void *dial(void *of) {
    struct ccn_dialer *w = of;
    uint64_t pause = PAUSE_MIN;
    bool told = false;

    while (!atomic_load(&P.stop)) {
        uint64_t began = shm_now();
        int fd;

        if (!keeps()) {
            usleep(PAUSE_MIN);
            continue;
        }
        fd = ccn_dial_connect(w->to);
        if (fd >= 0) {
            ap_log_error(APLOG_MARK, APLOG_INFO, 0, w->server, "ccn: connected to the forwarder at %s", w->to->text);
            told = false;
            face_on(w, fd);
            close(fd);
            if (shm_now() - began > PAUSE_MAX) pause = PAUSE_MIN;
        } else if (!told) {
            ap_log_error(APLOG_MARK, APLOG_WARNING, errno, w->server,
                         "ccn: no connection to the forwarder at %s yet; it is tried again and again", w->to->text);
            told = true;
        }
        for (uint64_t rested = 0; rested < pause && keeps(); rested += PAUSE_MIN) usleep(PAUSE_MIN);
        pause = pause * 2 > PAUSE_MAX ? PAUSE_MAX : pause * 2;
    }
    return NULL;
}

static apr_status_t stop_dialing(void *unused) {
    (void)unused;
    atomic_store(&P.stop, true);
    for (struct ccn_dialer *w = dialers; w; w = w->next) pthread_join(w->thread, NULL);
    if (dialers) shm_keeps_no_longer(&P.view, P.generation, P.row);
    dialers = NULL;
    return APR_SUCCESS;
}

static void start_dialer(apr_pool_t *pchild, server_rec *s, const struct ccn_forwarder *to, unsigned number) {
    struct ccn_dialer *w = apr_pcalloc(pchild, sizeof *w);
    apr_port_t port = to->path ? 0 : to->port;
    int rc;

    w->server = s;
    w->to = to;
    w->shown = number < CCN_DIALED_MAX ? P.area->dialed + number : NULL;
    w->as.server = s;
    /* A forwarder at a unix socket is one of this machine. */
    if (apr_sockaddr_info_get(&w->as.client, to->path ? "127.0.0.1" : to->host, APR_UNSPEC, port, 0, pchild) !=
        APR_SUCCESS)
        apr_sockaddr_info_get(&w->as.client, "127.0.0.1", APR_INET, port, 0, pchild);
    apr_sockaddr_info_get(&w->as.local, "127.0.0.1", APR_INET, s->port, 0, pchild);
    apr_sockaddr_ip_get((char **)&w->as.client_ip, w->as.client);
    apr_sockaddr_ip_get((char **)&w->as.local_ip, w->as.local);
    rc = pthread_create(&w->thread, NULL, dial, w);
    if (rc) {
        ap_log_error(APLOG_MARK, APLOG_ERR, rc, s, "ccn: no thread to connect to %s", to->text);
        return;
    }
    w->next = dialers;
    dialers = w;
}

void ccn_dial_child_init(apr_pool_t *pchild, server_rec *s) {
    sigset_t all, before;
    unsigned number = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (server_rec *v = s; v; v = v->next) {
        const struct ccn_host *h = ccn_host_of(v);
        for (int i = 0; h->on == 1 && i < h->forwarders->nelts; i++)
            start_dialer(pchild, v, &APR_ARRAY_IDX(h->forwarders, i, struct ccn_forwarder), number++);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    /* Before the service threads go, which a face may still wait for. */
    if (dialers) apr_pool_pre_cleanup_register(pchild, NULL, stop_dialing);
}
