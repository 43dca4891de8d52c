/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_heads.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>

#include <apr_portable.h>
#include <http_core.h>
#include <http_log.h>
#include <http_protocol.h>

#include "qos_request.h"
#include "qos_whole.h"

APLOG_USE_MODULE(qos_drr);

#define P qos_process

#define NO_TIME "QOS_NO_TIME"
#define LOOK_US 1000000u /* between two looks at whose time is over */
#define MORE_US 100000u  /* the same while there are more than are ended at a time */
#define FOREVER UINT64_MAX

static ap_filter_rec_t *no_time_rec;

/* How long a head may take: first_us and, for each byte of it, byte_us more, up to most_us. */
struct heads_time {
    uint64_t first_us, most_us, byte_us;
};

static struct {
    pthread_mutex_t lock;
    struct qos_head polled; /* no head: where the ring begins and ends */
    uint32_t n, most;
    _Atomic uint32_t busy;    /* threads in which httpd reads or answers */
    _Atomic uint32_t reading; /* of those, such as wait for a head that was looked at */
    uint64_t look_at;         /* the dispatcher's own */
    struct heads_time time;
} heads = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- times and bounds -------------------------------------------------------------------------------------------- */

/* "20-40,MinRate=500", which mod_reqtimeout has found to be right. */
static struct heads_time heads_time_of(const char *said) {
    char *end;
    uint64_t first = strtoul(said, &end, 10), most = *end == '-' ? strtoul(end + 1, &end, 10) : 0;
    uint64_t rate = !strncasecmp(end, ",minrate=", 9) ? strtoul(end + 9, &end, 10) : 0;
    struct heads_time t = { first ? first * APR_USEC_PER_SEC : FOREVER, FOREVER, 0 };

    if (rate) t.byte_us = APR_USEC_PER_SEC / rate;
    if (most) t.most_us = most * APR_USEC_PER_SEC;
    else if (!rate) t.most_us = t.first_us;
    return t;
}

/* Of several the longest: which virtual host a request is for, nobody knows yet. */
static void heads_said(void *time, const char *args) {
    struct heads_time *t = time;

    for (const char *at = args; (at = ap_strcasestr(at, "header=")) != NULL; at++) {
        struct heads_time one = heads_time_of(at + 7);

        if (one.first_us > t->first_us) t->first_us = one.first_us;
        if (one.most_us > t->most_us) t->most_us = one.most_us;
        if (one.byte_us > t->byte_us) t->byte_us = one.byte_us;
    }
}

void qos_heads_config(uint64_t connections) {
    heads.time = (struct heads_time){ 0, 0, 0 };
    qos_config_each("RequestReadTimeout", heads_said, &heads.time);
    if (!heads.time.first_us) heads.time = heads_time_of("20-40,MinRate=500");
    heads.most = connections / 4 < UINT32_MAX ? (uint32_t)(connections / 4) : UINT32_MAX;
    if (!heads.most) heads.most = 1;
}

void qos_heads_child_init(void) { heads.polled.before = heads.polled.behind = &heads.polled; }

static uint64_t heads_deadline(const struct qos_head *h) {
    const struct heads_time *t = &heads.time;
    uint64_t us;

    if (t->first_us == FOREVER) return FOREVER;
    us = t->first_us + h->seen * t->byte_us;
    if (us > t->most_us) us = t->most_us;
    return h->begun + us;
}

/* ---- polled ------------------------------------------------------------------------------------------------------ */

static bool set_lowat(struct qos_head *h, uint32_t bytes) {
    int n = (int)bytes;

    return !setsockopt(h->fd, SOL_SOCKET, SO_RCVLOWAT, &n, sizeof n);
}

static void heads_remove_locked(struct qos_head *h) {
    h->before->behind = h->behind;
    h->behind->before = h->before;
    h->polled = false;
    heads.n -= 1;
}

/* Its poll() returns: by what has come, or by the end of what may. */
static void heads_end_locked(struct qos_head *h) {
    h->over = true;
    heads_remove_locked(h);
    if (h->lowat > 1) set_lowat(h, 1);
    else shutdown(h->fd, SHUT_RD);
}

static bool heads_poll(struct qos_head *h, uint32_t unread) {
    h->lowat = unread + 1;
    if (!set_lowat(h, h->lowat)) return false;
    h->deadline = heads_deadline(h);
    pthread_mutex_lock(&heads.lock);
    h->behind = &heads.polled;
    h->before = heads.polled.before;
    h->before->behind = heads.polled.before = h;
    h->polled = true;
    if (++heads.n > heads.most) heads_end_locked(heads.polled.behind);
    pthread_mutex_unlock(&heads.lock);
    return true;
}

