/* SPDX-License-Identifier: BSD-2-Clause */
#include "bots_fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base_error.h"
#include "bots_list.h"
#include "web/web_fetch.h"

#define REDIRECTS 3u
#define AT_ONCE   8u
#define TICK_MS   500
#define DAY       86400

/* A change of less than that is nobody's mistake, however small a list was. */
#define FEW_NETWORKS  100
#define FEW_ADDRESSES 65536.0

struct fetch_run;

/* A list that is to be had. */
struct fetch_list {
    struct fetch_run *run;
    struct crawlers_crawler *crawler;
    struct crawlers_source *source;
    const struct crawlers_source *before; /* NULL: it was not there */
    const struct bots_bounds *bounds;
};

struct fetch_run {
    const struct bots_settings *settings;
    struct report *report;
    int64_t now;
    bool part;
    struct web_fetch *web;
    struct fetch_list list[CRAWLERS_MAX * CRAWLERS_SOURCES_MAX];
    unsigned n, next; /* those before `next` are had, or under way */
};

static bool fetch_is_file(const struct fetch_list *l) { return *l->source->url == '/'; }

/* The networks of before, or none. */
static void fetch_keep(struct fetch_list *l, const char *why) {
    struct fetch_run *run = l->run;
    const struct crawlers_source *b = l->before;
    double days = b ? (double)(run->now - b->checked) / DAY : 0;
    bool old = b && run->now - b->checked > (int64_t)run->settings->keep;

    run->part = true;
    if (b && b->n && !old) {
        l->source->prefix = malloc(b->n * sizeof *b->prefix);
        if (l->source->prefix) {
            memcpy(l->source->prefix, b->prefix, b->n * sizeof *b->prefix);
            l->source->n = b->n;
            l->source->checked = b->checked;
            l->source->validator = b->validator ? strdup(b->validator) : NULL;
        }
    }
    if (l->source->n)
        report_line(run->report, BASE_LOG_WARNING, "%s: %s: %s; the %" PRIu32 " networks of %.1f days ago stay",
                    l->crawler->name, l->source->url, why, l->source->n, days);
    else if (b && b->n)
        report_line(run->report, BASE_LOG_WARNING,
                    "%s: %s: %s; its %" PRIu32 " networks, of %.1f days ago, are dropped", l->crawler->name,
                    l->source->url, why, b->n, days);
    else
        report_line(run->report, BASE_LOG_WARNING, "%s: %s: %s; nothing is known of it", l->crawler->name,
                    l->source->url, why);
}

/* Networks of IPv6 count by /64. */
static double fetch_addresses(const struct crawlers_prefix *p, uint32_t n) {
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += crawlers_prefix_is_v4(&p[i]) ? ldexp(1, 128 - p[i].bits) : ldexp(1, p[i].bits < 64 ? 64 - p[i].bits : 0);
    return sum;
}

static bool fetch_tenfold(double was, double is, double few) {
    double more = was > is ? was : is, less = was > is ? is : was;
    return more > few && more > 10 * less;
}

static bool fetch_is_accepted(const struct fetch_list *l) {
    const struct base_list *accept = &l->run->settings->accept;

    for (unsigned i = 0; i < accept->n; i++)
        if (!strcasecmp(accept->item[i], l->crawler->name)) return true;
    return false;
}

static void fetch_take(struct fetch_list *l, const char *text, size_t n, char *validator) {
    const struct crawlers_source *b = l->before;
    struct crawlers_prefix *prefix = NULL;
    char *error = NULL, why[160];
    uint32_t count;

    if (bots_list_read(text, n, l->bounds, &prefix, &count, &error)) {
        fetch_keep(l, error ? error : "out of memory");
        free(error);
        free(validator);
        return;
    }
    if (b && b->n && !fetch_is_accepted(l) &&
        (fetch_tenfold(b->n, count, FEW_NETWORKS) ||
         fetch_tenfold(fetch_addresses(b->prefix, b->n), fetch_addresses(prefix, count), FEW_ADDRESSES))) {
        snprintf(why, sizeof why,
                 "not taken: %" PRIu32 " networks instead of %" PRIu32 ", or ten times more or fewer addresses; "
                 "--accept %s takes it",
                 count, b->n, l->crawler->name);
        fetch_keep(l, why);
        free(prefix);
        free(validator);
        return;
    }
    l->source->prefix = prefix;
    l->source->n = count;
    l->source->checked = l->run->now;
    if (validator && crawlers_validator_fits(validator)) l->source->validator = validator;
    else free(validator);
    if (!l->run->settings->quiet)
        report_line(l->run->report, BASE_LOG_INFO, "%s: %s: %" PRIu32 " networks, before %" PRIu32, l->crawler->name,
                    l->source->url, count, b ? b->n : 0);
}

static void fetch_is_the_same(struct fetch_list *l) {
    bool part = l->run->part, quiet = l->run->settings->quiet;
    const struct crawlers_source *b = l->before;

    l->source->prefix = malloc(b->n * sizeof *b->prefix);
    l->source->validator = strdup(b->validator);
    if (!l->source->prefix || !l->source->validator) {
        free(l->source->prefix);
        free(l->source->validator);
        l->source->prefix = NULL;
        l->source->validator = NULL;
        fetch_keep(l, "out of memory");
        return;
    }
    memcpy(l->source->prefix, b->prefix, b->n * sizeof *b->prefix);
    l->source->n = b->n;
    l->source->checked = l->run->now;
    l->run->part = part;
    if (!quiet)
        report_line(l->run->report, BASE_LOG_INFO, "%s: %s: the same %" PRIu32 " networks", l->crawler->name,
                    l->source->url, b->n);
}

static void fetch_next(struct fetch_run *run);

