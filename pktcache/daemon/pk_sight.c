/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_sight.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

enum {
    SIGHT_MAGIC = 0x504b5349,
    ROOM = 1 << 18, /* bytes of the socket's buffer */
    SEEN = 160,     /* bytes of a packet that are looked at */
    READS = 512,    /* packets at a time */
    SHAKES = 64,    /* handshakes that are followed */
    INSTRUCTIONS = 4 * 2 * (int)PK_LIST_MAX + 32
};

struct pk_sight {
    unsigned magic;
    const struct pk_config *c;
    bool both; /* both directions come to the device */
    unsigned device;
    int socket;
    struct shake {
        struct pk_tuple tuple;
        bool used, answered;
    } shake[SHAKES];
};

/* TCP of one of our ports.  They stand at `at` (mode BPF_ABS), or `at` behind X (BPF_IND). */
static int ports(struct sock_filter *f, const struct pk_config *c, int mode, unsigned at) {
    int n = 0;
    if (c->any_port) {
        f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SEEN);
        return n;
    }
    for (unsigned side = 0; side < 4; side += 2) {
        f[n++] = (struct sock_filter)BPF_STMT((uint16_t)(BPF_LD | BPF_H | mode), at + side);
        for (unsigned i = 0; i < c->ports.n; i++) {
            f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohs(c->port[i]), 0, 1);
            f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SEEN);
        }
    }
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
    return n;
}

static int filter(int s, const struct pk_config *c) {
    struct sock_filter f[INSTRUCTIONS];
    struct sock_fprog program = { .filter = f };
    int n = 0, four, six;

    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 4);
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 4, 1, 0);
    six = n++;
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9);
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 1, 0);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0);
    four = n;
    n += ports(f + four, c, BPF_IND, 0);
    f[six] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (unsigned)(n - six - 1));
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 6);
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 1, 0);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
    n += ports(f + n, c, BPF_ABS, 40);
    program.len = (unsigned short)n;
    return setsockopt(s, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

pk_sight_t *pk_sight_open(const struct pk_config *c, bool parent) {
    struct sockaddr_ll all = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
    int room = ROOM;
    pk_sight_t *p = calloc(1, sizeof *p);

    if (!p) return NULL;
    p->magic = SIGHT_MAGIC;
    p->c = c;
    p->both = parent && !c->any_port;
    p->device = if_nametoindex(c->device);
    /* Of protocol 0 at first: nothing comes before there is a filter. */
    p->socket = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (p->socket < 0 || filter(p->socket, c) || bind(p->socket, (struct sockaddr *)&all, sizeof all)) {
        int why = errno;
        pk_sight_close(&p);
        errno = why;
        return NULL;
    }
    setsockopt(p->socket, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    return p;
}

void pk_sight_close(pk_sight_t **sight) {
    pk_sight_t *p = *sight;
    *sight = NULL;
    if (!p) return;
    assert(p->magic == SIGHT_MAGIC);
    if (p->socket >= 0) close(p->socket);
    p->magic = 0;
    free(p);
}

/* Whether a packet to there is this machine's own, and so not for the device. */
static bool is_ours(const uint8_t address[16]) {
    static const uint8_t four[12] = { [10] = 0xff, [11] = 0xff };
    struct sockaddr_in in = { .sin_family = AF_INET };
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
    bool is_four = !memcmp(address, four, sizeof four), ours = true;
    int s = socket(is_four ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    memcpy(&in.sin_addr, address + 12, 4);
    memcpy(&in6.sin6_addr, address, 16);
    if (s < 0) return true;
    if (bind(s, is_four ? (struct sockaddr *)&in : (struct sockaddr *)&in6, is_four ? sizeof in : sizeof in6))
        ours = errno != EADDRNOTAVAIL;
    close(s);
    return ours;
}

/* false: no TCP that we know.  *further: it has a hop left; without one it comes to no device. */
static bool parse(const uint8_t *p, size_t n, struct pk_tuple *t, uint8_t *flags, bool *further) {
    size_t head = 40;
    memset(t, 0, sizeof *t);
    if (n >= 20 && p[0] >> 4 == 4) {
        head = 4 * (p[0] & 15u);
        if (p[9] != IPPROTO_TCP || head < 20) return false;
        *further = p[8] > 1;
        t->from[10] = t->from[11] = t->to[10] = t->to[11] = 0xff;
        memcpy(t->from + 12, p + 12, 4);
        memcpy(t->to + 12, p + 16, 4);
    } else if (n >= 40 && p[0] >> 4 == 6 && p[6] == IPPROTO_TCP) {
        *further = p[7] > 1;
        memcpy(t->from, p + 8, 16);
        memcpy(t->to, p + 24, 16);
    } else {
        return false;
    }
    if (n < head + 14) return false;
    memcpy(&t->from_port, p + head, 2);
    memcpy(&t->to_port, p + head + 2, 2);
    *flags = p[head + 13];
    return true;
}

/* tuple: from the server.  A SYN, its answer, and what the client says to that. */
static void follow(pk_sight_t *p, struct pk_sights *s, const struct pk_tuple *tuple, bool up, uint8_t flags,
                   const uint32_t *asked, unsigned n, uint64_t now) {
    uint32_t mark = pk_tuple_mark(tuple);
    struct shake *k = p->shake + mark % SHAKES;
    bool same = k->used && !memcmp(&k->tuple, tuple, sizeof *tuple);

    if (flags & PK_SYN && up) {
        for (unsigned i = 0; i < n; i++)
            if (asked[i] == mark) return;
        if (same) return;
        *k = (struct shake){ .tuple = *tuple, .used = true };
        if (!s->begun++) s->begun_at = now;
    } else if (flags & PK_SYN) {
        if (same) k->answered = true;
    } else if (up && same && k->answered && flags & PK_ACK && !(flags & PK_RST)) {
        k->used = false;
        if (!s->done++) s->done_at = now;
    }
}

void pk_sight_read(pk_sight_t *p, struct pk_sights *s, const uint32_t *asked, unsigned n, uint64_t now) {
    uint8_t bytes[SEEN], flags;
    struct sockaddr_ll from;
    struct pk_tuple t, turned;
    bool further = false;
    ssize_t got;

    assert(p->magic == SIGHT_MAGIC);
    for (int i = 0; i < READS; i++) {
        socklen_t length = sizeof from;
        if ((got = recvfrom(p->socket, bytes, sizeof bytes, MSG_TRUNC, (struct sockaddr *)&from, &length)) < 0) return;
        if ((unsigned)from.sll_ifindex == p->device ||
            !parse(bytes, (size_t)got < sizeof bytes ? (size_t)got : sizeof bytes, &t, &flags, &further))
            continue;
        turned = t;
        pk_tuple_turn(&turned);
        bool down = pk_config_serves(p->c, &t), up = !down && pk_config_serves(p->c, &turned);
        if (!down && !up) continue;
        if (from.sll_pkttype == PACKET_HOST && further && (down || p->both) && !is_ours(t.to)) {
            if (!s->due++) s->due_first = now;
            s->due_last = now;
        }
        follow(p, s, down ? &t : &turned, up, flags, asked, n, now);
    }
}
