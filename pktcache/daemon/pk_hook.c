/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_hook.h"

#include "pk_bpf.h"
#include "pk_netlink.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>

enum {
    HOOK_MAGIC = 0x504b484b,
    CLAIMS = 4754, /* the preference of our filters among others */
    TAKES = 4755,  /* and of those that take what was claimed */
    MARK = 0x4647, /* tc_index of a packet that came from a daemon's device */
    /* And of one that a daemon wants.  cb[0]: its device, 0: another wants it, too; cb[1]: its; cb[2]: that one's */
    CLAIMED = 0x4648,
    CLIENTS = 16384 /* whose Ethernet headers are remembered */
};

/* What the daemon's threads write and the programs read. */
struct lease {
    _Atomic uint64_t renewed[PK_LANES_MAX]; /* nanoseconds */
};

/* What the programs are told by who has more power than those. */
struct places {
    _Atomic uint32_t led;
    uint32_t tun, link;
    uint32_t ethernet, bare;
    uint8_t address[8]; /* of the link's device; two bytes are 0 */
    /* The programs write these: packets that another daemon wanted, too, and that one's device. */
    _Atomic uint32_t clashes, other;
};

/* In the order in which they are put; taken away the other way round, so that who claims a packet takes it. */
enum { AT_TAKE, AT_LINK_OUT, AT_LINK_IN, AT_TUN, HOOKS };

struct pk_hook {
    unsigned magic;
    bool parent;
    int program[HOOKS]; /* -1: none there */
    struct lease *lease;
    struct places *places;
    pk_bypass_table_t *bypass; /* parent */
    uint32_t handle;           /* of our filters, by the device's name: a daemon that comes after us replaces them */
    char name[64];             /* for people */
    unsigned tun;
    uint32_t clashes; /* as they were told last */
    struct pk_place place;
};

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* Register 6 is the packet, 7 a map's value, 8 and 9 are said where they are set.  On the stack: */
enum {
    HEAD = -40,     /* the IP header */
    KEY = -64,      /* an address, as `clients` has it */
    ETHERNET = -80, /* an Ethernet header, and two bytes that are 0 */
    TCP = -96,      /* the first TCP_READ bytes of its header, which has no fewer than 20 */
    TCP_READ = 16
};

#define OF_PACKET(field) ((int)offsetof(struct __sk_buff, field))

struct writer {
    struct pk_bpf b;
    const struct pk_config *c;
    int lease, places, clients, bypass; /* maps */
};

static void hook_begin(struct writer *w) {
    w->b.n = 0;
    pk_bpf_copy(&w->b, BPF_REG_6, BPF_REG_1);
}

/* Lets the packet go on, also to filters behind ours. */
static void hook_pass(struct writer *w, struct pk_bpf_jumps *here) {
    pk_bpf_land(&w->b, here);
    pk_bpf_return(&w->b, TC_ACT_UNSPEC);
}

/* What came from a daemon's device goes on. */
static void pass_marked(struct writer *w, struct pk_bpf_jumps *plain) {
    pk_bpf_read(&w->b, BPF_W, BPF_REG_1, BPF_REG_6, OF_PACKET(tc_index));
    pk_bpf_if(&w->b, plain, BPF_JEQ, BPF_REG_1, MARK);
}

static void hook_mark(struct writer *w, int32_t mark) {
    pk_bpf_set(&w->b, BPF_REG_1, mark);
    pk_bpf_write(&w->b, BPF_W, BPF_REG_6, OF_PACKET(tc_index), BPF_REG_1);
}

/* Jumps to `plain` unless packets are led to the device and all its threads go on.  Uses 7 and 8. */
static void leased(struct writer *w, struct pk_bpf_jumps *plain) {
    struct pk_bpf *b = &w->b;

    pk_bpf_values(b, BPF_REG_7, w->places);
    pk_bpf_read(b, BPF_W, BPF_REG_1, BPF_REG_7, offsetof(struct places, led));
    pk_bpf_if(b, plain, BPF_JEQ, BPF_REG_1, 0);
    pk_bpf_values(b, BPF_REG_7, w->lease);
    pk_bpf_call(b, BPF_FUNC_ktime_get_ns);
    pk_bpf_copy(b, BPF_REG_8, BPF_REG_0);
    for (unsigned i = 0; i < w->c->queues; i++) {
        pk_bpf_read(b, BPF_DW, BPF_REG_1, BPF_REG_7, (int)(8 * i));
        pk_bpf_copy(b, BPF_REG_2, BPF_REG_8);
        pk_bpf_put(b, BPF_ALU64 | BPF_SUB | BPF_X, BPF_REG_2, BPF_REG_1, 0, 0);
        /* Another processor may have renewed it since; but nobody renews it for years. */
        pk_bpf_put(b, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, (int32_t)(PK_LEASE * 1000u));
        pk_bpf_if(b, plain, BPF_JGT, BPF_REG_2, (int32_t)(2 * PK_LEASE * 1000u));
    }
}

