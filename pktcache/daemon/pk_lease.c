/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_lease.h"

#include "pktcache/pk_config.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { LEASE_MAGIC = 0x504b4c53, INSTRUCTIONS = 160 };

struct pk_lease {
    unsigned magic;
    size_t bytes;              /* of the mapping */
    _Atomic uint64_t *renewed; /* nanoseconds, for each thread */
};

static int bpf(int what, union bpf_attr *a) { return (int)syscall(SYS_bpf, what, a, sizeof *a); }

/* ---- the program ------------------------------------------------------------------------------------------------- */

struct text {
    struct bpf_insn at[INSTRUCTIONS];
    int n;
};

static int lease_put(struct text *t, uint8_t code, unsigned to, unsigned from, int off, int32_t value) {
    assert(t->n < INSTRUCTIONS);
    t->at[t->n] =
        (struct bpf_insn){ .code = code, .dst_reg = to & 15, .src_reg = from & 15, .off = (int16_t)off, .imm = value };
    return t->n++;
}

/* The jump that stands at `i` leads here. */
static void here(struct text *t, int i) { t->at[i].off = (int16_t)(t->n - i - 1); }

static void set(struct text *t, unsigned to, int32_t value) {
    lease_put(t, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}
static void copy(struct text *t, unsigned to, unsigned from) {
    lease_put(t, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}
static void call(struct text *t, int helper) { lease_put(t, BPF_JMP | BPF_CALL, 0, 0, 0, helper); }

/* What is asked of the routing stands below the stack's end. */
#define ASKED     (-(int)sizeof(struct bpf_fib_lookup))
#define IN(field) (ASKED + (int)offsetof(struct bpf_fib_lookup, field))
#define BYTE      (ASKED - 8) /* one byte that is looked at */

/* Bytes of the packet to the stack.  at < 0: where register 8 says.  Returns the jump of one that is too short. */
static int lease_load(struct text *t, int at, int to, int n) {
    copy(t, BPF_REG_1, BPF_REG_6);
    if (at < 0) copy(t, BPF_REG_2, BPF_REG_8);
    else set(t, BPF_REG_2, at);
    copy(t, BPF_REG_3, BPF_REG_10);
    lease_put(t, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_3, 0, 0, to);
    set(t, BPF_REG_4, n);
    call(t, BPF_FUNC_skb_load_bytes);
    return lease_put(t, BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, 0, 0);
}

/* Register 6: the packet, 7: the times, 8: now; then where TCP begins. */
static void write_program(struct text *t, int map, unsigned threads) {
    int stale[PK_LANES_MAX], give_up[24], gave = 0, six, known, way;

    copy(t, BPF_REG_6, BPF_REG_1);
    lease_put(t, BPF_LD | BPF_DW | BPF_IMM, BPF_REG_7, BPF_PSEUDO_MAP_VALUE, 0, map);
    lease_put(t, 0, 0, 0, 0, 0);
    call(t, BPF_FUNC_ktime_get_ns);
    copy(t, BPF_REG_8, BPF_REG_0);
    for (unsigned i = 0; i < threads; i++) {
        lease_put(t, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_7, (int)(8 * i), 0);
        copy(t, BPF_REG_2, BPF_REG_8);
        lease_put(t, BPF_ALU64 | BPF_SUB | BPF_X, BPF_REG_2, BPF_REG_1, 0, 0);
        stale[i] = lease_put(t, BPF_JMP | BPF_JSGT | BPF_K, BPF_REG_2, 0, 0, (int32_t)(PK_LEASE * 1000u));
    }
    set(t, BPF_REG_0, TC_ACT_OK);
    lease_put(t, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);

    for (unsigned i = 0; i < threads; i++) here(t, stale[i]);
    for (int at = BYTE; at < 0; at += 8) lease_put(t, BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, at, 0);
    lease_put(t, BPF_LDX | BPF_MEM | BPF_W, BPF_REG_1, BPF_REG_6, offsetof(struct __sk_buff, ifindex), 0);
    lease_put(t, BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, BPF_REG_1, IN(ifindex), 0);
    lease_put(t, BPF_LDX | BPF_MEM | BPF_W, BPF_REG_9, BPF_REG_6, offsetof(struct __sk_buff, protocol), 0);
    six = lease_put(t, BPF_JMP | BPF_JNE | BPF_K, BPF_REG_9, 0, 0, __builtin_bswap16(ETH_P_IP));
    lease_put(t, BPF_ST | BPF_MEM | BPF_B, BPF_REG_10, 0, IN(family), AF_INET);
    give_up[gave++] = lease_load(t, 0, BYTE, 1);
    give_up[gave++] = lease_load(t, 1, IN(tos), 1);
    give_up[gave++] = lease_load(t, 9, IN(l4_protocol), 1);
    give_up[gave++] = lease_load(t, 12, IN(ipv4_src), 4);
    give_up[gave++] = lease_load(t, 16, IN(ipv4_dst), 4);
    lease_put(t, BPF_LDX | BPF_MEM | BPF_B, BPF_REG_8, BPF_REG_10, BYTE, 0);
    lease_put(t, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_8, 0, 0, 15);
    lease_put(t, BPF_ALU64 | BPF_LSH | BPF_K, BPF_REG_8, 0, 0, 2);
    known = lease_put(t, BPF_JMP | BPF_JA, 0, 0, 0, 0);
    here(t, six);
    give_up[gave++] = lease_put(t, BPF_JMP | BPF_JNE | BPF_K, BPF_REG_9, 0, 0, __builtin_bswap16(ETH_P_IPV6));
    lease_put(t, BPF_ST | BPF_MEM | BPF_B, BPF_REG_10, 0, IN(family), AF_INET6);
    give_up[gave++] = lease_load(t, 6, IN(l4_protocol), 1);
    give_up[gave++] = lease_load(t, 8, IN(ipv6_src), 16);
    give_up[gave++] = lease_load(t, 24, IN(ipv6_dst), 16);
    set(t, BPF_REG_8, 40);
    here(t, known);
    give_up[gave++] = lease_load(t, -1, IN(sport), 4);
    copy(t, BPF_REG_1, BPF_REG_6);
    copy(t, BPF_REG_2, BPF_REG_10);
    lease_put(t, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, ASKED);
    set(t, BPF_REG_3, -ASKED);
    set(t, BPF_REG_4, 0);
    call(t, BPF_FUNC_fib_lookup);
    way = lease_put(t, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 0, BPF_FIB_LKUP_RET_SUCCESS);
    give_up[gave++] = lease_put(t, BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, 0, BPF_FIB_LKUP_RET_NO_NEIGH);
    here(t, way);
    /* What is sent to a neighbour has room for an Ethernet header before it, whatever device that is. */
    copy(t, BPF_REG_1, BPF_REG_6);
    set(t, BPF_REG_2, ETH_HLEN);
    set(t, BPF_REG_3, 0);
    call(t, BPF_FUNC_skb_change_head);
    give_up[gave++] = lease_put(t, BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, 0, 0);
    lease_put(t, BPF_LDX | BPF_MEM | BPF_W, BPF_REG_1, BPF_REG_10, IN(ifindex), 0);
    set(t, BPF_REG_2, 0);
    set(t, BPF_REG_3, 0);
    set(t, BPF_REG_4, 0);
    call(t, BPF_FUNC_redirect_neigh);
    lease_put(t, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    while (gave) here(t, give_up[--gave]);
    set(t, BPF_REG_0, TC_ACT_OK);
    lease_put(t, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static int load_program(int map, unsigned threads) {
    struct text t = { .n = 0 };
    union bpf_attr a;

    write_program(&t, map, threads);
    memset(&a, 0, sizeof a);
    a.prog_type = BPF_PROG_TYPE_SCHED_CLS;
    a.insns = (uintptr_t)t.at;
    a.insn_cnt = (uint32_t)t.n;
    a.license = (uintptr_t) "Dual BSD/GPL"; /* the kernel lends fib_lookup to nobody else */
    return bpf(BPF_PROG_LOAD, &a);
}

static int make_map(void) {
    union bpf_attr a;
    memset(&a, 0, sizeof a);
    a.map_type = BPF_MAP_TYPE_ARRAY;
    a.key_size = 4;
    a.value_size = 8 * PK_LANES_MAX;
    a.max_entries = 1;
    a.map_flags = BPF_F_MMAPABLE;
    return bpf(BPF_MAP_CREATE, &a);
}

/* ---- where it is put --------------------------------------------------------------------------------------------- */

struct order {
    struct nlmsghdr head;
    struct tcmsg what;
    char more[128];
};

static void *lease_add(struct order *o, uint16_t type, const void *value, size_t n) {
    struct rtattr *a = (struct rtattr *)((char *)o + o->head.nlmsg_len);
    a->rta_type = type;
    a->rta_len = (uint16_t)RTA_LENGTH(n);
    if (n) memcpy(RTA_DATA(a), value, n);
    o->head.nlmsg_len += (uint32_t)RTA_ALIGN(a->rta_len);
    return a;
}

/* 0, or an errno. */
static int lease_tell(int netlink, struct order *o) {
    union {
        struct nlmsghdr head;
        char bytes[1024];
    } u;
    const struct nlmsgerr *e = NLMSG_DATA(&u.head);
    ssize_t n;

    o->head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
    if (send(netlink, o, o->head.nlmsg_len, 0) < 0 || (n = recv(netlink, &u, sizeof u, 0)) < 0) return errno;
    return (size_t)n < NLMSG_LENGTH(sizeof *e) || u.head.nlmsg_type != NLMSG_ERROR ? EPROTO : -e->error;
}

/* 0, or an errno. */
static int lease_attach(int program, unsigned device) {
    struct order qdisc = {
        .head = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)), .nlmsg_type = RTM_NEWQDISC },
        .what = { .tcm_ifindex = (int)device, .tcm_parent = TC_H_CLSACT, .tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0) }
    };
    struct order filter = { .head = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)), .nlmsg_type = RTM_NEWTFILTER },
                            .what = { .tcm_ifindex = (int)device,
                                      .tcm_parent = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS),
                                      .tcm_info = TC_H_MAKE(1 << 16, __builtin_bswap16(ETH_P_ALL)) } };
    uint32_t direct = TCA_BPF_FLAG_ACT_DIRECT;
    struct rtattr *options;
    int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), why;

    if (netlink < 0) return errno;
    lease_add(&qdisc, TCA_KIND, "clsact", sizeof "clsact");
    lease_add(&filter, TCA_KIND, "bpf", sizeof "bpf");
    options = lease_add(&filter, TCA_OPTIONS, NULL, 0);
    lease_add(&filter, TCA_BPF_FD, &program, sizeof program);
    lease_add(&filter, TCA_BPF_NAME, "fairgate-lease", sizeof "fairgate-lease");
    lease_add(&filter, TCA_BPF_FLAGS, &direct, sizeof direct);
    options->rta_len = (uint16_t)((char *)&filter + filter.head.nlmsg_len - (char *)options);
    if (!(why = lease_tell(netlink, &qdisc))) why = lease_tell(netlink, &filter);
    close(netlink);
    return why;
}

