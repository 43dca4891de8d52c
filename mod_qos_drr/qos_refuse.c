/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_refuse.h"

#include <apr_strings.h>

#define P qos_process

static uint32_t refuse_seconds(const struct qos_request *q) {
    const struct qos_server *conf = qos_config();
    uint32_t least = (uint32_t)conf->retry_after, most = (uint32_t)conf->retry_most, seconds;
    uint64_t behind;

    if (most <= least) return least;
    shm_lock(&P.view);
    behind = rs_behind(P.view.engine, conf->number[q->class]) / 1000000u + 1;
    shm_unlock(&P.view);
    seconds = behind < least ? least : behind > most ? most : (uint32_t)behind;
    return ap_random_pick(seconds, seconds + seconds / 2);
}

int qos_refuse(struct qos_request *q, request_rec *r) {
    const struct qos_server *conf = qos_config();
    uint32_t seconds, known = qos_people_refused(q);
    const char *told;

    if (known) known = ap_random_pick(known, known + known / 2);
    /* Less than that nobody is told: no look at the engine, whose lock a swarm would hold. */
    seconds = known && known <= (uint32_t)conf->retry_after ? known : refuse_seconds(q);
    if (known && known < seconds) seconds = known;
    told = apr_psprintf(r->pool, "%u", seconds);
    apr_table_setn(r->err_headers_out, "Retry-After", told);
    if (conf->people && policy_least_age(conf->policy) && r->method_number == M_GET)
        apr_table_setn(r->err_headers_out, "Refresh", told);
    return conf->refused;
}

bool qos_refuse_is_error_page(const request_rec *r) {
    for (r = r->prev; r; r = r->prev)
        if (ap_is_HTTP_ERROR(r->status)) return true;
    return false;
}
