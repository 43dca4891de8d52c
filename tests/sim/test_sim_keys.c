/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sim_keys.c - one class that its keys share: who has many connections, or many addresses, has one key's part.
 *
 * The server is that of test_sim_shares.c: two cores that share their time among the responses.  Beside the class that
 * is looked at stands another of a third of its weight, so that what one key does must not show there either.
 */
#include "test_sim.h"

#define RATE     12.5e6
#define OVERHEAD 1000.0
#define OTHERS   20u
#define CROWD    500u
#define SWARM    72000u

static uint64_t scatter(uint64_t n) { return (n + 1) * UINT64_C(0x9e3779b97f4a7c15); }

static struct sim_result run(struct sim_class classes[2], double seconds, uint64_t seed) {
    struct sim_server *server = sim_sharing_new(
        &(struct sim_sharing){ .rate = RATE, .cores = 2, .overhead = OVERHEAD, .latency = 0.0002, .jitter = 0.9 });
    struct sim_setup setup = { .classes = classes,
                               .nclasses = 2,
                               .server = server,
                               .seed = seed,
                               .warm = seconds / 5,
                               .until = seconds,
                               .check_every = seconds / 10 };
    rs_settings_default(&setup.settings);
    setup.settings.sched = RS_SCHED_DRR;
    setup.settings.gate = RS_GATE_WINDOW;
    setup.settings.window = 8;
    struct sim_result r = sim_run(&setup);
    sim_server_free(&server);
    return r;
}

static void looked_at(struct sim_class classes[2], uint32_t clients, uint32_t within, enum sim_size size) {
    classes[0] = (struct sim_class){ .weight = 3, .clients = clients, .size = size, .bytes = 20000, .within = within };
    classes[1] = (struct sim_class){ .weight = 1, .clients = 30, .size = size, .bytes = 20000 };
}

static uint64_t bytes_of(const struct sim_result *r, uint32_t from, uint32_t to) {
    uint64_t sum = 0;
    for (uint32_t i = from; i < to; i++) sum += r->clients[i].bytes;
    return sum;
}

static double time_of(const struct sim_result *r, uint32_t from, uint32_t to) {
    double sum = 0, n = 0;
    for (uint32_t i = from; i < to; i++) {
        sum += r->clients[i].time_sum;
        n += (double)r->clients[i].responses;
    }
    return sum / n;
}

/* ---- one client with many connections ---------------------------------------------------------------------------- */

static uint32_t connections; /* of each of the others */

/* The first OTHERS x connections clients are those of the others, all further ones are one client's. */
static void by_client(uint32_t client, uint32_t asked, uint64_t key[RS_KEY_LEVELS]) {
    (void)asked;
    key[0] = scatter(client < OTHERS * connections ? client % OTHERS : OTHERS);
}

/*
 * 500 connections of one client beside 20 clients with a few each: it has a 21st of the class, within 5 %.  A key has
 * 200 MB in the run: what may be under way or owed at its ends, the largest page (5 MB, at both), is 5 % of that, and
 * of pages of one size next to nothing.  The class and the other one have theirs to a point, as in test_sim_shares.c.
 * And the others' pages take as long as they did if it was like one of them: within 5 %.
 */
START_TEST(many_connections_have_one_part) {
    static const struct {
        uint32_t connections;
        enum sim_size size;
    } rows[] = { { 2, SIM_FIXED }, { 4, SIM_FIXED }, { 3, SIM_PAGES }, { 6, SIM_PAGES } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double time[2];
        for (int crowd = 0; crowd < 2; crowd++) {
            struct sim_class classes[2];
            uint32_t theirs = OTHERS * (connections = rows[i].connections),
                     all = theirs + (crowd ? CROWD : connections);
            looked_at(classes, all, 1, rows[i].size);
            classes[0].key = by_client;
            struct sim_result r = run(classes, 560, 1);
            double part = (double)bytes_of(&r, theirs, all) / (double)r.classes[0].bytes;
            time[crowd] = time_of(&r, 0, theirs);
            printf("%s, %u connections each, the one %u: it has %.2f of a 21st; class %.2f %%; others' pages %.1f ms\n",
                   rows[i].size == SIM_FIXED ? "one size" : "pages", connections, all - theirs, 21 * part,
                   100 * r.classes[0].share, 1000 * time[crowd]);
            WITHIN("part of the one client", 21 * part, 1, 0.05);
            WITHIN("share of the class", 100 * r.classes[0].share, 75, 1);
            sim_result_free(&r);
        }
        WITHIN("others' pages, times as long", time[1] / time[0], 1, 0.05);
    }
}
END_TEST

