/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why it writes as it writes.  Every message ends with MSG_EOR, so the kernel puts nothing of the next behind it,
 * neither when it is queued nor when it is sent again.  What is left to the kernel is how one message is cut: at every
 * MSS from its beginning on, so long as nothing makes it send a part of a segment.  Three things could:
 *
 * - A message that is not all of its block and no multiple of the MSS: so of a cacheable block that may go on, what
 *   does not fill a segment stays here.
 * - A full socket: no, the kernel fills a buffer of whole segments before it looks whether there is room for another.
 * - The end of the client's window: with TCP_NODELAY, which httpd sets, the kernel sends up to it and shifts all that
 *   follows in the same buffer.  TCP_CORK keeps it from that, except that a buffer that has become full is pushed
 *   nevertheless.  So a large cacheable block goes corked, in messages of SLICE bytes, which never fill a buffer, and
 *   its last segment when the others have gone (unless httpd waits, as some MPMs do at the end of a request: then at
 *   once); what is shifted all the same is one message at most.
 *
 * sendfile() has no MSG_EOR: a cacheable file is read.
 *
 * States of a connection; one thread has it at a time, so there is no lock.
 *
 *     idle        not ours, nothing pending          what comes goes to the core output filter
 *     behind      ours, core_first                   the core output filter has something of before: it is asked to
 *                 write, nothing of ours goes
 *     at work     ours, or something pending         what comes is joined to what is pending, and written as far as it
 *                 may be
 *
 *     idle -> behind or at work     eeod_net_begin, before the header of a response of ours
 *     behind -> at work             the core output filter has nothing left
 *     at work -> idle               the end-of-request bucket of the last response of ours has come (ours ends), and
 *                                   all that was pending is sent
 *     any -> gone                   c->aborted: all that is pending is thrown away
 *
 * At work, a large cacheable block is corked from its first slices on until its last segment is written, or nothing is
 * left.
 */
#include <errno.h>
#include <stddef.h> /* before APR, which then uses its offsetof */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include <apr_portable.h>
#include <httpd.h>
#include <http_config.h>
#include <http_connection.h>
#include <http_core.h>
#include <http_log.h>
#include <http_request.h>

#include "eeod_bucket.h"
#include "eeod_config.h"
#include "eeod_net.h"
#include "eeod_stats.h"

APLOG_USE_MODULE(eeod);

enum {
    MESSAGES = 16, /* of one system call */
    PIECES = 128,
    /*
     * bytes of a message, down to whole segments: fewer than half of 64 KB, the kernel's buffer for a client's first
     * window
     */
    SLICE = 28960,
    /* slices of a block that may be larger than what a client takes at a time: 64 KB at first, and soon more */
    LARGE = 4,
    FILE_END = 4096,      /* bytes of a file that are not sent as a file, but with what comes behind it */
    SENDFILE_LEAST = 256, /* bytes of a file that is worth it, as there */
    MSS_LEAST = 64        /* of a connection on which the kernel says something strange */
};

enum { NET_MAGIC = 0x45454e31 }; /* "EEN1" */

struct eeod_net {
    unsigned magic;
    apr_bucket_brigade *pending; /* set aside until the socket has room */
    apr_pool_t *pool;            /* what that lives in */
    int ours;                    /* the end of a response that is ours is still to come */
    int core_first;              /* the core output filter may still have what came before */
    int corked;
    int flush;                                        /* httpd waits for what it has passed on */
    enum eeod_block kind;                             /* of the data at the head */
    apr_size_t mss;                                   /* 0: to be asked for */
    apr_uint64_t sent;                                /* bytes of the present block */
    int open;                                         /* the last of them did not end a message */
    apr_uint64_t total, segments, boundaries, missed; /* of the present response */
};

/* What one system call takes.  The message behind the last one is being filled. */
struct batch {
    struct mmsghdr message[MESSAGES];
    struct iovec piece[PIECES];
    unsigned messages, pieces;
    apr_size_t bytes;     /* of the one that is being filled */
    enum eeod_block kind; /* of its block */
    apr_uint64_t before;  /* bytes of its block that stand before it */
    int large;            /* of a large cacheable block; it is to go corked */
    int tail;             /* the one message is the last segment of such a block */
};

