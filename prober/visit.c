/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * visit.c - one URL: asked for until its size is known, with as few bytes as that takes.
 *
 *     ASK ──> a document by GET, anything else by HEAD, packed if the server likes
 *         ──> BODY     HEAD told no length, or was not understood, or what it told of is a document: GET
 *         ──> PLAIN    HEAD told the length of the packed answer: HEAD for the plain one
 *         ──> GZIP     it came packed with br: what do clients get that only take gzip?
 *         ──> AGAIN    its size may vary (no validator, or a cookie): --samples times, or until two in a row are equal
 *
 * A packed answer to GET tells the plain size too: what it unpacks to.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "visit_impl.h"

/* a body that holds no links and is no longer comes to its end: a connection is worth more */
#define SHORT_BODY  65536u
#define RETRY_AFTER 2.0 /* seconds after a server's error */

/* ---- asking ------------------------------------------------------------------------------------------------------ */

struct visit *visits_new(struct walk *w) {
    struct visit *all = calloc(w->s->connections, sizeof *all);
    for (uint32_t i = 0; all && i < w->s->connections; i++) all[i].w = w;
    return all;
}

void visits_free(struct walk *w) {
    for (uint32_t i = 0; i < w->s->connections; i++) visit_end_links(&w->visits[i], 0);
    free(w->visits);
    w->visits = NULL;
}

static int is_packed_sitemap(const char *target) {
    size_t n = strcspn(target, "?");
    return n > 7 && !strncasecmp(target + n - 7, ".xml.gz", 7);
}

/* By its name it is large and holds no links: worth a HEAD first, even if a link called it a page. */
static int named_like_a_file(const char *target) {
    static const char *const endings[] = {
        ".jpg",  ".jpeg",  ".png", ".gif",  ".webp", ".avif", ".svg",  ".ico",  ".pdf",  ".zip", ".gz",   ".xz",
        ".bz2",  ".zst",   ".7z",  ".rar",  ".tar",  ".tgz",  ".iso",  ".img",  ".deb",  ".rpm", ".exe",  ".msi",
        ".dmg",  ".apk",   ".mp3", ".mp4",  ".m4a",  ".m4v",  ".webm", ".ogg",  ".ogv",  ".wav", ".flac", ".avi",
        ".mov",  ".mkv",   ".doc", ".docx", ".xls",  ".xlsx", ".ppt",  ".pptx", ".odt",  ".ods", ".odp",  ".csv",
        ".woff", ".woff2", ".ttf", ".otf",  ".eot",  ".js",   ".mjs",  ".json", ".wasm", ".map", ".txt",  NULL
    };
    size_t n = strcspn(target, "?");

    for (const char *const *e = endings; *e; e++) {
        size_t k = strlen(*e);
        if (n > k && !strncasecmp(target + n - k, *e, k)) return !is_packed_sitemap(target);
    }
    return 0;
}

static struct visit *free_visit(const struct walk *w) {
    for (uint32_t i = 0; i < w->s->connections; i++)
        if (!w->visits[i].busy) return &w->visits[i];
    return NULL;
}

bool visit_is_free(const struct walk *w) { return free_visit(w) != NULL; }

int visits_running(const struct walk *w) {
    for (uint32_t i = 0; i < w->s->connections; i++)
        if (w->visits[i].busy) return 1;
    return 0;
}

void visit_fetch(struct visit *v, const char *target, const char *etag, uint32_t modified) {
    struct fetch_request r = { .origin = v->robots ? v->base.origin : v->origin,
                               .target = target,
                               .head = v->head,
                               .coding = v->coding,
                               .etag = etag,
                               .modified = modified,
                               .context = v };

    /* As many connections as visits: there is one. */
    if (fetch_start(v->w->fetch, &r)) abort();
}

/* The next request of this visit, when the manners allow it. */
static void ask_later(struct visit *v, enum step step) {
    v->step = step;
    v->waiting = 1;
}

static void visit_ask(struct visit *v, enum step step) {
    const struct url *u = urls_at(v->w->urls, v->url);

    v->step = step;
    v->waiting = 0;
    v->conditional = step == ASK && u->samples && (u->etag_length || u->modified) &&
                     (!(u->flags & PAGES_DOCUMENT) || walk_same_rules(v->w, u->origin));
    v->coding = step == PLAIN ? PAGES_IDENTITY : step == GZIP ? PAGES_GZIP : PAGES_BR;
    if (step == BODY || step == AGAIN) v->head = 0;
    v->base.origin = u->origin;
    v->base.length = u->length;
    memcpy(v->base.target, urls_target(v->w->urls, v->url), u->length + 1u);
    v->base_set = v->base_outside = 0;
    visit_fetch(v, v->base.target, v->conditional ? urls_etag(v->w->urls, v->url) : NULL,
                v->conditional ? u->modified : 0);
}

