/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_replay.c - what a policy would have made of yesterday: an access log through the scheduler on paper
 * (core/rs_paper.h), in simulated time.
 *
 * One pass, memory that does not grow.  A line is written when its answer is over: so many of them are kept until the
 * earliest begins, and one that is later still begins late.  Of times that are right to a second, requests of a client
 * follow one another in it, and those of others are spread over it, the same way each time.
 *
 * A client is an address with a user agent.  How many connections it has, and how long it pauses, is what it was seen
 * to have at one time and to pause on the average: that is what rs_paper.h wants to know of who asks again.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/base_command.h"
#include "base/base_hash.h"
#include "base/base_settings.h"
#include "core/rs_figures_paper.h"
#include "policy_bots.h"
#include "policy_command.h"
#include "policy_engine.h"
#include "policy_impl.h"
#include "policy_log.h"
#include "policy_url.h"

#define KEPT    32768u /* requests that are kept until the earliest begins, or until they end */
#define CLIENTS 65536u
#define LOOPS   8u /* connections of a client that are behind on paper, at most */
#define LONGEST 65536u
#define NAMED   5u /* bad lines that are named */
#define TOP     10u
#define SECOND  1000000

struct replay_options {
    uint64_t window, queue, wait, rate;
    int charge;
    char *format, *site, *bots;
    bool json;
};

static const struct base_setting replay_rows[] = {
    BASE_ROW(struct replay_options, NUMBER, window, "window", "8", 1, 65536, "requests", "QosWindow"),
    BASE_ROW(struct replay_options, NUMBER, queue, "queue", "10000", 1, POLICY_QUEUE_MAX, "requests", "QosQueue"),
    BASE_ROW(struct replay_options, NUMBER, wait, "wait", "30", 1, POLICY_WAIT_MAX, "seconds",
             "QosWait, of classes without one of their own"),
    BASE_ROW(struct replay_options, CHOICE, charge, "charge", "time", "bytes time both", "QosCharge"),
    BASE_ROW(struct replay_options, TEXT, format, "format", "combined", "FORMAT",
             "combined, common, or a LogFormat: waits need %D"),
    BASE_ROW(struct replay_options, NUMBER, rate, "rate", "10M", 1000, UINT64_C(1) << 40, "bytes",
             "a second that a response gets where a line has no %D; what the server sends, for --charge both"),
    BASE_ROW(struct replay_options, TEXT, site, "site", NULL, "URL",
             "scheme and host of URLs where the log has none, as https://www.example.org"),
    BASE_ROW(struct replay_options, TEXT, bots, "bots", NULL, "TABLE",
             "what fairgate-bots wrote: whose the addresses are, for rules about crawlers"),
    BASE_ROW(struct replay_options, SWITCH, json, "json", "the answer as JSON"),
};
static const struct base_settings replay_table = { "--", replay_rows, sizeof replay_rows / sizeof *replay_rows, NULL };

struct replay_client {
    uint64_t tag;
    rs_time_t first, last, placed; /* placed: when the last of its requests ends, of those that were read */
    double busy, most;             /* connections at work: on the average of late, and at one time */
    uint32_t live, asked, behind;
    rs_paper_id_t loops[LOOPS]; /* what is behind on paper */
};

enum replay_kind { COMES, GOES };

struct replay_event {
    enum replay_kind kind;
    uint32_t class, client;
    uint64_t took_us, bytes, key;
    rs_paper_id_t id;
};

struct replay_node {
    rs_time_t at;
    uint32_t serial, event;
};

struct rule_count {
    uint64_t requests, bytes;
    uint32_t rule;
};

struct replay {
    struct replay_options o;
    const char *policy_name, *log_name;
    policy_t *policy;
    struct crawlers_known *bots; /* NULL: nobody is known for a crawler */
    struct policy_url site;
    struct policy_log_format format;
    struct policy_log_memory memory;
    uint32_t nclasses, otherwise;
    uint32_t *wait_s;
    rs_paper_t *paper;
    void *block;
    struct rs_paper_look look;
    struct rule_count *rules; /* one for each, and the last for what no rule took */

