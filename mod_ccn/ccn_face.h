/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_face.h - a connection that carries NDN packets: a forwarder's, or a client's own.
 *
 * One thread reads and writes it (ccn_face_run).  Interests for segments that are kept it answers itself; those for
 * pages go to ccn_work.h, whose threads hand what they made back as replies.
 *
 * WHICH ANSWER GOES FIRST when the other side takes them more slowly than we make them: an engine of the face's own
 * (core/rs.h) holds what is to go out, by the scheduler that is configured: `fifo` as it came; `idsrs` the segments of
 * pages in work before the first ones of others; `serpt` the shortest remainder of a page.  While there is room nothing
 * waits.  What waits is bounded, and what is beyond that stays unread in the socket.
 *
 * WHO HAS GONE WITHOUT A WORD (a host without power, a NAT that has forgotten the connection) is found out in about a
 * minute: a connection over which nothing goes is probed by the kernel, which also keeps the NAT's entry.
 *
 * LIFE.  A face is freed when its thread has ended and no page that is being made has a reply for it any more.
 * LOCK.  `lock` covers replies and `closed`; all else is its thread's.
 */
#ifndef FAIRGATE_CCN_FACE_H
#define FAIRGATE_CCN_FACE_H

#include <pthread.h>

#include "ccn_make.h"
#include "ndn/ndn_lp.h"

struct ccn_token {
    uint8_t n, bytes[NDN_PIT_TOKEN_MAX];
};

/* What is to go out: a packet of a page that is kept, or bytes. */
struct ccn_reply {
    struct ccn_reply   *next;
    struct ccn_token    token;
    bool                first;          /* the first of a page that was just made */
    struct ccn_store_id id;             /* kept: which page, */
    uint32_t            segment, left;  /* its segment, and how many nobody has fetched yet */
    uint64_t            age;            /* of its page, microseconds */
    size_t              n;              /* bytes behind this; 0: kept */
    uint8_t             bytes[];
};

struct ccn_face;

/* Of an open socket, which stays the caller's; `as` is copied.  NULL: no memory. */
struct ccn_face *ccn_face_new(int fd, const struct ccn_seen_as *as);
void ccn_face_hold(struct ccn_face *f);
void ccn_face_release(struct ccn_face *f);
const struct ccn_seen_as *ccn_face_seen_as(const struct ccn_face *f);

/* Until the other side closes, says what is no packet, or this process is to end; `over` says whether it is. */
void ccn_face_run(struct ccn_face *f, bool (*over)(void));

/* From any thread: a reply goes out, and is freed; dropped if the face is closed. */
void ccn_face_reply(struct ccn_face *f, struct ccn_reply *reply);
struct ccn_reply *ccn_reply_kept(const struct ccn_token *t, const struct ccn_store_id *id, uint32_t segment,
                                 uint32_t left, bool first);
struct ccn_reply *ccn_reply_bytes(const struct ccn_token *t, const void *bytes, size_t n);
bool ccn_face_closed(struct ccn_face *f);

/* The seat that it has: it says there when packets come, and ends when it is asked to. */
void ccn_face_sit(struct ccn_face *f, struct ccn_seat *seat);
/* The client of its Interests, for shares: an address (ccn_address.h), or a user at a socket of CcnListen. */
uint32_t ccn_face_number(const struct ccn_face *f);

/*
 * For who speaks first on a face that we opened (ccn_register.h): Data that comes, and a call some times a second, both
 * in the face's thread.  Such a face may be silent for as long as it likes.
 */
typedef void ccn_face_data(void *of, const struct ndn_data *d);
typedef void ccn_face_tick(void *of);
void ccn_face_listen(struct ccn_face *f, ccn_face_data *data, ccn_face_tick *tick, void *of);

#endif
