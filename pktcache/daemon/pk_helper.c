/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_helper.h"

#include "pktcache/pk_secret.h"

#include "base/base_error.h"
#include "base/base_log.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>

enum {
    HELPER_MAGIC = 0x504b4845,
    LOOK_EVERY = 100, /* milliseconds, after devices */
    SLOW = 10         /* seconds for an answer, on a machine that is busy */
};

struct pk_helper {
    unsigned magic;
    int socket;
    bool gone;
};

/* A descriptor may come with it. */
struct helped {
    bool failed;
    char text[256]; /* why */
};

/* ---- what crosses ------------------------------------------------------------------------------------------------ */

struct crossing {
    struct helped answer;
    struct iovec part;
    struct msghdr message;
    _Alignas(struct cmsghdr) char more[CMSG_SPACE(sizeof(int))]; /* a header, and a descriptor */
};

static void crossing_open(struct crossing *c) {
    memset(c, 0, sizeof *c);
    c->part = (struct iovec){ &c->answer, sizeof c->answer };
    c->message = (struct msghdr){
        .msg_iov = &c->part, .msg_iovlen = 1, .msg_control = c->more, .msg_controllen = sizeof c->more
    };
}

/* fd: -1, none goes along. */
static bool helper_say(int s, bool failed, char *why, int fd) {
    struct crossing c;

    crossing_open(&c);
    c.answer.failed = failed;
    if (failed) snprintf(c.answer.text, sizeof c.answer.text, "%s", why ? why : "no memory");
    free(why);
    if (fd < 0) {
        c.message.msg_controllen = 0;
    } else {
        struct cmsghdr *head = CMSG_FIRSTHDR(&c.message);
        *head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
        memcpy(CMSG_DATA(head), &fd, sizeof fd);
    }
    return sendmsg(s, &c.message, MSG_NOSIGNAL) > 0;
}

/* ---- the helper's end -------------------------------------------------------------------------------------------- */

/* Until the other end is closed, or says that the daemon ends. */
static void helper_serve(int s, const struct pk_config *c, pk_hook_t *hook, pk_lead_t *lead, pid_t daemon) {
    struct pollfd p[2] = { { .fd = s, .events = POLLIN }, { .fd = pk_lead_fd(lead), .events = POLLIN } };
    char *error = NULL;
    uint8_t what;
    ssize_t n;
    int fd;

    for (;;) {
        int ready = poll(p, 2, LOOK_EVERY);
        /* Whether the daemon is there comes first: another one may be in its place by now, with filters of its own. */
        if (ready <= 0 || !p[0].revents) {
            pk_lead_look(lead);
            continue;
        }
        n = recv(s, &what, 1, MSG_TRUNC);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return;
        if (n != 1 || what >= PK_HELPS) {
            base_log(BASE_LOG_ERROR, "helper: the daemon is not itself any more, and is ended");
            kill(daemon, SIGKILL);
            return;
        }
        if (what == PK_HELP_END) {
            pk_hook_lead(hook, false);
            pk_hook_leave(hook);
            unlink(c->control); /* or it stays, and the next daemon takes its place */
            return;
        }
        fd = pk_secret_open(c->secret, &error);
        helper_say(s, fd < 0, error, fd);
        error = NULL;
        if (fd >= 0) close(fd);
    }
}

static void helper_run(int s, const struct pk_config *c, pk_hook_t *hook, const struct pk_user *u,
                       struct pk_shared *shared, pid_t daemon) {
    char *error = NULL;
    pk_lead_t *lead = NULL;
    bool failed;

    prctl(PR_SET_NAME, "pktcache-helper");
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    setsid(); /* what stops the daemon's terminal must not stop it */
    failed = pk_power_keep(u, true, &error) || !(lead = pk_lead_start(c, hook, shared, &error));
    if (helper_say(s, failed, error, -1) && !failed) helper_serve(s, c, hook, lead, daemon);
    pk_lead_stop(&lead);
}

/* ---- the daemon's end -------------------------------------------------------------------------------------------- */

/* *fd: what came along, or -1.  The answer's words stay good. */
static bool helper_hear(pk_helper_t *h, struct crossing *c, int *fd) {
    ssize_t n;

    crossing_open(c);
    *fd = -1;
    while ((n = recvmsg(h->socket, &c->message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {}
    if (n == sizeof c->answer) {
        const struct cmsghdr *head = CMSG_FIRSTHDR(&c->message);
        if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
            head->cmsg_len == CMSG_LEN(sizeof *fd))
            memcpy(fd, CMSG_DATA(head), sizeof *fd);
        c->answer.text[sizeof c->answer.text - 1] = 0;
        return !c->answer.failed;
    }
    h->gone = true;
    strcpy(c->answer.text, n < 0 ? "the helper does not answer" : "the helper has ended");
    return false;
}

pk_helper_t *pk_helper_start(const struct pk_config *c, pk_hook_t *hook, const struct pk_user *u, const int *closes,
                             unsigned n, struct pk_shared *shared, char **error) {
    pk_helper_t *h = calloc(1, sizeof *h);
    struct timeval slow = { .tv_sec = SLOW };
    struct crossing answer;
    pid_t pid = -1, daemon = getpid();
    int ends[2], fd;

    *error = NULL;
    if (!h) return NULL;
    h->magic = HELPER_MAGIC;
    h->socket = -1;
    if (!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
        if (!(pid = fork())) {
            close(ends[0]);
            /* The device is to go with the daemon, for one. */
            for (unsigned i = 0; i < n; i++) close(closes[i]);
            helper_run(ends[1], c, hook, u, shared, daemon);
            _exit(0);
        }
        close(ends[1]);
        h->socket = ends[0];
        setsockopt(h->socket, SOL_SOCKET, SO_RCVTIMEO, &slow, sizeof slow);
    }
    if (pid < 0) {
        base_fail(error, "no helper can be started: %s", strerror(errno));
        pk_helper_stop(&h);
        return NULL;
    }
    if (helper_hear(h, &answer, &fd)) return h;
    base_fail(error, "%s", answer.answer.text);
    pk_helper_stop(&h);
    return NULL;
}

static void helper_ask(pk_helper_t *h, enum pk_help what) {
    uint8_t word = (uint8_t)what;
    assert(h->magic == HELPER_MAGIC);
    /* After an answer that did not come in time the next one may be that. */
    if (h->gone || send(h->socket, &word, 1, MSG_NOSIGNAL) != 1) shutdown(h->socket, SHUT_RDWR);
}

int pk_helper_secret(pk_helper_t *h, char **error) {
    struct crossing answer;
    int fd;

    helper_ask(h, PK_HELP_SECRET);
    if (helper_hear(h, &answer, &fd) && fd >= 0) return fd;
    base_fail(error, "%s", answer.answer.text);
    return -1;
}

int pk_helper_fd(const pk_helper_t *h) { return h->socket; }
bool pk_helper_gone(const pk_helper_t *h) { return h->gone; }

void pk_helper_stop(pk_helper_t **helper) {
    pk_helper_t *h = *helper;
    struct crossing answer;
    int fd;

    *helper = NULL;
    if (!h) return;
    if (h->socket >= 0) {
        helper_ask(h, PK_HELP_END);
        helper_hear(h, &answer, &fd); /* that it has ended */
        close(h->socket);
    }
    h->magic = 0;
    free(h);
}
