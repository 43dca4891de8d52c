/* SPDX-License-Identifier: BSD-2-Clause */
#include "crawlers_known.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* These assertions are part of the contract: they stay in release builds. */
#undef NDEBUG
#include <assert.h>

#define MAGIC 0x6267626bu

struct known_crawler {
    char name[CRAWLERS_NAME_ROOM];
    uint32_t nagents, nsuffixes;
    const char *agent[CRAWLERS_AGENTS_MAX]; /* in lower case */
    const char *suffix[CRAWLERS_SUFFIXES_MAX];
};

/* An interval ends where the next one begins. */
struct known_interval {
    uint8_t from[16];
    uint64_t crawlers;
};

/* The head of a piece of memory; what it leads to stands behind it. */
struct crawlers_known {
    uint32_t magic, n, networks, intervals;
    int64_t made;
    size_t bytes;
    struct known_interval *interval;
    uint64_t pair[256]; /* a bit for each crawler of whom an agent begins with these two letters, hashed */
    struct known_crawler crawler[];
};

/* Where networks of a crawler begin or end. */
struct known_edge {
    uint8_t at[16];
    uint8_t crawler, begins;
};

static int by_edge(const void *a, const void *b) {
    return memcmp(((const struct known_edge *)a)->at, ((const struct known_edge *)b)->at, 16);
}

/* The address behind; false: there is none. */
static bool known_next(uint8_t address[16]) {
    for (int i = 15; i >= 0; i--)
        if (++address[i]) return true;
    return false;
}

static size_t known_edges(const struct crawlers_table *t, struct known_edge *edge) {
    size_t n = 0;

    for (uint32_t c = 0; c < t->n; c++)
        for (uint32_t s = 0; s < t->crawler[c].nsources; s++)
            for (uint32_t i = 0; i < t->crawler[c].source[s].n; i++) {
                const struct crawlers_prefix *p = &t->crawler[c].source[s].prefix[i];

                memcpy(edge[n].at, p->address, 16);
                edge[n].crawler = (uint8_t)c;
                edge[n++].begins = 1;
                crawlers_prefix_last(p, edge[n].at);
                edge[n].crawler = (uint8_t)c;
                edge[n].begins = 0;
                n += known_next(edge[n].at);
            }
    return n;
}

/* How many intervals they make; into `out` if it is not NULL. */
static uint32_t known_cut(const struct known_edge *edge, size_t n, struct known_interval *out) {
    uint32_t open[CRAWLERS_MAX] = { 0 }, intervals = 0;
    uint64_t crawlers = 0, last = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t bit = UINT64_C(1) << edge[i].crawler;

        open[edge[i].crawler] += edge[i].begins ? 1u : UINT32_MAX;
        crawlers = open[edge[i].crawler] ? crawlers | bit : crawlers & ~bit;
        if (i + 1 < n && !by_edge(&edge[i], &edge[i + 1])) continue;
        if (crawlers == last) continue;
        last = crawlers;
        if (out) {
            memcpy(out[intervals].from, edge[i].at, 16);
            out[intervals].crawlers = crawlers;
        }
        intervals++;
    }
    return intervals;
}

static size_t known_round(size_t n) { return (n + 15) & ~(size_t)15; }

static size_t known_words(const struct crawlers_crawler *c) {
    size_t bytes = 0;

    for (uint32_t k = 0; k < c->nagents; k++) bytes += strlen(c->agent[k]) + 1;
    for (uint32_t k = 0; k < c->nsuffixes; k++) bytes += strlen(c->suffix[k]) + 1;
    return bytes;
}

static char known_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* A copy at *at in lower case, which moves behind it. */
static const char *known_word(char **at, const char *word) {
    const char *begins = *at;

    do *(*at)++ = known_lower(*word);
    while (*word++);
    return begins;
}

static unsigned known_pair(const char *letters) {
    return ((unsigned char)letters[0] * 31u + (unsigned char)letters[1]) & 255u;
}

static void known_copy(struct known_crawler *to, const struct crawlers_crawler *c, char **words) {
    memcpy(to->name, c->name, sizeof to->name);
    to->nagents = c->nagents;
    to->nsuffixes = c->nsuffixes;
    for (uint32_t k = 0; k < c->nagents; k++) to->agent[k] = known_word(words, c->agent[k]);
    for (uint32_t k = 0; k < c->nsuffixes; k++) to->suffix[k] = known_word(words, c->suffix[k]);
}