static const ap_filter_rec_t *core_rec;
static ap_filter_rec_t *net_rec;
static APR_OPTIONAL_FN_TYPE(ap_logio_add_bytes_out) * add_bytes_out;

/* ---- buckets ----------------------------------------------------------------------------------------------------- */

static int ends_block(const apr_bucket *b) {
    return APR_BUCKET_IS_EOS(b) || AP_BUCKET_IS_EOR(b) || AP_BUCKET_IS_EOC(b) || eeod_boundary_kind(b);
}

static int sendable_file(apr_bucket *b) {
    return APR_BUCKET_IS_FILE(b) && b->length >= SENDFILE_LEAST &&
           (apr_file_flags_get(((apr_bucket_file *)b->data)->fd) & APR_SENDFILE_ENABLED);
}

static apr_size_t mss_of(struct eeod_net *n, int fd) {
    int mss = 0;
    socklen_t len = sizeof mss;

    if (!n->mss && (getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, &len) || mss < MSS_LEAST)) mss = MSS_LEAST;
    if (!n->mss) n->mss = (apr_size_t)mss;
    return n->mss;
}

/* Whole segments; one at least. */
static apr_size_t slice_of(struct eeod_net *n, int fd) {
    apr_size_t mss = mss_of(n, fd);
    return mss > SLICE ? mss : SLICE / mss * mss;
}

static void net_begin_block(struct eeod_net *n, int fd, enum eeod_block kind) {
    if (n->sent) {
        apr_size_t mss = mss_of(n, fd);
        n->segments += (n->sent + mss - 1) / mss;
        if (n->open) n->missed++;
        else n->boundaries++;
    }
    n->total += n->sent;
    n->sent = 0;
    n->open = 0;
    n->kind = kind;
}

static void end_response(struct eeod_net *n) {
    if (n->total && n->segments) {
        eeod_count(EEOD_boundaries, n->boundaries);
        eeod_count(EEOD_missed, n->missed);
        eeod_count(EEOD_extra_segments, n->segments - (n->total + n->mss - 1) / n->mss);
    }
    n->total = n->segments = n->boundaries = n->missed = 0;
    n->mss = 0; /* a path may have become narrower by the next one */
}

/* Metadata at the head: all before them is sent. */
static void take_metadata(struct eeod_net *n, int fd, apr_bucket_brigade *bb) {
    apr_bucket *b;

    while ((b = APR_BRIGADE_FIRST(bb)) != APR_BRIGADE_SENTINEL(bb) && (APR_BUCKET_IS_METADATA(b) || b->length == 0)) {
        if (ends_block(b)) net_begin_block(n, fd, eeod_boundary_kind(b));
        if (AP_BUCKET_IS_EOR(b)) end_response(n);
        apr_bucket_delete(b);
    }
}

/* So many bytes at the head are sent. */
static void take_bytes(struct eeod_net *n, int fd, apr_bucket_brigade *bb, apr_size_t bytes) {
    while (bytes) {
        apr_bucket *b = APR_BRIGADE_FIRST(bb);

        if (APR_BUCKET_IS_METADATA(b)) {
            take_metadata(n, fd, bb);
            continue;
        }
        if (b->length > bytes) b = eeod_split(b, bytes);
        n->sent += b->length;
        bytes -= b->length;
        apr_bucket_delete(b);
    }
}

/* ---- what a system call takes ------------------------------------------------------------------------------------ */

static void open_message(struct batch *t) {
    t->bytes = 0;
    if (t->messages == MESSAGES) return;
    memset(&t->message[t->messages], 0, sizeof t->message[0]);
    t->message[t->messages].msg_hdr.msg_iov = t->piece + t->pieces;
}

static void close_message(struct batch *t) {
    if (!t->bytes) return;
    t->before += t->bytes;
    t->messages++;
    open_message(t);
}