    struct replay_client *clients;
    struct replay_event *events;
    uint32_t *unused, nunused;
    struct replay_node *heap;
    uint32_t count, serial;
    int64_t origin; /* microseconds since 1970 that are 0 here */
    bool began;
    rs_time_t now;
    int64_t first_us, last_us;
    uint64_t lines, bad, late, timed, untimed;
    char *url;
    size_t url_room;
};

/* ---- events in their order --------------------------------------------------------------------------------------- */

static bool replay_before(const struct replay_node *a, const struct replay_node *b) {
    return a->at != b->at ? a->at < b->at : (int32_t)(a->serial - b->serial) < 0;
}

static void replay_push(struct replay *r, rs_time_t at, uint32_t event) {
    struct replay_node n = { at, r->serial++, event };
    uint32_t i = r->count++;

    for (; i && replay_before(&n, &r->heap[(i - 1) / 2]); i = (i - 1) / 2) r->heap[i] = r->heap[(i - 1) / 2];
    r->heap[i] = n;
}

static struct replay_node replay_pop(struct replay *r) {
    struct replay_node first = r->heap[0], last = r->heap[--r->count];
    uint32_t i = 0;

    for (uint32_t child; (child = 2 * i + 1) < r->count; i = child) {
        if (child + 1 < r->count && replay_before(&r->heap[child + 1], &r->heap[child])) child++;
        if (!replay_before(&r->heap[child], &last)) break;
        r->heap[i] = r->heap[child];
    }
    r->heap[i] = last;
    return first;
}

/* ---- clients ----------------------------------------------------------------------------------------------------- */

#define AVERAGE_OF 10e6 /* microseconds */
#define MOST_OF    60e6

static void client_at(struct replay_client *c, rs_time_t now) {
    double step = (double)(now - c->last), age = (double)(now - c->first);

    if (step > 0) {
        double part = step / (age < AVERAGE_OF ? age : AVERAGE_OF);

        c->busy += ((double)c->live - c->busy) * (part < 1 ? part : 1);
        c->most -= (c->most - (double)c->live) * (step < MOST_OF ? step / MOST_OF : 1);
    }
    c->last = now;
}

static double client_loops(const struct replay_client *c) { return ceil(c->most - 0.25); }

static uint64_t client_pause(const struct replay_client *c, uint64_t took_us) {
    double loops = client_loops(c), busy = c->busy > 0.001 ? c->busy : 0.001;

    if (c->asked < 8 || c->last - c->first < 2 * took_us) return RS_NEVER;
    return busy < loops ? (uint64_t)((double)took_us * (loops - busy) / busy) : 0;
}

/*
 * One of its connections that is not through on paper, though it is through in truth; 0: there is one more to ask by.
 */
static rs_paper_id_t client_behind(const struct replay *r, struct replay_client *c) {
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->behind; i++)
        if (rs_paper_behind(r->paper, c->loops[i])) c->loops[n++] = c->loops[i];
    c->behind = n;
    return n && c->live + 1 + n > (uint32_t)client_loops(c) ? c->loops[--c->behind] : 0;
}

static void client_goes(const struct replay *r, struct replay_client *c, rs_paper_id_t id) {
    c->live -= c->live > 0;
    if (!rs_paper_behind(r->paper, id)) return;
    if (c->behind == LOOPS) memmove(c->loops, c->loops + 1, --c->behind * sizeof *c->loops);
    c->loops[c->behind++] = id;
}

/* ---- what happens ------------------------------------------------------------------------------------------------ */

static void replay_comes(struct replay *r, uint32_t event) {
    struct replay_event *e = r->events + event;
    struct replay_client *c = r->clients + e->client;
    struct rs_paper_request q = { .in_class = e->class,
                                  .estimate = r->o.charge == RS_PAPER_BYTES ? e->bytes : 0,
                                  .bytes = e->bytes,
                                  .wait_us = (uint64_t)r->wait_s[e->class] * SECOND,
                                  .key = { e->key, 0 } };

    client_at(c, r->now);
    q.think_us = client_pause(c, e->took_us);
    q.follows = client_behind(r, c);
    c->live++;
    c->asked++;
    if (c->most < c->live) c->most = c->live;
    rs_paper_came(r->paper, r->now, &q, &e->id);
    e->kind = GOES;
    replay_push(r, r->now + e->took_us, event);
}