/* Bytes of the packet, from its IP header on, to the stack.  at < 0: where register 8 says. */
static void hook_load(struct writer *w, int at, int to, int n, struct pk_bpf_jumps *other) {
    struct pk_bpf *b = &w->b;

    pk_bpf_copy(b, BPF_REG_1, BPF_REG_6);
    if (at < 0) pk_bpf_copy(b, BPF_REG_2, BPF_REG_8);
    else pk_bpf_set(b, BPF_REG_2, at);
    pk_bpf_point(b, BPF_REG_3, to);
    pk_bpf_set(b, BPF_REG_4, n);
    pk_bpf_set(b, BPF_REG_5, BPF_HDR_START_NET);
    pk_bpf_call(b, BPF_FUNC_skb_load_bytes_relative);
    pk_bpf_if(b, other, BPF_JNE, BPF_REG_0, 0);
}

/* Jumps to `other` unless the address at that place of the header is in one of these networks of the family. */
static void in_networks(struct writer *w, const struct pk_networks *networks, bool four, int at,
                        struct pk_bpf_jumps *other) {
    struct pk_bpf *b = &w->b;
    struct pk_bpf_jumps hit = { .n = 0 }, miss = { .n = 0 };
    unsigned skip = four ? 96 : 0;

    for (unsigned i = 0; i < networks->n; i++)
        if (pk_network_is_four(networks->item + i) == four && networks->item[i].bits == skip) return; /* all are */
    for (unsigned i = 0; i < networks->n; i++) {
        const struct pk_network *n = networks->item + i;
        if (pk_network_is_four(n) != four) continue;
        for (unsigned bits = skip; bits < n->bits; bits += 32) {
            uint32_t mask = n->bits >= bits + 32 ? UINT32_MAX : htonl(UINT32_MAX << (bits + 32 - n->bits)), value;
            memcpy(&value, n->address + bits / 8, sizeof value);
            pk_bpf_read(b, BPF_W, BPF_REG_1, BPF_REG_10, HEAD + at + (int)(bits - skip) / 8);
            if (mask != UINT32_MAX) pk_bpf_put(b, BPF_ALU | BPF_AND | BPF_K, BPF_REG_1, 0, 0, (int32_t)mask);
            pk_bpf_if32(b, &miss, BPF_JNE, BPF_REG_1, value);
        }
        pk_bpf_go(b, &hit);
        pk_bpf_land(b, &miss);
    }
    pk_bpf_go(b, other);
    pk_bpf_land(b, &hit);
}

static bool has_family(const struct pk_networks *n, bool four) {
    for (unsigned i = 0; i < n->n; i++)
        if (pk_network_is_four(n->item + i) == four) return true;
    return false;
}

/*
 * Jumps to `other` unless the packet is TCP from a server and its port to a client, or, `asks`, the other way; a
 * fragment is not, nor what has a VLAN's tag beside it, which our device has no place for.  Register 9: the packet's
 * protocol, in network order.  Uses 8.
 */