/* Puts bytes into messages, as far as there is room for them. */
static int net_fill(struct eeod_net *n, int fd, struct batch *t, const char *data, apr_size_t len) {
    apr_size_t slice = slice_of(n, fd);

    while (len && t->messages < MESSAGES && t->pieces < PIECES) {
        apr_size_t part = len;
        if (t->kind == EEOD_CACHEABLE) {
            apr_size_t left = slice - (apr_size_t)((t->before + t->bytes) % slice);
            if (part > left) part = left;
        }
        t->piece[t->pieces++] = (struct iovec){ (void *)data, part };
        t->message[t->messages].msg_hdr.msg_iovlen++;
        t->bytes += part;
        data += part;
        len -= part;
        if (t->kind == EEOD_CACHEABLE && (t->before + t->bytes) % slice == 0) {
            close_message(t);
            t->large |= t->before >= LARGE * slice;
        }
    }
    return len == 0;
}

/* The message that is being filled has so many bytes only; then it is closed. */
static void cut_and_close(struct batch *t, apr_size_t bytes) {
    struct msghdr *m = &t->message[t->messages].msg_hdr;

    t->bytes = bytes;
    m->msg_iovlen = 0;
    for (struct iovec *v = m->msg_iov; bytes; v++) {
        if (v->iov_len > bytes) v->iov_len = bytes;
        bytes -= v->iov_len;
        m->msg_iovlen++;
    }
    close_message(t);
}

/*
 * The block of the message that is being filled ends.  Of a large cacheable one the last segment goes alone, when all
 * before it is on its way: with it the cork is taken out, and what is left in the kernel then is cut as clients'
 * windows want it.  0: the batch ends here.
 */
static int close_block(struct eeod_net *n, int fd, struct batch *t) {
    if (t->kind == EEOD_CACHEABLE && t->bytes && (n->corked || t->large)) {
        apr_size_t mss = mss_of(n, fd), last = (apr_size_t)((t->before + t->bytes - 1) % mss + 1);
        if (t->bytes > last) {
            cut_and_close(t, t->bytes - last);
        } else if (!t->messages) {
            close_message(t);
            t->tail = 1;
        }
        return 0;
    }
    close_message(t);
    return 1;
}

/*
 * The block of the message that is being filled is not known to end: what of it may go, if it must or is as much as a
 * slice.  Of a cacheable one whole segments, of another all.  Less waits for more, since each message is a packet of
 * its own at least.
 */
static void close_part(struct eeod_net *n, int fd, struct batch *t, int must) {
    apr_uint64_t rest = t->kind == EEOD_CACHEABLE ? (t->before + t->bytes) % mss_of(n, fd) : 0;
    apr_size_t may = rest < t->bytes ? t->bytes - (apr_size_t)rest : 0;

    if (must || t->pieces == PIECES || may >= (t->kind == EEOD_CACHEABLE ? slice_of(n, fd) : SLICE))
        cut_and_close(t, may);
}

/* Fills the batch from the head of the brigade. */
static apr_status_t gather(struct eeod_net *n, int fd, apr_bucket_brigade *bb, int must, struct batch *t) {
    t->messages = t->pieces = 0;
    t->kind = n->kind;
    t->before = n->sent;
    t->large = t->tail = 0;
    open_message(t);
    for (apr_bucket *b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb); b = APR_BUCKET_NEXT(b)) {
        const char *data;
        apr_size_t len;
        apr_status_t rv;

        if (APR_BUCKET_IS_METADATA(b)) {
            if (!ends_block(b)) continue;
            if (!close_block(n, fd, t)) return APR_SUCCESS;
            t->kind = eeod_boundary_kind(b);
            t->before = 0;
            continue;
        }
        if (APR_BUCKET_IS_FILE(b) || b->length == (apr_size_t)-1) {
            /* It is not to be in memory before it can be sent, and what is here is not to wait until it can be read. */
            if (t->kind == EEOD_NOTHING) close_message(t);
            if (t->messages) break;
            if (APR_BUCKET_IS_FILE(b)) eeod_read_by_portions(b);
        }
        rv = apr_bucket_read(b, &data, &len, APR_BLOCK_READ);
        if (rv != APR_SUCCESS) return rv;
        if (!net_fill(n, fd, t, data, len)) break;
    }
    if (t->bytes) close_part(n, fd, t, must);
    return APR_SUCCESS;
}

