/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_listen.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <apr_strings.h>
#include <http_log.h>

#include "ccn_face.h"
#include "ccn_threads.h"

APLOG_USE_MODULE(ccn);

#define P          ccn_process
#define TICK_MS    200
#define LISTEN_MAX 16

struct ccn_listener { /* in pconf */
    server_rec *server;
    const char *path;
    int fd;
    pid_t owner; /* who takes the path away */
    struct ccn_listener *next;
};
static struct ccn_listener *listeners;

/* ---- in the parent ----------------------------------------------------------------------------------------------- */

static apr_status_t listen_close(void *of) {
    struct ccn_listener *l = of;

    if (l->fd >= 0) close(l->fd);
    l->fd = -1;
    if (l->owner == getpid()) unlink(l->path);
    return APR_SUCCESS;
}

static struct sockaddr_un listen_address(const char *path) {
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    apr_cpystrn(a.sun_path, path, sizeof a.sun_path);
    return a;
}

/* What a server that ended left there goes; NULL, or why it stays. */
static const char *clear_path(const char *path) {
    struct sockaddr_un a = listen_address(path);
    struct stat st;
    int fd, rc;

    if (lstat(path, &st)) return errno == ENOENT ? NULL : "can't be looked at";
    if (!S_ISSOCK(st.st_mode)) return "is there, and is no socket";
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    rc = fd < 0 ? -1 : connect(fd, (struct sockaddr *)&a, sizeof a);
    if (fd >= 0) close(fd);
    if (!rc) return "another server listens there";
    return unlink(path) ? "can't be taken away" : NULL;
}

/*
 * Every user may connect.  The mode comes with the name: a chmod of the name would follow a link that another user of
 * the directory has put in its place.  The parent has one thread, so the mask is this call's alone.
 */
static int bind_for_all(int fd, const struct sockaddr_un *a) {
    mode_t before = umask(0111);
    int rc = bind(fd, (const struct sockaddr *)a, sizeof *a);

    umask(before);
    return rc;
}

static int listen_on(apr_pool_t *pconf, server_rec *s, const char *path) {
    struct sockaddr_un a = listen_address(path);
    struct ccn_listener *l;
    const char *why = clear_path(path);
    unsigned n = 1;

    for (l = listeners; l; l = l->next) n++;
    if (n > LISTEN_MAX) why = "there are more than 16 of these";

    if (why) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, s, "CcnListen unix:%s: %s", path, why);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    l = apr_pcalloc(pconf, sizeof *l);
    l->server = s;
    l->path = path;
    l->owner = getpid();
    l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0 || bind_for_all(l->fd, &a) || listen(l->fd, 128)) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, errno, s, "CcnListen unix:%s", path);
        if (l->fd >= 0) close(l->fd);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    l->next = listeners;
    listeners = l;
    apr_pool_cleanup_register(pconf, l, listen_close, apr_pool_cleanup_null);
    return OK;
}

int ccn_listen_open(apr_pool_t *pconf, server_rec *s) {
    listeners = NULL;
    for (server_rec *v = s; v; v = v->next) {
        const struct ccn_host *h = ccn_host_of(v);
        for (int i = 0; h->on == 1 && i < h->listens->nelts; i++) {
            int rc = listen_on(pconf, v, APR_ARRAY_IDX(h->listens, i, const char *));
            if (rc != OK) return rc;
        }
    }
    return OK;
}

/* ---- in a child -------------------------------------------------------------------------------------------------- */

static struct ccn_seen_as local;
static _Atomic unsigned connections;
static struct ccn_seat listen_seat[CCN_LISTEN_MAX];
static _Atomic uint8_t listen_mine[CCN_LISTEN_MAX];
static const struct ccn_seat_bounds listen_bounds = { CCN_LISTEN_MAX / 2, CCN_LISTEN_MAX * 3 / 4 };
static pthread_t acceptor;
static bool accepting;

struct accepted {
    int fd;
    server_rec *server;
    struct ccn_seat *seat;
};

static bool listen_lives(uint64_t holder) { return holder != 0; }
static const struct ccn_seats listen_seats = { listen_seat, CCN_LISTEN_MAX, listen_lives, listen_mine };

