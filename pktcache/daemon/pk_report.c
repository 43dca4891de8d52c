/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_report.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <jansson.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/base_clean.h"
#include "base/base_command.h"
#include "base/base_log.h"
#include "base/base_report.h"

enum { SLOW = 1 /* seconds */, WORD = 16, ANSWER_MAX = 1 << 20, ROWS = 24 };

static const struct {
    const char *name, *total, *sentence;
    size_t at;
} counters[] = {
#define COUNTER(name, sentence) { #name, #name "_total", sentence, offsetof(struct pk_counters, name) },
    PK_COUNTERS
#undef COUNTER
};
#define COUNTED (sizeof counters / sizeof *counters)

static uint64_t count_of(const struct pk_counters *c, size_t i) {
    return *(const uint64_t *)((const char *)c + counters[i].at);
}

/* ---- the daemon's end -------------------------------------------------------------------------------------------- */

static int connect_to(const char *path) {
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    struct timeval slow = { .tv_sec = 2 * SLOW };
    int s;

    if (strlen(path) >= sizeof a.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(a.sun_path, path);
    if ((s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0) return -1;
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &slow, sizeof slow);
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &slow, sizeof slow); /* of connect, too: one that hangs accepts nobody */
    if (!connect(s, (struct sockaddr *)&a, sizeof a)) return s;
    close(s);
    return -1;
}

/* Of our own user, if it is made, so that the socket can be taken away at the end. */
static void make_directory(const char *path, const struct pk_user *u) {
    char *copy = strdup(path), *slash = copy ? strrchr(copy, '/') : NULL;
    if (slash && slash > copy) {
        *slash = 0;
        if (!mkdir(copy, 0755) && lchown(copy, u->user, u->group)) {
            /* as it is, then: the next daemon takes the place of what is left there */
        }
    }
    free(copy);
}

int pk_report_listen(const char *path, const struct pk_user *u, char **error) {
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int s = connect_to(path), why = 0;

    *error = NULL;
    if (s >= 0) {
        close(s);
        why = EADDRINUSE;
    } else if (strlen(path) >= sizeof a.sun_path) {
        why = ENAMETOOLONG;
    } else {
        strcpy(a.sun_path, path);
        struct stat st;
        make_directory(path, u);
        if (!lstat(path, &st) && S_ISSOCK(st.st_mode)) unlink(path);
        mode_t mask = umask(0117);
        s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (s < 0 || bind(s, (struct sockaddr *)&a, sizeof a) || listen(s, 8)) why = errno;
        umask(mask);
    }
    if (!why) return s;
    if (asprintf(error, "control %s: %s", path,
                 why == EADDRINUSE ? "another daemon answers there, or it is no socket; give each a socket of its own"
                                   : strerror(why)) < 0)
        *error = NULL;
    return -1;
}

static void write_flow(struct base_json *j, const struct pk_flow *f) {
    char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN];

    base_json_object(j, NULL);
    base_json_text(j, "from", inet_ntop(AF_INET6, f->tuple.from, from, sizeof from));
    base_json_whole(j, "from_port", ntohs(f->tuple.from_port));
    base_json_text(j, "to", inet_ntop(AF_INET6, f->tuple.to, to, sizeof to));
    base_json_whole(j, "to_port", ntohs(f->tuple.to_port));
    base_json_whole(j, "packets", f->packets);
    base_json_whole(j, "bytes", f->bytes);
    base_json_whole(j, "tokens", f->tokens);
    base_json_whole(j, "saved", f->saved);
    base_json_end_object(j);
}

/* The sum of all lanes; of the connections the newest of each into an array that is open, or NULL. */
static void sum_up(const struct pk_common *common, pk_lane_t *const *lane, struct pk_seen *sum,
                   struct base_json *connections) {
    struct pk_seen s;

    memset(sum, 0, sizeof *sum);
    for (unsigned i = 0; i < common->c->queues; i++) {
        pk_lane_see(lane[i], &s);
        for (size_t k = 0; k < COUNTED; k++)
            *(uint64_t *)((char *)&sum->counters + counters[k].at) += count_of(&s.counters, k);
        sum->flows += s.flows;
        if (!sum->why) sum->why = s.why;
        if (!i || s.theirs != PK_VERSION) sum->theirs = s.theirs;
        if (!i) {
            sum->known = s.known;
            sum->there = s.there;
        }
        for (unsigned k = 0; connections && k < s.listed; k++) write_flow(connections, s.flow + k);
    }
}