/* Pieces that do not fill a segment together, though there is no room for more of them: one in their place. */
static apr_status_t join_pieces(apr_bucket_brigade *bb, const struct batch *t) {
    apr_size_t have = 0, at = 0;
    for (unsigned i = 0; i < t->pieces; i++) have += t->piece[i].iov_len;
    char *flat = apr_bucket_alloc(have, bb->bucket_alloc);

    while (at < have) {
        apr_bucket *b = APR_BRIGADE_FIRST(bb);
        const char *data;
        apr_size_t len;
        apr_status_t rv = apr_bucket_read(b, &data, &len, APR_BLOCK_READ);
        if (rv != APR_SUCCESS) {
            apr_bucket_free(flat);
            return rv;
        }
        if (len > have - at) len = have - at;
        memcpy(flat + at, data, len);
        at += len;
        if (len < b->length) b = eeod_split(b, len);
        apr_bucket_delete(b);
    }
    APR_BRIGADE_INSERT_HEAD(bb, apr_bucket_heap_create(flat, have, apr_bucket_free, bb->bucket_alloc));
    return APR_SUCCESS;
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

static void account(conn_rec *c, apr_size_t bytes) {
    if (add_bytes_out && bytes) add_bytes_out(c, (apr_off_t)bytes);
}

static void cork(struct eeod_net *n, int fd, int on) {
    if (n->corked == on) return;
    n->corked = on;
    setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof on);
}

/* Whether the socket has room only when it has sent all that was written before. */
static void send_when_all_is_sent(int fd, int on) { setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &on, sizeof on); }

static apr_size_t bytes_of(const struct msghdr *m) {
    apr_size_t sum = 0;
    for (size_t i = 0; i < m->msg_iovlen; i++) sum += m->msg_iov[i].iov_len;
    return sum;
}

static apr_status_t send_batch(conn_rec *c, struct eeod_net *n, int fd, apr_bucket_brigade *bb, struct batch *t) {
    apr_size_t done = 0;
    int went;

    if (t->large) cork(n, fd, 1);
    if (t->tail && !n->flush) send_when_all_is_sent(fd, 1);
    went = sendmmsg(fd, t->message, t->messages, MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR);
    if (went < 0)
        return errno == EINTR                            ? APR_SUCCESS
               : errno == EAGAIN || errno == EWOULDBLOCK ? APR_EAGAIN
                                                         : APR_FROM_OS_ERROR(errno);
    for (int i = 0; i < went; i++) done += t->message[i].msg_len;
    n->open = 0;
    take_bytes(n, fd, bb, done);
    /* The kernel goes on to the next message only when all of one has gone. */
    n->open = went && t->message[went - 1].msg_len < bytes_of(&t->message[went - 1].msg_hdr);
    account(c, done);
    if (t->tail && !n->open) {
        send_when_all_is_sent(fd, 0);
        cork(n, fd, 0);
    }
    return APR_SUCCESS;
}

/*
 * A file at the head, of a response that is not ours: all but its end, which goes with what follows.  *done: 0 when it
 * is too short for that.
 */
