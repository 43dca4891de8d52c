/* SPDX-License-Identifier: BSD-2-Clause */
#include "walk.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "walk_impl.h"

#define PAUSE_FIRST   5.0 /* seconds after the first 429, 503 or lost connection; twice as long each time after */
#define PAUSE_MOST    300.0
#define FAILURES_MOST 8u /* in a row, and the origin is given up */
#define TRIES         3u
#define ROBOTS_TRIES  3u

double walk_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

const char *walk_origin(const struct walk *w, uint16_t origin) {
    return origin < w->scope->n ? w->scope->origin[origin].name : w->others[origin - w->scope->n];
}

bool walk_is_over(struct walk *w) {
    if (!w->over) w->over = *w->stop || walk_clock() >= w->until;
    return w->over;
}

/* ---- what may be asked for --------------------------------------------------------------------------------------- */

static int is_listed(const struct base_list *list, const char *target) {
    for (unsigned i = 0; i < list->n; i++)
        if (robots_pattern_matches(list->item[i], strlen(list->item[i]), target, strlen(target))) return 1;
    return 0;
}

/* Patterns in the spelling of what they are compared with. */
static int spell_patterns(struct walk *w) {
    const struct base_list *from[] = { &w->s->include, &w->s->exclude };
    struct base_list *to[] = { &w->include, &w->exclude };
    size_t room = 0;
    char *at;

    for (int k = 0; k < 2; k++)
        for (unsigned i = 0; i < from[k]->n; i++) room += PAGES_URL_ROOM(strlen(from[k]->item[i]));
    at = w->patterns = malloc(room + 1);
    if (!at) return -1;
    for (int k = 0; k < 2; k++)
        for (unsigned i = 0; i < from[k]->n; i++) {
            size_t n = strlen(from[k]->item[i]);
            to[k]->item[to[k]->n++] = at;
            at += pages_url_spell(from[k]->item[i], n, at, PAGES_URL_ROOM(n)) + 1;
        }
    return 0;
}

static const char MAX_PAGES[] = "more URLs than --max-pages";

static int walk_on_over(void *context) { return walk_is_over(context); }

static int robots_let(struct walk *w, uint16_t origin, const char *target) {
    return w->s->ignore_robots || robots_allow(w->manners[origin].robots, target, walk_on_over, w);
}

static const char *refusal(struct walk *w, const struct scope_place *p, unsigned depth) {
    if (depth > w->s->max_depth) return "deeper than --max-depth";
    if (p->length > w->s->max_length) return "longer than --max-length";
    if (w->in_scope >= w->s->max_pages) return MAX_PAGES;
    /* Where the walk begins is not for the patterns to say. */
    if (depth && w->include.n && !is_listed(&w->include, p->target)) return "not among --include";
    if (is_listed(&w->exclude, p->target)) return "by --exclude";
    if (!robots_let(w, p->origin, p->target)) return "by robots.txt";
    return traps_refuse(w->traps, walk_origin(w, p->origin), p->target, p->length);
}

void walk_found(struct walk *w, struct scope_place *place, unsigned depth, int document, const char *from) {
    char text[PAGES_ORIGIN_MAX + PAGES_TARGET_MAX + 1];
    const char *why;
    struct url *u;
    uint32_t i;
    int fresh;

    place->length = (uint16_t)traps_drop_session(place->target, place->length);
    i = urls_find(w->urls, place->origin, place->target, place->length);
    if (i != URLS_NONE) {
        u = urls_at(w->urls, i);
        if (document && u->state == URL_UNASKED) u->flags |= PAGES_DOCUMENT;
        if (depth < u->depth) u->depth = (uint16_t)depth;
        return;
    }
    why = refusal(w, place, depth);
    if (w->over) return; /* perhaps not all of it was looked at: whoever led here is read again */
    if (why) {
        int n = snprintf(text, sizeof text, "%s%s", walk_origin(w, place->origin), place->target);
        if (why == MAX_PAGES) {
            w->bounded = 1;
            w->rules[place->origin] = 0; /* with more room it would be followed */
        }
        report_refused(w->report, text, n, why, from);
        return;
    }
    i = urls_add(w->urls, place->origin, place->target, place->length, &fresh);
    if (i == URLS_NONE) {
        w->out_of_memory = 1;
        return;
    }
    w->in_scope++;
    u = urls_at(w->urls, i);
    u->depth = (uint16_t)depth;
    if (document) u->flags |= PAGES_DOCUMENT;
}

