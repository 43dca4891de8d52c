/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * delay.c - fairgate-delay: a link with a propagation delay, between two network namespaces.
 *
 *     fairgate-delay --near NAMESPACE:DEVICE --far NAMESPACE:DEVICE --delay ADDRESS=MS ...
 *
 * Makes a TUN device in each namespace and carries packets between them.  A packet to or from an address that was named
 * (on the far side) takes half of its milliseconds, in either direction, so that MS is the round trip; others go at
 * once.  It says "ready" on standard output when the devices are there; they vanish with it.  No rate: a token bucket
 * behind it has that.  A bad link loses so many packets of a thousand (--loss), carries them twice (--twice), or behind
 * the one that follows (--reorder).
 *
 * Packets of one delay keep their order: each delay has two queues, first in first out.  Packets are those that the
 * kernel makes for a device without offloads, so never larger than the MTU.  At most QUEUE_MOST bytes are on their way;
 * what would be more is dropped and counted at the end, on standard error.
 */
#include "lab_timer.h"
#include "lab_tun.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DELAYS_MAX 256
#define PACKET_MAX 65536
#define QUEUE_MOST (64u << 20)
#define HELD_MOST  2000 /* microseconds that a packet waits for the one that is to overtake it */
#define GRAIN      100  /* microseconds that it rests when it had something to do */
#define READS      64   /* packets read from one side before the other has its turn */

struct packet {
    struct packet *next;
    uint64_t due;
    size_t length;
    unsigned char bytes[];
};

struct queue {
    struct packet *first, **end;
};

struct delay {
    unsigned char address[16];
    size_t address_length; /* 4 or 16 */
    uint64_t half;         /* microseconds */
    struct queue to[2];    /* to the near side, to the far side */
};

enum { NEAR, FAR };

static struct delay delays[DELAYS_MAX];
static size_t delay_count;
static int side[2] = { -1, -1 };
static size_t queued;
static unsigned long dropped;
static unsigned loss, twice, reorder; /* of a thousand */
static uint64_t chance = 88172645463325252;
static struct {
    uint64_t until;
    size_t n;
    unsigned char bytes[PACKET_MAX];
} held[2]; /* to go behind the next one */
static volatile sig_atomic_t stopped;

static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

static void __attribute__((noreturn, format(printf, 1, 2))) wrong(const char *format, ...) {
    va_list v;
    va_start(v, format);
    fputs("fairgate-delay: ", stderr);
    vfprintf(stderr, format, v);
    fputc('\n', stderr);
    va_end(v);
    exit(2);
}

static void add_delay(const char *text) {
    char address[64];
    char *end;
    const char *equals = strchr(text, '=');
    struct delay *d = &delays[delay_count];
    if (delay_count == DELAYS_MAX) wrong("more than %d delays", DELAYS_MAX);
    if (!equals || (size_t)(equals - text) >= sizeof address) wrong("--delay %s is not ADDRESS=MS", text);
    memcpy(address, text, (size_t)(equals - text));
    address[equals - text] = '\0';
    if (inet_pton(AF_INET, address, d->address) == 1) d->address_length = 4;
    else if (inet_pton(AF_INET6, address, d->address) == 1) d->address_length = 16;
    else wrong("--delay %s: \"%s\" is not an address", text, address);
    double ms = strtod(equals + 1, &end);
    if (end == equals + 1 || *end || !(ms >= 0) || ms > 60000)
        wrong("--delay %s: not a number of milliseconds up to 60000", text);
    d->half = (uint64_t)(ms * 500);
    d->to[NEAR].end = &d->to[NEAR].first;
    d->to[FAR].end = &d->to[FAR].first;
    delay_count++;
}

/* The delay of the far address of a packet that goes to `to`; NULL if it has none. */
static struct delay *delay_of(const unsigned char *p, size_t n, int to) {
    const unsigned char *address;
    size_t length;
    if (n >= 20 && p[0] >> 4 == 4) {
        address = p + (to == NEAR ? 12 : 16);
        length = 4;
    } else if (n >= 40 && p[0] >> 4 == 6) {
        address = p + (to == NEAR ? 8 : 24);
        length = 16;
    } else {
        return NULL;
    }
    for (size_t i = 0; i < delay_count; i++)
        if (delays[i].address_length == length && memcmp(delays[i].address, address, length) == 0) return &delays[i];
    return NULL;
}

/* A device that takes no packet (its queue is full, or it is down) loses it, as a wire would. */
static void put(int to, const unsigned char *bytes, size_t n) {
    if (write(side[to], bytes, n) < 0) dropped++;
}

static void carry(int to, const unsigned char *bytes, size_t n) {
    struct delay *d = delay_of(bytes, n, to);
    if (!d || d->half == 0) {
        put(to, bytes, n);
        return;
    }
    struct packet *p = queued + n <= QUEUE_MOST ? malloc(sizeof *p + n) : NULL;
    if (!p) {
        dropped++;
        return;
    }
    *p = (struct packet){ .due = lab_now() + d->half, .length = n };
    memcpy(p->bytes, bytes, n);
    queued += p->length;
    *d->to[to].end = p;
    d->to[to].end = &p->next;
}

/* True so many times of a thousand (xorshift64). */
static bool happens(unsigned per_mille) {
    if (!per_mille) return false;
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return (chance >> 33) % 1000 < per_mille;
}