static void begin_visit(struct visit *v, uint16_t origin) {
    v->busy = 1;
    v->waiting = 0;
    v->origin = origin;
    v->robots = v->ended = 0;
    v->samples = v->packed_samples = v->times = 0;
    v->sum = v->squares = v->packed_sum = v->time_sum = 0;
    v->packed = PAGES_IDENTITY;
    v->unpacked = v->last = 0;
    for (int c = 0; c < PAGES_CODINGS; c++) v->size[c] = PAGES_UNKNOWN;
}

void visit_start(struct walk *w, uint32_t url) {
    struct visit *v = free_visit(w);
    const struct url *u = urls_at(w->urls, url);

    begin_visit(v, u->origin);
    v->url = url;
    v->head = !(u->flags & PAGES_DOCUMENT) || (!u->samples && named_like_a_file(urls_target(w->urls, url)));
    visit_ask(v, ASK);
}

int visit_go_on(struct walk *w, double now, double *wait) {
    for (uint32_t i = 0; i < w->s->connections; i++) {
        struct visit *v = &w->visits[i];
        double seconds;

        if (!v->busy || !v->waiting) continue;
        if (w->manners[v->origin].state == ORIGIN_LOST) {
            v->busy = 0;
            continue;
        }
        seconds = walk_may_ask(w, v->origin, now);
        if (seconds <= 0) {
            visit_ask(v, v->step);
            return v->origin;
        }
        if (*wait == WALK_IDLE || seconds < *wait) *wait = seconds;
    }
    return -1;
}

void visit_start_robots(struct walk *w, uint16_t origin, const char *target) {
    struct visit *v = free_visit(w);

    begin_visit(v, origin);
    v->robots = 1;
    v->head = 0;
    v->coding = PAGES_BR;
    v->base.origin = origin;
    v->base.length = (uint16_t)strlen(target);
    memmove(v->base.target, target, v->base.length + 1u);
    w->manners[origin].length = 0;
    visit_fetch(v, v->base.target, NULL, 0);
}

/* ---- what an answer tells ---------------------------------------------------------------------------------------- */

/* The visit is over.  state: URL_NOTHING also takes the size away that was known before. */
static void visit_conclude(struct visit *v, enum url_state state) {
    struct url *u = urls_at(v->w->urls, v->url);

    v->busy = 0;
    u->state = (uint8_t)state;
    if (state != URL_NOTHING) return;
    /* The first time: from now on its days are counted. */
    if (u->samples || !u->checked) u->checked = (uint32_t)v->w->now;
    else if (u->checked + WALK_NOTHING_S < v->w->now) u->checked = 0;
    u->samples = 0;
    for (int c = 0; c < PAGES_CODINGS; c++) u->body[c] = PAGES_UNKNOWN;
    u->time = 0;
    u->modified = 0;
    urls_set_etag(v->w->urls, v->url, "", 0);
}

/* It can't be asked now: later, or what was known before stays. */
static void put_off(struct visit *v, double seconds, int counts, const char *why) {
    v->busy = 0;
    if (walk_later(v->w, v->url, seconds, counts)) return;
    visit_refused(v, why);
    visit_conclude(v, urls_at(v->w->urls, v->url)->samples ? URL_KNOWN : URL_NOTHING);
}

static uint64_t rounded(double x) { return x < 0 ? 0 : (uint64_t)(x + 0.5); }

/* How long pages take changes with the server's other work: what earlier runs saw counts as much as this one. */
static uint32_t settled_time(const struct visit *v, uint32_t before) {
    uint64_t mean = v->times ? rounded(v->time_sum / v->times) : before;

    if (before) mean = (mean + before + 1) / 2;
    return mean < PAGES_TIME_MAX ? (uint32_t)mean : PAGES_TIME_MAX;
}

/*
 * The mean over what this run saw and, if it varies, what earlier ones did; the spread is the root of the mean square
 * about the new mean.
 */
