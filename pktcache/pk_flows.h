/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_flows.h - connections by addresses and ports; when there is no room, the least recently used one gives its place.
 *
 * What a side knows of a connection is a struct of its own that begins with struct pk_flow.  All memory is taken when
 * the table is made.
 */
#ifndef FAIRGATE_PK_FLOWS_H
#define FAIRGATE_PK_FLOWS_H

#include "pk_packet.h"

#define PK_NO_FLOW UINT32_MAX

struct pk_flow {
    struct pk_tuple tuple;          /* from the server to the client */
    uint32_t        chain;          /* the next with the same hash */
    uint32_t        newer, older;
    bool            used;
    bool            known;          /* `next` is */
    uint32_t        next;           /* behind the highest sequence number of the server that this side has passed on */
    bool            both_ways;      /* parent: its client's packets come this way, too */
    bool            whole;          /* parent: its server sent nothing that we did not see and its client may lack */
    uint8_t         train;          /* parent: which one waits for more of it (pk_train_queue.h); 0: none */
    uint64_t        tried_at;       /* parent: when a trial of it came to nothing (pk_advance.h); 0: never */
    uint64_t        packets, bytes; /* segments; their bytes with headers */
    uint64_t        tokens, saved;  /* segments that were known; parent: bytes that the link did not carry */
};

/* What came before it is not here yet. */
static inline bool pk_flow_ahead(const struct pk_flow *f, uint32_t seq) {
    return f->known && (int32_t)(seq - f->next) > 0;
}

/* It was here, at least its beginning. */
static inline bool pk_flow_behind(const struct pk_flow *f, uint32_t seq) {
    return f->known && (int32_t)(seq - f->next) < 0;
}

/* segments 0: a packet without payload. */
static inline void pk_flow_count(struct pk_flow *f, uint32_t segments, uint32_t payload, uint32_t headers) {
    f->packets += segments ? segments : 1;
    f->bytes += payload + (uint64_t)(segments ? segments : 1) * headers;
}

typedef struct pk_flows pk_flows_t;

/* each: bytes of one.  gone: called with one that gives its place, before that is zeroed.  NULL: no memory. */
pk_flows_t *pk_flows_make(uint32_t count, size_t each, void (*gone)(void *context, struct pk_flow *f), void *context);
void            pk_flows_free(pk_flows_t **t);

struct pk_flow *pk_flows_find(pk_flows_t *t, const struct pk_tuple *tuple);     /* or NULL */
/* zeroed but for struct pk_flow if it was not there */
struct pk_flow *pk_flows_get(pk_flows_t *t, const struct pk_tuple *tuple);
void            pk_flows_drop(pk_flows_t *t, struct pk_flow *f);
uint32_t        pk_flows_used(const pk_flows_t *t);
/* From the newest on: NULL begins; returns NULL at the end. */
struct pk_flow *pk_flows_next(pk_flows_t *t, const struct pk_flow *f);

#endif