/* ---- manners ----------------------------------------------------------------------------------------------------- */

int walk_later(struct walk *w, uint32_t url, double seconds, int counts) {
    struct url *u = urls_at(w->urls, url);

    if (counts && ++u->tries >= TRIES) return 0;
    if (w->nagain == w->again_room) {
        uint32_t room = w->again_room * 2 + 64;
        struct again *again = realloc(w->again, room * sizeof *again);
        if (!again) return 0;
        w->again = again;
        w->again_room = room;
    }
    w->again[w->nagain++] = (struct again){ url, walk_clock() + seconds };
    return 1;
}

void walk_answered(struct walk *w, uint16_t origin) {
    w->manners[origin].failures = 0;
    w->manners[origin].backoff = PAUSE_FIRST;
}

void walk_pause(struct walk *w, uint16_t origin, uint32_t retry_after, const char *why) {
    struct manners *m = &w->manners[origin];
    double now = walk_clock(), seconds = retry_after ? fmin(retry_after, PAUSE_MOST) : m->backoff;
    /* RFC 9309, 2.3.1.4: without an answer about robots.txt no page may be requested. */
    bool robots = m->state == ROBOTS_UNKNOWN;

    /* others of the same moment said so already */
    if (m->state == ORIGIN_LOST || now + seconds <= m->paused + 0.5) return;
    if (++m->failures >= (robots ? ROBOTS_TRIES : FAILURES_MOST + 1)) {
        m->state = ORIGIN_LOST;
        w->bounded = 1;
        report_line(w->report, BASE_LOG_WARNING, "%s: %s: %s, %u times in a row", walk_origin(w, origin),
                    robots ? "its robots.txt could not be read, so no page is requested"
                           : "no page is requested any more",
                    why, m->failures);
        return;
    }
    m->paused = now + seconds;
    m->backoff = fmin(m->backoff * 2, PAUSE_MOST);
    report_line(w->report, BASE_LOG_NOTICE, "%s: %s; no request for %.0f s", walk_origin(w, origin), why, seconds);
}

static void begin_manners(struct walk *w) {
    for (uint16_t i = 0; i < w->scope->n; i++) {
        w->manners[i].interval = w->s->rate ? 1.0 / w->s->rate : 0;
        w->manners[i].backoff = PAUSE_FIRST;
        w->manners[i].state = w->s->ignore_robots ? ROBOTS_READY : ROBOTS_UNKNOWN;
    }
}

double walk_may_ask(const struct walk *w, uint16_t origin, double now) {
    const struct manners *m = &w->manners[origin];
    return fmax(0, fmax(m->next, m->paused) - now);
}

static void walk_asked(struct walk *w, uint16_t origin, double now) {
    struct manners *m = &w->manners[origin];
    /* Ten milliseconds that the loop was late may be made good, no more. */
    if (m->interval > 0) m->next = fmax(m->next, now - 0.01) + m->interval;
}

/* ---- what is next ------------------------------------------------------------------------------------------------ */

static int to_be_asked(struct walk *w, uint32_t i) {
    const struct url *u = urls_at(w->urls, i);
    return u->state == URL_UNASKED && u->origin < w->scope->n && w->manners[u->origin].state != ORIGIN_LOST;
}

/* A URL whose time has come, taken out of its line; else URLS_NONE and *wait, or WALK_IDLE if there is none at all. */
static uint32_t take_next(struct walk *w, double now, double *wait) {
    double least = WALK_IDLE, seconds;

    for (uint32_t k = 0; k < w->nagain; k++) {
        uint32_t i = w->again[k].url;
        if (!to_be_asked(w, i)) {
            w->again[k--] = w->again[--w->nagain];
            continue;
        }
        seconds = fmax(w->again[k].when - now, walk_may_ask(w, urls_at(w->urls, i)->origin, now));
        if (seconds <= 0) {
            w->again[k] = w->again[--w->nagain];
            return i;
        }
        if (least == WALK_IDLE || seconds < least) least = seconds;
    }
    while (w->next < urls_count(w->urls) && !to_be_asked(w, w->next)) w->next++;
    if (w->next < urls_count(w->urls)) {
        seconds = walk_may_ask(w, urls_at(w->urls, w->next)->origin, now);
        if (seconds <= 0) return w->next++;
        if (least == WALK_IDLE || seconds < least) least = seconds;
    }
    if (least != WALK_IDLE && (*wait == WALK_IDLE || least < *wait)) *wait = least;
    return URLS_NONE;
}

