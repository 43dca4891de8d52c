/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pktcache_world.h - parent and child with a bad link between them, in simulated time.
 *
 * Servers send streams in pieces as a kernel with segmentation offload does, and again from what was acknowledged when
 * nothing comes; clients compare every byte with the stream.  The link loses, doubles, reorders; an attacker on it
 * flips, replays and invents; both sides are killed and begin anew.
 */
#ifndef FAIRGATE_PKTCACHE_WORLD_H
#define FAIRGATE_PKTCACHE_WORLD_H

#include "pktcache/pk_bytes.h"
#include "pktcache/pk_config.h"
#include "pktcache/pk_session.h"
#include "pktcache/pk_side.h"
#include "pktcache/pk_store.h"
#include "test_pktcache.h"

enum {
    STREAMS = 24,
    LENGTH = 60000,
    TEMPLATES = 12,
    UNIQUE = 2000,
    ROUND = 200,  /* microseconds */
    LINK = 4096,  /* packets and datagrams that are on their way */
    AGAIN = 1500, /* rounds without progress until a server sends again */
    OLD = 256     /* datagrams that the attacker keeps */
};

struct scenario {
    const char *name;
    int version, mode, keep;
    uint32_t mss, stamp;
    unsigned mtu;
    int loss, reorder, again; /* per mille */
    int attack;               /* per mille of rounds */
    int restarts;
    int streams; /* in all */
    int known;   /* percent of the segments that go as fingerprints at least */
    uint64_t cache;
    uint64_t way; /* microseconds from one side to the other */
    /* per mille of the fingerprints that the child asks for at most, if its link is bad */
    int lacking;
    bool chunked; /* HTTP: in chunks of random length */
    bool odd;     /* pieces of random length */
};

struct thing {
    bool datagram;
    uint8_t tos; /* of a datagram */
    uint64_t at;
    size_t n;
    uint8_t bytes[];
};

struct queue {
    struct thing *thing[LINK];
    unsigned n;
};

struct stream {
    bool used;
    unsigned client, port;
    uint32_t first; /* sequence number of the first byte */
    uint8_t *data;
    uint32_t n, sent, acked; /* by the client, in order */
    uint8_t *got;
    uint8_t *tos; /* of what came, byte by byte */
    uint64_t moved;
    bool asked;
    uint32_t told; /* the parent, of `acked` */
};

extern struct world {
    const struct scenario *s;
    struct pk_config config;
    struct pk_secret secret;
    struct pk_fingerprint_key key;
    struct side {
        pk_store_t *store;
        pk_session_t *session;
        pk_side_t *side;
        struct pk_counters sum;
    } parent, child;
    struct queue down, up;
    struct stream stream[STREAMS];
    uint8_t template[TEMPLATES][LENGTH];
    uint64_t now, round;
    unsigned port;
    uint8_t tos; /* of what servers send */
    int begun, ended;
    struct thing *old[OLD];
    uint64_t out, repeated; /* segments that came to clients; that servers sent again */
} w;

extern uint64_t said;           /* sentences for the log */

/* By chance, the same in each run. */
uint32_t dice(uint32_t n);

/* Makes both sides; number: which chances. */
void setup(const struct scenario *s, int number);
void teardown(void);
void begin_parent(void);
void begin_child(void);
void end_side(struct side *s);
/* For the log of a side. */
void say(void *context, enum base_log_priority p, const char *sentence);

/* A turn of either side, with what has come to it. */
void run_down(void);
void run_up(void);
void go_on(uint64_t microseconds);

/* All that is on its way; the first datagram of that type. */
void lose(struct queue *q);
bool lose_one(struct queue *q, enum pk_type type);
/* Something that nobody has sent, or somebody before. */
void attack(void);

void begin_stream(struct stream *s);
void from_server(struct stream *s, uint32_t at, uint32_t n, uint32_t segment);
void to_parent(struct wire h, const void *payload, uint32_t n);
/* The connection and its request, over a good link. */
void ask(struct stream *s);
/* What its client has, the parent sees, as it sees requests. */
void acknowledge(struct stream *s);
/* What its server does in a turn. */
void serve(struct stream *s);

/* A good link. */
struct scenario quiet(const char *name);
/* A response over HTTP of which nothing was sent; the same bytes as `as`, unless that is NULL. */
struct stream *asked_stream(int i, const struct stream *as);
/* A train of which the client says that it came: from then on there are others. */
void trust(const struct scenario *s);

#endif
