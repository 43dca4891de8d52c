/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_engine.h - a policy's classes as the engine has them: one mapping, so that a policy means the same at every
 * host.
 *
 * What differs between hosts they hand in: the wait of a class that names none, whether they tell whose requests are,
 * and whether they know how long an answer will be before its request goes.  Where they don't, the order "shortest" is
 * that of arrival: who is expected to bring the class's mean would be overtaken by whoever comes when that has fallen.
 */
#ifndef FAIRGATE_POLICY_ENGINE_H
#define FAIRGATE_POLICY_ENGINE_H

#include <stdbool.h>

#include "core/rs.h"
#include "policy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* httpd's usual_delay_ms: requests of ordinary pages that can't be served in time are refused within a second. */
#define POLICY_USUAL_DELAY 800u
/* With it, a queue that is served within three turns of the window is not refused, however long a page takes. */
#define POLICY_USUAL_TURNS 3u

struct policy_engine_class {
    struct rs_class_settings settings;
    uint32_t                 wait_s;    /* who has waited longer is refused */
};

struct policy_engine_host {
    uint32_t usual_wait_s;      /* of a class that names no wait of its own */
    bool     knows_sizes;
    bool     knows_keys;        /* it tells whose requests are: elsewhere no class is shared within */
    bool     refuses_late;      /* it refuses whom rs_overdue names: `delay` holds */
    /* then: the delay of a class that names none; a class of signed-in visitors has none */
    uint32_t usual_delay_ms;
};

void policy_engine_class(const struct policy_class *from, const struct policy_engine_host *host,
                         struct policy_engine_class *to);

/*
 * The class of what nothing else takes, where a host must add one: POLICY_OTHER, as light as the lightest, `lightest`
 * (0: there is none).
 */
void policy_engine_other(uint32_t lightest, const struct policy_engine_host *host, struct policy_engine_class *to);

/* Position of the class of what no rule matches; POLICY_NONE: a host adds one.  Of a frozen policy. */
uint32_t policy_engine_default(const policy_t *p);

#ifdef __cplusplus
}
#endif

#endif