static int wait_ms(double seconds) { return seconds == WALK_IDLE || seconds > 0.25 ? 250 : (int)(seconds * 1000) + 1; }

static void walk_show(struct walk *w) {
    struct report_progress p = { fetch_requests(w->fetch), fetch_bytes(w->fetch), w->next - w->nagain,
                                 urls_count(w->urls) };
    report_progress(w->report, &p);
}

/* ---- robots.txt and sitemaps ------------------------------------------------------------------------------------- */

static void ask_robots(struct walk *w, double now, double *wait) {
    for (uint16_t i = 0; i < w->scope->n; i++) {
        struct manners *m = &w->manners[i];
        double seconds = walk_may_ask(w, i, now);

        if (m->state != ROBOTS_UNKNOWN) continue;
        if (seconds > 0) {
            if (*wait == WALK_IDLE || seconds < *wait) *wait = seconds;
        } else if (visit_is_free(w)) {
            visit_start_robots(w, i, "/robots.txt");
            m->state = ROBOTS_ASKED;
            m->redirects = 0;
            walk_asked(w, i, now);
        }
    }
}

static int all_robots_known(const struct walk *w) {
    for (uint16_t i = 0; i < w->scope->n; i++)
        if (w->manners[i].state < ROBOTS_READY) return 0;
    return 1;
}

static void walk_add_sitemap(struct walk *w, const char *url, uint16_t origin) {
    struct scope_place base = { .origin = origin, .length = 1, .target = "/" }, place;
    enum scope_answer a = scope_resolve(w->scope, &base, url, strlen(url), &place);

    if (a == SCOPE_IN) walk_found(w, &place, 0, 1, "the list of sitemaps");
    else report_refused(w->report, url, (int)strlen(url), scope_reason(a), "the list of sitemaps");
}

static void add_sitemaps(struct walk *w) {
    const char *url;

    for (uint16_t o = 0; o < w->scope->n; o++) {
        double delay = robots_delay(w->manners[o].robots);
        if (w->s->ignore_robots) continue;
        if (delay > w->manners[o].interval) {
            w->manners[o].interval = delay;
            report_line(w->report, BASE_LOG_INFO, "%s: robots.txt asks for %.1f s between requests", walk_origin(w, o),
                        delay);
        }
        for (size_t i = 0; (url = robots_sitemap(w->manners[o].robots, i)) != NULL && i < 1000 && !walk_is_over(w); i++)
            walk_add_sitemap(w, url, o);
    }
    for (unsigned i = 0; i < w->s->sitemap.n; i++) walk_add_sitemap(w, w->s->sitemap.item[i], 0);
}

static uint64_t walk_fold(uint64_t h, const void *data, size_t n) {
    const unsigned char *p = data;
    while (n--) h = (h ^ *p++) * UINT64_C(0x100000001b3);
    return (h ^ 0xff) * UINT64_C(0x100000001b3);
}

/* What decides which links are followed, in one number. */
static uint64_t walk_rules_of(const struct walk *w, uint16_t origin) {
    const struct settings *s = w->s;
    const struct manners *m = &w->manners[origin];
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    const uint32_t bounds[] = { s->max_depth,   s->max_length, s->max_segments,           s->max_repeats,
                                s->max_pattern, s->max_bytes,  (uint32_t)s->ignore_robots };

    h = walk_fold(h, bounds, sizeof bounds);
    if (m->robots) h = walk_fold(h, m->text, m->length);
    for (unsigned i = 0; i < w->include.n; i++) h = walk_fold(h, w->include.item[i], strlen(w->include.item[i]));
    h = walk_fold(h, "", 0);
    for (unsigned i = 0; i < w->exclude.n; i++) h = walk_fold(h, w->exclude.item[i], strlen(w->exclude.item[i]));
    for (uint16_t i = 0; i < w->scope->n; i++)
        h = walk_fold(h, w->scope->origin[i].name, strlen(w->scope->origin[i].name));
    return h ? h : 1;
}

/*
 * What an earlier walk knew: what this one may not ask for stays as it is; of a checkpoint, documents whose links were
 * followed by other rules are read anew.
 */
