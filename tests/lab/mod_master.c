/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mod_master - an httpd module of the lab: what modules of others do with the connection above a request's own, as
 * those of mod_http2's streams are used.  Not installed.
 *
 *     LabMaster On       each request on a secondary connection asks the master connection for its socket and the
 *                        socket's options, allocates from its pool, takes a bucket from its allocator, and leaves a
 *                        note there; %{lab-master}n is "own" if that note is still its own at the request's end, else
 *                        what is wrong
 */
#include <httpd.h>
#include <http_config.h>
#include <http_core.h>
#include <http_protocol.h>

#include <apr_portable.h>
#include <apr_strings.h>

#include <string.h>
#include <sys/socket.h>

module AP_MODULE_DECLARE_DATA lab_master_module;

static const char NOTE[] = "lab-master-request";

static int *master_on(server_rec *s) { return ap_get_module_config(s->module_config, &lab_master_module); }

/* NULL, or what is wrong with the socket. */
static const char *look_at_socket(conn_rec *master) {
    apr_socket_t *socket = ap_get_conn_socket(master);
    socklen_t n = sizeof(int);
    int type = 0;
    apr_os_sock_t fd;

    /* A module that does not look for NULL here ends the child. */
    if (apr_os_sock_get(&fd, socket) != APR_SUCCESS) return "no-descriptor";
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) || type != SOCK_STREAM) return "no-stream";
    return apr_socket_timeout_set(socket, apr_time_from_sec(5)) == APR_SUCCESS ? NULL : "no-timeout";
}

static const char *id_of(request_rec *r) { return apr_psprintf(r->pool, "%pp", (void *)r); }

static const char *use_master(request_rec *r, conn_rec *master) {
    const char *wrong = look_at_socket(master);
    apr_bucket *b;

    if (wrong) return wrong;
    apr_table_set(master->notes, NOTE, id_of(r));
    for (int i = 0; i < 1000; i++) {
        apr_table_setn(master->notes, "lab-master-other", apr_psprintf(master->pool, "%d", i));
        b = apr_bucket_heap_create("lab", 3, NULL, master->bucket_alloc);
        apr_bucket_destroy(b);
    }
    return NULL;
}

static int post_read_request(request_rec *r) {
    conn_rec *master = r->connection->master;
    const char *wrong;

    if (!master || !*master_on(r->server)) return DECLINED;
    wrong = use_master(r, master);
    if (wrong) apr_table_setn(r->notes, "lab-master", wrong);
    return DECLINED;
}

static int log_transaction(request_rec *r) {
    conn_rec *master = r->connection->master;
    const char *note;

    if (!master || !*master_on(r->server) || apr_table_get(r->notes, "lab-master")) return DECLINED;
    note = apr_table_get(master->notes, NOTE);
    apr_table_setn(r->notes, "lab-master", note && !strcmp(note, id_of(r)) ? "own" : "shared");
    return DECLINED;
}

static void *create_server(apr_pool_t *p, server_rec *s) {
    (void)s;
    return apr_pcalloc(p, sizeof(int));
}

static void *merge_server(apr_pool_t *p, void *base, void *more) {
    int *on = apr_palloc(p, sizeof *on);

    *on = *(int *)base || *(int *)more;
    return on;
}

static const char *set_on(cmd_parms *cmd, void *dir, int flag) {
    (void)dir;
    *master_on(cmd->server) = flag;
    return NULL;
}

static const command_rec commands[] = { AP_INIT_FLAG("LabMaster", set_on, NULL, RSRC_CONF, "use master connections"),
                                        { .name = NULL } };

static void register_hooks(apr_pool_t *p) {
    (void)p;
    ap_hook_post_read_request(post_read_request, NULL, NULL, APR_HOOK_MIDDLE);
    /* Before the access log. */
    ap_hook_log_transaction(log_transaction, NULL, NULL, APR_HOOK_FIRST);
}

module AP_MODULE_DECLARE_DATA lab_master_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, create_server, merge_server, commands, register_hooks, AP_MODULE_FLAG_NONE
};