/* ---- one network with many addresses ----------------------------------------------------------------------------- */

static bool by_network;

/* Six connections of each of 20 networks; all others are of one network, each time from another of its addresses. */
static void of_network(uint32_t client, uint32_t asked, uint64_t key[RS_KEY_LEVELS]) {
    uint32_t network = client < OTHERS * 6 ? client % OTHERS : OTHERS,
             address = network < OTHERS ? client : 1000000 + (client * 7919 + asked * 104729) % SWARM;
    key[0] = scatter(by_network ? network : address);
    key[1] = scatter(address);
}

/*
 * A network of 72,000 addresses with 2,000 requests at any time beside 20 others: by network and address it has a 21st.
 * By address alone it has what its addresses in the queue make of it, nearly all: so this can fail.
 */
START_TEST(many_addresses_are_one_network) {
    double part[2];
    for (int levels = 1; levels <= 2; levels++) {
        struct sim_class classes[2];
        uint32_t theirs = OTHERS * 6, all = theirs + 2000;
        by_network = levels == 2;
        looked_at(classes, all, (uint32_t)levels, SIM_PAGES);
        classes[0].key = of_network;
        struct sim_result r = run(classes, 560, 1);
        part[levels - 1] = (double)bytes_of(&r, theirs, all) / (double)r.classes[0].bytes;
        printf("%s: the network of %u addresses has %.3f of the class, %.2f of a 21st\n",
               levels == 2 ? "network, then address" : "address alone", SWARM, part[levels - 1], 21 * part[levels - 1]);
        sim_result_free(&r);
    }
    AT_LEAST("by address alone", part[0], 0.8);
    WITHIN("by network and address, of a 21st", 21 * part[1], 1, 0.05);
}
END_TEST

/* ---- who comes for the first time -------------------------------------------------------------------------------- */

/* Two readers, each time as somebody new; 500 connections of one client. */
static void newcomers(uint32_t client, uint32_t asked, uint64_t key[RS_KEY_LEVELS]) {
    key[0] = scatter(client < 2 ? 1000 + client + 2 * asked : 0);
}

/*
 * Who was never seen waits for a slot and no more: of three slots in four that are the class's, with pages of 22 ms of
 * the server's work at eight at a time; two rounds of the scheduler's, of eight pages each, are 30 ms.
 */
START_TEST(a_first_page_is_not_behind_a_crowd) {
    for (uint32_t within = 0; within <= 1; within++) {
        struct sim_class classes[2];
        looked_at(classes, 2 + CROWD, within, SIM_FIXED);
        classes[0].key = newcomers;
        struct sim_result r = run(classes, 60, 1);
        double first = time_of(&r, 0, 2), crowd = time_of(&r, 2, 2 + CROWD);
        printf("%s: first pages take %.1f ms, the crowd's %.1f ms\n", within ? "by client" : "in order of arrival",
               1000 * first, 1000 * crowd);
        if (within) AT_MOST("a first page, ms", 1000 * first, 22 + 30);
        else AT_LEAST("a first page in order of arrival, ms", 1000 * first, 500);
        sim_result_free(&r);
    }
}
END_TEST

int main(void) {
    const TTest *tests[] = { many_connections_have_one_part, many_addresses_are_one_network,
                             a_first_page_is_not_behind_a_crowd };
    return test_sim_run("keys", tests, sizeof tests / sizeof *tests, 1);
}
