/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * life.c - request lives for counting: submit, pick, three progress, finish.
 *
 *     life SCHED CLASSES QUEUED LIVES
 *
 * Fills QUEUED waiting requests into CLASSES classes (weights 6, 3, 1 in turn), lets as many lives pass as warm-up,
 * then LIVES more in counted_lives(), which callgrind is told to collect; prints nanoseconds per life on the wall.
 * Pages are lognormal as in both gateway papers; half of the estimates are right (a page in the table), half are the
 * mean (a page never seen).  Window 8.
 *
 * The queue stays as long as it is: a request that is released is replaced by another of its class.  Everything random
 * is drawn before.  Like a real host it keeps a row per ticket.  What counted_lives() and submit() take for themselves
 * can be told from the engine's part by their names.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "rs.h"

#define WINDOW 8u
#define PAGES  8192u /* a power of two */
#define MEAN   27600.0

struct page {
    uint64_t bytes, estimate;
};

struct row {
    uint32_t class, page;
}; /* by ticket index */

static struct page pages[PAGES];
static struct row *rows;
static rs_time_t now;
static uint32_t serial;

void counted_lives(rs_engine_t *e, uint64_t lives);

static double unit(void) {
    static uint64_t x = 88172645463325252u;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return ((double)(x >> 11) + 0.5) / 9007199254740992.0;
}

static void draw_pages(void) {
    for (uint32_t i = 0; i < PAGES; i++) {
        double normal = sqrt(-2 * log(unit())) * cos(6.283185307179586 * unit());
        double bytes = fmin(exp(9.357 + 1.318 * normal), 5e6);
        pages[i] = (struct page){ .bytes = (uint64_t)bytes + 3,
                                  .estimate = unit() < 0.5 ? (uint64_t)bytes + 3 : (uint64_t)MEAN };
    }
}

static __attribute__((noinline)) void submit(rs_engine_t *e, uint32_t class) {
    uint32_t page = serial++ & (PAGES - 1);
    rs_ticket_t t;
    enum rs_refusal why = rs_submit(e, now, class, 0, pages[page].estimate, 1, page, &t);
    assert(why == RS_OK);
    rows[rs_ticket_index(t)] = (struct row){ class, page };
}

/*
 * One response ends, one request goes, another comes; the window stays full.  Inlined by force: were it a function that
 * both the warm-up and counted_lives call, a tail call would let the warm-up be counted too.
 */
static inline __attribute__((always_inline)) void lives_of(rs_engine_t *e, uint64_t lives) {
    static rs_ticket_t out[WINDOW];
    static uint64_t size[WINDOW];
    for (uint64_t i = 0; i < lives; i++) {
        uint32_t slot = (uint32_t)i % WINDOW;
        now += 100;
        if (out[slot] != RS_NO_TICKET) {
            uint64_t third = size[slot] / 3;
            rs_progress(e, now, out[slot], third);
            rs_progress(e, now, out[slot], third);
            rs_progress(e, now, out[slot], size[slot] - 2 * third);
            rs_finish(e, now, out[slot]);
        }
        rs_time_t again;
        rs_ticket_t t = rs_pick(e, now, &again);
        assert(t != RS_NO_TICKET);
        struct row row = rows[rs_ticket_index(t)];
        out[slot] = t;
        size[slot] = pages[row.page].bytes;
        submit(e, row.class);
    }
}

__attribute__((noinline)) void counted_lives(rs_engine_t *e, uint64_t lives) { lives_of(e, lives); }

static rs_engine_t *create(int sched, uint32_t nclasses, uint32_t queued) {
    static const uint32_t weights[3] = { 6, 3, 1 };
    struct rs_capacity cap = { .classes = nclasses, .tickets = queued + WINDOW, .outlets = 1 };
    struct rs_class_settings *classes = calloc(nclasses, sizeof *classes);
    struct rs_settings settings;
    rs_settings_default(&settings);
    settings.sched = (uint32_t)sched;
    settings.gate = RS_GATE_WINDOW;
    settings.window = WINDOW;
    rows = calloc(cap.tickets, sizeof *rows);
    assert(classes && rows);
    for (uint32_t i = 0; i < nclasses; i++) {
        snprintf(classes[i].name, sizeof classes[i].name, "class-%u", i);
        classes[i].weight = weights[i % 3];
    }
    size_t size = (rs_size(&cap) + 63) / 64 * 64;
    void *memory = aligned_alloc(64, size);
    const char *why = "no memory";
    rs_engine_t *e = memory ? rs_create(memory, size, &cap, &settings, classes, nclasses, now, &why) : NULL;
    if (!e) {
        fprintf(stderr, "life: %s\n", why);
        exit(1);
    }
    free(classes);
    return e;
}

int main(int argc, char **argv) {
    int sched = argc == 5 ? rs_sched_by_name(argv[1]) : -1;
    if (sched < 0) {
        fprintf(stderr, "usage: life SCHED CLASSES QUEUED LIVES\n");
        return 2;
    }
    uint32_t nclasses = (uint32_t)strtoul(argv[2], NULL, 10), queued = (uint32_t)strtoul(argv[3], NULL, 10);
    uint64_t lives = strtoull(argv[4], NULL, 10) / WINDOW * WINDOW;
    struct timespec from, to;
    draw_pages();
    rs_engine_t *e = create(sched, nclasses, queued);
    for (uint32_t i = 0; i < queued; i++) submit(e, i % nclasses);
    lives_of(e, lives);
    clock_gettime(CLOCK_MONOTONIC, &from);
    counted_lives(e, lives);
    clock_gettime(CLOCK_MONOTONIC, &to);
    const char *broken = rs_check(e);
    if (broken) {
        fprintf(stderr, "life: %s\n", broken);
        return 1;
    }
    double took = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
    printf("lives %" PRIu64 " ns_per_life %.1f\n", lives, took / (double)lives);
    free(e);
    free(rows);
    return 0;
}