static void visit_settle(struct visit *v) {
    struct url *u = urls_at(v->w->urls, v->url);
    double n = v->samples, mean = v->sum / n, square = v->squares / n, before = 0;
    int varies = v->samples > 1 && square - mean * mean > 0.25;

    if (u->samples && u->body[PAGES_IDENTITY] != PAGES_UNKNOWN && (v->samples > 1 || u->flags & PAGES_VARIES)) {
        double old = (double)u->body[PAGES_IDENTITY], spread = (double)u->spread;
        if (varies || u->flags & PAGES_VARIES) {
            before = fmin(u->samples, WALK_SAMPLES);
            mean = (n * mean + before * old) / (n + before);
            square = (n * square + before * (spread * spread + old * old)) / (n + before);
            varies = 1;
        }
    }
    for (int c = PAGES_GZIP; c < PAGES_CODINGS; c++) {
        double old = u->body[c] == PAGES_UNKNOWN ? (double)v->size[c] : (double)u->body[c];
        if (v->size[c] == PAGES_UNKNOWN || v->size[c] == v->size[PAGES_IDENTITY]) u->body[c] = PAGES_UNKNOWN;
        else u->body[c] = rounded((n * (double)v->size[c] + before * old) / (n + before));
    }
    u->time = settled_time(v, u->time);
    u->header = v->header;
    u->modified = v->modified;
    u->flags = (uint8_t)((u->flags & ~PAGES_COOKIE) | (v->cookie ? PAGES_COOKIE : 0));
    if (urls_set_etag(v->w->urls, v->url, v->etag, strlen(v->etag))) v->w->out_of_memory = 1;
    u = urls_at(v->w->urls, v->url);
    u->body[PAGES_IDENTITY] = rounded(mean);
    u->spread = varies ? rounded(sqrt(fmax(0, square - mean * mean))) : 0;
    u->samples = (uint16_t)fmin(n + before, UINT16_MAX);
    u->flags = (uint8_t)((u->flags & ~PAGES_VARIES) | (varies ? PAGES_VARIES : 0));
    u->checked = (uint32_t)v->w->now;
    visit_conclude(v, URL_KNOWN);
}

/* What is in every good answer. */
static void note_header(struct visit *v, const struct fetch_answer *a) {
    v->header = a->header;
    v->modified = a->modified;
    v->cookie = a->cookie;
    strcpy(v->etag, a->etag);
}

static void count_sample(struct visit *v, uint64_t plain) {
    v->samples++;
    v->sum += (double)plain;
    v->squares += (double)plain * (double)plain;
}

/* A client that takes br too gets what one gets that takes gzip, unless the server packs with br. */
static void note_packed(struct visit *v, enum pages_coding coding, uint64_t bytes) {
    /* packed with something else: no client of ours tells it apart */
    if (coding == PAGES_IDENTITY) coding = PAGES_GZIP;
    v->packed = coding;
    v->size[coding] = bytes;
    if (coding == PAGES_GZIP) v->size[PAGES_BR] = bytes;
}

static int may_vary(const struct fetch_answer *a) { return a->cookie || (!a->etag[0] && !a->modified); }

static int holds_links(const struct fetch_answer *a) { return a->type != FETCH_OTHER; }

static void head_told(struct visit *v, const struct fetch_answer *a) {
    if (v->step == ASK) note_header(v, a);
    if (a->length == FETCH_UNKNOWN ||
        (v->step == ASK && (holds_links(a) || !a->length || (a->packable && !a->coded)))) {
        if (v->step != ASK) v->head = 0;
        ask_later(v, v->step == ASK ? BODY : v->step);
        return;
    }
    if (v->step == GZIP) {
        if (a->coded) v->size[PAGES_GZIP] = a->length;
        visit_settle(v);
        return;
    }
    if (a->coded && v->step == ASK) {
        note_packed(v, a->coding, a->length);
        ask_later(v, PLAIN);
        return;
    }
    v->size[PAGES_IDENTITY] = a->length;
    count_sample(v, a->length);
    if (v->packed == PAGES_BR) ask_later(v, GZIP);
    else visit_settle(v);
}

static void body_told(struct visit *v, const struct fetch_answer *a) {
    struct url *u = urls_at(v->w->urls, v->url);
    int first = v->step == ASK || v->step == BODY, same;

    v->times++;
    v->time_sum += a->time;
    if (v->step == GZIP) {
        if (a->coded) v->size[PAGES_GZIP] = a->wire;
        visit_settle(v);
        return;
    }
    if (first) {
        note_header(v, a);
        if (holds_links(a)) u->flags |= PAGES_DOCUMENT;
    }
    same = !first && v->last == a->plain;
    v->last = a->plain;
    count_sample(v, a->plain);
    v->size[PAGES_IDENTITY] = a->plain;
    if (a->coded && v->step != PLAIN) {
        v->packed_sum += (double)a->wire;
        note_packed(v, a->coding, rounded(v->packed_sum / ++v->packed_samples));
    }
    if (v->step != PLAIN && may_vary(a) && v->samples < v->w->s->samples && !(v->samples > 1 && same))
        ask_later(v, AGAIN);
    else if (v->packed == PAGES_BR) ask_later(v, GZIP);
    else visit_settle(v);
}

