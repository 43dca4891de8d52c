/* SPDX-License-Identifier: BSD-2-Clause */
#include "rs_paper_part.h"

#define SECOND  UINT64_C(1000000)
#define LEAST   (SECOND / 2)  /* of a stretch, where requests are many; */
#define ANSWERS 32u           /* it has so many answers, one behind the other */
#define WARMS   8u            /* such a part of one goes before it */
#define LONGEST (10 * SECOND) /* stretch */
#define APART   (15 * SECOND) /* at most between two of them */

void rs_paper_part_begin(struct rs_paper_part *k, rs_time_t now) {
    *k = (struct rs_paper_part){ .began = now, .length = SECOND, .until = now + SECOND, .weight = 1 };
}

/* What the next stretch is like, by what came in so long. */
static void part_decides(struct rs_paper_part *k, const rs_paper_t *p, rs_time_t took) {
    uint64_t rate = k->came * SECOND / (took ? took : 1), length = SECOND, weight = rate / RS_PAPER_MANY + 1;
    struct rs_paper_all all;

    if (weight > 1) {
        rs_paper_all(p, &all);
        length = all.at_server * ANSWERS * SECOND / rate;
        if (length < LEAST) length = LEAST;
        if (length > LONGEST) length = LONGEST;
        if ((weight - 1) * length > APART) weight = APART / length + 1;
    }
    k->length = length;
    k->weight = (uint32_t)weight;
}

static void part_counts(struct rs_paper_part *k, rs_paper_t *p, rs_time_t now) {
    k->state = RS_PAPER_COUNTS;
    k->until = now + k->length;
    rs_paper_weigh(p, k->weight);
}

static void part_is_apart(struct rs_paper_part *k, const rs_paper_t *p) {
    rs_time_t took = k->until - k->began, all = k->weight * k->length;

    k->state = RS_PAPER_APART;
    k->stood = k->until - k->behind;
    k->until += all - k->length - k->length / WARMS;
    part_decides(k, p, took);
}

static void part_warms(struct rs_paper_part *k, rs_paper_t *p, rs_time_t now) {
    k->state = RS_PAPER_WARMS;
    k->behind = now - k->stood;
    k->began = now;
    k->until = now + k->length / WARMS;
    k->came = 0;
    rs_paper_weigh(p, 0);
}

rs_time_t rs_paper_part_clock(struct rs_paper_part *k, rs_paper_t *p, rs_time_t now) {
    if (now >= k->until) {
        if (k->state == RS_PAPER_APART) {
            part_warms(k, p, now);
        } else if (k->state == RS_PAPER_WARMS) {
            part_counts(k, p, now);
        } else if (k->weight > 1 && now - k->until < APART) {
            part_is_apart(k, p);
        } else {
            part_decides(k, p, now - k->began);
            k->began = now;
            k->came = 0;
            part_counts(k, p, now);
        }
    }
    return k->state == RS_PAPER_APART ? k->stood : now > k->behind ? now - k->behind : 0;
}