/* ---- the lease --------------------------------------------------------------------------------------------------- */

pk_lease_t *pk_lease_make(const char *device, unsigned threads, char **error) {
    pk_lease_t *l = calloc(1, sizeof *l);
    int map = l ? make_map() : -1, program = -1, why = !l ? ENOMEM : map < 0 ? errno : 0;

    *error = NULL;
    if (l) l->magic = LEASE_MAGIC;
    if (!why) {
        l->bytes = (size_t)sysconf(_SC_PAGESIZE);
        l->renewed = mmap(NULL, l->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
        why = l->renewed == MAP_FAILED || (program = load_program(map, threads)) < 0
                  ? errno
                  : lease_attach(program, if_nametoindex(device));
    }
    if (program >= 0) close(program);
    if (map >= 0) close(map);
    if (!why) return l;
    if (asprintf(error,
                 "the kernel takes no program that lets packets pass when daemon and guard are both stopped; then they "
                 "would wait: %s",
                 strerror(why)) < 0)
        *error = NULL;
    pk_lease_free(&l);
    return NULL;
}

void pk_lease_renew(pk_lease_t *l, unsigned thread, uint64_t now) {
    if (l) atomic_store_explicit(l->renewed + thread, now * 1000, memory_order_relaxed);
}

void pk_lease_free(pk_lease_t **lease) {
    pk_lease_t *l = *lease;
    *lease = NULL;
    if (!l) return;
    assert(l->magic == LEASE_MAGIC);
    if (l->renewed && l->renewed != MAP_FAILED) munmap((void *)l->renewed, l->bytes);
    l->magic = 0;
    free(l);
}
