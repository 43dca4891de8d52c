/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_hint.h - how many segments a client is told to ask for at one time (APDSFC, ccn-idsrs-apdsfc paper 5.3).
 *
 * The paper's window is n/q of the n segments that remain, whoever else there is.  Departure: forwarders hold some
 * 1,024 packets and drop what is more without a word, so all windows together stay below CCN_HINT_BUDGET: with many
 * pages in work each gets its part.
 */
#ifndef FAIRGATE_CCN_HINT_H
#define FAIRGATE_CCN_HINT_H

#include <stdint.h>

#define CCN_HINT_BUDGET 900u

/*
 * `remain` segments of it, `in_work` pages that are being fetched, or will be (this one among them); 0: nothing to
 * tell.
 */
static inline uint32_t ccn_hint(uint32_t remain, uint32_t divisor, uint32_t most, uint32_t in_work) {
    uint32_t part = CCN_HINT_BUDGET / (in_work ? in_work : 1), hint;

    if (!divisor || !remain) return 0;
    hint = remain / divisor + (remain % divisor != 0);
    if (hint > most) hint = most;
    if (hint > part) hint = part;
    return hint ? hint : 1;
}

#endif