/* Who connects is known by its user. */
static struct ccn_seat *seat_of_user(int fd) {
    struct ucred peer = { .uid = 0 };
    socklen_t n = sizeof peer;
    struct ccn_seat *seat = NULL;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0)
        seat = ccn_seat_take(&listen_seats, &listen_bounds, 1, peer.uid, shm_now_coarse());
    if (!seat) ccn_count(&P.area->turned_away);
    return seat;
}

static bool listen_over(void) { return atomic_load(&P.stop); }

static void *serve_accepted(void *of) {
    struct accepted *a = of;
    struct ccn_seen_as as = local;
    struct ccn_face *f;

    as.server = a->server;
    f = ccn_threads_start() ? ccn_face_new(a->fd, &as) : NULL;
    if (f) {
        ccn_face_sit(f, a->seat);
        ccn_face_run(f, listen_over);
        ccn_face_release(f);
    }
    close(a->fd);
    ccn_seat_give(&listen_seats, a->seat);
    free(a);
    atomic_fetch_sub(&connections, 1);
    return NULL;
}

static void accept_one(const struct ccn_listener *l) {
    pthread_attr_t detached;
    struct accepted *a;
    struct ccn_seat *seat;
    pthread_t thread;
    int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0) {
        usleep(TICK_MS * 1000); /* no descriptors, or another child was quicker */
        return;
    }
    seat = seat_of_user(fd);
    a = seat ? malloc(sizeof *a) : NULL;
    if (a) {
        *a = (struct accepted){ fd, l->server, seat };
        pthread_attr_init(&detached);
        pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
        atomic_fetch_add(&connections, 1);
        if (pthread_create(&thread, &detached, serve_accepted, a) == 0) fd = -1;
        else atomic_fetch_sub(&connections, 1);
        pthread_attr_destroy(&detached);
    }
    if (fd < 0) return;
    if (seat) ccn_seat_give(&listen_seats, seat);
    free(a);
    close(fd);
}

static void *accept_all(void *unused) {
    (void)unused;
    while (!atomic_load(&P.stop)) {
        struct pollfd fds[LISTEN_MAX];
        nfds_t n = 0;

        for (const struct ccn_listener *l = listeners; l && n < LISTEN_MAX; l = l->next)
            fds[n++] = (struct pollfd){ .fd = l->fd, .events = POLLIN };
        if (poll(fds, n, TICK_MS) <= 0) continue;
        if (atomic_load(&connections) >= listen_bounds.of_all) usleep(TICK_MS * 100); /* another child may have room */
        n = 0;
        for (const struct ccn_listener *l = listeners; l && n < LISTEN_MAX; l = l->next)
            if (fds[n++].revents) accept_one(l);
    }
    return NULL;
}

/* Connections end by themselves when the process is to stop; they are waited for. */
static apr_status_t stop_accepting(void *unused) {
    (void)unused;
    atomic_store(&P.stop, true);
    if (accepting) pthread_join(acceptor, NULL);
    accepting = false;
    while (atomic_load(&connections)) usleep(10000);
    return APR_SUCCESS;
}

void ccn_listen_child_init(apr_pool_t *pchild, server_rec *s) {
    sigset_t all, before;

    for (struct ccn_listener *l = listeners; l; l = l->next) l->owner = 0;
    if (!listeners || apr_sockaddr_info_get(&local.client, "127.0.0.1", APR_INET, 0, 0, pchild) ||
        apr_sockaddr_info_get(&local.local, "127.0.0.1", APR_INET, s->port, 0, pchild))
        return;
    apr_sockaddr_ip_get((char **)&local.client_ip, local.client);
    apr_sockaddr_ip_get((char **)&local.local_ip, local.local);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    accepting = pthread_create(&acceptor, NULL, accept_all, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!accepting) ap_log_error(APLOG_MARK, APLOG_ERR, 0, s, "ccn: no thread to take connections of CcnListen");
    apr_pool_pre_cleanup_register(pchild, NULL, stop_accepting);
}
