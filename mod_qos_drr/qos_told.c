/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_told.h"

bool qos_told_once(struct qos_told *t, uint64_t who, uint64_t now, uint32_t soon) {
    _Atomic uint64_t *place = &t->at[who % QOS_TOLD_PLACES];
    uint64_t was = atomic_load_explicit(place, memory_order_relaxed);
    uint32_t since = (uint32_t)now - (uint32_t)was;

    if (was >> 32 == who >> 32 && since < QOS_TOLD_S) return since < soon;
    atomic_store_explicit(place, (who >> 32) << 32 | (uint32_t)now, memory_order_relaxed);
    return true;
}
