/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mod_eeod - segment boundaries at the marks that the writer of a page sets (EEOD paper II, III, V-C).
 *
 *     handler ─ filters ─ EEOD_KEY: whose marks (eeod_key.h) ─ EEOD: blocks (eeod_page.h) ─ ranges, length, header,
 *         chunks ─ network: segments (eeod_net.h)
 *
 * Departures from the paper: boundaries are made by Linux's MSG_EOR, not by a change of the kernel; packets carry no
 * bit that says what they hold, since the marks say it (eeod_net.h); small unique blocks stay blocks (eeod_blocks.h).
 */
#include <httpd.h>
#include <http_config.h>
#include <http_log.h>
#include <http_protocol.h>
#include <http_request.h>
#include <apr_optional_hooks.h>
#include <mod_status.h>

#include "eeod_config.h"
#include "eeod_key.h"
#include "eeod_known.h"
#include "eeod_net.h"
#include "eeod_page.h"
#include "eeod_stats.h"

APLOG_USE_MODULE(eeod);

static int eeod_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp) {
    (void)plog;
    (void)ptemp;
    eeod_config_begin(pconf);
    return OK;
}

static int eeod_post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s) {
    const char *why;
    apr_status_t rv = eeod_stats_open(s->process->pool);

    (void)pconf;
    (void)plog;
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, rv, s, "eeod: no memory for the counters");
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    eeod_net_optional();
    if (!eeod_config_used()) return OK;
    why = eeod_page_order(ptemp);
    if (why) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, s, "eeod: %s", why);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    return OK;
}

static void eeod_child_init(apr_pool_t *pchild, server_rec *s) {
    (void)pchild;
    eeod_known_child_init();
    eeod_key_child_init(s);
}

static void eeod_register_hooks(apr_pool_t *p) {
    (void)p;
    ap_hook_pre_config(eeod_pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    /* After modules that register filters as late as this. */
    ap_hook_post_config(eeod_post_config, NULL, NULL, APR_HOOK_LAST);
    ap_hook_child_init(eeod_child_init, NULL, NULL, APR_HOOK_MIDDLE);
    /* Before whatever goes by headers of the request, or copies them. */
    ap_hook_post_read_request(eeod_key_came, NULL, NULL, APR_HOOK_REALLY_FIRST);
    /* Behind RequestHeader, and mod_dir, which may put another file in the place of what was asked for. */
    ap_hook_fixups(eeod_key_tell, NULL, NULL, APR_HOOK_REALLY_LAST);
    /* Filters of the same place stand in the order in which they are inserted: behind the others. */
    ap_hook_insert_filter(eeod_page_insert, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_insert_error_filter(eeod_page_insert_error, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_handler(eeod_status_handler, NULL, NULL, APR_HOOK_MIDDLE);
    APR_OPTIONAL_HOOK(ap, status_hook, eeod_status_lines, NULL, NULL, APR_HOOK_MIDDLE);
    eeod_key_register();
    eeod_page_register();
    eeod_net_register();
}

module AP_MODULE_DECLARE_DATA eeod_module = {
    STANDARD20_MODULE_STUFF, eeod_config_create_dir, eeod_config_merge_dir, NULL, NULL,
    eeod_commands,           eeod_register_hooks,    AP_MODULE_FLAG_NONE
};
