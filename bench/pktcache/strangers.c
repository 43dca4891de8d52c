/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strangers.c - what a datagram costs that somebody sends who knows no secret, until it is known to be a stranger's.
 *
 *     strangers KIND MILLIONS      KIND: junk, sealed, hello, ready
 *
 * Prints microseconds of processor time for each, of a parent that is in a session and has two secrets, as while a new
 * one is brought in.  junk: of any type, 60 bytes.  sealed: with the session's number, as who watches the link has it,
 * and a counter that is new, 1,400 bytes.  hello, ready: of the right length for these, with a MAC that is not right;
 * ready: with the parent's key, as who watches has it.
 */
#include "pktcache/pk_bytes.h"
#include "pktcache/pk_parent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <arpa/inet.h>

static uint64_t state = UINT64_C(88172645463325252);

static uint64_t draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static uint8_t from_parent[PK_DATAGRAM_MAX];

static void on_packet(void *context, const struct iovec *part, int parts) {
    (void)context;
    (void)part;
    (void)parts;
}

/* What it says last is kept: a WELCOME for one. */
static void on_datagram(void *context, const void *bytes, size_t n, uint8_t tos) {
    (void)context;
    (void)tos;
    memcpy(from_parent, bytes, n);
}

static void on_word(void *context, enum base_log_priority p, const char *sentence) {
    (void)context;
    (void)p;
    (void)sentence;
}

static double spent(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

int main(int argc, char **argv) {
    static const struct pk_secrets secrets = {
        { { "the secret of the pair, 32 bytes" }, { "another secret, of before, 32 by" } }, 2
    };
    struct pk_config c = {
        .mode = PK_MODE_TRAIN, .window = 10, .literal = 700, .least = 64, .mtu = 1500, .flows = 64, .queues = 1
    };
    struct pk_out out = { NULL, on_packet, on_datagram, on_word, NULL };
    struct pk_ready ready = { .bytes = PK_STORE_LEAST };
    pk_session_t *mine = pk_session_make(secrets.item, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY),
                 *child = pk_session_make(secrets.item, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY);
    pk_store_t *store = pk_store_make(PK_STORE_LEAST, PK_STORE_PARENT);
    uint8_t word[PK_CONTROL_MAX], *pool, *keep;
    size_t n, size = 60;
    uint64_t now = 1000000;

    if (argc != 3) return 2;
    if (!mine || !child || !store) return 1;
    c.there.ss_family = AF_INET;
    if (eeod_marks_set(&c.mark, EEOD_USUAL_OPEN, EEOD_USUAL_CLOSE)) return 1;
    pk_session_secrets(mine, &secrets);
    pk_side_t *parent = pk_parent_make(&c, store, mine, &out);
    if (!parent) return 1;
    n = pk_session_begin(child, word);
    pk_side_datagram(parent, word, n, 0, now);
    if (pk_session_step(child, from_parent, sizeof(struct pk_wire_welcome), &ready, word, &n) != PK_ESTABLISHED)
        return 1;
    pk_side_datagram(parent, word, n, 0, now);
    if (pk_side_why(parent)) return 1;

    /* What is sent is made beforehand, a thousand of them. */
    enum { MANY = 1000 };
    if (!strcmp(argv[1], "sealed")) size = 1400;
    else if (!strcmp(argv[1], "hello")) size = sizeof(struct pk_wire_hello);
    else if (!strcmp(argv[1], "ready")) size = sizeof(struct pk_wire_ready);
    else if (strcmp(argv[1], "junk")) return 2;
    pool = malloc(MANY * size);
    keep = malloc(size);
    if (!pool || !keep) return 1;
    for (size_t i = 0; i < MANY * size; i++) pool[i] = (uint8_t)draw();
    uint8_t sealed[PK_SEAL_MORE + sizeof(struct pk_wire_status)] = { 0 };
    pk_seal(child, PK_STATUS, sealed, sizeof(struct pk_wire_status));
    n = pk_session_begin(child, word);
    pk_side_datagram(parent, word, n, 0, now); /* from_parent has its present key then */
    for (unsigned i = 0; i < MANY; i++) {
        uint8_t *p = pool + i * size;
        struct pk_wire_head head = { (uint8_t)(*argv[1] == 'h' ? PK_HELLO : PK_READY), PK_VERSION, 0, 1,
                                     PK_FINGERPRINT_HIGHWAY };
        if (*argv[1] == 's') {
            memcpy(p, sealed, PK_SEAL_HEAD);
            pk_put32(p + 4, 1000 + i);
        } else if (*argv[1] != 'j') {
            memcpy(p, &head, sizeof head);
            if (*argv[1] == 'r')
                memcpy(((struct pk_wire_ready *)(void *)p)->parent,
                       ((struct pk_wire_welcome *)(void *)from_parent)->parent, PK_KEY);
        }
    }
    uint64_t all = strtoull(argv[2], NULL, 10) * 1000000, refused = parent->counters.refused;
    double begun = spent();
    for (uint64_t i = 0; i < all; i++) {
        memcpy(keep, pool + i % MANY * size, size);
        pk_side_datagram(parent, keep, size, 0, now);
    }
    double took = spent() - begun;
    if (parent->counters.refused - refused != all || pk_side_why(parent)) {
        fprintf(stderr, "%lu of %lu were refused\n", (unsigned long)(parent->counters.refused - refused),
                (unsigned long)all);
        return 1;
    }
    printf("%.4f\n", took / (double)all);
    return 0;
}
