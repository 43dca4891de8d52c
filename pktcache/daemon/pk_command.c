/* SPDX-License-Identifier: BSD-2-Clause */
/* pk_command.c - fairgate-pktcache: the daemon, its key, its figures. */
#include "config.h"

#include "pk_calls.h"
#include "pk_console.h"
#include "pk_helper.h"
#include "pk_hook.h"
#include "pk_lane.h"
#include "pk_names.h"
#include "pk_power.h"
#include "pk_report.h"
#include "pk_tun.h"

#include "base/base_command.h"
#include "base/base_error.h"
#include "base/base_log.h"
#include "base/base_number.h"
#include "base/base_settings.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <openssl/rand.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

enum { LOOK_EVERY = 100 /* milliseconds */, TEST_SECONDS = 20 };

/* ---- the daemon -------------------------------------------------------------------------------------------------- */

struct daemon {
    struct pk_common common;
    struct pk_config config;
    struct pk_user user;
    pk_helper_t *helper;
    pk_names_t *names; /* NULL: `peer` is no name */
    struct sockaddr_storage named;
    uint64_t ask_at;
    int tun[PK_LANES_MAX];
    unsigned tuns;
    pk_lane_t *lane[PK_LANES_MAX];
    int control, signals;
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

/* What needs more power than the daemon has in the end, and the helper, who is not to know the secret. */
static int command_prepare(struct daemon *d, char **error) {
    unsigned queues = (unsigned)d->config.queues;
    struct pk_common *m = &d->common;
    int closes[PK_LANES_MAX + 2];
    unsigned n = queues;

    m->c = &d->config;
    pthread_mutex_init(&m->lock, NULL);
    m->shared = mmap(NULL, sizeof *m->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (m->shared == MAP_FAILED) {
        m->shared = NULL;
        return base_fail(error, "no memory");
    }
    if (pk_power_user(&d->user, d->config.user, error)) return -1;
    if (d->config.peer_is == PK_PEER_NAME && !(d->names = pk_names_start(&d->config, &d->user, error))) return -1;
    if ((d->control = pk_report_listen(d->config.control, &d->user, error)) < 0) return -1;
    if (pk_tun_open(d->config.device, queues, (unsigned)d->config.mtu, d->tun, error)) return -1;
    d->tuns = queues;
    if (!(m->hook = pk_hook_make(&d->config, m->role == PK_PARENT, error))) return -1;
    memcpy(closes, d->tun, n * sizeof *closes);
    closes[n++] = d->control;
    if (d->names) closes[n++] = pk_names_fd(d->names);
    d->helper = pk_helper_start(&d->config, m->hook, &d->user, closes, n, m->shared, error);
    if (!d->helper) return -1;
    pk_hook_keep_lease(m->hook);
    return 0;
}

static int command_start(struct daemon *d, char **error) {
    struct pk_common *m = &d->common;
    int why;

    if (pk_secret_read(&m->secrets, d->config.secret, error)) return -1;
    m->ready.bytes = d->config.cache;
    if (RAND_bytes(m->ready.cache, sizeof m->ready.cache) != 1 || RAND_bytes(m->ready.key, sizeof m->ready.key) != 1)
        abort();
    pk_fingerprint_key_set(&m->key, m->ready.key, (enum pk_fingerprint_how)d->config.fingerprint);
    if (!(m->store = pk_store_make(d->config.cache, m->role == PK_PARENT ? PK_STORE_PARENT : PK_STORE_CHILD)))
        return base_fail(error, "cache %" PRIu64 ": no memory for so much", d->config.cache);
    for (unsigned i = 0; i < d->tuns; i++)
        if (!(d->lane[i] = pk_lane_make(m, i, d->tun[i], error))) return -1;
    /* All that needs power is there.  What comes next reads what strangers send. */
    if (pk_power_keep(&d->user, false, error) || pk_calls_limit(error)) return -1;
    for (unsigned i = 0; i < d->tuns; i++) {
        if ((why = pk_lane_start(d->lane[i]))) return base_fail(error, "a thread can't be started: %s", strerror(why));
    }
    return 0;
}

static void command_stop(struct daemon *d) {
    pk_names_stop(&d->names);
    pk_helper_stop(&d->helper); /* before the rest: nothing comes any more while the rest ends */
    for (unsigned i = 0; i < PK_LANES_MAX; i++) pk_lane_stop(&d->lane[i]);
    for (unsigned i = 0; i < d->tuns; i++) close(d->tun[i]);
    pk_hook_free(&d->common.hook);
    if (d->control >= 0) close(d->control);
    pk_store_free(&d->common.store);
    pk_secret_forget(&d->common.secrets);
    if (d->common.shared) munmap(d->common.shared, sizeof *d->common.shared);
    pthread_mutex_destroy(&d->common.lock);
}

/* Takes the secrets that the file has now; or those that were good stay so. */
static void command_renew(struct daemon *d) {
    struct pk_secrets secrets;
    char *error = NULL;
    int fd = pk_helper_secret(d->helper, &error);

    if (fd < 0 || pk_secret_take(&secrets, fd, d->config.secret, &error)) {
        base_failed(error);
        return;
    }
    pthread_mutex_lock(&d->common.lock);
    d->common.secrets = secrets;
    d->common.secrets_renewed++;
    atomic_fetch_add(&d->common.renewed, 1);
    pthread_mutex_unlock(&d->common.lock);
    base_log(BASE_LOG_NOTICE,
             "the secret was read again: %s; all else of the configuration is read at the start only, and a restart "
             "loses no connection",
             secrets.n > 1 ? "a new one, and the former one" : "one");
    pk_secret_forget(&secrets);
}

/* Nobody answers where the other end was: its name may be somebody else's now. */
static bool is_lost(struct daemon *d) {
    struct pk_seen seen;

    pk_lane_see(d->lane[0], &seen);
    return seen.why == PK_WHY_SESSION || seen.why == PK_WHY_UNHEARD || seen.why == PK_WHY_SILENT ||
           seen.why == PK_WHY_LINK;
}

static void command_names(struct daemon *d, bool readable) {
    struct sockaddr_storage there;
    struct timespec t;

    if (readable && pk_names_hear(d->names, &there) && memcmp(&there, &d->named, sizeof there)) {
        d->named = there;
        pk_lane_move(&d->common, &there);
    }
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t now = (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
    if (now < d->ask_at) return;
    if (!d->ask_at || is_lost(d)) pk_names_ask(d->names);
    d->ask_at = now + PK_NAMES_EVERY;
}

/* Until a signal ends it: 0; or until the device, the helper or who asks for names is gone: 1. */
static int serve(struct daemon *d) {
    struct pollfd p[4] = { { .fd = d->signals, .events = POLLIN },
                           { .fd = d->control, .events = POLLIN },
                           { .fd = pk_helper_fd(d->helper) },
                           { .fd = d->names ? pk_names_fd(d->names) : -1, .events = POLLIN } };
    struct signalfd_siginfo s;

    for (;;) {
        int n = poll(p, 4, LOOK_EVERY);
        if ((n > 0 && p[2].revents) || pk_helper_gone(d->helper)) {
            base_log(BASE_LOG_ERROR,
                     "the helper is gone, so nobody would lead packets; the daemon ends, to be started again");
            return 1;
        }
        for (unsigned i = 0; i < d->config.queues; i++) {
            if (!pk_lane_broken(d->lane[i])) continue;
            base_log(BASE_LOG_ERROR, "somebody took %s away", d->config.device);
            return 1;
        }
        if (d->names) command_names(d, n > 0 && p[3].revents);
        if (d->names && pk_names_gone(d->names)) {
            base_log(BASE_LOG_ERROR,
                     "nobody would ask for the peer's name any more; the daemon ends, to be started again");
            return 1;
        }
        if (n <= 0) continue;
        if (p[0].revents && read(d->signals, &s, sizeof s) == sizeof s) {
            if (s.ssi_signo != SIGHUP) return 0;
            command_renew(d);
        }
        if (p[1].revents) pk_report_answer(d->control, &d->common, d->lane);
    }
}

static int pk_command_run(enum pk_role role, const char *path, bool all) {
    struct daemon d = { .common.role = role, .control = -1 };
    char *error = NULL;
    int rv = BASE_WRONG;

    if (pk_config_read(&d.config, path, all, &error)) {
        base_failed(error);
    } else if (role == PK_CHILD && d.config.peer_is == PK_PEER_ANY) {
        base_fail(&error, "%s: peer any: a child must know where its parent is; ADDRESS:PORT, or NAME:PORT", path);
        base_failed(error);
    } else {
        prctl(PR_SET_DUMPABLE, 0); /* the secret and what is in the store */
        d.signals = block_signals();
        if (command_prepare(&d, &error) || command_start(&d, &error)) {
            base_failed(error);
        } else {
            base_log(BASE_LOG_NOTICE, "%s on %s", role == PK_PARENT ? "parent" : "child", d.config.device);
            rv = serve(&d);
        }
        command_stop(&d);
    }
    pk_config_free(&d.config);
    return rv;
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

/* Takes --all off the arguments. */
static bool takes_all(int *argc, char **argv) {
    int kept = 1, given = *argc;

    for (int i = 1; i < given; i++)
        if (strcmp(argv[i], "--all")) argv[kept++] = argv[i];
    *argc = kept;
    return kept < given;
}

static int parent(int argc, char **argv) {
    bool all = takes_all(&argc, argv);
    return argc == 2 ? pk_command_run(PK_PARENT, argv[1], all)
                     : base_misused("--parent needs one configuration, and there may be --all");
}

static int command_child(int argc, char **argv) {
    (void)argc;
    return pk_command_run(PK_CHILD, argv[1], false);
}

static int pk_command_look(const char *path, FILE *found, bool all, char **error) {
    struct pk_config c;
    int rv = pk_config_read(&c, path, all, error);

    if (!rv) fprintf(found, "%u networks of servers, %u of clients\n", c.server.n, c.client.n);
    pk_config_free(&c);
    return rv;
}

static int look_plain(const char *path, FILE *found, char **error) {
    return pk_command_look(path, found, false, error);
}
static int look_all(const char *path, FILE *found, char **error) { return pk_command_look(path, found, true, error); }

static int pk_command_check(int argc, char **argv) {
    bool all = takes_all(&argc, argv);
    return base_check(argc, argv, all ? look_all : look_plain);
}

static int keygen(int argc, char **argv) {
    char *error = NULL;
    int rotate = 0, at = 1;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--rotate")) rotate++;
        else at = i;
    }
    if (argc != 2 + rotate || rotate > 1) return base_misused("keygen needs one file, and there may be --rotate");
    return (rotate ? pk_secret_rotate : pk_secret_new)(argv[at], &error) ? base_failed(error) : BASE_RIGHT;
}

static int top(int argc, char **argv) { return pk_report_top(argc == 2 ? argv[1] : PK_CONTROL_USUAL); }

struct console_options {
    char *listen, *consoles, *from;
};

static int pk_command_console(int argc, char **argv) {
    static const struct base_setting rows[] = {
        BASE_ROW(struct console_options, TEXT, listen, "listen", PK_CONSOLE_USUAL, "ADDRESS:PORT", "where it listens"),
        BASE_ROW(struct console_options, TEXT, consoles, "consoles", NULL, "'URL URL'",
                 "addresses of other consoles to show beside it"),
        BASE_ROW(struct console_options, TEXT, from, "from", NULL, "'URL URL'",
                 "addresses of consoles that may show this one"),
    };
    static const struct base_settings table = { "--", rows, sizeof rows / sizeof *rows, NULL };
    struct console_options o = { NULL, NULL, NULL };
    char *error = NULL;
    int words = base_settings_options(&table, &o, argc, argv, &error), rv;

    if (words < 0) rv = base_misused("console: %s", error ? error : "out of memory");
    else if (words > 2) rv = base_misused("console takes one control socket, and %s is a second one", argv[2]);
    else rv = pk_console(o.listen, words == 2 ? argv[1] : PK_CONTROL_USUAL, o.consoles, o.from);
    free(error);
    base_settings_free(&table, &o);
    return rv;
}

static int stats(int argc, char **argv) {
    const char *format = "json", *control = PK_CONTROL_USUAL;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json") || !strcmp(argv[i], "--prometheus")) format = argv[i] + 2;
        else if (argv[i][0] == '-') return base_misused("stats has no option %s", argv[i]);
        else control = argv[i];
    }
    return pk_report_stats(control, format);
}

static int test(int argc, char **argv) {
    const char *control = PK_CONTROL_USUAL;
    uint64_t seconds = TEST_SECONDS;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--seconds") && i + 1 < argc) {
            if (base_number("--seconds", argv[++i], "", 1, 60, &seconds, NULL))
                return base_misused("--seconds %s: must be 1 to 60", argv[i]);
        } else if (argv[i][0] == '-') {
            return base_misused("test has no option %s", argv[i]);
        } else {
            control = argv[i];
        }
    }
    return pk_report_test(control, (unsigned)seconds);
}

