/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sim_ccn.c - spikes on a server of pages in segments whose clients ask for one segment at a time, as the IDSRS
 * paper's do: what each order of Interests saves of first come, first served, and that nobody pays for it.
 *
 * WHAT CAN BE SAVED.  N clients ask for pages of k segments, T = N E[k] Ts / m is what their work takes.  In order of
 * arrival the server goes round: a page of k segments is there when all have had k, after
 * W(k) = N E[min(k, k')] Ts / m.  One after the other, n_m = m (Ts + RTT) / Ts of them side by side (the paper's
 * equation 1), they end on average after T / 2 (1 + n_m / N), if in whatever order; smaller kinds before larger ones,
 * each kind like that.  The clients of a spike come within T / 20, so half of that goes off all of them.
 *
 * The tables have both in parts of T, from
 *     12306    E[min] = 15 - 2.25 / sqrt(pi) = 13.7                                               W = 0.92
 *     Taobao   0.49 (15 - 3 / sqrt(pi)) + 0.42 x 15 + 0.09 (120 - 10 / sqrt(pi)) = 23.1 of 46.5   W = 0.50
 *              in order of size (0.7 x 5.25 + 0.3 (10.5 + 18)) / 46.5                                 0.26
 *     Baidu    the same sums over its 200 words                                                   W = 0.72 and 0.37
 * What is saved comes within 5 points of it: the pages that begin before the smaller ones are there are a twentieth.
 */
#include "test_sim.h"
#include "sim_pages.h"

enum { CLIENTS = 300 };

static const char *const ccn_sites[] = { "12306", "Taobao", "Baidu" };
static const char *const ccn_loads[] = { "spike", "intermittent", "alternating" };

/* The paper's cost model, and its setting as far as it says: a machine of two cores in a LAN. */
static struct sim_pages setting(int sched, enum sim_site site, uint32_t clients, uint64_t seed) {
    return (struct sim_pages){ .sched = sched,
                               .asking = { .site = site, .clients = clients, .spread = 0.05 },
                               .threads = 2,
                               .segment = 0.002,
                               .rtt = 0.002,
                               .history = 1000,
                               .seed = seed };
}

/* Of FIFO's, over seeds that see the same pages at the same times. */
struct gain {
    double saved, small, large, longest;
    uint64_t kept; /* segments, of the seed with the most */
};

static struct gain gain_of(struct sim_pages p, int seeds) {
    struct sim_pages_result sum[2] = { 0 };
    int sched[2] = { RS_SCHED_FIFO, p.sched };
    for (int i = 0; i < 2; i++)
        for (p.sched = sched[i], p.seed = 1; p.seed <= (uint64_t)seeds; p.seed++) {
            struct sim_pages_result r = sim_pages_run(&p);
            sum[i].mean += r.mean;
            sum[i].mean_small += r.mean_small;
            sum[i].mean_large += r.mean_large;
            sum[i].longest += r.longest;
            if (r.kept_most > sum[i].kept_most) sum[i].kept_most = r.kept_most;
            sim_pages_free(&r);
        }
    return (struct gain){ .saved = 1 - sum[1].mean / sum[0].mean,
                          .small = sum[1].mean_small / sum[0].mean_small,
                          .large = sum[0].mean_large > 0 ? sum[1].mean_large / sum[0].mean_large : 0,
                          .longest = sum[1].longest / sum[0].longest,
                          .kept = sum[1].kept_most };
}

/* round, in_turn: when pages are there on average by either way, in parts of T, were n_m one and all there at once. */
static double can_be_saved(double round, double in_turn, double n_m, double clients) {
    double asked = 0.025;
    return 1 - (in_turn * (1 + n_m / clients) - asked) / (round - asked);
}

START_TEST(a_spike_is_served_in_half_the_time) {
    static const struct {
        int sched;
        enum sim_site site;
        double round, in_turn, least; /* to be saved in any case; -1: nothing is asked of it */
    } rows[] = {
        { RS_SCHED_LEVELS, SIM_TICKETS, 0.915, 0.50, 0.38 }, { RS_SCHED_SHORTEST, SIM_TICKETS, 0.915, 0.50, 0.38 },
        { RS_SCHED_LEVELS, SIM_SHOP, 0.497, 0.50, -1 },      { RS_SCHED_SHORTEST, SIM_SHOP, 0.497, 0.263, 0.38 },
        { RS_SCHED_LEVELS, SIM_SEARCH, 0.724, 0.50, -1 },    { RS_SCHED_SHORTEST, SIM_SEARCH, 0.724, 0.371, 0.38 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gain g = gain_of(setting(rows[i].sched, rows[i].site, CLIENTS, 0), TEST_SEEDS);
        double can = can_be_saved(rows[i].round, rows[i].in_turn, 4, CLIENTS);
        printf("%-7s %-8s: saves %.1f %% of fifo's mean (%.1f %% can be), small pages %.2f, large %.2f, longest %.3f\n",
               ccn_sites[rows[i].site], rs_sched_name(rows[i].sched), 100 * g.saved, 100 * can, g.small, g.large,
               g.longest);
        WITHIN("what is saved", 100 * g.saved, 100 * can, 5);
        AT_LEAST("what is saved", g.saved, rows[i].least);
        AT_MOST("longest, of fifo's", g.longest, 1.1);
        if (rows[i].sched == RS_SCHED_LEVELS) continue;
        AT_MOST("small pages, of fifo's", g.small, 1);
        AT_MOST("large pages, of fifo's", g.large, 1);
    }
}
END_TEST

/*
 * The same for few clients and many, one thread and several, near and far, and other loads.  What can be saved at 12306
 * with n_m of N side by side is what is asked for everywhere, less 6 points for a server that is not 12306's; of an
 * alternating load, which is no spike, two thirds of it.  No page takes longer than fifo's longest by more than one
 * takes alone, at the end when there are too few for all threads: 120 (Ts + RTT), 20 at 12306.
 */
START_TEST(it_holds_elsewhere) {
    static const struct {
        uint32_t clients, threads;
        double rtt;
        enum sim_load load;
    } rows[] = {
        { 100, 2, 0.002, SIM_SPIKE },           { 500, 2, 0.002, SIM_SPIKE },
        { CLIENTS, 1, 0.0002, SIM_SPIKE },      { CLIENTS, 4, 0.002, SIM_SPIKE },
        { CLIENTS, 8, 0.002, SIM_SPIKE },       { CLIENTS, 2, 0.02, SIM_SPIKE },
        { 500, 16, 0.0002, SIM_SPIKE },         { CLIENTS, 2, 0.002, SIM_INTERMITTENT },
        { CLIENTS, 2, 0.002, SIM_ALTERNATING },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int site = SIM_TICKETS; site <= SIM_SEARCH; site++) {
            struct sim_pages p = setting(RS_SCHED_SHORTEST, (enum sim_site)site, rows[i].clients, 0);
            p.threads = rows[i].threads;
            p.rtt = rows[i].rtt;
            p.asking.load = rows[i].load;
            struct gain g = gain_of(p, 3);
            double n_m = p.threads * (p.segment + p.rtt) / p.segment;
            double can = can_be_saved(0.915, 0.5, n_m, rows[i].clients);
            double alone = site == SIM_TICKETS ? 20 : 120;
            double work = rows[i].clients * sim_site_mean((enum sim_site)site) / p.threads * p.segment;
            printf("%3u clients, %2u threads, RTT %4.1f ms, %-12s %-6s: saves %.1f %%, small %.2f, large %.2f, longest "
                   "%.2f\n",
                   rows[i].clients, p.threads, 1000 * p.rtt, ccn_loads[rows[i].load], ccn_sites[site], 100 * g.saved,
                   g.small, g.large, g.longest);
            AT_LEAST("what is saved", g.saved, rows[i].load == SIM_ALTERNATING ? 2 * can / 3 : can - 0.06);
            AT_MOST("small pages, of fifo's", g.small, 1);
            AT_MOST("large pages, of fifo's", g.large, 1);
            AT_MOST("longest, of fifo's", g.longest, 1 + alone * (p.segment + p.rtt) / work);
        }
}
END_TEST

/*
 * A page of 120 segments beside n clients who ask for pages of one as fast as they get them.  Each of those waits for
 * the n others and has waited n / m times its own work when its turn comes; so the large one's first Interest goes when
 * it has waited as long as n / m of its own work, and one more service.  From then on it is always the one with the
 * largest ratio: each of its segments takes RTT, its own service and what is left of the one that goes when it comes.
 */
START_TEST(nothing_waits_without_end) {
    static const struct { uint32_t others, threads; } rows[] = { { 20, 1 }, { 50, 2 }, { 400, 2 }, { 400, 16 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sim_pages p = setting(RS_SCHED_SHORTEST, SIM_STREAM, rows[i].others + 1, 1);
        p.threads = rows[i].threads;
        p.known = SIM_ORACLE;
        p.again = true;
        struct sim_pages_result r = sim_pages_run(&p);
        double turn = 120 * p.segment * rows[i].others / p.threads + p.segment, rest = 120 * (p.rtt + 2 * p.segment);
        printf("120 segments beside %u clients of one, %u threads: %.3f s, at most %.3f + %.3f\n", rows[i].others,
               p.threads, r.pages[0].took, turn, rest);
        AT_MOST("the large page, seconds", r.pages[0].took, turn + rest);
        /* small pages wait for one round, as in order of arrival; of a thread the large one leaves them half */
        AT_MOST("a small page, seconds", r.mean_small,
                p.rtt + p.segment * (2 + (double)rows[i].others / (p.threads - 0.5)));
        sim_pages_free(&r);
    }
}
END_TEST

/*
 * Each page that is made is fetched before others of its kind are begun: n_m are under way, and they are put aside only
 * for pages of a smaller bucket.  Buckets are two to a doubling, so what is kept is n_m pages of each, 1 / (1 -
 * 1/sqrt(2)) = 3.4 times n_m of the largest at most.  Going by what a page turns out to be instead, every page that is
 * larger than was expected would be kept till the end.
 */
START_TEST(what_is_made_is_fetched) {
    static const double largest[] = { 25, 160, 145 };
    for (int site = SIM_TICKETS; site <= SIM_SEARCH; site++) {
        struct sim_pages p = setting(RS_SCHED_SHORTEST, (enum sim_site)site, 500, 0);
        struct gain g = gain_of(p, 3);
        p.as_found = true;
        struct gain other = gain_of(p, 3);
        printf("%-7s: at most %u segments kept; as found %u, and %.1f %% saved instead of %.1f\n", ccn_sites[site],
               (unsigned)g.kept, (unsigned)other.kept, 100 * other.saved, 100 * g.saved);
        AT_MOST("segments kept", (double)g.kept, 3.4 * 4 * largest[site]);
        AT_LEAST("segments kept otherwise, times as many", (double)other.kept / (double)g.kept, 4);
    }
}
END_TEST

/* By the age of the Interest a page that has begun stands behind all that have not, and half of the gain goes. */
START_TEST(a_page_is_as_old_as_its_first_interest) {
    for (int site = SIM_TICKETS; site <= SIM_SEARCH; site++) {
        struct sim_pages p = setting(RS_SCHED_SHORTEST, (enum sim_site)site, CLIENTS, 0);
        double saved = gain_of(p, 3).saved;
        p.own_age = true;
        double other = gain_of(p, 3).saved;
        printf("%-7s: saves %.1f %%, by the age of each Interest %.1f %%\n", ccn_sites[site], 100 * saved, 100 * other);
        AT_MOST("what is saved by the age of each Interest, of what is", other / saved, 0.67);
    }
}
END_TEST

/*
 * Half of the clients are crawlers, with a sixth of people's weight.  People's pages go first, so theirs end after
 * T / 4 on average and the crawlers' after 3 T / 4; of the spike's twentieth that comes before, and of n_m side by
 * side, 5 % of T.  Both are better off than with everybody in order of arrival, after 0.9 T.
 */
START_TEST(people_go_before_crawlers) {
    double mean[2] = { 0 }, work = CLIENTS * 15 * 0.002 / 2;
    uint32_t n[2] = { 0 };
    for (uint64_t seed = 1; seed <= TEST_SEEDS; seed++) {
        struct sim_pages p = setting(RS_SCHED_SHORTEST, SIM_TICKETS, CLIENTS, seed);
        p.crawling = 0.5;
        p.weights[0] = 60;
        p.weights[1] = 10;
        struct sim_pages_result r = sim_pages_run(&p);
        for (uint32_t i = 0; i < r.npages; i++) {
            mean[r.pages[i].crawler] += r.pages[i].took;
            n[r.pages[i].crawler]++;
        }
        sim_pages_free(&r);
    }
    for (int i = 0; i < 2; i++) mean[i] /= n[i];
    printf("people %.2f T, crawlers %.2f T\n", mean[0] / work, mean[1] / work);
    WITHIN("people's pages, of T", mean[0] / work, 0.25 - 0.025, 0.05);
    WITHIN("crawlers' pages, of T", mean[1] / work, 0.75 - 0.025, 0.05);
}
END_TEST

int main(void) {
    const TTest *tests[] = { a_spike_is_served_in_half_the_time,
                             it_holds_elsewhere,
                             nothing_waits_without_end,
                             what_is_made_is_fetched,
                             a_page_is_as_old_as_its_first_interest,
                             people_go_before_crawlers };
    return test_sim_run("ccn", tests, sizeof tests / sizeof *tests, 1);
}