static void broken_off(struct visit *v, const struct fetch_answer *a) {
    if (a->status == 200 && a->length != FETCH_UNKNOWN && !a->coded) {
        if (a->length > v->w->s->max_bytes && holds_links(a))
            visit_refused(v, "larger than --max-bytes: its size is known, its links are not");
        note_header(v, a);
        v->size[PAGES_IDENTITY] = a->length;
        count_sample(v, a->length);
        visit_settle(v);
        return;
    }
    visit_refused(v, "larger than --max-bytes");
    visit_conclude(v, URL_NOTHING);
}

static void unusual(struct visit *v, const struct fetch_answer *a) {
    struct walk *w = v->w;
    const struct url *u = urls_at(w->urls, v->url);
    char why[64];

    snprintf(why, sizeof why, "status %u", a->status);
    if (v->samples && a->status != 429 && a->status != 503) {
        visit_settle(v); /* what was to be known besides is not to be had */
    } else if (a->status == 304 && v->conditional) {
        urls_at(w->urls, v->url)->checked = (uint32_t)w->now;
        visit_conclude(v, URL_KNOWN);
    } else if (a->status >= 300 && a->status < 400) {
        if (a->location[0]) visit_follow(v, a->location, strlen(a->location), (u->flags & PAGES_DOCUMENT) != 0);
        if (w->over) v->busy = 0; /* as of a document that was not read to its end */
        else visit_conclude(v, URL_NOTHING);
    } else if (a->status == 429 || a->status == 503) {
        walk_pause(w, v->origin, a->retry_after, why);
        put_off(v, 0, 0, "asked not to come so often, to the end");
    } else if (v->head && a->status != 410 && a->status != 401) {
        ask_later(v, BODY); /* not everybody knows HEAD */
    } else if (a->status >= 500) {
        put_off(v, RETRY_AFTER, 1, "the server can't answer it");
    } else {
        visit_conclude(v, URL_NOTHING);
    }
}

static void url_done(struct visit *v, const struct fetch_answer *a) {
    struct walk *w = v->w;

    visit_end_links(v, a->end == FETCH_WHOLE || a->end == FETCH_CUT);
    if (v->ended) { /* it stays to be asked for: the next walk needs its links */
        v->busy = 0;
        return;
    }
    if (a->status && a->status != 429 && a->status != 503) walk_answered(w, v->origin);
    switch (a->end) {
    case FETCH_REFUSED:
        w->manners[v->origin].state = ORIGIN_LOST;
        w->bounded = 1;
        visit_refused(
            v, "its name leads to an address outside the scope; --allow-private lets names lead to private ones");
        v->busy = 0;
        break;
    case FETCH_FAILED:
        if (!a->status) walk_pause(w, v->origin, 0, a->error);
        if (v->samples) visit_settle(v);
        else put_off(v, RETRY_AFTER, 1, "no whole answer");
        break;
    case FETCH_CUT:
        if (a->status == 200) broken_off(v, a);
        else unusual(v, a);
        break;
    default:
        if (a->status != 200) unusual(v, a);
        else if (v->head) head_told(v, a);
        else body_told(v, a);
    }
}

/* ---- calls of the fetcher ---------------------------------------------------------------------------------------- */

static int visit_on_header(void *context, const struct fetch_answer *a) {
    struct visit *v = context;

    if (v->robots || v->head) return 0;
    if (a->status != 200) return a->length != FETCH_UNKNOWN && a->length > SHORT_BODY;
    if (a->length == FETCH_UNKNOWN || a->coded) return 0;
    if (a->length > v->w->s->max_bytes) return 1;
    return !holds_links(a) && a->length > SHORT_BODY && !is_packed_sitemap(urls_target(v->w->urls, v->url));
}

static int visit_on_body(void *context, const struct fetch_answer *a, const char *data, size_t n) {
    struct visit *v = context;
    int first = v->step == ASK || v->step == BODY;

    if (v->robots) return visit_robots_body(v, a, data, n);
    return a->status == 200 && first && !a->nofollow ? visit_feed_links(v, a, data, n) : 0;
}

static void on_done(void *context, const struct fetch_answer *a) {
    struct visit *v = context;

    if (v->robots) visit_robots_done(v, a);
    else url_done(v, a);
}

const struct fetch_calls visit_calls = { visit_on_header, visit_on_body, on_done };