/* What the daemon tells: its counters, then the rest. */
enum { REST = 7 };

static void report_figures(const struct pk_common *common, const struct pk_seen *sum,
                           struct base_figure to[COUNTED + REST]) {
    struct pk_store_stats store;

    pk_store_stats(common->store, &store);
    for (size_t i = 0; i < COUNTED; i++)
        to[i] = (struct base_figure){
            counters[i].total, counters[i].name, counters[i].sentence, NULL, (double)count_of(&sum->counters, i),
            BASE_COUNTER
        };
    const struct base_figure rest[REST] = {
        { "at_work", "at_work",
          "1: there is a session, the peer is heard, neither end stands aside, and connections go on", NULL, !sum->why,
          BASE_TRUTH },
        { "store_bytes", "store_bytes", "room of the store", NULL, (double)store.bytes, BASE_GAUGE },
        { "store_kept_bytes", "store_kept", "payloads in it", NULL, (double)store.kept, BASE_GAUGE },
        { "store_clashes_total", "store_clashes", "payloads that had another one's fingerprint", NULL,
          (double)store.clashes, BASE_COUNTER },
        { "flows", "flows", "connections that are followed", NULL, sum->flows, BASE_GAUGE },
        { "stalls_total", "stalls", "times that a thread did not go on, and packets took their plain way",
          "fairgate_pktcache_stalls", (double)atomic_load(&common->stalls), BASE_COUNTER },
        { "clashes_total", "clashes", "packets that another daemon at the same device wanted, too, and nobody took",
          NULL, (double)atomic_load(&common->shared->clashes), BASE_COUNTER },
    };
    memcpy(to + COUNTED, rest, sizeof rest);
}

static const char *role_of(const struct pk_common *common) { return common->role == PK_PARENT ? "parent" : "child"; }

static void write_json(struct base_sink out, const struct pk_common *common, pk_lane_t *const *lane) {
    struct base_json j = base_json_into(out);
    struct base_figure all[COUNTED + REST];
    struct pk_seen sum;
    char peer[PK_ENDPOINT_TEXT];

    base_json_object(&j, NULL);
    base_json_text(&j, "role", role_of(common));
    base_json_array(&j, "connections");
    sum_up(common, lane, &sum, &j);
    base_json_end_array(&j);
    report_figures(common, &sum, all);
    base_json_object(&j, "counters");
    base_figures_json(&j, all, COUNTED);
    base_json_end_object(&j);
    base_figures_json(&j, all + COUNTED, REST);
    base_json_text(&j, "why", pk_why_sentence(sum.why));
    base_json_whole(&j, "version", PK_VERSION);
    base_json_whole(&j, "peer_version", sum.theirs);
    pk_endpoint_write(&sum.there, peer);
    base_json_text(&j, "peer", sum.known ? peer : NULL); /* of the first queue */
    base_json_end_object(&j);
    base_json_done(&j);
}

static void write_prometheus(struct base_sink out, const struct pk_common *common, pk_lane_t *const *lane) {
    struct base_figure all[COUNTED + REST];
    struct pk_seen sum;

    sum_up(common, lane, &sum, NULL);
    report_figures(common, &sum, all);
    base_figures_prometheus(out, "fairgate_pktcache_", (struct base_label){ "role", role_of(common) }, all,
                            COUNTED + REST);
}

