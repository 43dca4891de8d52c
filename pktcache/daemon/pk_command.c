/* SPDX-License-Identifier: BSD-2-Clause */
/* pk_command.c - fairgate-pktcache: the daemon, its key, its figures. */
#include "config.h"

#include "pk_guard.h"
#include "pk_lane.h"
#include "pk_lead.h"
#include "pk_report.h"
#include "pk_route.h"
#include "pk_tun.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/rand.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

#define CONTROL_USUAL "/run/fairgate-pktcache/control"

enum { LOOK_EVERY = 100 /* milliseconds */ };

static void usage(FILE *out) {
    fputs("A pair of packet caches: two daemons, one at each end of a link, that do not send what the far end has already seen.\n\n"
          "  fairgate-pktcache keygen FILE                 make the secret that both ends have in common\n"
          "  fairgate-pktcache --parent CONFIG [--all]     the end near the servers\n"
          "  fairgate-pktcache --child CONFIG              the end near the clients\n"
          "  fairgate-pktcache --check CONFIG [--all]      look at a configuration and say what is wrong\n"
          "  fairgate-pktcache top [CONTROL]               what it does, every second\n"
          "  fairgate-pktcache stats [--prometheus] [CONTROL]\n\n"
          "--all is `keep all`: whatever TCP carries is kept, on a link of one's own.  CONTROL is the `control` of CONFIG.\n"
          "CONFIG has lines of a word and its values, # for comments:\n\n", out);
    pk_config_help(out);
}

static int complain(char *error) {
    fprintf(stderr, "fairgate-pktcache: %s\n", error ? error : "no memory");
    free(error);
    return 1;
}

/* ---- the daemon -------------------------------------------------------------------------------------------------------------- */

struct daemon {
    struct pk_common common;
    struct pk_config config;
    int              tun[PK_LANES_MAX];
    unsigned         tuns;
    pk_lane_t       *lane[PK_LANES_MAX];
    int              control, signals;
    pk_lead_t       *lead;
};

static int block_signals(void) {
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGTERM);
    sigaddset(&s, SIGINT);
    sigaddset(&s, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, &s, NULL);
    return signalfd(-1, &s, SFD_CLOEXEC);
}

static int prepare(struct daemon *d, char **error) {
    uint8_t key[PK_FINGERPRINT_KEY];
    struct pk_common *m = &d->common;

    m->c = &d->config;
    if ((*error = pk_route_obstacle(&d->config))) return -1;
    if (!(m->guard = pk_guard_start(&d->config, error))) return -1;
    if (pk_secret_read(&m->secret, d->config.secret, error)) return -1;
    pk_secret_derive(&m->secret, "fairgate pktcache fingerprint", NULL, 0, key, sizeof key);
    pk_fingerprint_key_set(&m->key, key, (enum pk_fingerprint_how)d->config.fingerprint);
    explicit_bzero(key, sizeof key);
    m->ready.bytes = d->config.cache;
    if (RAND_bytes(m->ready.cache, sizeof m->ready.cache) != 1) abort();
    if (!(m->store = pk_store_make(d->config.cache, m->role == PK_PARENT ? PK_STORE_PARENT : PK_STORE_CHILD))) {
        if (asprintf(error, "cache %" PRIu64 ": no memory for so much", d->config.cache) < 0) *error = NULL;
        return -1;
    }
    return 0;
}

static int start(struct daemon *d, char **error) {
    unsigned queues = (unsigned)d->config.queues;
    int why;

    if ((d->control = pk_report_listen(d->config.control, error)) < 0) return -1;
    if (pk_tun_open(d->config.device, queues, (unsigned)d->config.mtu, d->tun, error)) return -1;
    d->tuns = queues;
    if (!(d->common.lease = pk_lease_make(d->config.device, queues, error))) {
        complain(*error);
        *error = NULL;
    }
    for (unsigned i = 0; i < queues; i++)
        if (!(d->lane[i] = pk_lane_make(&d->common, i, d->tun[i], error))) return -1;
    for (unsigned i = 0; i < queues; i++) {
        if (!(why = pk_lane_start(d->lane[i]))) continue;
        if (asprintf(error, "a thread can't be started: %s", strerror(why)) < 0) *error = NULL;
        return -1;
    }
    pk_guard_watch(d->common.guard);
    return (d->lead = pk_lead_start(&d->common, error)) ? 0 : -1;
}

