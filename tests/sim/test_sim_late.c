/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sim_late.c - classes that have nothing outstanding while others fill a thin downlink.
 *
 * Long responses that came first hold what may be outstanding until they end.  A class that asks for pages now and then
 * has its part all the same, as soon as it asks.  Squid-fqrs as it is without settings (sim_squid.h).
 */
#include "sim_squid.h"
#include "test_sim.h"

#define LINK    500000.0 /* bytes a second: 4 Mbit/s */
#define PAYLOAD 0.956    /* of the link: the rest are headers of TCP and below */
#define PAGE    30000.0
#define PEOPLE  10u
#define BEGIN   25.0 /* seconds, of the downloads */

struct pages {
    double took[8192];
    uint32_t n;
};

static void ended(const struct sim_job *j, double took, void *arg) {
    struct pages *p = arg;
    if (j->class == 0 && p->n < sizeof p->took / sizeof *p->took) p->took[p->n++] = took;
}

static int by_time(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint64_t fit(void *arg, double rtt, uint64_t allowance) {
    return squid_window(arg, 0, SQUID_STRANGER, (uint32_t)(rtt * 1e6), allowance);
}

/* People's pages from BEGIN to BEGIN + 95 s beside so many downloads of 20 MB; returns how many, and their p95. */
static uint32_t run_late(uint32_t downloads, uint64_t seed, double *p95) {
    static struct rs_link known;
    static struct pages pages;
    struct sim_class classes[] = {
        { .weight = 4, .clients = PEOPLE, .think = 3, .size = SIM_FIXED, .bytes = PAGE, .estimate = SIM_MEAN },
        { .weight = 1,
          .clients = downloads,
          .size = SIM_FIXED,
          .bytes = 20e6,
          .estimate = SIM_MEAN,
          .pause_to = BEGIN },
    };
    struct sim_setup setup = { .classes = classes, .nclasses = 2, .seed = seed, .warm = BEGIN, .until = BEGIN + 95 };
    pages.n = 0;
    setup.ended = ended;
    setup.arg = &pages;
    squid_link(&known, LINK);
    squid_settings(&setup.settings, LINK);
    setup.server = sim_link_new(&(struct sim_link){ .rate = PAYLOAD * LINK,
                                                    .rtt_from = 0.02,
                                                    .rtt_to = 0.2,
                                                    .trips = 2,
                                                    .queue = 200000,
                                                    .fit = fit,
                                                    .arg = &known,
                                                    .seed = seed + 1000 });
    struct sim_result r = sim_run(&setup);
    sim_result_free(&r);
    sim_server_free(&setup.server);
    qsort(pages.took, pages.n, sizeof *pages.took, by_time);
    *p95 = pages.n ? pages.took[(size_t)(0.95 * (pages.n - 1))] : 1e9;
    return pages.n;
}

/*
 * Eight downloads began, and ten people had no page for as long as these lasted.  64 windows of two segments are more
 * than half of what may be outstanding, and the pages wait in the link's queue behind these.
 */
START_TEST(people_have_their_pages_beside_downloads_that_began_before) {
    static const uint32_t downloads[] = { 7, 8, 16, 64 };
    double alone_p95, p95;
    uint32_t alone = run_late(0, 1, &alone_p95), pages = run_late(downloads[_i], 1, &p95);
    printf("%u downloads of 20 MB at 4 Mbit/s: ten people have %u pages, 95 %% within %.2f s; alone %u within %.2f s\n",
           downloads[_i], pages, p95, alone, alone_p95);
    AT_LEAST("pages, of those alone", (double)pages / alone, 0.85);
    AT_MOST("seconds within which 95 % of the pages have come", p95, downloads[_i] < 64 ? 1.2 : 1.6);
}
END_TEST

int main(void) {
    const TTest *tests[] = { people_have_their_pages_beside_downloads_that_began_before };
    return test_sim_run("late", tests, sizeof tests / sizeof *tests, 4);
}
