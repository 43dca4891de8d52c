/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mod_ccn - pages of this server on a named-data network (ccn-idsrs-apdsfc paper).
 *
 *     Interest ─ face ─┬─ a segment that is kept: sent (ccn_out.h says which first when they can't all go)
 *                      └─ a page: waits for its turn (ccn_work.h, ccn_threads.h) ─ httpd's handlers (ccn_make.h)
 *                              ─ cut into segments (ccn_cut.h), kept (ccn_store.h) ─ its first one is sent
 *
 * Departures from the paper: a segment that is kept needs no service thread (but with CcnScheduler fifo, which is the
 * paper's server), so what IDSRS orders is only pages that wait for threads, and segments that wait for the network;
 * `serpt` goes beyond it; the window that the client is told is bounded by what forwarders can hold (ccn_hint.h); pages
 * for one visitor have names of their own.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <ap_listen.h>
#include <ap_mpm.h>
#include <apr_optional_hooks.h>
#include <apr_portable.h>
#include <apr_strings.h>
#include <http_connection.h>
#include <http_core.h>
#include <http_log.h>
#include <http_main.h>
#include <http_protocol.h>
#include <http_request.h>
#include <mod_status.h>
#include <mpm_common.h>

#include "ccn_address.h"
#include "ccn_check.h"
#include "ccn_consume.h"
#include "ccn_dial.h"
#include "ccn_face.h"
#include "ccn_fetch.h"
#include "ccn_http.h"
#include "ccn_listen.h"
#include "ccn_results.h"
#include "ccn_services.h"
#include "ccn_status.h"
#include "ccn_threads.h"
#include "httpd/httpd_segment.h"

APLOG_USE_MODULE(ccn);

/* The number counts the shapes of struct kept and of what stands in the segment (httpd/httpd_segment.h). */
#define KEPT_SEGMENT "fairgate-ccn-segment-10"

#define P         ccn_process
#define SEATS_MAX 65536u
#define SEATS_MIN 4u
#define TELL_US   UINT64_C(10000000) /* between two lines about connections that are too many */

/* ---- the segment ------------------------------------------------------------------------------------------------- */

struct kept {
    struct httpd_segment segment;
    struct ccn_process process; /* what stands in its area */
};

static struct kept *kept_of(apr_pool_t *process) {
    struct kept *k = (struct kept *)httpd_segment_kept(process, KEPT_SEGMENT, sizeof *k);

    k->segment.name = "ccn";
    k->segment.module = APLOG_MODULE_INDEX;
    return k;
}

static int ccn_fill_area(struct httpd_segment *k, const char **why) {
    return ccn_area_make(&((struct kept *)k)->process, k->view.area, ccn_config(), why);
}

static void tell_lost(pid_t child, uint32_t requests) {
    ccn_store_forget(&P.store, child);
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, ap_server_conf,
                 "ccn: child %d ended with %u Interests; their threads' turns are free again", (int)child, requests);
}

static void tell_left(const char *why) {
    ap_log_error(APLOG_MARK, APLOG_CRIT, 0, ap_server_conf,
                 "ccn: the memory that children share is damaged (%s): this child's Interests go "
                 "unscheduled until it ends; new children get fresh memory",
                 why);
}

static const struct shm_host host = { .lost = tell_lost, .left = tell_left };

static void leave_pages(const char *why) { shm_area_damaged(&P.view, why); }

/* ---- hooks ------------------------------------------------------------------------------------------------------- */

static int ccn_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp) {
    (void)plog, (void)ptemp;
    ccn_config_begin(pconf);
    return OK;
}

static int ccn_check_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s) {
    (void)plog, (void)ptemp;
    if (ccn_check_hosts(s) != OK) return HTTP_INTERNAL_SERVER_ERROR;
    if (!ccn_config()->used) return OK;
    return ccn_config_finish(ccn_config(), pconf, s);
}

/*
 * A connection has a thread of httpd as long as it lives: half of them are left to others, and of that half one address
 * has half.  Where there are next to none, a few must do.
 */
static void bound_connections(struct ccn_site *c) {
    uint32_t threads = (uint32_t)httpd_query(AP_MPMQ_MAX_DAEMONS, 1) * (uint32_t)httpd_query(AP_MPMQ_MAX_THREADS, 1);
    uint64_t seats =
        (uint64_t)httpd_query(AP_MPMQ_HARD_LIMIT_DAEMONS, 1) * (uint64_t)httpd_query(AP_MPMQ_HARD_LIMIT_THREADS, 1);

    c->seats = seats < SEATS_MAX ? (uint32_t)seats : SEATS_MAX;
    c->bounds.of_all = threads / 2 > SEATS_MIN ? threads / 2 : SEATS_MIN;
    c->bounds.of_one = threads / 4 > SEATS_MIN ? threads / 4 : SEATS_MIN;
    if (c->connections) c->bounds.of_one = (uint32_t)c->connections;
}

