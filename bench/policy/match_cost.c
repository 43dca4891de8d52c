/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match_cost.c - what a match costs: prints nanoseconds a match, table bytes and load time for policies of 10 to 10,000
 * rules.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "policy/policy_impl.h"
#include "tests/lab/policy_sample.h"

static volatile uint32_t sink; /* so that no match is left out as unused */

static double now_ns(void) {
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Median of rounds, so that what else the machine does is left out. */
static double cost(const policy_t *p, const struct policy_request *r) {
    enum { ROUNDS = 41, MATCHES = 2000 };
    double ns[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        double start = now_ns();

        for (int j = 0; j < MATCHES; j++) sink = policy_match_request(p, r).position;
        ns[i] = (now_ns() - start) / MATCHES;
    }
    qsort(ns, ROUNDS, sizeof *ns, by_value);
    return ns[ROUNDS / 2];
}

int main(int argc, char **argv) {
    static const char *const names[SAMPLE_REQUESTS] = { "browser", "crawler", "cookie", "url" };
    unsigned only = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;

    for (unsigned rules = only ? only : 10; rules <= (only ? only : 10000); rules *= 10) {
        double start = now_ns(), built;
        policy_t *p = sample_policy(rules);

        if (p == NULL) return 1;
        built = now_ns() - start;
        printf("rules %6u  tables %6zu KB  built in %6.1f ms  ns a match:", rules, policy_table_bytes(p) / 1024,
               built / 1e6);
        for (unsigned i = 0; i < SAMPLE_REQUESTS; i++) {
            struct policy_request r = sample_request(rules, i);

            printf("  %s %.0f", names[i], cost(p, &r));
        }
        puts("");
        policy_free(&p);
    }
    return 0;
}
