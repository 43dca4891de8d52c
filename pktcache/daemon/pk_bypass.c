/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_bypass.h"

#include <stdatomic.h>
#include <string.h>

#include <linux/if_ether.h>
#include <netinet/in.h>
#include <sys/mman.h>

enum { BYPASSES = 65536 /* connections; a power of two */ };

struct pk_bypass_table {
    _Atomic uint64_t tag[BYPASSES]; /* 0: none */
    _Atomic uint64_t bytes[2];      /* not TLS; TLS */
};

/* Of the hash, computed alike by us and by the programs: from the server to the client, as the packet has them. */
enum { BYPASS_FACTOR = 0x2545f491, BYPASS_SHIFT = 32 };
/* The lowest bits of a tag, of which the others are the hash's: that there is one; and what it is. */
enum { BYPASS_THERE = 1, BYPASS_TLS = 2 };

/* ---- for programs ------------------------------------------------------------------------------------------------ */

int pk_bypass_make_map(void) {
    return pk_bpf_make_map(BPF_MAP_TYPE_ARRAY, 4, sizeof(struct pk_bypass_table), 1, BPF_F_MMAPABLE);
}

/* Register 8 takes another word of a connection, in 1: as bypass_mix. */
static void write_mix(struct pk_bpf *b) {
    pk_bpf_put(b, BPF_ALU64 | BPF_XOR | BPF_X, BPF_REG_8, BPF_REG_1, 0, 0);
    pk_bpf_put(b, BPF_ALU64 | BPF_MUL | BPF_K, BPF_REG_8, 0, 0, BYPASS_FACTOR);
    pk_bpf_copy(b, BPF_REG_1, BPF_REG_8);
    pk_bpf_put(b, BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_1, 0, 0, BYPASS_SHIFT);
    pk_bpf_put(b, BPF_ALU64 | BPF_XOR | BPF_X, BPF_REG_8, BPF_REG_1, 0, 0);
}

/* Register 8: the hash of the connection, as bypass_hash. */
static void write_hash(struct pk_bpf *b, int ip, int tcp, bool asks) {
    struct pk_bpf_jumps six = { .n = 0 }, done = { .n = 0 };
    int server = asks ? 1 : 0; /* the address and the port that are its, of two */

    pk_bpf_set(b, BPF_REG_8, 0);
    for (int i = 0; i < 2; i++) {
        pk_bpf_read(b, BPF_H, BPF_REG_1, BPF_REG_10, tcp + 2 * (i ^ server));
        write_mix(b);
    }
    pk_bpf_if(b, &six, BPF_JNE, BPF_REG_9, htons(ETH_P_IP));
    for (int i = 0; i < 2; i++) {
        pk_bpf_read(b, BPF_W, BPF_REG_1, BPF_REG_10, ip + 12 + 4 * (i ^ server));
        write_mix(b);
    }
    pk_bpf_go(b, &done);
    pk_bpf_land(b, &six);
    for (int i = 0; i < 4; i++) {
        pk_bpf_read(b, BPF_DW, BPF_REG_1, BPF_REG_10, ip + 8 + 8 * (i ^ 2 * server));
        write_mix(b);
    }
    pk_bpf_land(b, &done);
}