static void is_ours(struct writer *w, bool asks, struct pk_bpf_jumps *other) {
    struct pk_bpf *b = &w->b;
    struct pk_bpf_jumps known = { .n = 0 }, another = { .n = 0 };

    pk_bpf_read(b, BPF_W, BPF_REG_1, BPF_REG_6, OF_PACKET(vlan_present));
    pk_bpf_if(b, other, BPF_JNE, BPF_REG_1, 0);
    pk_bpf_read(b, BPF_W, BPF_REG_9, BPF_REG_6, OF_PACKET(protocol));
    for (int four = 0; four < 2; four++) {
        int source = four ? 12 : 8, target = four ? 16 : 24;
        if (!has_family(&w->c->server, four) || !has_family(&w->c->client, four)) continue;
        pk_bpf_if(b, &another, BPF_JNE, BPF_REG_9, htons(four ? ETH_P_IP : ETH_P_IPV6));
        hook_load(w, 0, HEAD, four ? 20 : 40, other);
        pk_bpf_read(b, BPF_B, BPF_REG_1, BPF_REG_10, HEAD + (four ? 9 : 6));
        pk_bpf_if(b, other, BPF_JNE, BPF_REG_1, IPPROTO_TCP);
        pk_bpf_set(b, BPF_REG_8, 40);
        if (four) {
            pk_bpf_read(b, BPF_H, BPF_REG_1, BPF_REG_10, HEAD + 6);
            pk_bpf_put(b, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_1, 0, 0, htons(0x3fff));
            pk_bpf_if(b, other, BPF_JNE, BPF_REG_1, 0);
            pk_bpf_read(b, BPF_B, BPF_REG_8, BPF_REG_10, HEAD);
            pk_bpf_put(b, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_8, 0, 0, 15);
            pk_bpf_put(b, BPF_ALU64 | BPF_LSH | BPF_K, BPF_REG_8, 0, 0, 2);
        }
        in_networks(w, &w->c->server, four, asks ? target : source, other);
        in_networks(w, &w->c->client, four, asks ? source : target, other);
        pk_bpf_go(b, &known);
        pk_bpf_land(b, &another);
    }
    pk_bpf_go(b, other);
    pk_bpf_land(b, &known);
    hook_load(w, -1, TCP, TCP_READ, other);
    if (w->c->any_port) return;
    pk_bpf_read(b, BPF_H, BPF_REG_1, BPF_REG_10, TCP + (asks ? 2 : 0));
    for (unsigned i = 0; i < w->c->ports.n; i++) pk_bpf_if(b, &known, BPF_JEQ, BPF_REG_1, w->c->port[i]);
    pk_bpf_go(b, other);
    pk_bpf_land(b, &known);
}

/* Packets for other machines, that a device in promiscuous mode sees, are not ours. */
static void is_for_us(struct writer *w, struct pk_bpf_jumps *other) {
    pk_bpf_read(&w->b, BPF_W, BPF_REG_1, BPF_REG_6, OF_PACKET(pkt_type));
    pk_bpf_if(&w->b, other, BPF_JNE, BPF_REG_1, PACKET_HOST);
}

/* Register 7: what stands in `places`. */
static void know_places(struct writer *w) { pk_bpf_values(&w->b, BPF_REG_7, w->places); }