static bool speaks_ndn(const server_rec *all, apr_port_t port) {
    for (const server_rec *s = all; s; s = s->next)
        for (const server_addr_rec *a = s->addrs; ccn_host_of(s)->on == 1 && a; a = a->next)
            if (a->host_port == port) return true;
    return false;
}

/*
 * httpd has the kernel wait for a request before it hands a connection over.  Who connects to an NDN server may be
 * silent for long, and by then such a connection is half forgotten: what comes later is not heard for half a minute.
 */
static void take_connections_at_once(const server_rec *all) {
    for (const ap_listen_rec *l = ap_listeners; l; l = l->next) {
        int off = 0;
        apr_os_sock_t fd;
        if (l->sd && l->bind_addr && speaks_ndn(all, l->bind_addr->port) && apr_os_sock_get(&fd, l->sd) == APR_SUCCESS)
            setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &off, sizeof off);
    }
}

/* Where results are kept; NULL: there is none. */
static const char *results_directory(apr_pool_t *p) {
    if (!ccn_services()->n) return NULL;
    return ccn_config()->results ? ccn_config()->results : ap_runtime_dir_relative(p, "fairgate-results");
}

static int ccn_post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s) {
    struct ccn_site *c = ccn_config();
    struct kept *k = kept_of(s->process->pool);
    int rc, threaded = 0;

    (void)plog, (void)ptemp;
    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG) return OK;
    if (!c->used) {
        httpd_segment_off(&k->segment, pconf);
        return OK;
    }
    bound_connections(c);
    struct httpd_segment_wants w = {
        .size = {
            .owners = (uint32_t)httpd_query(AP_MPMQ_HARD_LIMIT_DAEMONS, 1) + 16,
            .classes = c->classes.n * 2 + 64,
            .tickets = (uint32_t)(c->queue + c->threads) + 1024,
            .area = ccn_area_bytes(c),
        },
        .settings = c->settings,
        .classes = c->classes.settings,
        .nclasses = c->classes.n,
        .grows_with = "CcnQueue, CcnPages, CcnSegment",
        .fill = ccn_fill_area,
    };
    if (!w.size.area) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, s, "CcnPages: more than can be kept");
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    rc = httpd_segment_begin(&k->segment, s, pconf, &w);
    take_connections_at_once(s);
    if (rc == OK) rc = ccn_listen_open(pconf, s);
    if (rc == OK && results_directory(pconf)) rc = ccn_results_open(results_directory(pconf), s);
    if (rc != OK) return rc;
    k->segment.view.host = &host;
    P = k->process;
    P.view = k->segment.view;
    P.store.stuck = leave_pages;
    P.generation = k->segment.generation;
    P.row = SHM_NO_ROW;
    ap_mpm_query(AP_MPMQ_IS_THREADED, &threaded);
    P.threaded = threaded != AP_MPMQ_NOT_SUPPORTED;
    return OK;
}

/* The first child of a generation puts its settings in force: the parent must not touch the engine any more. */
static void configure(server_rec *s) {
    struct ccn_site *c = ccn_config();
    const char *why = NULL;

    if (shm_configure(&P.view, P.generation, &c->settings, c->classes.settings, c->classes.n, c->classes.otherwise,
                      c->classes.number, &why) == SHM_NOT_CONFIGURED)
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s,
                     "ccn: %s; the classes and settings of before stay in force until `apachectl restart`", why);
}

static void ccn_child_init(apr_pool_t *pchild, server_rec *s) {
    httpd_segment_child_init();
    if (!ccn_config()->used || !P.view.sh) return;
    base_mutex_forked();
    P.row = shm_owner_started(&P.view, getpid());
    if (P.row == SHM_NO_ROW) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s, "ccn: no row is left for this child: it takes no Interests");
        return;
    }
    configure(s);
    P.seats.mine = calloc(P.seats.n + 1, 1); /* threads outlive pools */
    if (!P.seats.mine || ccn_make_child_init(pchild, s)) return;
    ccn_threads_child_init(pchild, s);
    if (results_directory(pchild)) ccn_results_child_init(results_directory(pchild), ccn_config()->results_most);
    ccn_consume_child_init(pchild, s);
    ccn_fetch_child_init(pchild);
    if (!P.threaded) return;
    ccn_dial_child_init(pchild, s);
    ccn_listen_child_init(pchild, s);
}

static void ccn_child_status(server_rec *s, pid_t pid, ap_generation_t generation, int slot, mpm_child_status status) {
    (void)generation, (void)slot;
    httpd_segment_child_status(s, pid, status, ccn_config()->used);
}

static int ccn_monitor(apr_pool_t *p, server_rec *s) {
    (void)p;
    return httpd_segment_monitor(s);
}