/* Not later than its connection is closed, so that a descriptor in the ring is its own. */
void qos_heads_resume(struct qos_head *h) {
    if (!h->lowat) return;
    pthread_mutex_lock(&heads.lock);
    if (h->polled) heads_remove_locked(h);
    pthread_mutex_unlock(&heads.lock);
}

uint64_t qos_heads_look(uint64_t now) {
    struct qos_head *h, *next;
    uint32_t may;

    if (now < heads.look_at) return heads.look_at;
    pthread_mutex_lock(&heads.lock);
    may = 8 + heads.n / 64;
    for (h = heads.polled.behind; h != &heads.polled; h = next) {
        next = h->behind;
        if (now < h->deadline) continue;
        heads_end_locked(h);
        if (!--may) break;
    }
    pthread_mutex_unlock(&heads.lock);
    heads.look_at = now + (may ? LOOK_US : MORE_US);
    return heads.look_at;
}

/* ---- read -------------------------------------------------------------------------------------------------------- */

/* httpd may read it. */
static bool heads_go_on(struct qos_head *h) {
    if (h->lowat) set_lowat(h, 1);
    h->lowat = h->seen = h->buffered = 0;
    h->begun = h->deadline = 0;
    h->over = false;
    return false;
}

/* What has not come does not come: its poll() may have been ended by the end of what is received. */
static apr_status_t heads_no_time(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode, apr_read_type_e block,
                                  apr_off_t readbytes) {
    const struct qos_head *h = f->ctx;
    apr_off_t n = 0;
    apr_status_t rv;

    if (!h->over || block != APR_BLOCK_READ || mode == AP_MODE_INIT)
        return ap_get_brigade(f->next, bb, mode, block, readbytes);
    rv = ap_get_brigade(f->next, bb, mode, APR_NONBLOCK_READ, readbytes);
    if (rv == APR_SUCCESS) rv = apr_brigade_length(bb, 0, &n);
    if (rv != APR_SUCCESS && !APR_STATUS_IS_EAGAIN(rv) && !APR_STATUS_IS_EOF(rv)) return rv;
    return n ? APR_SUCCESS : APR_TIMEUP;
}

/* httpd reads what there is, and answers as if it had waited for the rest. */
static bool heads_end(conn_rec *c, struct qos_head *h) {
    ap_log_cerror(APLOG_MARK, APLOG_INFO, 0, c, "qos: the head of a request has not come in time");
    heads_go_on(h);
    h->over = true;
    if (!h->filtered) ap_add_input_filter_handle(no_time_rec, h, NULL, c);
    h->filtered = true;
    /* Who does not close his end is not waited for long. */
    apr_table_setn(c->notes, "short-lingering-close", "1");
    return false;
}

static void heads_read(struct qos_head *h) {
    if (h->reads) atomic_fetch_sub_explicit(&heads.reading, 1, memory_order_relaxed);
    h->reads = h->over = false;
}

void qos_heads_leave(struct qos_head *h) {
    atomic_fetch_sub_explicit(&heads.busy, 1, memory_order_relaxed);
    heads_read(h);
}

/* Its thread counts no longer, whatever the request takes. */
int qos_heads_post_read(request_rec *r) {
    struct qos_conn *k = ap_get_module_config(r->connection->conn_config, &qos_drr_module);

    if (k) heads_read(&k->head);
    return DECLINED;
}

void qos_heads_register(void) {
    /* The first of the connection's, so that they see no more than reads that do not wait. */
    no_time_rec = ap_register_input_filter(NO_TIME, heads_no_time, NULL, AP_FTYPE_CONNECTION);
}

/* A thread that waits for it, if there is one for such. */
static bool heads_block(conn_rec *c, struct qos_head *h) {
    struct pollfd fd = { .fd = h->fd, .events = POLLRDHUP };
    uint32_t most = P.threads_per_child / 4;

    /* Nothing is waited for: all is there. */
    if (poll(&fd, 1, 0) > 0) return heads_go_on(h);
    if (atomic_fetch_add_explicit(&heads.reading, 1, memory_order_relaxed) >= (most ? most : 1)) {
        atomic_fetch_sub_explicit(&heads.reading, 1, memory_order_relaxed);
        return heads_end(c, h);
    }
    h->reads = true;
    return heads_go_on(h);
}

/* ---- a look ------------------------------------------------------------------------------------------------------ */