/* All of it, or what a reader takes within SLOW. */
static void report_send_all(int s, const char *text, size_t n) {
    struct timespec t;
    int64_t left = SLOW * 1000, until;

    clock_gettime(CLOCK_MONOTONIC, &t);
    until = t.tv_sec * 1000 + t.tv_nsec / 1000000 + left;
    while (n && left > 0) {
        struct pollfd p = { .fd = s, .events = POLLOUT };
        ssize_t w = send(s, text, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (w < 0 && errno != EAGAIN) return;
        if (w > 0) {
            text += w;
            n -= (size_t)w;
        }
        if (n) poll(&p, 1, (int)left);
        clock_gettime(CLOCK_MONOTONIC, &t);
        left = until - (t.tv_sec * 1000 + t.tv_nsec / 1000000);
    }
}

void pk_report_answer(int listener, const struct pk_common *common, pk_lane_t *const *lane) {
    struct timeval slow = { .tv_sec = SLOW };
    char word[WORD] = "", *answer = NULL;
    size_t n = 0;
    int s = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    FILE *out;

    if (s < 0) return;
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &slow, sizeof slow);
    ssize_t got = recv(s, word, sizeof word - 1, 0);
    word[got > 0 ? got : 0] = 0;
    if (got > 0 && (out = open_memstream(&answer, &n))) {
        if (!strcmp(word, "prometheus\n")) write_prometheus(base_to_file(out), common, lane);
        else write_json(base_to_file(out), common, lane);
        fclose(out);
        report_send_all(s, answer, n);
    }
    free(answer);
    close(s);
}

/* ---- the other end ----------------------------------------------------------------------------------------------- */

char *pk_report_ask(const char *path, const char *format, bool said) {
    char *answer = malloc(ANSWER_MAX), line[WORD];
    size_t n = 0;
    ssize_t r = 0;
    int s = connect_to(path);

    if (s >= 0 && answer) {
        int length = snprintf(line, sizeof line, "%s\n", format);
        if (send(s, line, (size_t)length, MSG_NOSIGNAL) == length)
            while (n < ANSWER_MAX - 1 && (r = recv(s, answer + n, ANSWER_MAX - 1 - n, 0)) > 0) n += (size_t)r;
    }
    if (s >= 0) close(s);
    if (s < 0 || !answer || !n || r < 0) {
        if (said)
            base_log(BASE_LOG_ERROR, "%s: %s", path,
                     n       ? "the answer broke off"
                     : errno ? strerror(errno)
                             : "no answer");
        free(answer);
        return NULL;
    }
    answer[n] = 0;
    return answer;
}

/* On a terminal, often root's: the daemon runs with less privilege than the command, and text from it is untrusted. */
static void print_clean(const char *text) {
    struct base_clean c = { .n = 0 };
    char piece[BASE_CLEAN_GROWS + BASE_CLEAN_MORE];

    for (; *text; text++) fwrite(piece, 1, base_clean(&c, text, 1, piece), stdout);
    fwrite(piece, 1, base_clean_end(&c, piece), stdout);
}

static void print_why(const json_t *all) {
    const char *why = json_string_value(json_object_get(all, "why"));
    if (why) base_clean_line(why, strlen(why), stdout);
}