static void pk_command_more_help(FILE *out) {
    fputs("A pair of packet caches: two daemons, one at each end of a link, that do not send what the far end has "
          "already seen.\n"
          "--all is `keep all`: whatever TCP carries is kept, on a link of one's own.  CONTROL is the `control` of "
          "CONFIG.\n"
          "CONFIG has lines of a word and its values, # for comments:\n\n",
          out);
    pk_config_help(out);
}

static const struct base_command commands[] = {
    { "keygen", "[--rotate] FILE", "make the secret that both ends have in common; or a new one, beside the former one",
      1, 2, keygen },
    { "check", "[--json] CONFIG... [--all]", "look at configurations and say what is wrong", 0, BASE_ANY_NUMBER,
      pk_command_check },
    { "--check", "CONFIG [--all]", NULL, 0, BASE_ANY_NUMBER, pk_command_check },
    { "--parent", "CONFIG [--all]", "the end near the servers", 1, 2, parent },
    { "--child", "CONFIG", "the end near the clients", 1, 1, command_child },
    { "top", "[CONTROL]", "what it does, every second", 0, 1, top },
    { "console", "[--listen ADDRESS:PORT] [--consoles 'URL URL'] [--from 'URL URL'] [CONTROL]",
      "a page for a browser that shows it live", 0, BASE_ANY_NUMBER, pk_command_console },
    { "stats", "[--json|--prometheus] [CONTROL]", "its figures", 0, 2, stats },
    { "test", "[--seconds N] [CONTROL]", "what it gains within 20 s, or N, and what stands in the way", 0, 3, test },
};

int main(int argc, char **argv) {
    static const struct base_program me = { "fairgate-pktcache", PACKAGE_VERSION, commands,
                                            sizeof commands / sizeof *commands, pk_command_more_help };

    return base_program_main(&me, argc, argv);
}