static void replay_goes(struct replay *r, uint32_t event) {
    const struct replay_event *e = r->events + event;
    struct replay_client *c = r->clients + e->client;
    uint64_t waited;

    client_at(c, r->now);
    if (e->id) rs_paper_went(r->paper, r->now, e->id, 0, e->bytes, &waited);
    client_goes(r, c, e->id);
    r->unused[r->nunused++] = event;
}

static void replay_one(struct replay *r) {
    struct replay_node n = replay_pop(r);

    if (n.at > r->now) r->now = n.at;
    else if (n.at < r->now && r->events[n.event].kind == COMES) r->late++;
    while (rs_paper_tick(r->paper, r->now)) continue;
    if (r->events[n.event].kind == COMES) replay_comes(r, n.event);
    else replay_goes(r, n.event);
}

/* ---- a line ------------------------------------------------------------------------------------------------------ */

static struct policy_text replay_url(struct replay *r, const struct policy_log_line *l) {
    struct policy_url u = policy_url_parse(l->target);
    size_t room;

    if (!u.scheme.p) {
        u = r->site;
        u.target = l->target;
        if (l->host.p) {
            struct policy_url named = policy_url_parse(l->host);

            if (!named.target.p) u.host = named.host, u.port = named.port;
        }
    }
    room = policy_url_room(&u);
    if (room > r->url_room) return (struct policy_text){ NULL, 0 }; /* no line is so long */
    return policy_url_text(&u, r->url, r->url_room);
}

static uint32_t replay_classify(struct replay *r, const struct policy_log_line *l) {
    const policy_t *p = r->policy;
    struct policy_request q = { .src_port = l->port, .user_agent = l->agent, .cookie = l->cookie };
    struct policy_answer a;
    struct rule_count *rule;

    if (l->has_address) {
        q.src_addr = l->address;
        q.src_addr_len = l->address_len;
    }
    if (policy_uses(p, POLICY_URL) && l->target.p) q.url = replay_url(r, l);
    if (policy_uses(p, POLICY_PROT_TYPE)) q.prot_type = r->site.scheme;
    if (policy_uses(p, POLICY_DST_DN)) q.dst_dn = l->host.p ? policy_url_parse(l->host).host : r->site.host;
    if (r->bots && policy_uses(p, POLICY_CRAWLER)) q.crawler = policy_bots_of(r->bots, &q);
    a = policy_match_request(p, &q);
    rule = r->rules + (a.rule == POLICY_NONE ? policy_rule_count(p) : a.rule);
    rule->requests++;
    rule->bytes += l->bytes;
    return a.position == POLICY_NONE ? r->otherwise : a.position;
}

static const uint64_t replay_hash_key[2] = { UINT64_C(0x6661697267617465), UINT64_C(0x7265706c6179) };

/* Whose part of its class it is of. */
static uint64_t replay_key(const struct replay *r, const struct policy_log_line *l, uint32_t class) {
    const struct policy_within *w = class < policy_class_count(r->policy) ? &r->policy->classes[class].within : NULL;
    unsigned char prefix[16];
    struct base_hash h;

    if (!w || !w->levels || !l->has_address) return 0;
    base_hash_begin(&h, replay_hash_key);
    base_hash_add(&h, prefix, policy_within_prefix(w, l->address, l->address_len, prefix));
    return base_hash_end(h);
}

static uint32_t replay_client_of(struct replay *r, const struct policy_log_line *l) {
    struct base_hash h;
    uint64_t tag;
    struct replay_client *c;

    base_hash_begin(&h, replay_hash_key);
    base_hash_add(&h, l->address_text.p, l->address_text.n);
    base_hash_add(&h, "", 1);
    base_hash_add(&h, l->agent.p ? l->agent.p : "", l->agent.n);
    base_hash_add(&h, &l->port, sizeof l->port);
    tag = base_hash_end(h) | 1;
    c = r->clients + tag % CLIENTS;
    if (c->tag != tag && !c->live) *c = (struct replay_client){ .tag = tag };
    return (uint32_t)(tag % CLIENTS);
}

