/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_tun.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { QUEUE_LENGTH = 4096 }; /* packets that wait for us: a burst of many connections */

static int tun_fail(char **error, const char *name, const char *what, int why) {
    if (asprintf(error, "%s: %s: %s", name, what, strerror(why)) < 0) *error = NULL;
    return -1;
}

/* ---- which queue ------------------------------------------------------------------------------------------------- */

enum { R0, R1, R6 = 6, R7, R8, R9 };

#define LOAD(size, at)                                                                                                 \
    { .code = BPF_LD | BPF_ABS | (size), .imm = (at) }
#define LOAD_FROM(reg, at)                                                                                             \
    { .code = BPF_LD | BPF_IND | BPF_W, .src_reg = (reg), .imm = (at) }
#define MOVE(to, from)                                                                                                 \
    { .code = BPF_ALU | BPF_MOV | BPF_X, .dst_reg = (to), .src_reg = (from) }
#define DO(what, to, value)                                                                                            \
    { .code = BPF_ALU | (what) | BPF_K, .dst_reg = (to), .imm = (value) }
#define WITH(what, to, reg)                                                                                            \
    { .code = BPF_ALU | (what) | BPF_X, .dst_reg = (to), .src_reg = (reg) }
#define UNLESS(reg, value, skip)                                                                                       \
    { .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = (reg), .off = (skip), .imm = (value) }
#define SKIP(n)                                                                                                        \
    { .code = BPF_JMP | BPF_JA, .off = (n) }
#define XOR_WORD(at) LOAD(BPF_W, at), WITH(BPF_XOR, R9, R0)

/*
 * Addresses and ports, XORed so that both directions give the same; mixed by a multiplication (Knuth, 6.4).  What is no
 * IP goes to the first queue.
 */
static int steering(unsigned queues) {
    const struct bpf_insn program[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = R6, .src_reg = R1 },
                                        DO(BPF_MOV, R9, 0),
                                        LOAD(BPF_B, 0),
                                        MOVE(R7, R0),
                                        DO(BPF_RSH, R7, 4),
                                        UNLESS(R7, 4, 8), /* to the next UNLESS */
                                        MOVE(R8, R0),
                                        DO(BPF_AND, R8, 15),
                                        DO(BPF_LSH, R8, 2),
                                        XOR_WORD(12),
                                        XOR_WORD(16),
                                        SKIP(18),
                                        UNLESS(R7, 6, 28), /* to the last but one */
                                        DO(BPF_MOV, R8, 40),
                                        XOR_WORD(8),
                                        XOR_WORD(12),
                                        XOR_WORD(16),
                                        XOR_WORD(20),
                                        XOR_WORD(24),
                                        XOR_WORD(28),
                                        XOR_WORD(32),
                                        XOR_WORD(36),
                                        /* 18 behind the SKIP */
                                        LOAD_FROM(R8, 0),
                                        MOVE(R7, R0),
                                        DO(BPF_RSH, R7, 16),
                                        DO(BPF_AND, R0, 0xffff),
                                        WITH(BPF_XOR, R9, R7),
                                        WITH(BPF_XOR, R9, R0),
                                        DO(BPF_MUL, R9, (int32_t)0x9e3779b1),
                                        DO(BPF_RSH, R9, 16),
                                        DO(BPF_MOD, R9, (int32_t)queues),
                                        MOVE(R0, R9),
                                        { .code = BPF_JMP | BPF_EXIT },
                                        DO(BPF_MOV, R0, 0),
                                        { .code = BPF_JMP | BPF_EXIT } };
    union bpf_attr a;
    memset(&a, 0, sizeof a);
    a.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
    a.insns = (uintptr_t)program;
    a.insn_cnt = sizeof program / sizeof *program;
    a.license = (uintptr_t) "BSD";
    return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof a);
}

/* ---- the device -------------------------------------------------------------------------------------------------- */

static void set_sysctl(const char *family, const char *name, const char *what, const char *value) {
    char path[128];
    int fd;
    snprintf(path, sizeof path, "/proc/sys/net/%s/conf/%s/%s", family, name, what);
    if ((fd = open(path, O_WRONLY | O_CLOEXEC)) < 0) return; /* no such family here */
    if (write(fd, value, strlen(value)) < 0) {               /* as it is, then */
    }
    close(fd);
}

/* 0, or an errno. */
static int tun_bring_up(const char *name) {
    struct ifreq r = { .ifr_flags = 0 };
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), why = 0;

    if (s < 0) return errno;
    strncpy(r.ifr_name, name, IFNAMSIZ - 1);
    if (ioctl(s, SIOCGIFFLAGS, &r)) why = errno;
    r.ifr_flags |= IFF_UP;
    if (!why && ioctl(s, SIOCSIFFLAGS, &r)) why = errno;
    close(s);
    return why;
}

bool pk_tun_is_up(const char *name) {
    struct ifreq r = { .ifr_flags = 0 };
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool up;

    if (s < 0) return false;
    strncpy(r.ifr_name, name, IFNAMSIZ - 1);
    up = !ioctl(s, SIOCGIFFLAGS, &r) && r.ifr_flags & IFF_UP;
    close(s);
    return up;
}

static int tun_set_number(const char *name, unsigned long request, int value) {
    struct ifreq r = { .ifr_mtu = value }; /* the same place as ifr_qlen */
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), why = 0;

    if (s < 0) return errno;
    strncpy(r.ifr_name, name, IFNAMSIZ - 1);
    if (ioctl(s, request, &r)) why = errno;
    close(s);
    return why;
}

/* first: of its queues; then the device must not be there yet, or it is another daemon's. */
static int tun_attach(const char *name, unsigned queues, bool first, int *fd) {
    struct ifreq r = { .ifr_flags = (short)(IFF_TUN | IFF_NO_PI | IFF_VNET_HDR | (queues > 1 ? IFF_MULTI_QUEUE : 0) |
                                            (first ? IFF_TUN_EXCL : 0)) };

    strncpy(r.ifr_name, name, IFNAMSIZ - 1);
    *fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return *fd < 0 || ioctl(*fd, TUNSETIFF, &r) || ioctl(*fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6)
               ? errno
               : 0;
}

int pk_tun_open(const char *name, unsigned queues, unsigned mtu, int *fd, char **error) {
    int why = 0, program;

    for (unsigned i = 0; i < queues; i++) fd[i] = -1;
    for (unsigned i = 0; i < queues && !why; i++) why = tun_attach(name, queues, !i, fd + i);
    if (why == EBUSY) {
        tun_fail(error, name, "there is such a device; each daemon makes a `device` of its own name", why);
    } else if (why) {
        tun_fail(error, name, "the tun device can't be made", why);
    } else if (queues > 1 && ((program = steering(queues)) < 0 || ioctl(fd[0], TUNSETSTEERINGEBPF, &program))) {
        why = errno;
        tun_fail(error, name,
                 "the kernel takes no program that says which queue a packet goes to; set `queues 1` at both ends",
                 why);
    } else {
        if (queues > 1) close(program);
        set_sysctl("ipv6", name, "addr_gen_mode", "1"); /* no address, no neighbours */
        if ((why = tun_set_number(name, SIOCSIFMTU, (int)mtu)) ||
            (why = tun_set_number(name, SIOCSIFTXQLEN, QUEUE_LENGTH)) || (why = tun_bring_up(name)))
            tun_fail(error, name, "the tun device can't be brought up", why);
    }
    if (!why) return 0;
    for (unsigned i = 0; i < queues; i++)
        if (fd[i] >= 0) close(fd[i]);
    return -1;
}
