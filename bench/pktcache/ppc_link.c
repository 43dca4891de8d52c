/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ppc_link.c - a link with partial packet caches at its ends, between two network namespaces: what the pair of daemons
 * is compared with.
 *
 *     ppc-link --near NAMESPACE:DEVICE --far NAMESPACE:DEVICE [--rate BITS] [--queue BYTES] [--rtt MS] [--how
 *     textbook|tuned|none]
 *
 * Makes a TUN device in each namespace.  The payload of each TCP packet to the far side is encoded, goes over a link of
 * so many bits a second, takes half of the round trip, and is decoded; on the link it counts with its headers and what
 * it was encoded to.  A packet that finds more than the queue before it is lost.  What is encoded is decoded in the
 * order of the link, so the two caches never disagree: better than two machines with a lossy link would do.
 *
 * At the end, by SIGTERM, it prints: bytes in, bytes on the link, packets, packets lost, seconds of CPU.
 */
#include "ppc.h"

#include "tests/lab/lab_tun.h"

#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/resource.h>

#define PACKET_MAX 65536
#define CACHE      (UINT64_C(256) << 20)
#define READS      64

struct packet {
    struct packet *next;
    uint64_t due;
    /* coded: bytes of the encoded payload; equal to the payload's: it goes as it is */
    size_t length, headers, coded;
    uint8_t bytes[]; /* the headers, then the encoded payload */
};

static struct queue { struct packet *first, **end; } to_far, to_near;
static struct ppc *encoder, *decoder;
static double rate; /* bytes a microsecond; 0: no limit */
static uint64_t half, busy_until, queue_most = 300000;
static uint64_t bytes_in, bytes_link, packets, lost;
static volatile sig_atomic_t stopped;

static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Bytes before the payload of a TCP packet, or its length if it is none. */
static size_t headers_of(const uint8_t *p, size_t n) {
    size_t ip = n >= 20 && p[0] >> 4 == 4 && p[9] == 6   ? (p[0] & 15u) * 4
                : n >= 40 && p[0] >> 4 == 6 && p[6] == 6 ? 40
                                                         : n;
    if (n < ip + 20) return n;
    ip += (p[ip + 12] >> 4) * 4u;
    return ip < n && n - ip <= PPC_PAYLOAD_MAX ? ip : n;
}

static void append(struct queue *q, struct packet *p) {
    p->next = NULL;
    *q->end = p;
    q->end = &p->next;
}

static void outward(const uint8_t *b, size_t n) {
    struct packet *p = malloc(sizeof *p + n + PPC_PAYLOAD_MAX);
    uint64_t t = now();
    size_t headers = headers_of(b, n), payload = n - headers, wire;

    bytes_in += n;
    packets++;
    if (rate && busy_until > t && (double)(busy_until - t) * rate > (double)queue_most) {
        lost++;
        free(p);
        return;
    }
    p->length = n;
    p->headers = headers;
    p->coded = payload;
    memcpy(p->bytes, b, headers);
    if (payload && encoder) p->coded = ppc_encode(encoder, b + headers, payload, p->bytes + headers);
    if (p->coded == payload) memcpy(p->bytes + headers, b + headers, payload);
    wire = headers + p->coded;
    bytes_link += wire;
    if (busy_until < t) busy_until = t;
    if (rate) busy_until += (uint64_t)((double)wire / rate);
    p->due = busy_until + half;
    append(&to_far, p);
}

static void inward(const uint8_t *b, size_t n) {
    struct packet *p = malloc(sizeof *p + n);
    p->due = now() + half;
    p->length = n;
    memcpy(p->bytes, b, n);
    append(&to_near, p);
}

static void deliver(struct queue *q, int fd, uint64_t t) {
    static uint8_t out[PACKET_MAX];
    for (struct packet *p; (p = q->first) && p->due <= t;) {
        const uint8_t *bytes = p->bytes;
        if (q == &to_far && p->length > p->headers && decoder) {
            size_t payload = p->length - p->headers;
            memcpy(out, p->bytes, p->headers);
            if (ppc_decode(decoder, p->bytes + p->headers, p->coded, p->coded == payload, out + p->headers) != payload)
                abort();
            bytes = out;
        }
        if (write(fd, bytes, p->length) < 0) lost++;
        q->first = p->next;
        if (!q->first) q->end = &q->first;
        free(p);
    }
}

static void take(int fd, void (*way)(const uint8_t *, size_t)) {
    static uint8_t bytes[PACKET_MAX];
    ssize_t n;
    for (int i = 0; i < READS && (n = read(fd, bytes, sizeof bytes)) > 0; i++) way(bytes, (size_t)n);
}

static void run(int near, int far) {
    struct pollfd ready[2] = { { .fd = near, .events = POLLIN }, { .fd = far, .events = POLLIN } };
    while (!stopped) {
        uint64_t t = now(), next = UINT64_MAX;
        if (to_far.first) next = to_far.first->due;
        if (to_near.first && to_near.first->due < next) next = to_near.first->due;
        uint64_t wait = next == UINT64_MAX ? 1000000 : next > t ? next - t : 0;
        struct timespec s = { .tv_sec = (time_t)(wait / 1000000), .tv_nsec = (long)(wait % 1000000 * 1000) };
        ppoll(ready, 2, &s, NULL);
        take(near, outward);
        take(far, inward);
        deliver(&to_far, far, now());
        deliver(&to_near, near, now());
    }
}

int main(int argc, char **argv) {
    static const struct option options[] = {
        { "near", required_argument, NULL, 'n' },
        { "far", required_argument, NULL, 'f' },
        { "rate", required_argument, NULL, 'r' },
        { "queue", required_argument, NULL, 'q' },
        { "rtt", required_argument, NULL, 't' },
        { "how", required_argument, NULL, 'h' },
        { 0 },
    };
    const char *how = "textbook";
    int near = -1, far = -1;
    struct rusage u;

    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) >= 0;) {
        switch (o) {
        case 'n': near = lab_tun_open(optarg); break;
        case 'f': far = lab_tun_open(optarg); break;
        case 'r': rate = strtod(optarg, NULL) / 8e6; break;
        case 'q': queue_most = strtoull(optarg, NULL, 10); break;
        case 't': half = (uint64_t)(strtod(optarg, NULL) * 500); break;
        case 'h': how = optarg; break;
        default: return 2;
        }
    }
    if (near < 0 || far < 0) {
        fputs("ppc-link: say --near and --far\n", stderr);
        return 2;
    }
    to_far.end = &to_far.first;
    to_near.end = &to_near.first;
    if (strcmp(how, "none")) {
        encoder = ppc_make(CACHE, 64, strcmp(how, "tuned") ? PPC_TEXTBOOK : PPC_TUNED);
        decoder = ppc_make(CACHE, 64, strcmp(how, "tuned") ? PPC_TEXTBOOK : PPC_TUNED);
        if (!encoder || !decoder) return 1;
    }
    signal(SIGTERM, stop);
    signal(SIGINT, stop);
    /* As fairgate-delay: on a busy machine it would itself be a queue. */
    struct sched_param lowest = { .sched_priority = sched_get_priority_min(SCHED_RR) };
    sched_setscheduler(0, SCHED_RR, &lowest);
    puts("ready");
    fflush(stdout);
    run(near, far);
    getrusage(RUSAGE_SELF, &u);
    printf("%lu %lu %lu %lu %.3f\n", (unsigned long)bytes_in, (unsigned long)bytes_link, (unsigned long)packets,
           (unsigned long)lost,
           (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6);
    return 0;
}