static void fetch_done(void *of, struct web_answer *a) {
    struct fetch_list *l = of;
    char said[64], *validator;

    if (a->end != WEB_WHOLE) {
        fetch_keep(l, *a->error ? a->error : "no answer");
    } else if (a->status == 304 && l->before && l->before->n && l->before->validator) {
        fetch_is_the_same(l);
    } else if (a->status != 200) {
        snprintf(said, sizeof said, "its server answered with the status %u", a->status);
        fetch_keep(l, said);
    } else {
        validator = a->validator;
        a->validator = NULL;
        fetch_take(l, (const char *)a->body, a->n, validator);
    }
    fetch_next(l->run);
}

/* One more: each has its time from when it begins. */
static void fetch_next(struct fetch_run *run) {
    while (run->next < run->n) {
        struct fetch_list *l = &run->list[run->next++];
        const struct crawlers_source *b = l->before;
        const char *validator = b && b->n && run->now >= b->checked ? b->validator : NULL;

        if (fetch_is_file(l)) continue;
        if (!web_start_if(run->web, l->source->url, BOTS_LIST_BYTES, validator, fetch_done, l)) return;
        fetch_keep(l, "out of memory");
    }
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void fetch_file(struct fetch_list *l) {
    int fd = open(l->source->url, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *text = NULL, why[200];
    size_t n = 0;
    struct stat st;
    ssize_t got = fd < 0 || fstat(fd, &st) ? -1 : 1;

    if (got > 0 && !S_ISREG(st.st_mode)) {
        errno = EINVAL;
        got = -1;
    }
    if (got > 0) text = malloc(BOTS_LIST_BYTES + 1);
    while (text && got > 0 && n <= BOTS_LIST_BYTES) {
        got = read(fd, text + n, BOTS_LIST_BYTES + 1 - n);
        n += got > 0 ? (size_t)got : 0;
    }
    if (got < 0 || !text) {
        snprintf(why, sizeof why, "%s", strerror(errno));
        fetch_keep(l, why);
    } else if (n > BOTS_LIST_BYTES) {
        snprintf(why, sizeof why, "more than %u bytes", BOTS_LIST_BYTES);
        fetch_keep(l, why);
    } else {
        fetch_take(l, text, n, NULL);
    }
    free(text);
    if (fd >= 0) close(fd);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* Bounds may be others by now: then it is as if nothing had been there. */
static bool fetch_all_fit(const struct crawlers_source *s, const struct bots_bounds *bounds) {
    for (uint32_t i = 0; i < s->n; i++)
        if (!bots_list_fits(&s->prefix[i], bounds)) return false;
    return true;
}

static const struct crawlers_source *fetch_before(const struct crawlers_table *before, const char *name,
                                                  const char *url, const struct bots_bounds *bounds) {
    for (uint32_t c = 0; before && c < before->n; c++) {
        const struct crawlers_crawler *b = &before->crawler[c];

        if (strcmp(b->name, name)) continue;
        for (uint32_t s = 0; s < b->nsources; s++)
            if (!strcmp(b->source[s].url, url)) return fetch_all_fit(&b->source[s], bounds) ? &b->source[s] : NULL;
    }
    return NULL;
}

static int fetch_web(struct fetch_run *run) {
    static const char *const hosts[] = { "*" };
    const struct bots_settings *s = run->settings;
    const struct web_rules rules = {
        .hosts = hosts,
        .nhosts = 1,
        .addresses = (const char *const *)s->reach.item,
        .naddresses = s->reach.n,
        .secure = !s->allow_http,
        .bytes = BOTS_LIST_BYTES,
        .seconds = (unsigned)s->timeout,
        .redirects = REDIRECTS,
        .at_once = AT_ONCE,
    };
    char *error = NULL;

    run->web = web_new(&rules, &error);
    if (!run->web) {
        report_line(run->report, BASE_LOG_ERROR, "--reach: %s", error ? error : "out of memory");
        free(error);
        return -1;
    }
    for (unsigned i = 0; i < AT_ONCE; i++) fetch_next(run);
    while (web_run(run->web, TICK_MS)) continue;
    web_free(&run->web);
    return 0;
}

enum bots_end bots_fetch(struct bots_config *c, const struct crawlers_table *before, const struct bots_settings *s,
                         int64_t now, struct report *report) {
    struct fetch_run *run = calloc(1, sizeof *run);
    uint32_t networks = 0;
    enum bots_end end = BOTS_FAILED;

    if (!run) {
        report_line(report, BASE_LOG_ERROR, "out of memory");
        return end;
    }
    *run = (struct fetch_run){ .settings = s, .report = report, .now = now };
    for (uint32_t i = 0; i < c->table->n; i++)
        for (uint32_t k = 0; k < c->table->crawler[i].nsources; k++) {
            struct crawlers_crawler *crawler = &c->table->crawler[i];
            struct crawlers_source *source = &crawler->source[k];

            run->list[run->n++] = (struct fetch_list){
                run, crawler, source, fetch_before(before, crawler->name, source->url, &c->bounds[i]), &c->bounds[i],
            };
        }
    for (unsigned i = 0; i < run->n; i++)
        if (fetch_is_file(&run->list[i])) fetch_file(&run->list[i]);
    if (!fetch_web(run)) end = run->part ? BOTS_PART : BOTS_WHOLE;
    for (unsigned i = 0; i < run->n; i++) networks += run->list[i].source->n;
    if (networks > CRAWLERS_PREFIXES_MAX) {
        report_line(report, BASE_LOG_ERROR, "%" PRIu32 " networks in all, and a table holds %u; leave out some lists",
                    networks, CRAWLERS_PREFIXES_MAX);
        end = BOTS_FAILED;
    }
    c->table->made = now;
    free(run);
    return end;
}
