/* SPDX-License-Identifier: BSD-2-Clause */
#include "policy_engine.h"

#include <string.h>

_Static_assert(POLICY_NAME_MAX == RS_NAME_MAX, "a policy's class has an engine's name");
_Static_assert(POLICY_DELAY_MAX == RS_DELAY_MAX, "a policy's class has an engine's bound on delay");

static uint32_t delay_of(const struct policy_class *from, const struct policy_engine_host *host) {
    if (from->has_delay) return from->delay_ms;
    return from->signed_in ? 0 : host->usual_delay_ms;
}

void policy_engine_class(const struct policy_class *from, const struct policy_engine_host *host,
                         struct policy_engine_class *to) {
    bool shortest = from->order == POLICY_SHORTEST && host->knows_sizes;

    memset(to, 0, sizeof *to);
    memcpy(to->settings.name, from->name, sizeof to->settings.name);
    to->settings.weight = from->quantum;
    to->settings.queue_max = from->queue;
    to->settings.slots = from->slots;
    to->settings.order = shortest ? RS_ORDER_SHORTEST : RS_ORDER_FIFO;
    to->settings.within = host->knows_keys ? (uint16_t)from->within.levels : 0;
    to->wait_s = from->wait_s ? from->wait_s : host->usual_wait_s;
    /* Who has waited half of what it may goes first: the largest are not refused for being large. */
    to->settings.delay_ms = host->refuses_late ? delay_of(from, host) : 0;
    to->settings.delay_turns = from->has_delay ? 0 : POLICY_USUAL_TURNS;
    to->settings.wait_bound_ms = shortest ? to->wait_s * 500u : 0;
}

void policy_engine_other(uint32_t lightest, const struct policy_engine_host *host, struct policy_engine_class *to) {
    struct policy_class other = { .name = POLICY_OTHER, .quantum = lightest ? lightest : 1 };

    policy_engine_class(&other, host, to);
}

uint32_t policy_engine_default(const policy_t *p) {
    for (uint32_t i = 0; i < policy_class_count(p); i++)
        if (policy_class_at(p, i)->is_default) return i;
    return POLICY_NONE;
}