static void take_over(struct walk *w) {
    for (uint32_t i = 0; i < urls_count(w->urls) && !walk_is_over(w); i++) {
        struct url *u = urls_at(w->urls, i);
        const char *target = urls_target(w->urls, i);

        if (u->origin >= w->scope->n) continue;
        traps_refuse(w->traps, walk_origin(w, u->origin), target, u->length); /* counts it */
        if (u->state == URL_KNOWN && u->flags & PAGES_DOCUMENT && !walk_same_rules(w, u->origin))
            u->state = URL_UNASKED;
        if (u->state != URL_UNASKED) continue;
        if (robots_let(w, u->origin, target) && !is_listed(&w->exclude, target) &&
            (!w->include.n || !u->depth || is_listed(&w->include, target)))
            continue;
        if (w->over) return;
        u->state = u->samples ? URL_KNOWN : URL_NOTHING;
    }
}

/* Everything that the manners depend on is known. */
static void begin_asking(struct walk *w, const struct scope_place *start, unsigned n) {
    for (uint16_t i = 0; i < w->scope->n; i++) {
        w->rules[i] = walk_rules_of(w, i);
        if (w->rules_before[i] && w->rules_before[i] != w->rules[i])
            report_line(w->report, BASE_LOG_INFO,
                        "%s: robots.txt, patterns or bounds are not those of the last walk: documents are read anew",
                        walk_origin(w, i));
    }
    take_over(w);
    /* what was not looked at belongs to the rules of before: the next walk must see that they are others */
    if (walk_is_over(w)) {
        memcpy(w->rules, w->rules_before, w->scope->n * sizeof *w->rules);
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        struct scope_place place = start[i];
        walk_found(w, &place, 0, 1, "the command line");
    }
    add_sitemaps(w);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

struct checkpoints {
    char *path;
    double next, cost;
};

/* Not so often that writing it down takes more than a twentieth of the time. */
static void checkpoint(struct walk *w, struct checkpoints *c, double now) {
    if (!c->path || now < c->next) return;
    walk_save(w, c->path, 1);
    c->cost = walk_clock() - now;
    c->next = walk_clock() + fmax(w->s->checkpoint, 20 * c->cost);
}

static enum walk_end walk_loop(struct walk *w, const struct scope_place *start, unsigned n, struct checkpoints *c) {
    double now = walk_clock(), wait;
    int ready = 0, origin;
    uint32_t i;

    w->until = w->s->max_time ? now + w->s->max_time : INFINITY;
    c->next = now + w->s->checkpoint;
    for (;;) {
        now = walk_clock();
        w->now = time(NULL);
        if (*w->stop) return WALK_INTERRUPTED;
        if (w->out_of_memory) {
            report_line(w->report, BASE_LOG_ERROR, "out of memory at %" PRIu32 " URLs", urls_count(w->urls));
            return WALK_FAILED;
        }
        if (now >= w->until) {
            report_line(w->report, BASE_LOG_NOTICE, "ended by --max-time");
            return WALK_BOUNDED;
        }
        wait = WALK_IDLE;
        if (!ready && (ready = all_robots_known(w))) begin_asking(w, start, n);
        if (!ready) {
            ask_robots(w, now, &wait);
            if (all_robots_known(w)) continue;
        } else {
            while ((origin = visit_go_on(w, now, &wait)) >= 0) walk_asked(w, (uint16_t)origin, now);
            while (visit_is_free(w) && (i = take_next(w, now, &wait)) != URLS_NONE) {
                visit_start(w, i);
                walk_asked(w, urls_at(w->urls, i)->origin, now);
            }
            if (!visits_running(w) && wait == WALK_IDLE) return w->bounded ? WALK_BOUNDED : WALK_DONE;
        }
        fetch_run(w->fetch, wait_ms(wait));
        walk_show(w);
        if (ready) checkpoint(w, c, now);
    }
}

static int walk_begin(struct walk *w, struct checkpoints *c) {
    struct traps_bounds bounds = { w->s->max_segments, w->s->max_repeats, w->s->max_pattern };
    char *error = NULL;

    w->urls = urls_new();
    w->traps = traps_new(&bounds);
    w->visits = visits_new(w);
    w->others = calloc(WALK_ORIGINS - SCOPE_ORIGINS, sizeof *w->others);
    if (!w->urls || !w->traps || !w->visits || !w->others || spell_patterns(w)) {
        report_line(w->report, BASE_LOG_ERROR, "out of memory");
        return -1;
    }
    w->fetch = fetch_new(w->s, w->scope, &visit_calls, &error);
    if (!w->fetch) {
        report_line(w->report, BASE_LOG_ERROR, "%s", error ? error : "out of memory");
        free(error);
        return -1;
    }
    begin_manners(w);
    if (w->s->table && asprintf(&c->path, "%s.part", w->s->table) < 0) c->path = NULL;
    if (c->path && w->s->fresh) unlink(c->path);
    /* A table that can't be read is not overwritten by chance: who wants that says --fresh. */
    if (c->path && !w->s->fresh && !access(c->path, F_OK) && walk_load(w, c->path, 1))
        report_line(w->report, BASE_LOG_WARNING, "beginning anew");
    if (w->s->table && !w->s->fresh && !urls_count(w->urls) && !access(w->s->table, F_OK) &&
        walk_load(w, w->s->table, 0)) {
        report_line(w->report, BASE_LOG_ERROR, "%s can't be read: mend it, or begin anew with --fresh", w->s->table);
        return -1;
    }
    w->known_before = urls_count(w->urls);
    for (uint32_t i = 0; i < w->known_before; i++) w->in_scope += urls_at(w->urls, i)->origin < w->scope->n;
    return 0;
}

static void walk_finish(struct walk *w) {
    fetch_free(&w->fetch);
    if (w->visits) visits_free(w);
    for (uint16_t i = 0; i < w->scope->n; i++) {
        robots_free(&w->manners[i].robots);
        free(w->manners[i].text);
    }
    urls_free(&w->urls);
    traps_free(&w->traps);
    free(w->others);
    free(w->again);
    free(w->patterns);
}

/* Is there anything that the next walk could go on with? */
static int is_unfinished(struct walk *w) {
    for (uint32_t i = 0; i < urls_count(w->urls); i++)
        if (to_be_asked(w, i)) return 1;
    return 0;
}

static uint32_t count_known(struct walk *w) {
    uint32_t known = 0;
    for (uint32_t i = 0; i < urls_count(w->urls); i++) known += urls_at(w->urls, i)->samples > 0;
    return known;
}

enum walk_end walk(const struct settings *s, const struct scope *scope, const struct scope_place *start, unsigned n,
                   struct report *r, const volatile sig_atomic_t *stop) {
    struct walk *w = calloc(1, sizeof *w);
    struct checkpoints c = { NULL, 0, 0 };
    enum walk_end end = WALK_FAILED;
    double began = walk_clock();

    if (!w) return WALK_FAILED;
    w->s = s;
    w->scope = scope;
    w->report = r;
    w->stop = stop;
    w->now = time(NULL);
    if (!walk_begin(w, &c)) {
        end = walk_loop(w, start, n, &c);
        if (c.path && (end == WALK_INTERRUPTED || is_unfinished(w))) walk_save(w, c.path, 1);
        if (s->table && (end == WALK_DONE || end == WALK_BOUNDED)) {
            /* What was not asked for is in the checkpoint only: without that, the next walk has to find it again. */
            if (end == WALK_BOUNDED) memset(w->rules, 0, scope->n * sizeof *w->rules);
            if (walk_save(w, s->table, 0)) end = WALK_FAILED;
            else if (c.path && !is_unfinished(w)) unlink(c.path);
        }
        report_refusals(r);
        report_line(r,
                    end == WALK_DONE     ? BASE_LOG_INFO
                    : end == WALK_FAILED ? BASE_LOG_ERROR
                                         : BASE_LOG_NOTICE,
                    "%s: %" PRIu32 " URLs known, %" PRIu32 " met, %" PRIu32 " known before, %" PRIu64
                    " requests, %" PRIu64 " bytes, %.1f s",
                    end == WALK_DONE          ? "done"
                    : end == WALK_BOUNDED     ? "done, not whole"
                    : end == WALK_INTERRUPTED ? "interrupted"
                                              : "failed",
                    count_known(w), urls_count(w->urls), w->known_before, fetch_requests(w->fetch),
                    fetch_bytes(w->fetch), walk_clock() - began);
    }
    walk_finish(w);
    free(w);
    free(c.path);
    return end;
}
