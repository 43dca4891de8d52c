/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_judge.h"

enum { TRIED_MOST = 8 }; /* segments of a train that is tried: they fit one */

static void judge_cut(struct pk_judge *j, struct pk_cut *cut, const struct pk_packet *k) {
    uint64_t stored = j->cutter.stored;

    if (!j->spans.n) return;
    pk_cut_piece(&j->cutter, cut, k->ip + k->headers, k->payload, &j->spans, &j->parts);
    j->counters->stored += j->cutter.stored - stored;
}

void pk_judge_segments(struct pk_judge *j, struct pk_cut *cut, const struct pk_packet *k, const bool *keep,
                       enum pk_verdict *verdict, struct pk_fingerprint *fp) {
    bool literals = j->c->mode == PK_MODE_TRAIN;
    uint32_t n;

    for (uint32_t i = 0; i < k->segments; i++) {
        const uint8_t *payload = pk_packet_segment(k, i, &n);
        enum pk_verdict small = literals && n <= j->c->literal ? PK_IS_LITERAL : PK_AS_IT_IS;
        verdict[i] = small;
        if (!keep[i]) continue;
        j->counters->kept++;
        pk_fingerprint_of(j->key, payload, n, fp + i);
        enum pk_met met = pk_store_meet(j->store, fp + i, payload, n);
        j->counters->stored += met == PK_NEW;
        if (met != PK_CLASH) verdict[i] = met == PK_SAME ? PK_IS_TOKEN : PK_IS_NEW;
    }
    judge_cut(j, cut, k);
}

bool pk_judge_known(const struct pk_judge *j, const enum pk_verdict *verdict, uint32_t n) {
    bool known = false;

    for (uint32_t i = 0; i < n; i++) known |= verdict[i] == PK_IS_TOKEN;
    for (uint32_t i = 0; j->spans.n && i < j->parts.n; i++) known |= j->parts.part[i].kind == PK_PART_SLICES;
    return known;
}

static void judge_parts(struct pk_judge *j, const struct pk_packet *k, bool may, enum pk_verdict *verdict) {
    uint32_t part = 0, n;

    for (uint32_t i = 0; i < k->segments; i++) {
        uint32_t at = i * k->segment, sliced = 0, kept = 0;
        struct pk_part clipped;
        pk_packet_segment(k, i, &n);
        while (part < j->parts.n && j->parts.part[part].at + j->parts.part[part].n < at) part++;
        for (uint32_t l = part; l < j->parts.n && j->parts.part[l].at < at + n; l++) {
            if (!pk_part_clip(j->parts.part + l, at, at + n, &clipped)) continue;
            if (clipped.kind == PK_PART_SLICES) sliced += clipped.n;
            if (clipped.kind == PK_PART_KEPT) kept += clipped.n + clipped.ends;
        }
        if (!sliced && !kept) continue;
        j->counters->kept++;
        if (may && n - sliced <= j->c->literal) verdict[i] = PK_IN_PARTS;
        else if (kept) verdict[i] = PK_TO_GATHER;
    }
}

void pk_judge_trains(struct pk_judge *j, const struct pk_packet *k, bool may, bool tries, enum pk_verdict *verdict) {
    uint32_t n = k->segments, from = may ? 0 : n;

    if (j->spans.n) judge_parts(j, k, may, verdict);
    if (may && tries)
        for (from = n; from && n - from < TRIED_MOST && pk_goes_in_train(verdict[from - 1]); from--) {}
    for (uint32_t i = 0; i < from; i++)
        if (pk_goes_in_train(verdict[i])) verdict[i] = verdict[i] == PK_IN_PARTS ? PK_TO_GATHER : PK_AS_IT_IS;
}
