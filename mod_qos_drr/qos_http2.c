/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_http2.h"

#include <ap_mpm.h>
#include <apr_optional.h>
#include <apr_strings.h>
#include <http_log.h>
#include <mod_http2.h>

APLOG_USE_MODULE(qos_drr);

#define SESSION_STREAMS 100 /* H2MaxSessionStreams when it is not said */
/* more than these have no tickets of their own: they cost memory, and time to look at */
#define STREAMS_MAX     262144u

/*
 * Have a module read a directive of one word for the main server, as if it stood at the end of the configuration.
 * NULL, or what it says against it.
 */
static const char *direct(const module *m, server_rec *s, const char *name, const char *word) {
    for (const command_rec *c = m->cmds; c && c->name; c++) {
        cmd_parms parms = { .cmd = c, .server = s, .pool = s->process->pconf, .temp_pool = s->process->pconf };
        if (strcmp(c->name, name) || c->args_how != TAKE1) continue;
        return c->AP_TAKE1(&parms, NULL, word);
    }
    return "there is no such directive";
}

/* Workers of a child: those that mod_http2 has, and those that it needs.  0 if no stream can come. */
static int workers_of(server_rec *s, const struct qos_server *conf, int *need, int *threads) {
    APR_OPTIONAL_FN_TYPE(http2_get_num_workers) *workers = APR_RETRIEVE_OPTIONAL_FN(http2_get_num_workers);
    const char *said = qos_config_find("H2MaxSessionStreams");
    int threaded = 0, least = 0, most = 0;

    if (!ap_find_linked_module("mod_http2.c") || !workers || !qos_config_find("Protocols")) return 0;
    ap_mpm_query(AP_MPMQ_IS_THREADED, &threaded);
    if (!threaded || ap_mpm_query(AP_MPMQ_MAX_THREADS, threads) != APR_SUCCESS) return 0;
    *need = *threads * (said && atoi(said) > 0 ? atoi(said) : SESSION_STREAMS);
    if (*need > conf->queue + *threads) *need = conf->queue + *threads;
    workers(s, &least, &most);
    return most;
}

uint32_t qos_http2_streams(server_rec *s, const struct qos_server *conf) {
    int need = 0, threads = 0, daemons = 1, most = workers_of(s, conf, &need, &threads);
    uint64_t streams;

    if (most <= 0) return 0;
    if (most < need && !qos_config_find("H2MaxWorkers")) most = need;
    ap_mpm_query(AP_MPMQ_MAX_DAEMONS, &daemons);
    streams = (uint64_t)most * (uint64_t)(daemons > 0 ? daemons : 1);
    return streams < STREAMS_MAX ? (uint32_t)streams : STREAMS_MAX;
}

void qos_http2_config(server_rec *s, const struct qos_server *conf) {
    const char *why;
    int need = 0, threads = 0, most = workers_of(s, conf, &need, &threads);

    if (most <= 0 || most >= need) return;
    if (qos_config_find("H2MaxWorkers")) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "qos: H2MaxWorkers %d lets the waiting streams of few HTTP/2 connections keep those of all others "
                     "from being scheduled: set H2MaxWorkers %d (ThreadsPerChild x H2MaxSessionStreams), or "
                     "H2MaxSessionStreams %d",
                     most, need, most / threads ? most / threads : 1);
        return;
    }
    why = direct(ap_find_linked_module("mod_http2.c"), s, "H2MaxWorkers", apr_itoa(s->process->pconf, need));
    if (why)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s, "qos: mod_http2 does not take H2MaxWorkers %d: %s", need, why);
    else
        ap_log_error(APLOG_MARK, APLOG_INFO, 0, s,
                     "qos: H2MaxWorkers is not set, %d are needed for streams to wait: taken as %d", need, need);
}