void pk_bypass_write(struct pk_bpf *b, int map, int ip, int tcp, bool asks, struct pk_bpf_jumps *pass) {
    enum { FLAGS = 13 }; /* where TCP has them */
    struct pk_bpf_jumps led = { .n = 0 };

    pk_bpf_read(b, BPF_B, BPF_REG_1, BPF_REG_10, tcp + FLAGS);
    pk_bpf_put(b, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_1, 0, 0, PK_SYN);
    pk_bpf_if(b, &led, BPF_JNE, BPF_REG_1, 0);
    write_hash(b, ip, tcp, asks);
    pk_bpf_values(b, BPF_REG_7, map);
    pk_bpf_copy(b, BPF_REG_1, BPF_REG_8);
    pk_bpf_put(b, BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_1, 0, 0, BYPASS_SHIFT);
    pk_bpf_put(b, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_1, 0, 0, BYPASSES - 1);
    pk_bpf_put(b, BPF_ALU64 | BPF_LSH | BPF_K, BPF_REG_1, 0, 0, 3);
    pk_bpf_copy(b, BPF_REG_2, BPF_REG_7);
    pk_bpf_put(b, BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_2, BPF_REG_1, 0, 0);
    pk_bpf_read(b, BPF_DW, BPF_REG_3, BPF_REG_2, offsetof(struct pk_bypass_table, tag));
    pk_bpf_if(b, &led, BPF_JEQ, BPF_REG_3, 0);
    pk_bpf_put(b, BPF_ALU64 | BPF_XOR | BPF_X, BPF_REG_8, BPF_REG_3, 0, 0);
    pk_bpf_put(b, BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_8, 0, 0, 2);
    pk_bpf_if(b, &led, BPF_JNE, BPF_REG_8, 0);
    if (!asks) { /* bit 1 says which of the two counters */
        pk_bpf_put(b, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_3, 0, 0, BYPASS_TLS);
        pk_bpf_put(b, BPF_ALU64 | BPF_LSH | BPF_K, BPF_REG_3, 0, 0, 2);
        pk_bpf_put(b, BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_7, BPF_REG_3, 0, 0);
        pk_bpf_put(b, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_7, 0, 0, offsetof(struct pk_bypass_table, bytes));
        pk_bpf_read(b, BPF_W, BPF_REG_1, BPF_REG_6, (int)offsetof(struct __sk_buff, len));
        pk_bpf_put(b, BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_7, BPF_REG_1, 0, BPF_ADD);
    }
    pk_bpf_go(b, pass);
    pk_bpf_land(b, &led);
}

/* ---- for the daemon ---------------------------------------------------------------------------------------------- */

pk_bypass_table_t *pk_bypass_open(int map) { return pk_bpf_share(map, sizeof(pk_bypass_table_t)); }

void pk_bypass_close(pk_bypass_table_t **table) {
    pk_bypass_table_t *t = *table;
    *table = NULL;
    if (t) munmap(t, sizeof *t);
}

static uint64_t bypass_mix(uint64_t hash, const void *word, size_t n) {
    uint64_t value = 0;

    if (n == 2) value = *(const uint16_t *)word;
    else if (n == 4) value = *(const uint32_t *)word;
    else memcpy(&value, word, n);
    hash = (hash ^ value) * BYPASS_FACTOR;
    return hash ^ hash >> BYPASS_SHIFT;
}

static uint64_t bypass_hash(const struct pk_tuple *t) {
    uint64_t hash = bypass_mix(bypass_mix(0, &t->from_port, 2), &t->to_port, 2);
    struct in6_addr server;

    memcpy(&server, t->from, sizeof server);
    if (IN6_IS_ADDR_V4MAPPED(&server)) return bypass_mix(bypass_mix(hash, t->from + 12, 4), t->to + 12, 4);
    for (int i = 0; i < 32; i += 8) hash = bypass_mix(hash, (i < 16 ? t->from : t->to) + i % 16, 8);
    return hash;
}

void pk_bypass_tell(pk_bypass_table_t *table, const struct pk_tuple *t, enum pk_bypass how) {
    uint64_t hash = bypass_hash(t), tag = hash / 4 * 4 | BYPASS_THERE | (how == PK_BYPASS_TLS ? BYPASS_TLS : 0);
    _Atomic uint64_t *at = table->tag + (hash >> BYPASS_SHIFT & (BYPASSES - 1));

    if (how != PK_LED) atomic_store_explicit(at, tag, memory_order_relaxed);
    else if (atomic_load_explicit(at, memory_order_relaxed) / 4 == hash / 4)
        atomic_store_explicit(at, 0, memory_order_relaxed);
}

uint64_t pk_bypass_bytes(pk_bypass_table_t *table, uint64_t *tls) {
    *tls = atomic_load_explicit(table->bytes + 1, memory_order_relaxed);
    return atomic_load_explicit(table->bytes, memory_order_relaxed) + *tls;
}