/* The filter that reads its socket, if the bytes there are those that httpd will read; else NULL. */
static ap_filter_t *heads_core(conn_rec *c, bool *proxied) {
    static const char *const transparent[] = { NO_TIME, "reqtimeout", "log_input_output" };
    const char *protocol = ap_get_server_protocol(c->base_server);
    const struct qos_dir *dir = ap_get_module_config(c->base_server->lookup_defaults, &qos_drr_module);
    ap_filter_t *f = c->input_filters;

    *proxied = false;
    if (dir->on != QOS_ENGINE_ON || (protocol && strcmp(protocol, "http")) ||
        strcmp(ap_get_protocol(c), AP_PROTOCOL_HTTP1))
        return NULL;
    for (; f && f->frec != ap_core_input_filter_handle; f = f->next) {
        unsigned i = 0;

        if (!strcasecmp(f->frec->name, "remoteip_input")) {
            *proxied = !c->keepalives;
            continue;
        }
        while (i < sizeof transparent / sizeof *transparent && strcasecmp(f->frec->name, transparent[i])) i++;
        if (i == sizeof transparent / sizeof *transparent) return NULL;
    }
    return f;
}

/* What httpd has read already, behind the request before; the first time with all that the socket has. */
static apr_status_t heads_copy(conn_rec *c, struct qos_head *h, ap_filter_t *core, char *room) {
    apr_size_t n = h->buffered ? h->buffered : QOS_HEADS_ROOM;
    apr_status_t rv;

    if (!h->bb) h->bb = apr_brigade_create(c->pool, c->bucket_alloc);
    rv = ap_get_brigade(core, h->bb, AP_MODE_SPECULATIVE, APR_NONBLOCK_READ, (apr_off_t)n);
    if (rv == APR_SUCCESS) rv = apr_brigade_flatten(h->bb, room, &n);
    apr_brigade_cleanup(h->bb);
    h->buffered = (uint32_t)n;
    return rv;
}

/* What has come: so many bytes, or -1 if there is nothing to wait for. */
static ssize_t heads_come(conn_rec *c, struct qos_head *h, ap_filter_t *core, char *room) {
    ssize_t more;

    if (c->data_in_input_filters && heads_copy(c, h, core, room) != APR_SUCCESS) return -1;
    if (h->buffered >= QOS_HEADS_ROOM) return QOS_HEADS_ROOM;
    more = recv(h->fd, room + h->buffered, QOS_HEADS_ROOM - h->buffered, MSG_PEEK | MSG_DONTWAIT);
    if (more < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) more = 0;
    else if (more <= 0) return -1;
    return (ssize_t)h->buffered + more;
}

static bool heads_must_wait(conn_rec *c, struct qos_head *h) {
    const server_rec *s = c->base_server;
    const core_server_config *core_conf = ap_get_core_module_config(s->module_config);
    struct qos_whole_limits limits = {
        .line = (size_t)s->limit_req_line,
        .field = (size_t)s->limit_req_fieldsize,
        .fields = (unsigned)s->limit_req_fields,
        .strict = core_conf->http_conformance != AP_HTTP_CONFORMANCE_UNSAFE,
    };
    ap_filter_t *core = heads_core(c, &limits.proxied);
    char room[QOS_HEADS_ROOM];
    apr_os_sock_t fd;
    uint32_t before = h->seen;
    enum qos_whole is = QOS_NOT_WHOLE;
    ssize_t n;

    if (!core || apr_os_sock_get(&fd, ap_get_conn_socket(c)) != APR_SUCCESS) return false;
    h->fd = fd;
    n = heads_come(c, h, core, room);
    if (n >= 0) is = qos_whole(&limits, room, (size_t)n);
    if (is == QOS_WHOLE) return heads_go_on(h);
    if (h->over) return heads_end(c, h);
    if (n < 0) return heads_go_on(h);
    if (is == QOS_ANSWERED) return heads_block(c, h);
    h->seen = (uint32_t)n;
    if (!h->begun) h->begun = shm_now();
    if (n == QOS_HEADS_ROOM || (h->lowat && h->seen <= before)) return heads_block(c, h);
    return heads_poll(h, h->seen - h->buffered) || heads_go_on(h);
}

bool qos_heads_wait(conn_rec *c) {
    struct qos_head *h = &qos_conn_of(c)->head;
    bool scarce = atomic_load_explicit(&heads.busy, memory_order_relaxed) >= P.threads_per_child / 4;

    if ((h->begun || scarce) && heads_must_wait(c, h)) return true;
    atomic_fetch_add_explicit(&heads.busy, 1, memory_order_relaxed);
    return false;
}