int pk_report_stats(const char *path, const char *format) {
    char *answer = pk_report_ask(path, format, true);
    json_t *all = answer && !strcmp(format, "json") ? json_loads(answer, 0, NULL) : NULL;

    if (!answer) return 1;
    if (all) json_dumpf(all, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
    else print_clean(answer);
    if (all) fputc('\n', stdout);
    json_decref(all);
    free(answer);
    return fflush(stdout) ? 1 : 0;
}

static double report_number(const json_t *counters_now, const char *name) {
    return (double)json_integer_value(json_object_get(counters_now, name));
}

static void print_endpoint(const json_t *f, const char *address, const char *port, char *out, size_t room) {
    const char *text = json_string_value(json_object_get(f, address));
    if (!text || strspn(text, "0123456789abcdef:.") != strlen(text)) text = "?";
    if (!strncmp(text, "::ffff:", 7)) text += 7;
    snprintf(out, room, strchr(text, ':') ? "[%s]:%d" : "%s:%d", text,
             (int)json_integer_value(json_object_get(f, port)));
}

static void print_top(const json_t *all, const json_t *before, double seconds) {
    const json_t *now = json_object_get(all, "counters"), *f;
    size_t i;
    const char *role = json_string_value(json_object_get(all, "role"));
    bool parent = role && !strcmp(role, "parent");
    double saved = report_number(now, "saved"),
           carried = report_number(now, "native_bytes") + report_number(now, "datagram_bytes_out");

    printf("\033[H\033[2Jfairgate-pktcache, %s, %s      %d connections      cache %.0f of %.0f MB\n\n",
           parent ? "parent" : "child",
           json_is_true(json_object_get(all, "at_work")) ? "at work" : "NOT at work: packets go as they are",
           (int)json_integer_value(json_object_get(all, "flows")),
           (double)json_integer_value(json_object_get(all, "store_kept")) / 1e6,
           (double)json_integer_value(json_object_get(all, "store_bytes")) / 1e6);
    if (!json_is_true(json_object_get(all, "at_work"))) {
        fputs("  ", stdout);
        print_why(all);
        fputs("\n\n", stdout);
    }
    printf("  %-34s %15s %13s\n", "", "in all", "a second");
    for (i = 0; i < COUNTED; i++)
        printf("  %-34s %15.0f %13.0f\n", counters[i].name, report_number(now, counters[i].name),
               (report_number(now, counters[i].name) - report_number(before, counters[i].name)) / seconds);
    if (parent && saved + carried > 0)
        printf("\n  of what came, the link did not carry %.1f %%; of what may be kept, %.1f %% was known\n",
               100 * saved / (saved + carried),
               100 * report_number(now, "hits") / (report_number(now, "kept") + !report_number(now, "kept")));
    printf("\n  %-30s %-30s %10s %14s %10s %14s\n", "from", "to", "packets", "bytes", "known", "saved");
    json_array_foreach(json_object_get(all, "connections"), i, f) {
        char from[64], to[64];
        if (i == ROWS) break;
        print_endpoint(f, "from", "from_port", from, sizeof from);
        print_endpoint(f, "to", "to_port", to, sizeof to);
        printf("  %-30s %-30s %10.0f %14.0f %10.0f %14.0f\n", from, to, report_number(f, "packets"),
               report_number(f, "bytes"), report_number(f, "tokens"), report_number(f, "saved"));
    }
    fflush(stdout);
}

int pk_report_top(const char *path) {
    json_t *before = NULL;
    for (;;) {
        char *answer = pk_report_ask(path, "json", true);
        json_t *all = answer ? json_loads(answer, 0, NULL) : NULL;
        free(answer);
        if (!all) {
            json_decref(before);
            return 1;
        }
        print_top(all, json_object_get(before ? before : all, "counters"), 1);
        json_decref(before);
        before = all;
        sleep(1);
    }
}

/* ---- what it gains ----------------------------------------------------------------------------------------------- */

enum { FEW = 100000 /* bytes, of which nothing can be said */, LITTLE = 5, MUCH = 10 /* per cent */, SEGMENT = 1400 };

struct obstacle {
    const char *counter, *what, *advice;
};

/* Of the bytes that came to the parent.  One that holds others comes before them. */
static const struct obstacle obstacles[] = {
    { "unasked_bytes", "answers to requests that do not come by this end",
      "lead requests by this machine and this link, too; until then only pages with `Eeod: marks` are kept" },
    { "unfollowed_bytes", "connections that are not HTTP, that were there before, or of which something is missing",
      "name other `ports`, or wait until connections begin anew" },
    { "tls_bytes", "TLS, of which nothing can be known", "let TLS end before this end of the link" },
    { "unkept_bytes", "HTTP of which nothing may be kept",
      "say of what is the same for all how long it is fresh (Cache-Control: public, max-age), or use marks" },
    { "private_bytes", "responses that say so (private, no-store, no-cache, Set-Cookie)",
      "mark what is a visitor's own (mod_eeod), or say `public` of what is not" },
    { "encoded_bytes", "responses that are compressed, and have no word of how long they are fresh",
      "leave pages with marks as they are, and compress only what is the same for all" },
};

/* *now: counters; since: of the time before, or NULL. */
static double report_moved(const json_t *now, const json_t *since, const char *name) {
    return report_number(now, name) - (since ? report_number(since, name) : 0);
}

static double in_percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

static double saved_percent(const json_t *now, const json_t *since) {
    double saved = report_moved(now, since, "saved");
    return in_percent(saved, saved + report_moved(now, since, "native_bytes") +
                                 report_moved(now, since, "datagram_bytes_out"));
}

static void print_obstacles(const json_t *now, const json_t *since, double came) {
    for (size_t i = 0; i < sizeof obstacles / sizeof *obstacles; i++) {
        double share = in_percent(report_moved(now, since, obstacles[i].counter), came);
        if (share >= MUCH)
            printf("  %.0f %% of what came: %s\n      %s\n", share, obstacles[i].what, obstacles[i].advice);
    }
    if (report_moved(now, since, "kept") > 0 &&
        report_moved(now, since, "hits") < report_moved(now, since, "kept") / LITTLE)
        printf(
            "  %.0f of %.0f segments that may be kept were known\n      nothing repeats yet, or `cache` is too small "
            "for what does\n",
            report_moved(now, since, "hits"), report_moved(now, since, "kept"));
    if (report_moved(now, since, "again") * SEGMENT > came / MUCH)
        printf("  %.0f segments were sent again\n      the link loses packets, and what is lost goes as it is\n",
               report_moved(now, since, "again"));
    if (report_moved(now, since, "outages") > 0)
        printf("  %.0f times the other end did not tell that datagrams arrive\n      the link is cut or full, or `mtu` "
               "is more than it carries\n",
               report_moved(now, since, "outages"));
    if (report_moved(now, since, "stopped") > 0)
        printf("  %.0f times trains were stopped, since connections stood still after them\n      let what follows TCP "
               "on the link leave these connections alone\n",
               report_moved(now, since, "stopped"));
}

static int judge(const json_t *all, const json_t *former, unsigned seconds) {
    const json_t *now = json_object_get(all, "counters"), *since = json_object_get(former, "counters");
    const char *role = json_string_value(json_object_get(all, "role"));
    double came = report_moved(now, since, "bytes_in");
    bool parent = role && !strcmp(role, "parent"), works = json_is_true(json_object_get(all, "at_work"));

    printf("%s, within %u s: ", parent ? "parent" : "child", seconds);
    if (!works) {
        fputs("NOT at work, packets go as they are: ", stdout);
        print_why(all);
        fputc('\n', stdout);
        if (parent) print_obstacles(now, since, came);
        return 1;
    }
    if (!parent) {
        printf("at work; %.0f segments came as fingerprints, %.0f payloads were missing, %.0f trains were thrown away; "
               "the parent's end tells what that saves\n",
               report_moved(now, since, "hits"), report_moved(now, since, "wanted"),
               report_moved(now, since, "dropped"));
        return report_moved(now, since, "trains") > 0 ? PK_GAINS : PK_GAINS_UNKNOWN;
    }
    if (came < FEW) {
        printf("at work, but hardly anything came that `servers`, `clients` and `ports` have: %.0f bytes\n", came);
        return PK_GAINS_UNKNOWN;
    }
    double saved = saved_percent(now, since);
    printf("at work; of %.1f MB the link did not carry %.0f %%; of all since the daemon began, %.0f %%\n", came / 1e6,
           saved, saved_percent(now, NULL));
    print_obstacles(now, since, came);
    return saved >= LITTLE ? PK_GAINS : PK_GAINS_NOTHING;
}

int pk_report_test(const char *path, unsigned seconds) {
    char *before = pk_report_ask(path, "json", true);
    json_t *former = before ? json_loads(before, 0, NULL) : NULL, *all = NULL;
    int status = 1;

    free(before);
    if (former) {
        sleep(seconds);
        char *after = pk_report_ask(path, "json", true);
        all = after ? json_loads(after, 0, NULL) : NULL;
        free(after);
    }
    if (all) status = judge(all, former, seconds);
    json_decref(all);
    json_decref(former);
    return fflush(stdout) ? 1 : status;
}