static void stop(struct daemon *d) {
    pk_lead_stop(&d->lead);     /* first: nothing comes any more while the rest ends */
    for (unsigned i = 0; i < PK_LANES_MAX; i++) pk_lane_stop(&d->lane[i]);
    for (unsigned i = 0; i < d->tuns; i++) close(d->tun[i]);
    pk_guard_stop(&d->common.guard);
    pk_lease_free(&d->common.lease);
    if (d->control >= 0) {
        close(d->control);
        unlink(d->config.control);
    }
    pk_store_free(&d->common.store);
    pk_secret_forget(&d->common.secret);
}

/* Until a signal ends it: 0; or until the device is gone: 1. */
static int serve(struct daemon *d) {
    struct pollfd p[3] = { { .fd = d->signals, .events = POLLIN }, { .fd = d->control, .events = POLLIN }, { .fd = pk_lead_fd(d->lead), .events = POLLIN } };
    struct signalfd_siginfo s;

    for (;;) {
        int n = poll(p, 3, LOOK_EVERY);
        pk_guard_look(d->common.guard);
        pk_lead_look(d->lead, d->lane);
        for (unsigned i = 0; i < d->config.queues; i++) {
            if (!pk_lane_broken(d->lane[i])) continue;
            fprintf(stderr, "fairgate-pktcache: somebody took %s away\n", d->config.device);
            return 1;
        }
        if (n <= 0) continue;
        if (p[0].revents && read(d->signals, &s, sizeof s) == sizeof s) {
            if (s.ssi_signo != SIGHUP) return 0;
            fputs("fairgate-pktcache: the configuration is read at the start only; a restart loses no connection\n", stderr);
        }
        if (p[1].revents) pk_report_answer(d->control, &d->common, d->lane);
    }
}

static int run(const char *role, const char *path, bool all) {
    struct daemon d = { .control = -1 };
    char *error = NULL;
    int rv = 1;

    d.common.role = strcmp(role, "--child") ? PK_PARENT : PK_CHILD;
    if (pk_config_read(&d.config, path, all, &error)) {
        complain(error);
    } else if (!strcmp(role, "--check")) {
        puts("The configuration is in order.");
        rv = 0;
    } else {
        prctl(PR_SET_DUMPABLE, 0);      /* the secret and what is in the store */
        d.signals = block_signals();
        if (prepare(&d, &error) || start(&d, &error)) {
            complain(error);
        } else {
            fprintf(stderr, "fairgate-pktcache: %s on %s\n", role + 2, d.config.device);
            rv = serve(&d);
        }
        stop(&d);
    }
    pk_config_free(&d.config);
    return rv;
}

/* ---- commands ---------------------------------------------------------------------------------------------------------------- */

static int wrong_usage(void) {
    usage(stderr);
    return 2;
}

int main(int argc, char **argv) {
    const char *word = argc > 1 ? argv[1] : "";
    char *error = NULL;

    if (!strcmp(word, "--help")) {
        usage(stdout);
        return 0;
    }
    if (!strcmp(word, "--version")) {
        puts("fairgate-pktcache " PACKAGE_VERSION);
        return 0;
    }
    if (!strcmp(word, PK_GUARD_WORD) && argc == 2) return pk_guard_run();
    if (!strcmp(word, "keygen") && argc == 3) return pk_secret_new(argv[2], &error) ? complain(error) : 0;
    if (!strcmp(word, "top") && argc <= 3) return pk_report_top(argc == 3 ? argv[2] : CONTROL_USUAL);
    if (!strcmp(word, "stats") && argc <= 4) {
        bool prometheus = argc > 2 && !strcmp(argv[2], "--prometheus");
        if (argc > 2 + prometheus + 1) return wrong_usage();
        return pk_report_stats(argc > 2 + prometheus ? argv[2 + prometheus] : CONTROL_USUAL, prometheus ? "prometheus" : "json");
    }
    if (!strcmp(word, "--parent") || !strcmp(word, "--child") || !strcmp(word, "--check")) {
        bool all = argc == 4 && !strcmp(argv[3], "--all");
        if (argc == 3 || (all && strcmp(word, "--child"))) return run(word, argv[2], all);
    }
    return wrong_usage();
}