static bool ending(void) {
    int state;
    return atomic_load(&P.stop) ||
           (ap_mpm_query(AP_MPMQ_MPM_STATE, &state) == APR_SUCCESS && state == AP_MPMQ_STOPPING);
}

static void tell_turned_away(const conn_rec *c) {
    static _Atomic uint64_t next;
    uint64_t due = atomic_load(&next), now = shm_now();

    ccn_count(&P.area->turned_away);
    if (now < due || !atomic_compare_exchange_strong(&next, &due, now + TELL_US)) return;
    ap_log_cerror(
        APLOG_MARK, APLOG_WARNING, 0, c,
        "ccn: a connection from %s is closed: its address has %u already (CcnConnections), or half of httpd's "
        "threads have connections that are at work",
        c->client_ip, ccn_config()->bounds.of_one);
}

static struct ccn_seat *seat_for(const conn_rec *c) {
    uint64_t address = ccn_address(P.hash_key, c->client_addr->ipaddr_ptr, (size_t)c->client_addr->ipaddr_len);
    struct ccn_seat *seat =
        ccn_seat_take(&P.seats, &ccn_config()->bounds, ccn_seat_holder(), address, shm_now_coarse());

    if (!seat) tell_turned_away(c);
    return seat;
}

/* A connection to a virtual host that speaks NDN: its thread is the face's. */
static int process_connection(conn_rec *c) {
    const struct ccn_host *h = ccn_host_of(c->base_server);
    const struct ccn_seen_as as = { c->base_server, c->client_addr, c->local_addr, c->client_ip, c->local_ip };
    struct ccn_seat *seat = NULL;
    struct ccn_face *f;
    apr_os_sock_t fd;

    if (h->on != 1 || c->master) return DECLINED;
    if (P.row != SHM_NO_ROW && apr_os_sock_get(&fd, ap_get_conn_socket(c)) == APR_SUCCESS && ccn_threads_start())
        seat = seat_for(c);
    if (seat) {
        f = ccn_face_new(fd, &as);
        if (f) {
            ap_update_child_status(c->sbh, SERVER_BUSY_WRITE, NULL);
            ccn_face_sit(f, seat);
            ccn_face_run(f, ending);
            ccn_face_release(f);
            if (!P.threaded) ccn_threads_settle();
        }
        ccn_seat_give(&P.seats, seat);
    }
    c->keepalive = AP_CONN_CLOSE;
    c->aborted = 1;
    if (c->cs) c->cs->state = CONN_STATE_LINGER;
    return OK;
}

static void ccn_register_hooks(apr_pool_t *p) {
    static const char *const rules[] = { "mod_rewrite.c", NULL }, *const proxies[] = { "mod_proxy.c", NULL };

    (void)p;
    ap_hook_pre_config(ccn_pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_check_config(ccn_check_config, NULL, NULL, APR_HOOK_MIDDLE);
    /* After the MPM's own, which fixes the limits that the segment is sized by. */
    ap_hook_post_config(ccn_post_config, NULL, NULL, APR_HOOK_LAST);
    /* Pages may be made at once: everybody else is ready by then. */
    ap_hook_child_init(ccn_child_init, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_child_status(ccn_child_status, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_monitor(ccn_monitor, NULL, NULL, APR_HOOK_MIDDLE);
    /* Before anybody reads what is no HTTP. */
    ap_hook_process_connection(process_connection, NULL, NULL, APR_HOOK_REALLY_FIRST);
    /* Before anybody adds filters that want to stand before the header's. */
    ap_hook_post_read_request(ccn_make_post_read_request, NULL, NULL, APR_HOOK_REALLY_FIRST);
    /* Before anybody takes the URL of a call for that of a file, or for one of a server behind this one. */
    ap_hook_pre_translate_name(ccn_http_pre_translate, NULL, NULL, APR_HOOK_REALLY_FIRST);
    /* Rules of a server say who may call as well as <Location> does: they come first, but no proxy does. */
    ap_hook_translate_name(ccn_http_translate, rules, proxies, APR_HOOK_FIRST);
    ap_hook_map_to_storage(ccn_http_map_to_storage, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_handler(ccn_http_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(ccn_status_handler, NULL, NULL, APR_HOOK_MIDDLE);
    APR_OPTIONAL_HOOK(ap, status_hook, ccn_status_lines, NULL, NULL, APR_HOOK_MIDDLE);
    ccn_make_register();
}

module AP_MODULE_DECLARE_DATA ccn_module = { STANDARD20_MODULE_STUFF,
                                             NULL,
                                             NULL,
                                             ccn_config_create_host,
                                             ccn_config_merge_host,
                                             ccn_commands,
                                             ccn_register_hooks,
                                             AP_MODULE_FLAG_NONE };