struct crawlers_known *crawlers_known_new(const struct crawlers_table *t) {
    size_t networks = 0, words = 0,
           heads = known_round(sizeof(struct crawlers_known) + t->n * sizeof(struct known_crawler)), edges, bytes;
    struct crawlers_known *k;
    struct known_edge *edge;
    uint32_t intervals;
    char *at;

    for (uint32_t c = 0; c < t->n; c++) {
        words += known_words(&t->crawler[c]);
        for (uint32_t s = 0; s < t->crawler[c].nsources; s++) networks += t->crawler[c].source[s].n;
    }
    edge = calloc(2 * networks + 1, sizeof *edge);
    if (!edge) return NULL;
    edges = known_edges(t, edge);
    qsort(edge, edges, sizeof *edge, by_edge);
    intervals = known_cut(edge, edges, NULL);
    bytes = heads + intervals * sizeof(struct known_interval) + words;
    k = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (k == MAP_FAILED) {
        free(edge);
        return NULL;
    }
    k->magic = MAGIC;
    k->n = t->n;
    k->networks = (uint32_t)networks;
    k->intervals = intervals;
    k->made = t->made;
    k->bytes = bytes;
    k->interval = (struct known_interval *)((char *)k + heads);
    known_cut(edge, edges, k->interval);
    free(edge);
    at = (char *)(k->interval + intervals);
    for (uint32_t c = 0; c < t->n; c++) known_copy(&k->crawler[c], &t->crawler[c], &at);
    for (uint32_t c = 0; c < t->n; c++)
        for (uint32_t i = 0; i < k->crawler[c].nagents; i++)
            k->pair[known_pair(k->crawler[c].agent[i])] |= UINT64_C(1) << c;
    mprotect(k, bytes, PROT_READ);
    return k;
}

void crawlers_known_free(struct crawlers_known **known) {
    struct crawlers_known *k = *known;

    if (!k) return;
    assert(k->magic == MAGIC);
    munmap(k, k->bytes);
    *known = NULL;
}

uint64_t crawlers_known_of(const struct crawlers_known *k, const void *address, unsigned len) {
    uint32_t lo = 0, hi = k->intervals; /* those before lo begin at or before the address, those from hi on behind it */
    uint8_t x[16];

    assert(k->magic == MAGIC);
    if (!crawlers_address(address, len, x)) return 0;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (memcmp(k->interval[mid].from, x, 16) <= 0) lo = mid + 1;
        else hi = mid;
    }
    return lo ? k->interval[lo - 1].crawlers : 0;
}

static bool known_begins(const struct known_crawler *c, const char *text, size_t n) {
    for (uint32_t i = 0; i < c->nagents; i++) {
        size_t k = strlen(c->agent[i]);
        if (k <= n && !memcmp(c->agent[i], text, k)) return true;
    }
    return false;
}

uint64_t crawlers_known_claims(const struct crawlers_known *k, const char *agent) {
    char lower[CRAWLERS_AGENT_SEEN];
    uint64_t crawlers = 0;
    size_t n = 0;

    assert(k->magic == MAGIC);
    for (; agent[n] && n < sizeof lower; n++) lower[n] = known_lower(agent[n]);
    for (size_t at = 0; at + 1 < n; at++)
        for (uint64_t may = k->pair[known_pair(lower + at)] & ~crawlers; may; may &= may - 1) {
            uint32_t c = (uint32_t)__builtin_ctzll(may);

            if (known_begins(&k->crawler[c], lower + at, n - at)) crawlers |= UINT64_C(1) << c;
        }
    return crawlers;
}

int crawlers_known_which(uint64_t crawlers, uint64_t claims) {
    if (crawlers & claims) crawlers &= claims;
    return crawlers ? __builtin_ctzll(crawlers) : -1;
}

uint32_t crawlers_known_count(const struct crawlers_known *k) { return k->n; }
uint32_t crawlers_known_networks(const struct crawlers_known *k) { return k->networks; }
int64_t crawlers_known_made(const struct crawlers_known *k) { return k->made; }

const char *crawlers_known_name(const struct crawlers_known *k, uint32_t crawler) {
    assert(crawler < k->n);
    return k->crawler[crawler].name;
}

const char *const *crawlers_known_suffixes(const struct crawlers_known *k, uint32_t crawler, uint32_t *n) {
    assert(crawler < k->n);
    *n = k->crawler[crawler].nsuffixes;
    return k->crawler[crawler].suffix;
}

int crawlers_known_find(const struct crawlers_known *k, const char *name) {
    for (uint32_t c = 0; c < k->n; c++)
        if (!strcmp(k->crawler[c].name, name)) return (int)c;
    return -1;
}
