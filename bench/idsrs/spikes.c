/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spikes.c - a site of the IDSRS paper under a load, in simulated time through the engine, in each order of Interests.
 *
 *     spikes NAME=VALUE ...
 *
 *     site=12306|taobao|baidu   load=spike|intermittent|alternating   clients=N
 *     threads=N  segment=SECONDS  making=SECONDS  rtt=SECONDS  spread=PARTS    what sim_pages.h and sim_sites.h say
 *     hint=Q  known=urls|mean|oracle  history=PAGES  making_fixed=0|1  own_age=0|1  as_found=0|1
 *     seed=FIRST  seeds=HOW MANY  order=fifo|levels|shortest (else all of them)
 *     pages=1                   each page of the last seed, too
 *
 * Writes a line of JSON for each seed and order, and for each page one behind it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rs.h"
#include "sim_pages.h"

static const char *const sites[] = { "12306", "taobao", "baidu", NULL };
static const char *const loads[] = { "spike", "intermittent", "alternating", NULL };
static const char *const knowns[] = { "urls", "mean", "oracle", NULL };
static const int orders[] = { RS_SCHED_FIFO, RS_SCHED_LEVELS, RS_SCHED_SHORTEST };

static struct sim_pages setup = { .asking = { .clients = 300, .spread = 0.05 },
                                  .threads = 2,
                                  .segment = 0.002,
                                  .rtt = 0.002,
                                  .history = 1000,
                                  .seed = 1 };
static uint32_t seeds = 1, every_page;
static int only = -1;

static void refuse(const char *word) {
    fprintf(stderr, "spikes: \"%s\" is not one of the words that spikes.c lists\n", word);
    exit(2);
}

static int one_of(const char *const *names, const char *value, const char *word) {
    for (int i = 0; names[i]; i++)
        if (!strcmp(names[i], value)) return i;
    refuse(word);
    return 0;
}

static void take_word(const char *word) {
    const struct {
        const char *name;
        double *seconds;
        uint32_t *number;
        bool *truth;
    } words[] = {
        { "clients", NULL, &setup.asking.clients, NULL },
        { "threads", NULL, &setup.threads, NULL },
        { "segment", &setup.segment, NULL, NULL },
        { "making", &setup.making, NULL, NULL },
        { "rtt", &setup.rtt, NULL, NULL },
        { "spread", &setup.asking.spread, NULL, NULL },
        { "hint", NULL, &setup.hint, NULL },
        { "history", NULL, &setup.history, NULL },
        { "making_fixed", NULL, NULL, &setup.making_fixed },
        { "own_age", NULL, NULL, &setup.own_age },
        { "as_found", NULL, NULL, &setup.as_found },
        { "seeds", NULL, &seeds, NULL },
        { "pages", NULL, &every_page, NULL },
    };
    const char *value = strchr(word, '=');
    if (!value) refuse(word);
    size_t n = (size_t)(value++ - word);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].name) != n || strncmp(word, words[i].name, n) != 0) continue;
        if (words[i].seconds) *words[i].seconds = strtod(value, NULL);
        else if (words[i].number) *words[i].number = (uint32_t)strtoul(value, NULL, 10);
        else *words[i].truth = strtoul(value, NULL, 10) != 0;
        return;
    }
    if (!strncmp(word, "site=", 5)) setup.asking.site = (enum sim_site)one_of(sites, value, word);
    else if (!strncmp(word, "load=", 5)) setup.asking.load = (enum sim_load)one_of(loads, value, word);
    else if (!strncmp(word, "known=", 6)) setup.known = (enum sim_known)one_of(knowns, value, word);
    else if (!strncmp(word, "seed=", 5)) setup.seed = strtoull(value, NULL, 10);
    else if (!strncmp(word, "order=", 6)) only = rs_sched_by_name(value);
    else refuse(word);
}

static int by_took(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* 95 of 100 pages take no longer. */
static double p95(const struct sim_pages_result *r) {
    double *took = malloc(r->npages * sizeof *took);
    if (!took) abort();
    for (uint32_t i = 0; i < r->npages; i++) took[i] = r->pages[i].took;
    qsort(took, r->npages, sizeof *took, by_took);
    double at = took[(size_t)(0.95 * (r->npages - 1))];
    free(took);
    return at;
}

static void run(bool with_pages) {
    clock_t begun = clock();
    struct sim_pages_result r = sim_pages_run(&setup);
    double cpu = (double)(clock() - begun) / CLOCKS_PER_SEC;
    printf("{\"seed\": %" PRIu64 ", \"order\": \"%s\", \"pages\": %u, \"interests\": %" PRIu64
           ", \"mean\": %.6f, \"small\": %.6f, \"large\": %.6f, \"p95\": %.6f, \"longest\": %.6f, \"kept\": %" PRIu64
           ", \"cpu\": %.2f}\n",
           setup.seed, rs_sched_name(setup.sched), r.npages, r.interests, r.mean, r.mean_small, r.mean_large, p95(&r),
           r.longest, r.kept_most, cpu);
    for (uint32_t i = 0; i < r.npages && with_pages; i++)
        printf("{\"asked\": %.6f, \"took\": %.6f, \"segments\": %u}\n", r.pages[i].asked, r.pages[i].took,
               r.pages[i].segments);
    sim_pages_free(&r);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) take_word(argv[i]);
    if (!setup.asking.clients || !setup.threads || setup.segment <= 0) {
        fprintf(stderr, "spikes: clients, threads and segment must be more than 0\n");
        return 2;
    }
    for (uint32_t i = 0; i < seeds; i++, setup.seed++)
        for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
            if (only >= 0 && only != orders[o]) continue;
            setup.sched = orders[o];
            run(every_page && i + 1 == seeds);
        }
    return 0;
}