static void redirect(struct writer *w, size_t to, int32_t flags) {
    struct pk_bpf *b = &w->b;
    pk_bpf_read(b, BPF_W, BPF_REG_1, BPF_REG_7, (int)to);
    pk_bpf_set(b, BPF_REG_2, flags);
    pk_bpf_call(b, BPF_FUNC_redirect);
    pk_bpf_put(b, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* The address that the packet goes to becomes a key.  9 is its protocol. */
static void key_of_target(struct writer *w) {
    struct pk_bpf *b = &w->b;
    struct pk_bpf_jumps six = { .n = 0 }, done = { .n = 0 };
    bool both = has_family(&w->c->server, true) && has_family(&w->c->server, false);

    if (both) pk_bpf_if(b, &six, BPF_JNE, BPF_REG_9, htons(ETH_P_IP));
    if (has_family(&w->c->server, true)) {
        pk_bpf_read(b, BPF_W, BPF_REG_1, BPF_REG_10, HEAD + 16);
        pk_bpf_set(b, BPF_REG_2, 0);
        pk_bpf_write(b, BPF_W, BPF_REG_10, KEY, BPF_REG_1);
        pk_bpf_write(b, BPF_W, BPF_REG_10, KEY + 4, BPF_REG_2);
        pk_bpf_write(b, BPF_DW, BPF_REG_10, KEY + 8, BPF_REG_2);
        if (both) pk_bpf_go(b, &done);
    }
    if (both) pk_bpf_land(b, &six);
    if (has_family(&w->c->server, false)) {
        for (int i = 0; i < 16; i += 8) {
            pk_bpf_read(b, BPF_DW, BPF_REG_1, BPF_REG_10, HEAD + 24 + i);
            pk_bpf_write(b, BPF_DW, BPF_REG_10, KEY + i, BPF_REG_1);
        }
    }
    if (both) pk_bpf_land(b, &done);
}

/* Register 0: what is remembered of that client, or 0. */
static void look_up(struct writer *w) {
    pk_bpf_map(&w->b, BPF_REG_1, w->clients);
    pk_bpf_point(&w->b, BPF_REG_2, KEY);
    pk_bpf_call(&w->b, BPF_FUNC_map_lookup_elem);
}

/* Remembers the Ethernet header of a packet to a client.  7: places. */
static void remember_header(struct writer *w) {
    struct pk_bpf *b = &w->b;
    struct pk_bpf_jumps done = { .n = 0 }, differs = { .n = 0 };

    pk_bpf_read(b, BPF_W, BPF_REG_1, BPF_REG_7, offsetof(struct places, ethernet));
    pk_bpf_if(b, &done, BPF_JEQ, BPF_REG_1, 0);
    pk_bpf_set(b, BPF_REG_1, 0);
    pk_bpf_write(b, BPF_DW, BPF_REG_10, ETHERNET + 8, BPF_REG_1);
    pk_bpf_copy(b, BPF_REG_1, BPF_REG_6);
    pk_bpf_set(b, BPF_REG_2, 0);
    pk_bpf_point(b, BPF_REG_3, ETHERNET);
    pk_bpf_set(b, BPF_REG_4, ETH_HLEN);
    pk_bpf_call(b, BPF_FUNC_skb_load_bytes);
    pk_bpf_if(b, &done, BPF_JNE, BPF_REG_0, 0);
    key_of_target(w);
    look_up(w);
    pk_bpf_if(b, &differs, BPF_JEQ, BPF_REG_0, 0);
    for (int i = 0; i < 16; i += 8) {
        pk_bpf_read(b, BPF_DW, BPF_REG_1, BPF_REG_0, i);
        pk_bpf_read(b, BPF_DW, BPF_REG_2, BPF_REG_10, ETHERNET + i);
        pk_bpf_put(b, BPF_ALU64 | BPF_XOR | BPF_X, BPF_REG_1, BPF_REG_2, 0, 0);
        pk_bpf_if(b, &differs, BPF_JNE, BPF_REG_1, 0);
    }
    pk_bpf_go(b, &done);
    pk_bpf_land(b, &differs);
    pk_bpf_map(b, BPF_REG_1, w->clients);
    pk_bpf_point(b, BPF_REG_2, KEY);
    pk_bpf_point(b, BPF_REG_3, ETHERNET);
    pk_bpf_set(b, BPF_REG_4, BPF_ANY);
    pk_bpf_call(b, BPF_FUNC_map_update_elem);
    pk_bpf_land(b, &done);
}

/* Another daemon wanted it, too: so nobody has it.  7: places; *other: that one's device. */
static void count_clash(struct writer *w, unsigned other) {
    struct pk_bpf *b = &w->b;

    pk_bpf_write(b, BPF_W, BPF_REG_7, offsetof(struct places, other), other);
    pk_bpf_set(b, BPF_REG_1, 1);
    pk_bpf_put(b, BPF_STX | BPF_ATOMIC | BPF_W, BPF_REG_7, BPF_REG_1, offsetof(struct places, clashes), BPF_ADD);
}

/* A packet of servers, whose header is remembered, is to be taken, unless another daemon has claimed it. */
static void write_claim(struct writer *w, bool remembers) {
    struct pk_bpf *b = &w->b;
    struct pk_bpf_jumps free = { .n = 0 };

    know_places(w);
    pk_bpf_read(b, BPF_W, BPF_REG_1, BPF_REG_6, OF_PACKET(tc_index));
    pk_bpf_if(b, &free, BPF_JNE, BPF_REG_1, CLAIMED);
    pk_bpf_read(b, BPF_W, BPF_REG_2, BPF_REG_6, OF_PACKET(cb[1]));
    count_clash(w, BPF_REG_2);
    pk_bpf_set(b, BPF_REG_1, 0);
    pk_bpf_write(b, BPF_W, BPF_REG_6, OF_PACKET(cb[0]), BPF_REG_1);
    pk_bpf_read(b, BPF_W, BPF_REG_1, BPF_REG_7, offsetof(struct places, tun));
    pk_bpf_write(b, BPF_W, BPF_REG_6, OF_PACKET(cb[2]), BPF_REG_1);
    pk_bpf_return(b, TC_ACT_UNSPEC);
    pk_bpf_land(b, &free);
    if (remembers) remember_header(w);
    pk_bpf_read(b, BPF_W, BPF_REG_1, BPF_REG_7, offsetof(struct places, tun));
    pk_bpf_write(b, BPF_W, BPF_REG_6, OF_PACKET(cb[0]), BPF_REG_1);
    pk_bpf_write(b, BPF_W, BPF_REG_6, OF_PACKET(cb[1]), BPF_REG_1);
    hook_mark(w, CLAIMED);
}

/* What stands behind the claims of all daemons: ours go to our device, and no mark stays. */
static void write_take(struct writer *w) {
    struct pk_bpf *b = &w->b;
    struct pk_bpf_jumps marked = { .n = 0 }, plain = { .n = 0 }, clash = { .n = 0 };

    hook_begin(w);
    pk_bpf_read(b, BPF_W, BPF_REG_1, BPF_REG_6, OF_PACKET(tc_index));
    pk_bpf_if(b, &marked, BPF_JEQ, BPF_REG_1, MARK);
    pk_bpf_if(b, &plain, BPF_JNE, BPF_REG_1, CLAIMED);
    know_places(w);
    pk_bpf_read(b, BPF_W, BPF_REG_2, BPF_REG_7, offsetof(struct places, tun));
    pk_bpf_read(b, BPF_W, BPF_REG_1, BPF_REG_6, OF_PACKET(cb[1]));
    pk_bpf_put(b, BPF_ALU64 | BPF_XOR | BPF_X, BPF_REG_1, BPF_REG_2, 0, 0);
    pk_bpf_if(b, &plain, BPF_JNE, BPF_REG_1, 0);
    hook_mark(w, 0);
    pk_bpf_read(b, BPF_W, BPF_REG_1, BPF_REG_6, OF_PACKET(cb[0]));
    pk_bpf_if(b, &clash, BPF_JEQ, BPF_REG_1, 0);
    redirect(w, offsetof(struct places, tun), 0);
    pk_bpf_land(b, &clash);
    pk_bpf_read(b, BPF_W, BPF_REG_2, BPF_REG_6, OF_PACKET(cb[2]));
    count_clash(w, BPF_REG_2);
    pk_bpf_return(b, TC_ACT_UNSPEC);
    pk_bpf_land(b, &marked);
    hook_mark(w, 0);
    hook_pass(w, &plain);
}

static void write_parent_out(struct writer *w) {
    struct pk_bpf_jumps plain = { .n = 0 };

    hook_begin(w);
    pass_marked(w, &plain);
    is_ours(w, false, &plain);
    pk_bypass_write(&w->b, w->bypass, HEAD, TCP, false, &plain);
    leased(w, &plain);
    write_claim(w, true);
    hook_pass(w, &plain);
}

static void write_child_in(struct writer *w) {
    struct pk_bpf_jumps plain = { .n = 0 };

    hook_begin(w);
    pass_marked(w, &plain);
    is_for_us(w, &plain);
    is_ours(w, false, &plain);
    leased(w, &plain);
    write_claim(w, false);
    hook_pass(w, &plain);
}

static void write_parent_in(struct writer *w) {
    struct pk_bpf *b = &w->b;
    struct pk_bpf_jumps plain = { .n = 0 };

    hook_begin(w);
    is_for_us(w, &plain);
    is_ours(w, true, &plain);
    pk_bypass_write(&w->b, w->bypass, HEAD, TCP, true, &plain);
    leased(w, &plain);
    know_places(w);
    pk_bpf_copy(b, BPF_REG_1, BPF_REG_6);
    pk_bpf_read(b, BPF_W, BPF_REG_2, BPF_REG_7, offsetof(struct places, tun));
    pk_bpf_set(b, BPF_REG_3, 0);
    pk_bpf_call(b, BPF_FUNC_clone_redirect);
    hook_pass(w, &plain);
}

/* A packet from our device has no Ethernet header; it gets room for one. */
static void make_room(struct writer *w, struct pk_bpf_jumps *lost) {
    pk_bpf_copy(&w->b, BPF_REG_1, BPF_REG_6);
    pk_bpf_set(&w->b, BPF_REG_2, ETH_HLEN);
    pk_bpf_set(&w->b, BPF_REG_3, 0);
    pk_bpf_call(&w->b, BPF_FUNC_skb_change_head);
    pk_bpf_if(&w->b, lost, BPF_JNE, BPF_REG_0, 0);
}

static void put_ethernet(struct writer *w, struct pk_bpf_jumps *lost) {
    pk_bpf_copy(&w->b, BPF_REG_1, BPF_REG_6);
    pk_bpf_set(&w->b, BPF_REG_2, 0);
    pk_bpf_point(&w->b, BPF_REG_3, ETHERNET);
    pk_bpf_set(&w->b, BPF_REG_4, ETH_HLEN);
    pk_bpf_set(&w->b, BPF_REG_5, 0);
    pk_bpf_call(&w->b, BPF_FUNC_skb_store_bytes);
    pk_bpf_if(&w->b, lost, BPF_JNE, BPF_REG_0, 0);
}

static void hook_lose(struct writer *w, struct pk_bpf_jumps *lost) {
    pk_bpf_land(&w->b, lost);
    pk_bpf_return(&w->b, TC_ACT_SHOT);
}

static void write_parent_from(struct writer *w) {
    struct pk_bpf *b = &w->b;
    struct pk_bpf_jumps lost = { .n = 0 }, bare = { .n = 0 }, routed = { .n = 0 };

    hook_begin(w);
    is_ours(w, false, &lost);
    hook_mark(w, MARK);
    know_places(w);
    pk_bpf_read(b, BPF_W, BPF_REG_1, BPF_REG_7, offsetof(struct places, bare));
    pk_bpf_if(b, &bare, BPF_JNE, BPF_REG_1, 0);
    pk_bpf_read(b, BPF_W, BPF_REG_1, BPF_REG_7, offsetof(struct places, ethernet));
    pk_bpf_if(b, &routed, BPF_JEQ, BPF_REG_1, 0);
    key_of_target(w);
    look_up(w);
    pk_bpf_if(b, &routed, BPF_JEQ, BPF_REG_0, 0);
    for (int i = 0; i < 16; i += 8) {
        pk_bpf_read(b, BPF_DW, BPF_REG_1, BPF_REG_0, i);
        pk_bpf_write(b, BPF_DW, BPF_REG_10, ETHERNET + i, BPF_REG_1);
    }
    make_room(w, &lost);
    put_ethernet(w, &lost);
    /* Where no header names a next hop none is looked for: rules of routing do not know where the packet came in. */
    pk_bpf_land(b, &bare);
    redirect(w, offsetof(struct places, link), 0);
    /* The kernel takes that room for the header of the next hop, whatever device that is. */
    pk_bpf_land(b, &routed);
    make_room(w, &lost);
    pk_bpf_read(b, BPF_W, BPF_REG_1, BPF_REG_7, offsetof(struct places, link));
    for (unsigned i = BPF_REG_2; i <= BPF_REG_4; i++) pk_bpf_set(b, i, 0);
    pk_bpf_call(b, BPF_FUNC_redirect_neigh);
    pk_bpf_put(b, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    hook_lose(w, &lost);
}

/* The Ethernet header is for a device that has some; where packets have none the kernel takes it off. */
static void write_child_from(struct writer *w) {
    struct pk_bpf *b = &w->b;
    struct pk_bpf_jumps lost = { .n = 0 };

    hook_begin(w);
    is_ours(w, false, &lost);
    hook_mark(w, MARK);
    know_places(w);
    /* `address` is not where 8 bytes may be read at a time. */
    for (int i = 0; i < 8; i += 4) {
        pk_bpf_read(b, BPF_W, BPF_REG_1, BPF_REG_7, (int)offsetof(struct places, address) + i);
        pk_bpf_write(b, BPF_W, BPF_REG_10, ETHERNET + i, BPF_REG_1);
    }
    pk_bpf_set(b, BPF_REG_1, 0);
    pk_bpf_write(b, BPF_DW, BPF_REG_10, ETHERNET + 8, BPF_REG_1);
    pk_bpf_write(b, BPF_H, BPF_REG_10, ETHERNET + 12, BPF_REG_9);
    make_room(w, &lost);
    put_ethernet(w, &lost);
    redirect(w, offsetof(struct places, link), BPF_F_INGRESS);
    hook_lose(w, &lost);
}

/* ---- where they are put ------------------------------------------------------------------------------------------ */

/* Which way packets go there, as they are seen from the machine. */
static bool hook_is_in(const struct pk_hook *h, int i) { return i == AT_TAKE ? !h->parent : i != AT_LINK_OUT; }

static void hook_filter(struct pk_netlink *m, const struct pk_hook *h, int i, int type, unsigned device) {
    struct tcmsg *what = pk_netlink_begin(m, (uint16_t)type, type == RTM_NEWTFILTER ? NLM_F_CREATE : 0, sizeof *what);

    what->tcm_ifindex = (int)device;
    what->tcm_handle = h->handle;
    what->tcm_parent = TC_H_MAKE(TC_H_CLSACT, hook_is_in(h, i) ? TC_H_MIN_INGRESS : TC_H_MIN_EGRESS);
    what->tcm_info = TC_H_MAKE((i == AT_TAKE ? TAKES : CLAIMS) << 16, htons(ETH_P_ALL));
    pk_netlink_add(m, TCA_KIND, "bpf", sizeof "bpf");
}

struct clsact_found {
    unsigned device;
    bool found;
};

static void find_clsact(void *context, const struct nlmsghdr *h) {
    struct clsact_found *c = context;
    const struct tcmsg *what = NLMSG_DATA(h);
    int left = (int)NLMSG_PAYLOAD(h, sizeof *what);

    if (h->nlmsg_type != RTM_NEWQDISC || left < 0 || (unsigned)what->tcm_ifindex != c->device) return;
    for (const struct rtattr *a = (const struct rtattr *)((const char *)h + NLMSG_SPACE(sizeof *what)); RTA_OK(a, left);
         a = RTA_NEXT(a, left))
        if (a->rta_type == TCA_KIND && RTA_PAYLOAD(a) == sizeof "clsact" && !strcmp(RTA_DATA(a), "clsact"))
            c->found = true;
}

/* Whether the device has clsact, and not another queueing discipline in its place. */
static bool has_clsact(unsigned device) {
    struct clsact_found c = { device, false };
    struct pk_netlink m;

    pk_netlink_begin(&m, RTM_GETQDISC, NLM_F_DUMP, sizeof(struct tcmsg));
    pk_netlink_ask(&m, find_clsact, &c);
    return c.found;
}

/* 0, or an errno. */
static int hook_attach(const struct pk_hook *h, int i, unsigned device) {
    struct pk_netlink qdisc, filter;
    uint32_t direct = TCA_BPF_FLAG_ACT_DIRECT;
    struct rtattr *options;
    int why;

    struct tcmsg *what = pk_netlink_begin(&qdisc, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, sizeof *what);
    what->tcm_ifindex = (int)device;
    what->tcm_parent = TC_H_CLSACT;
    what->tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0);
    pk_netlink_add(&qdisc, TCA_KIND, "clsact", sizeof "clsact");
    hook_filter(&filter, h, i, RTM_NEWTFILTER, device);
    options = pk_netlink_add(&filter, TCA_OPTIONS, NULL, 0);
    pk_netlink_add(&filter, TCA_BPF_FD, h->program + i, sizeof h->program[i]);
    pk_netlink_add(&filter, TCA_BPF_NAME, h->name, strlen(h->name) + 1);
    pk_netlink_add(&filter, TCA_BPF_FLAGS, &direct, sizeof direct);
    options->rta_len = (uint16_t)((char *)&filter + filter.head.nlmsg_len - (char *)options);
    why = pk_netlink_tell(&qdisc);
    if (why && (why != EEXIST || !has_clsact(device))) return why;
    return pk_netlink_tell(&filter);
}

static void hook_detach(const struct pk_hook *h, int i, unsigned device) {
    struct pk_netlink m;
    hook_filter(&m, h, i, RTM_DELTFILTER, device);
    pk_netlink_tell(&m); /* it may be gone, and its device */
}

void pk_hook_leave(pk_hook_t *h) {
    for (int i = AT_TUN; i-- > 0 && h->place.device;)
        if (h->program[i] >= 0) hook_detach(h, i, h->place.device);
    h->place = (struct pk_place){ .device = 0 };
}

int pk_hook_place(pk_hook_t *h, const struct pk_place *place) {
    int why = 0;

    assert(h->magic == HOOK_MAGIC);
    if (h->place.device != place->device) pk_hook_leave(h);
    h->places->link = place->device;
    h->places->ethernet = place->bytes == ETH_ALEN;
    h->places->bare = place->bare;
    memset(h->places->address, 0, sizeof h->places->address);
    memcpy(h->places->address, place->address, place->bytes == ETH_ALEN ? ETH_ALEN : 0);
    h->place = *place;
    /* The last one, too: without it what comes from our device would go anywhere. */
    for (int i = 0; i < HOOKS && !why; i++) {
        unsigned device = i == AT_TUN ? h->tun : place->device;
        if (h->program[i] >= 0 && device) why = hook_attach(h, i, device);
    }
    if (why) pk_hook_leave(h);
    return why;
}

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

/* 0, or an errno. */
static int load_programs(struct pk_hook *h, struct writer *w) {
    static void (*const writes[2][HOOKS])(
        struct writer *) = { { write_take, NULL, write_child_in, write_child_from },
                             { write_take, write_parent_out, write_parent_in, write_parent_from } };
    for (int i = 0; i < HOOKS; i++) {
        /* What asks is not looked for where any port may be a server's. */
        if (!writes[h->parent][i] || (h->parent && i == AT_LINK_IN && w->c->any_port)) continue;
        writes[h->parent][i](w);
        if ((h->program[i] = pk_bpf_load(&w->b, BPF_PROG_TYPE_SCHED_CLS)) < 0) return errno;
    }
    return 0;
}

/* 0, or an errno. */
static int hook_open(struct pk_hook *h, struct writer *w) {
    w->lease = pk_bpf_make_map(BPF_MAP_TYPE_ARRAY, 4, sizeof(struct lease), 1, BPF_F_MMAPABLE);
    w->places = pk_bpf_make_map(BPF_MAP_TYPE_ARRAY, 4, sizeof(struct places), 1, BPF_F_MMAPABLE);
    w->clients = pk_bpf_make_map(BPF_MAP_TYPE_LRU_HASH, 16, 16, CLIENTS, 0);
    if (h->parent && ((w->bypass = pk_bypass_make_map()) < 0 || !(h->bypass = pk_bypass_open(w->bypass)))) return errno;
    if (w->lease < 0 || w->places < 0 || w->clients < 0 || !(h->lease = pk_bpf_share(w->lease, sizeof *h->lease)) ||
        !(h->places = pk_bpf_share(w->places, sizeof *h->places)))
        return errno;
    h->places->tun = h->tun;
    int why = load_programs(h, w);
    return why ? why : hook_attach(h, AT_TUN, h->tun);
}

/* FNV-1a: two daemons on a machine must not have the same. */
static uint32_t handle_of(const char *device) {
    uint32_t hash = UINT32_C(2166136261);
    for (const char *p = device; *p; p++) hash = (hash ^ (uint8_t)*p) * UINT32_C(16777619);
    return (hash >> 31 ^ hash) & 0x7fffffff;
}

pk_hook_t *pk_hook_make(const struct pk_config *c, bool parent, char **error) {
    pk_hook_t *h = calloc(1, sizeof *h);
    struct writer *w = calloc(1, sizeof *w);
    int why = ENOMEM;

    *error = NULL;
    if (h && w) {
        h->magic = HOOK_MAGIC;
        h->parent = parent;
        h->tun = if_nametoindex(c->device);
        h->handle = handle_of(c->device);
        snprintf(h->name, sizeof h->name, "fairgate-pktcache/%s", c->device);
        for (int i = 0; i < HOOKS; i++) h->program[i] = -1;
        *w = (struct writer){ .c = c, .lease = -1, .places = -1, .clients = -1, .bypass = -1 };
        why = hook_open(h, w);
        if (w->lease >= 0) close(w->lease);
        if (w->places >= 0) close(w->places);
        if (w->clients >= 0) close(w->clients);
        if (w->bypass >= 0) close(w->bypass);
    }
    free(w);
    if (!why) return h;
    if (h && h->magic) pk_hook_free(&h);
    free(h);
    if (asprintf(error,
                 "the kernel takes no programs that lead packets to %s (it must be Linux 5.11 or newer, with "
                 "CONFIG_BPF_SYSCALL, CONFIG_NET_CLS_BPF and CONFIG_NET_SCH_INGRESS): %s",
                 c->device, strerror(why)) < 0)
        *error = NULL;
    return NULL;
}

bool pk_hook_has(const pk_hook_t *h, uint32_t handle) { return !handle || handle == h->handle; }

uint32_t pk_hook_clashes(pk_hook_t *h, unsigned *other) {
    uint32_t now = atomic_load(&h->places->clashes), n = now - h->clashes;

    h->clashes = now;
    *other = atomic_exchange(&h->places->other, 0);
    return n;
}

void pk_hook_lead(pk_hook_t *h, bool lead) { atomic_store(&h->places->led, lead); }

pk_bypass_table_t *pk_hook_bypass(const pk_hook_t *h) {
    assert(h->parent);
    return h->bypass;
}

bool pk_hook_renew(pk_hook_t *h, unsigned thread, uint64_t now) {
    uint64_t before = atomic_load_explicit(h->lease->renewed + thread, memory_order_relaxed);
    atomic_store_explicit(h->lease->renewed + thread, now * 1000, memory_order_relaxed);
    return before && now * 1000 > before + PK_LEASE * UINT64_C(1000);
}

bool pk_hook_over(const pk_hook_t *h, unsigned threads, uint64_t now) {
    for (unsigned i = 0; i < threads; i++)
        if (now * 1000 > atomic_load_explicit(h->lease->renewed + i, memory_order_relaxed) + PK_LEASE * UINT64_C(1000))
            return true;
    return false;
}

void pk_hook_keep_lease(pk_hook_t *h) {
    for (int i = 0; i < HOOKS; i++) {
        if (h->program[i] >= 0) close(h->program[i]);
        h->program[i] = -1;
    }
    munmap(h->places, sizeof *h->places);
    h->places = NULL;
}

void pk_hook_free(pk_hook_t **hook) {
    pk_hook_t *h = *hook;
    *hook = NULL;
    if (!h) return;
    assert(h->magic == HOOK_MAGIC);
    for (int i = 0; i < HOOKS; i++)
        if (h->program[i] >= 0) close(h->program[i]);
    if (h->lease) munmap((void *)h->lease, sizeof *h->lease);
    if (h->places) munmap(h->places, sizeof *h->places);
    pk_bypass_close(&h->bypass);
    h->magic = 0;
    free(h);
}