/* When it came, of those microseconds that are 0 when the log begins. */
static rs_time_t replay_place(struct replay *r, const struct policy_log_line *l, struct replay_client *c,
                              uint64_t took) {
    int64_t us = l->time_us - (l->time_is_end ? (int64_t)took : 0);
    rs_time_t at;

    if (!r->began) {
        r->began = true;
        r->origin = us - 3600 * (int64_t)SECOND;
        r->first_us = l->time_us;
    }
    if (l->time_us > r->last_us) r->last_us = l->time_us;
    at = us > r->origin ? (rs_time_t)(us - r->origin) : 0;
    if (l->fine > 1) {
        if (c->placed >= at && c->placed < at + l->fine) at = c->placed;
        else at += (r->lines * UINT64_C(0x9e3779b97f4a7c15) >> 32) * l->fine >> 32; /* by the golden section */
    }
    c->placed = at + took;
    return at;
}

static const char *replay_line(struct replay *r, char *line, size_t n) {
    struct policy_log_line l;
    const char *bad = policy_log_read(&r->format, &r->memory, line, n, &l);
    struct replay_event e = { .kind = COMES };
    struct replay_client *c;
    uint32_t event;
    rs_time_t at;

    if (bad) return bad;
    r->lines++;
    *(l.has_took ? &r->timed : &r->untimed) += 1;
    e.bytes = l.bytes;
    e.took_us =
        l.has_took || l.took_us ? l.took_us : 1000 + (uint64_t)((unsigned __int128)l.bytes * SECOND / r->o.rate);
    if (!e.took_us) e.took_us = 1;
    e.class = replay_classify(r, &l);
    e.key = replay_key(r, &l, e.class);
    e.client = replay_client_of(r, &l);
    c = r->clients + e.client;
    at = replay_place(r, &l, c, e.took_us);
    if (!c->first) c->first = c->last = at;
    while (!r->nunused) replay_one(r);
    event = r->unused[--r->nunused];
    r->events[event] = e;
    replay_push(r, at, event);
    return NULL;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static void replay_tell_bad(struct replay *r, uint64_t number, const char *why, const char *line, size_t n) {
    if (r->bad++ >= NAMED) return;
    fprintf(stderr, "%s:%" PRIu64 ": %s: \"%s\"\n", r->log_name, number, why, base_quote(line, n).s);
}

/* Lines out of what was read; the rest of a line that is too long is skipped. */
static int replay_file(struct replay *r) {
    enum { ROOM = 1 << 20 };
    bool is_stdin = !strcmp(r->log_name, "-");
    gzFile f = is_stdin ? gzdopen(0, "rb") : gzopen(r->log_name, "rb");
    char *room = malloc(ROOM), head[80];
    size_t have = 0;
    uint64_t number = 0;
    bool skipping = false;
    int got = 0, status = BASE_RIGHT;

    if (!f || !room) {
        fprintf(stderr, "%s: %s\n", r->log_name, f ? "out of memory" : strerror(errno));
        if (f) gzclose(f);
        free(room);
        return BASE_WRONG;
    }
    gzbuffer(f, 1u << 18);
    do {
        char *at = room, *end;

        got = gzread(f, room + have, (unsigned)(ROOM - 1 - have));
        if (got > 0) have += (size_t)got;
        else if (have) room[have++] = '\n'; /* the last line may have no end */
        while ((end = memchr(at, '\n', have - (size_t)(at - room))) != NULL) {
            size_t n = (size_t)(end - at), shown = n < sizeof head ? n : sizeof head;
            const char *bad;

            number++;
            if (n && at[n - 1] == '\r') n--;
            memcpy(head, at, shown);
            bad = skipping || n > LONGEST ? "is too long" : !n ? "is empty" : replay_line(r, at, n);
            if (bad) replay_tell_bad(r, number, bad, head, shown);
            skipping = false;
            at = end + 1;
        }
        have -= (size_t)(at - room);
        memmove(room, at, have);
        if (have > LONGEST) {
            skipping = true;
            have = 0;
        }
    } while (got > 0);
    if (got < 0) {
        fprintf(stderr, "%s: %s\n", r->log_name, gzerror(f, &got));
        status = BASE_WRONG;
    }
    gzclose(f);
    free(room);
    while (r->count) replay_one(r);
    return status;
}

/* ---- what it says ------------------------------------------------------------------------------------------------ */

static int replay_more_bytes(const void *a, const void *b) {
    const struct rule_count *x = a, *y = b;

    if (x->requests != y->requests) return x->requests < y->requests ? 1 : -1;
    return (x->rule > y->rule) - (x->rule < y->rule);
}

static double replay_seconds(const struct replay *r) { return (double)(r->last_us - r->first_us) / SECOND; }

static void replay_rule_text(const struct replay *r, uint32_t rule, char *text, size_t room) {
    if (rule == policy_rule_count(r->policy)) snprintf(text, room, "no rule: the default");
    else policy_rule_text(r->policy, rule, text, room);
}

static const char *replay_rule_class(const struct replay *r, uint32_t rule) {
    uint32_t class = rule < policy_rule_count(r->policy) ? r->policy->rules[rule].class : r->otherwise;
    return class < r->look.all.classes ? r->look.classes[class].on_paper.settings.name : POLICY_OTHER;
}

/* Waits are simulated from the times that responses took: all but one in a hundred are known. */
static bool replay_is_timed(const struct replay *r) { return r->untimed <= r->lines / 100; }

/* What needs no times. */
static void replay_untimed_json(struct base_json *j, const struct replay *r) {
    base_json_text(j, "needs", "LogFormat " POLICY_LOG_TIMED);
    base_json_array(j, "classes");
    for (uint32_t i = 0; i < r->look.all.classes; i++) {
        const struct rs_paper_class *c = r->look.classes + i;
        struct rs_paper_share s = rs_paper_share_of(&r->look, c);

        base_json_object(j, NULL);
        base_json_text(j, "name", c->on_paper.settings.name);
        base_json_whole(j, "weight", c->on_paper.settings.weight);
        base_json_whole(j, "requests", c->came);
        base_json_whole(j, "bytes", c->real_bytes);
        base_json_number(j, "share_due", s.due);
        base_json_number(j, "share_was", s.was_bytes);
        base_json_end_object(j);
    }
    base_json_end_array(j);
}

static void replay_json(const struct replay *r) {
    struct base_json j = base_json_into(base_to_file(stdout));
    char text[256];

    base_json_object(&j, NULL);
    base_json_text(&j, "policy", r->policy_name);
    base_json_text(&j, "log", r->log_name);
    base_json_whole(&j, "requests", r->lines);
    base_json_whole(&j, "bad_lines", r->bad);
    base_json_whole(&j, "late", r->late);
    base_json_whole(&j, "timed", r->timed);
    base_json_number(&j, "seconds", replay_seconds(r));
    if (replay_is_timed(r)) rs_figures_paper_json(&j, &r->look);
    else replay_untimed_json(&j, r);
    base_json_array(&j, "rules");
    for (uint32_t i = 0; i <= policy_rule_count(r->policy) && r->rules[i].requests; i++) {
        replay_rule_text(r, r->rules[i].rule, text, sizeof text);
        base_json_object(&j, NULL);
        base_json_text(&j, "rule", text);
        base_json_text(&j, "class", replay_rule_class(r, r->rules[i].rule));
        base_json_whole(&j, "requests", r->rules[i].requests);
        base_json_whole(&j, "bytes", r->rules[i].bytes);
        base_json_end_object(&j);
    }
    base_json_end_array(&j);
    base_json_end_object(&j);
    base_json_done(&j);
}

/* As a line of httpd's configuration has it. */
static void replay_needs(void) {
    puts("\nWaits, refusals and new shares are not shown: they need the time that each response took. Log it (%D):");
    fputs("    LogFormat \"", stdout);
    for (const char *p = POLICY_LOG_TIMED; *p; p++) printf(*p == '"' ? "\\%c" : "%c", *p);
    printf("\" fairgate\n    CustomLog logs/fairgate.log fairgate\nThen replay that log with\n    --format '%s'\n",
           POLICY_LOG_TIMED);
}

static void replay_classes(const struct replay *r) {
    bool timed = replay_is_timed(r);

    printf("\n\n%-24s %10s %14s %6s %6s", "class", "requests", "bytes", "due %", "was %");
    if (timed) printf(" %6s %10s %10s %10s %9s %9s", "would %", "wait ms", "95 % ms", "most ms", "refused", "too long");
    putchar('\n');
    for (uint32_t i = 0; i < r->look.all.classes; i++) {
        const struct rs_paper_class *c = r->look.classes + i;
        struct rs_paper_share s = rs_paper_share_of(&r->look, c);

        printf("%-24s %10" PRIu64 " %14" PRIu64 " %6.1f %6.1f", c->on_paper.settings.name, c->came, c->real_bytes,
               100 * s.due, 100 * s.was_bytes);
        if (timed)
            printf(" %7.1f %10.1f %10.1f %10.1f %9" PRIu64 " %9" PRIu64, 100 * s.would_bytes, rs_paper_mean_ms(c),
                   (double)rs_paper_quantile(c, 950) / 1000, (double)c->on_paper.wait_max / 1000, rs_paper_refused(c),
                   c->too_long);
        putchar('\n');
    }
}

static void replay_text(const struct replay *r) {
    char text[256];

    printf("%s: %" PRIu64 " requests in %.0f s", r->log_name, r->lines, replay_seconds(r));
    if (replay_is_timed(r))
        printf(", at most %u at one time, window %u", r->look.all.at_server_max, r->look.all.window);
    if (r->bad) printf("; %" PRIu64 " lines are not of the format", r->bad);
    if (r->untimed) printf("; %" PRIu64 " do not say how long they took", r->untimed);
    if (r->late) printf("; %" PRIu64 " came too late for their place", r->late);
    if (r->look.all.no_row) printf("; %" PRIu64 " were left out, for want of room", r->look.all.no_row);
    replay_classes(r);
    printf("\n%10s %14s  %s\n", "requests", "bytes", "by rule");
    for (uint32_t i = 0; i <= policy_rule_count(r->policy) && i < TOP && r->rules[i].requests; i++) {
        replay_rule_text(r, r->rules[i].rule, text, sizeof text);
        printf("%10" PRIu64 " %14" PRIu64 "  %s: %s\n", r->rules[i].requests, r->rules[i].bytes,
               replay_rule_class(r, r->rules[i].rule), text);
    }
    if (!replay_is_timed(r)) replay_needs();
}

/* ---- setting up -------------------------------------------------------------------------------------------------- */

static int replay_make_paper(struct replay *r, char **error) {
    struct policy_engine_host host = { (uint32_t)r->o.wait, true, true, true, POLICY_USUAL_DELAY };
    uint32_t n = policy_class_count(r->policy), lightest = 0;
    struct rs_class_settings *classes = calloc(n + 1, sizeof *classes);
    struct rs_paper_shape shape = { .classes = classes, .charge = (enum rs_paper_charge)r->o.charge };
    struct policy_engine_class c;
    const char *why = "out of memory";

    r->wait_s = calloc(n + 1, sizeof *r->wait_s);
    if (!classes || !r->wait_s) {
        free(classes);
        return base_fail(error, "out of memory");
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct policy_class *from = policy_class_at(r->policy, i);

        if (!i || from->quantum < lightest) lightest = from->quantum;
        policy_engine_class(from, &host, &c);
        classes[i] = c.settings;
        r->wait_s[i] = c.wait_s;
    }
    r->nclasses = n;
    r->otherwise = policy_engine_default(r->policy);
    if (r->otherwise == POLICY_NONE) {
        policy_engine_other(lightest, &host, &c);
        r->otherwise = n;
        classes[n] = c.settings;
        r->wait_s[r->nclasses++] = c.wait_s;
    }
    rs_settings_default(&shape.settings);
    shape.settings.window = (uint32_t)r->o.window;
    shape.settings.queue_max = (uint32_t)r->o.queue;
    shape.nclasses = r->nclasses;
    shape.capacity.classes = r->nclasses;
    shape.capacity.tickets = (uint32_t)(r->o.queue + r->o.window + KEPT);
    shape.capacity.outlets = 1;
    shape.capacity.keys = rs_keys_for(shape.capacity.tickets);
    r->block = aligned_alloc(64, (rs_paper_size(&shape.capacity) + 63) / 64 * 64);
    if (r->block) r->paper = rs_paper_make(r->block, rs_paper_size(&shape.capacity), &shape, 0, &why);
    free(classes);
    if (!r->paper) return base_fail(error, "%s", why);
    if (r->o.charge == RS_PAPER_BOTH) {
        uint64_t price = (uint64_t)(((unsigned __int128)r->o.window * SECOND << 20) / r->o.rate);
        rs_paper_price(r->paper, price < 1u << 20 ? (uint32_t)price : 1u << 20);
    }
    return 0;
}

static int replay_set_up(struct replay *r, char **error) {
    const char *format = !strcmp(r->o.format, "combined") ? POLICY_LOG_COMBINED
                         : !strcmp(r->o.format, "common") ? POLICY_LOG_COMMON
                                                          : r->o.format;

    if (policy_log_format(&r->format, format, error)) return -1;
    r->site = policy_url_parse(
        (struct policy_text){ r->o.site ? r->o.site : "http://localhost", r->o.site ? strlen(r->o.site) : 16 });
    if (!r->site.scheme.p)
        return base_fail(error, "--site %s: write scheme and host, as https://www.example.org", r->o.site);
    r->policy = policy_load(r->policy_name, error);
    if (!r->policy || replay_make_paper(r, error)) return -1;
    if (r->o.bots && !(r->bots = policy_bots_load(r->o.bots, error))) return -1;
    r->url_room = POLICY_URL_ROOM(2 * LONGEST) + 1024;
    r->rules = calloc((size_t)policy_rule_count(r->policy) + 1, sizeof *r->rules);
    r->clients = calloc(CLIENTS, sizeof *r->clients);
    r->events = calloc(KEPT, sizeof *r->events);
    r->unused = calloc(KEPT, sizeof *r->unused);
    r->heap = calloc(KEPT + 1, sizeof *r->heap);
    r->url = malloc(r->url_room);
    r->look.classes = calloc(r->nclasses, sizeof *r->look.classes);
    if (!r->rules || !r->clients || !r->events || !r->unused || !r->heap || !r->url || !r->look.classes)
        return base_fail(error, "out of memory");
    for (uint32_t i = 0; i <= policy_rule_count(r->policy); i++) r->rules[i].rule = i;
    for (uint32_t i = 0; i < KEPT; i++) r->unused[r->nunused++] = i;
    return 0;
}

static int replay_run(struct replay *r) {
    int status = replay_file(r);

    if (status == BASE_RIGHT && !r->lines) {
        fprintf(stderr,
                r->bad ? "%s: no line is of the format; say it with --format 'LogFormat string'\n"
                       : "%s: there is no line in it\n",
                r->log_name);
        status = BASE_WRONG;
    }
    if (status) return status;
    rs_paper_take(r->paper, &r->look, r->nclasses);
    qsort(r->rules, policy_rule_count(r->policy) + 1u, sizeof *r->rules, replay_more_bytes);
    if (r->o.json) replay_json(r);
    else replay_text(r);
    return BASE_RIGHT;
}

int command_replay(int argc, char **argv) {
    struct replay *r = calloc(1, sizeof *r);
    char *error = NULL;
    int words, status;

    if (!r) return base_failed(NULL);
    words = base_settings_options(&replay_table, &r->o, argc, argv, &error);
    if (words < 0) {
        status = base_misused("replay: %s", error ? error : "out of memory");
    } else if (words != 3) {
        status = base_misused("replay needs a policy and a log; write fairgate-policy replay POLICY ACCESS-LOG");
    } else {
        r->policy_name = argv[1];
        r->log_name = argv[2];
        if (!replay_set_up(r, &error)) status = replay_run(r);
        else {
            fprintf(stderr, "%s\n", error ? error : "out of memory");
            status = BASE_WRONG;
        }
    }
    free(error);
    policy_free(&r->policy);
    crawlers_known_free(&r->bots);
    free(r->block);
    free(r->wait_s);
    free(r->rules);
    free(r->clients);
    free(r->events);
    free(r->unused);
    free(r->heap);
    free(r->url);
    free(r->look.classes);
    base_settings_free(&replay_table, &r->o);
    free(r);
    return status;
}

void command_replay_help(FILE *out) {
    fputs("\nOf replay:\n", out);
    base_settings_help(&replay_table, out);
}