static void let_go(int to) {
    size_t n = held[to].n;
    held[to].n = 0;
    if (n) carry(to, held[to].bytes, n);
}

/* Whether anything came. */
static bool take(int from) {
    static unsigned char bytes[PACKET_MAX];
    int to = from == NEAR ? FAR : NEAR;
    for (int i = 0; i < READS; i++) {
        ssize_t n = read(side[from], bytes, sizeof bytes);
        if (n <= 0) return i > 0;
        if (happens(loss)) {
            dropped++;
            continue;
        }
        if (!held[to].n && happens(reorder)) {
            held[to].n = (size_t)n;
            held[to].until = lab_now() + HELD_MOST;
            memcpy(held[to].bytes, bytes, (size_t)n);
            continue;
        }
        carry(to, bytes, (size_t)n);
        if (happens(twice)) carry(to, bytes, (size_t)n);
        let_go(to);
    }
    return true;
}

/* Whether anything was due. */
static bool deliver(struct queue *q, int to, uint64_t now) {
    bool any = false;
    for (struct packet *p; (p = q->first) && p->due <= now;) {
        q->first = p->next;
        if (!q->first) q->end = &q->first;
        put(to, p->bytes, p->length);
        assert(queued >= p->length);
        queued -= p->length;
        free(p);
        any = true;
    }
    return any;
}

/* Microseconds until the next packet is due; UINT64_MAX when none is on its way. */
static uint64_t next_due(uint64_t now) {
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < delay_count; i++)
        for (int to = NEAR; to <= FAR; to++)
            if (delays[i].to[to].first && delays[i].to[to].first->due < next) next = delays[i].to[to].first->due;
    for (int to = NEAR; to <= FAR; to++)
        if (held[to].n && held[to].until < next) next = held[to].until;
    return next == UINT64_MAX ? next : next > now ? next - now : 0;
}

static void run(void) {
    struct pollfd ready[2] = { { .fd = side[NEAR], .events = POLLIN }, { .fd = side[FAR], .events = POLLIN } };
    const struct timespec grain = { .tv_nsec = GRAIN * 1000 };
    bool busy = false;
    while (!stopped) {
        /* To be woken for each packet would cost a busy machine more than to carry them. */
        if (busy) nanosleep(&grain, NULL);
        uint64_t wait = next_due(lab_now());
        struct timespec t = { .tv_sec = (time_t)(wait / 1000000), .tv_nsec = (long)(wait % 1000000) * 1000 };
        if (ppoll(ready, 2, wait == UINT64_MAX ? NULL : &t, NULL) < 0 && errno != EINTR)
            wrong("poll: %s", strerror(errno));
        busy = false;
        for (int s = NEAR; s <= FAR; s++)
            if (ready[s].revents & POLLIN) busy |= take(s);
        uint64_t now = lab_now();
        for (int to = NEAR; to <= FAR; to++)
            if (held[to].n && held[to].until <= now) let_go(to);
        for (size_t i = 0; i < delay_count; i++)
            for (int to = NEAR; to <= FAR; to++) busy |= deliver(&delays[i].to[to], to, now);
    }
}

static unsigned per_mille(const char *text) {
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (end == text || *end || n > 1000) wrong("%s is not a number of a thousand", text);
    return (unsigned)n;
}

int main(int argc, char **argv) {
    static const struct option options[] = {
        { "near", required_argument, NULL, 'n' },  { "far", required_argument, NULL, 'f' },
        { "delay", required_argument, NULL, 'd' }, { "loss", required_argument, NULL, 'l' },
        { "twice", required_argument, NULL, 't' }, { "reorder", required_argument, NULL, 'r' },
        { "help", no_argument, NULL, 'h' },        { 0 },
    };
    for (int o; (o = getopt_long(argc, argv, "h", options, NULL)) >= 0;) {
        switch (o) {
        case 'n': side[NEAR] = lab_tun_open(optarg); break;
        case 'f': side[FAR] = lab_tun_open(optarg); break;
        case 'd': add_delay(optarg); break;
        case 'l': loss = per_mille(optarg); break;
        case 't': twice = per_mille(optarg); break;
        case 'r': reorder = per_mille(optarg); break;
        case 'h':
            puts("fairgate-delay --near NAMESPACE:DEVICE --far NAMESPACE:DEVICE [--delay ADDRESS=MS ...] [--loss N] "
                 "[--twice N] [--reorder N]\n"
                 "Carries packets between two TUN devices that it makes; those of a named address take MS there and "
                 "back.\n"
                 "Of a thousand packets N are lost, carried twice, or carried behind the next one.");
            return 0;
        default: wrong("--help says what there is");
        }
    }
    if (side[NEAR] < 0 || side[FAR] < 0 || optind != argc)
        wrong("say --near and --far, and nothing behind the options");
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    /* On a busy machine it would itself be the queue that it is not meant to be. */
    struct sched_param lowest = { .sched_priority = sched_get_priority_min(SCHED_RR) };
    if (sched_setscheduler(0, SCHED_RR, &lowest) < 0)
        fprintf(stderr, "fairgate-delay: runs as everything else does: %s\n", strerror(errno));
    puts("ready");
    fflush(stdout);
    run();
    fprintf(stderr, "fairgate-delay: %lu packets dropped\n", dropped);
    return 0;
}
