/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_ndn_lp.c - a stream that comes in pieces, packet by packet, and what forwarders put around each.
 *
 * What is said of a packet's length does not depend on how much of it came.  What a link's header says is what it says
 * when we write it.
 */
#include "fuzz_ndn.h"
#include "ndn/ndn_lp.h"

static void same_link(const struct ndn_lp *a, struct ndn_span packet) {
    struct ndn_lp b;
    MUST(!ndn_lp_read(packet, &b));
    MUST(fuzz_equal(a->fragment, b.fragment) && fuzz_equal(a->pit_token, b.pit_token) && a->nack == b.nack);
    MUST(a->nack_reason == b.nack_reason && a->congestion_mark == b.congestion_mark);
}

static void write_again(struct ndn_lp *lp) {
    const size_t room = NDN_LP_HEAD_MAX + lp->fragment.n;
    uint8_t *bytes = malloc(room);
    size_t n;

    MUST(bytes);
    if (lp->nack) { /* a mark or a reason of many octets is nothing that we write there */
        lp->congestion_mark = 0;
        lp->nack_reason = (uint32_t)lp->nack_reason;
        n = ndn_lp_nack(lp->pit_token, (enum ndn_nack)lp->nack_reason, lp->fragment, bytes, room);
        if (n) same_link(lp, (struct ndn_span){ bytes, n });
        MUST(n || lp->fragment.n + NDN_LP_HEAD_MAX > NDN_PACKET_MAX);
    } else {
        n = ndn_lp_head(lp->pit_token, lp->congestion_mark, lp->fragment.n, bytes);
        MUST(!n == (!lp->pit_token.n && !lp->congestion_mark) && n <= NDN_LP_HEAD_MAX);
        memcpy(bytes + n, lp->fragment.at, lp->fragment.n);
        if (n + lp->fragment.n <= NDN_PACKET_MAX) same_link(lp, (struct ndn_span){ bytes, n + lp->fragment.n });
    }
    free(bytes);
}

static void check_packet(struct ndn_span packet) {
    struct ndn_interest i;
    struct ndn_data d;
    struct ndn_lp lp;

    if (ndn_lp_read(packet, &lp)) return;
    MUST(fuzz_within(lp.fragment, packet) && fuzz_within(lp.pit_token, packet));
    MUST(lp.pit_token.n <= NDN_PIT_TOKEN_MAX && (!lp.nack || lp.fragment.n));
    MUST(!lp.fragment.n || *lp.fragment.at == NDN_INTEREST || (*lp.fragment.at == NDN_DATA && !lp.nack));
    MUST(!lp.fragment.n || ndn_framed(lp.fragment.at, lp.fragment.n) == (int)lp.fragment.n);
    if (!lp.fragment.n) return;
    if (*lp.fragment.at == NDN_INTEREST) (void)ndn_interest_read(lp.fragment, &i);
    else (void)ndn_data_read(lp.fragment, &d);
    write_again(&lp);
}

/* The first byte says how long the pieces are in which the rest comes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t from = 1, came = 1, piece;
    int told = 0;

    if (size < 2) return 0;
    piece = 1 + *data;
    while (from < size) {
        struct ndn_span head = fuzz_copy(data + from, came - from < 16 ? came - from : 16);
        int length = ndn_framed(head.at, head.n);

        MUST(!told || length == told);
        MUST(length <= (int)NDN_PACKET_MAX && (length || head.n < 10));
        MUST(length == ndn_framed(data + from, came - from));
        fuzz_free(head);
        told = length;
        if (length < 0) break;
        if (length && (size_t)length <= came - from) {
            struct ndn_span packet = fuzz_copy(data + from, (size_t)length);
            check_packet(packet);
            fuzz_free(packet);
            from += (size_t)length;
            told = 0;
        } else if (came == size) {
            break;
        } else {
            came += piece < size - came ? piece : size - came;
        }
    }
    return 0;
}