static apr_status_t send_file(conn_rec *c, struct eeod_net *n, int fd, apr_bucket_brigade *bb, apr_size_t *done) {
    apr_bucket *b = APR_BRIGADE_FIRST(bb);
    off_t offset = (off_t)b->start;
    apr_os_file_t file;
    ssize_t w;

    *done = 0;
    if (b->length <= FILE_END) return APR_SUCCESS;
    apr_os_file_get(&file, ((apr_bucket_file *)b->data)->fd);
    do w = sendfile(fd, file, &offset, b->length - FILE_END);
    while (w < 0 && errno == EINTR);
    if (w < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? APR_EAGAIN : APR_FROM_OS_ERROR(errno);
    if (w == 0) return APR_EOF; /* it has become shorter */
    *done = (apr_size_t)w;
    take_bytes(n, fd, bb, *done);
    n->open = 1;
    account(c, *done);
    return APR_SUCCESS;
}

/*
 * Writes what may be written.  APR_SUCCESS: what is left, if anything, waits for more of its block; APR_EAGAIN: for
 * room in the socket.
 */
static apr_status_t drain(conn_rec *c, struct eeod_net *n, int fd, apr_bucket_brigade *bb, int must) {
    struct batch t;
    apr_status_t rv = APR_SUCCESS;

    while (rv == APR_SUCCESS) {
        take_metadata(n, fd, bb);
        if (APR_BRIGADE_EMPTY(bb)) break;
        if (n->kind == EEOD_NOTHING && sendable_file(APR_BRIGADE_FIRST(bb))) {
            apr_size_t done;
            rv = send_file(c, n, fd, bb, &done);
            if (rv != APR_SUCCESS || done) continue;
        }
        rv = gather(n, fd, bb, must, &t);
        if (rv != APR_SUCCESS) break;
        if (t.messages) rv = send_batch(c, n, fd, bb, &t);
        else if (t.pieces == PIECES) rv = join_pieces(bb, &t);
        else break;
    }
    /* All is sent, or what is left begins a block that is not to wait. */
    if (APR_BRIGADE_EMPTY(bb) || (rv == APR_SUCCESS && !n->sent)) cork(n, fd, 0);
    return rv;
}

/* ---- the filter -------------------------------------------------------------------------------------------------- */

/* What the core output filter waits for, too: a flush, much in memory, many requests in the pipeline. */
static int must_wait(conn_rec *c, apr_bucket_brigade *bb, int flush) {
    const core_server_config *core = ap_get_core_module_config(c->base_server->module_config);
    apr_size_t memory = 0;
    int requests = 0;

    if (flush) return 1;
    for (apr_bucket *b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb); b = APR_BUCKET_NEXT(b)) {
        if (!APR_BUCKET_IS_METADATA(b)) {
            if (!APR_BUCKET_IS_FILE(b)) memory += b->length;
        } else if (AP_BUCKET_IS_EOR(b)) {
            requests++;
        }
    }
    return memory > core->flush_max_threshold ||
           (core->flush_max_pipelined >= 0 && requests > core->flush_max_pipelined);
}

static apr_status_t wait_for_room(conn_rec *c, apr_socket_t *s) {
    apr_pollfd_t p = { .p = c->pool, .desc_type = APR_POLL_SOCKET, .reqevents = APR_POLLOUT, .desc.s = s };
    apr_interval_time_t timeout;
    apr_int32_t ready;
    apr_status_t rv;

    apr_socket_timeout_get(s, &timeout);
    do rv = apr_poll(&p, 1, &ready, timeout);
    while (APR_STATUS_IS_EINTR(rv));
    return rv;
}

/* All that may go, up to the point where nothing must. */
static apr_status_t net_send_all(ap_filter_t *f, struct eeod_net *n, apr_bucket_brigade *bb, int flush, int handler) {
    conn_rec *c = f->c;
    apr_socket_t *s = ap_get_conn_socket(c);
    apr_status_t rv;
    int fd = -1;

    apr_os_sock_get(&fd, s);
    for (;;) {
        rv = APR_SUCCESS;
        if (n->core_first) {
            rv = core_rec->filter_func.out_func(f, NULL);
            n->core_first = c->data_in_output_filters;
            if (rv == APR_SUCCESS && n->core_first) rv = APR_EAGAIN;
        }
        if (rv == APR_SUCCESS) rv = drain(c, n, fd, bb, flush || !handler);
        if (!APR_STATUS_IS_EAGAIN(rv) || !handler || !must_wait(c, bb, flush)) return rv;
        rv = wait_for_room(c, s);
        if (rv != APR_SUCCESS) return rv;
    }
}

static apr_status_t set_aside(ap_filter_t *f, struct eeod_net *n, apr_bucket_brigade *bb) {
    conn_rec *c = f->c;
    apr_bucket *b, *next;
    apr_status_t rv = APR_SUCCESS;

    for (b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb); b = next) {
        next = APR_BUCKET_NEXT(b);
        if (APR_BUCKET_IS_FLUSH(b)) apr_bucket_delete(b); /* it had its effect */
    }
    if (APR_BRIGADE_EMPTY(bb)) apr_pool_clear(n->pool);
    else if (bb != n->pending) rv = ap_save_brigade(f, &n->pending, &bb, n->pool);
    c->data_in_output_filters = n->core_first || !APR_BRIGADE_EMPTY(n->pending);
    return rv;
}

static apr_status_t net_filter(ap_filter_t *f, apr_bucket_brigade *bb) {
    conn_rec *c = f->c;
    struct eeod_net *n = ap_get_module_config(c->conn_config, &eeod_module);
    apr_status_t rv;
    int flush = 0, handler = bb != NULL;

    ap_assert(n && n->magic == NET_MAGIC);
    if (!n->ours && APR_BRIGADE_EMPTY(n->pending)) return core_rec->filter_func.out_func(f, bb);
    if (c->aborted) {
        if (bb) apr_brigade_cleanup(bb);
        apr_brigade_cleanup(n->pending);
        return APR_ECONNABORTED;
    }
    if (bb) {
        for (apr_bucket *b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb); b = APR_BUCKET_NEXT(b)) {
            if (APR_BUCKET_IS_FLUSH(b)) flush = 1;
            else if (AP_BUCKET_IS_EOR(b)) n->ours = 0;
        }
        APR_BRIGADE_PREPEND(bb, n->pending);
    } else {
        bb = n->pending;
    }
    n->flush = flush;
    rv = net_send_all(f, n, bb, flush, handler);
    if (rv == APR_SUCCESS || APR_STATUS_IS_EAGAIN(rv)) rv = set_aside(f, n, bb);
    if (rv != APR_SUCCESS) {
        ap_log_cerror(APLOG_MARK, APLOG_TRACE1, rv, c, "eeod: writing to the network");
        c->aborted = 1; /* before the buckets go: with the end of a request goes its line into the log */
        apr_brigade_cleanup(bb);
        apr_brigade_cleanup(n->pending);
        c->data_in_output_filters = 0;
    }
    return rv;
}

void eeod_net_register(void) {
    net_rec = ap_register_output_filter("EEOD_NETWORK", net_filter, NULL, AP_FTYPE_NETWORK);
}

void eeod_net_optional(void) {
    core_rec = ap_core_output_filter_handle;
    add_bytes_out = APR_RETRIEVE_OPTIONAL_FN(ap_logio_add_bytes_out);
}

/*
 * When a connection is made, the core's hook ends the run of hooks, so nobody else can put a network filter there; and
 * the MPM finishes writing by calling the last filter.  So the filter that is there is given another function.
 */
struct eeod_net *eeod_net_of(conn_rec *c) {
    struct eeod_net *n = ap_get_module_config(c->conn_config, &eeod_module);
    ap_filter_t *f = c->output_filters;

    if (n) return n;
    while (f && f->next) f = f->next;
    if (!f || f->frec != core_rec || !ap_get_conn_socket(c)) return NULL;
    n = apr_pcalloc(c->pool, sizeof *n);
    n->magic = NET_MAGIC;
    n->pending = apr_brigade_create(c->pool, c->bucket_alloc);
    apr_pool_create(&n->pool, c->pool);
    apr_pool_tag(n->pool, "eeod_pending");
    ap_set_module_config(c->conn_config, &eeod_module, n);
    f->frec = net_rec;
    return n;
}

void eeod_net_begin(struct eeod_net *n, conn_rec *c) {
    if (!n->ours && APR_BRIGADE_EMPTY(n->pending)) n->core_first = c->data_in_output_filters;
    n->ours = 1;
}
