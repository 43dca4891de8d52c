/* SPDX-License-Identifier: BSD-2-Clause */
#include "ndn_lp.h"

#include <assert.h>
#include <string.h>

enum { SEQUENCE, FRAG_INDEX, FRAG_COUNT, PIT_TOKEN, NACK, MARK, FRAGMENT, LP_FIELDS };

/* Its header's fields in ascending order, and what they stand around last. */
static const uint32_t lp_types[LP_FIELDS] = { NDN_LP_SEQUENCE,  NDN_LP_FRAG_INDEX, NDN_LP_FRAG_COUNT,
                                              NDN_LP_PIT_TOKEN, NDN_LP_NACK,       NDN_LP_CONGESTION_MARK,
                                              NDN_FRAGMENT };

/* Here other fields may be passed over than in packets. */
static bool lp_is_critical(uint32_t type) { return type < 800 || type > 959 || type % 4; }

/* Whether the number is there and another one than `usual`. */
static bool lp_says_more(const struct ndn_element *e, uint64_t usual) {
    uint64_t n;
    return e->type && (!ndn_number(e->value, &n) || n != usual);
}

static const char *lp_read_nack(struct ndn_span nack, struct ndn_lp *lp) {
    static const uint32_t types[] = { NDN_LP_NACK_REASON };
    struct ndn_element reason;
    const char *wrong = ndn_fields(nack, types, 1, lp_is_critical, &reason);

    if (wrong) return wrong;
    lp->nack = true;
    return reason.type && !ndn_number(reason.value, &lp->nack_reason) ? "a NackReason must be a number" : NULL;
}

static const char *lp_read_header(const struct ndn_element f[LP_FIELDS], struct ndn_lp *lp) {
    const char *wrong;

    if (f[SEQUENCE].type && f[SEQUENCE].value.n != 8) return "a Sequence must have 8 octets";
    if (lp_says_more(&f[FRAG_INDEX], 0) || lp_says_more(&f[FRAG_COUNT], 1)) return "a packet must be in one piece";
    lp->pit_token = f[PIT_TOKEN].value;
    if (f[PIT_TOKEN].type && (!lp->pit_token.n || lp->pit_token.n > NDN_PIT_TOKEN_MAX))
        return "a PitToken must have 1 to 32 octets";
    if (f[NACK].type && (wrong = lp_read_nack(f[NACK].value, lp))) return wrong;
    if (f[MARK].type && !ndn_number(f[MARK].value, &lp->congestion_mark)) return "a CongestionMark must be a number";
    return NULL;
}

const char *ndn_lp_read(struct ndn_span packet, struct ndn_lp *lp) {
    struct ndn_element whole, inner, f[LP_FIELDS];
    const char *wrong;

    memset(lp, 0, sizeof *lp);
    if (packet.n > NDN_PACKET_MAX || !ndn_whole(packet, &whole))
        return "must be one whole element of 8800 bytes at most";
    if (whole.type == NDN_INTEREST || whole.type == NDN_DATA) {
        lp->fragment = packet;
        return NULL;
    }
    if (whole.type != NDN_LP_PACKET) return "must be an Interest, Data or LpPacket";
    wrong = ndn_fields(whole.value, lp_types, LP_FIELDS, lp_is_critical, f);
    if (!wrong) wrong = lp_read_header(f, lp);
    if (wrong) return wrong;
    if (!f[FRAGMENT].type) return lp->nack ? "a Nack must hold the Interest that it refuses" : NULL;
    if (!ndn_whole(f[FRAGMENT].value, &inner) || (inner.type != NDN_INTEREST && inner.type != NDN_DATA))
        return "a Fragment must hold one whole Interest or Data";
    if (lp->nack && inner.type != NDN_INTEREST) return "a Nack must hold the Interest that it refuses";
    lp->fragment = inner.whole;
    return NULL;
}

/* The LpPacket's own head, and its token. */
static void lp_put_head(struct ndn_out *o, struct ndn_span pit_token, size_t others) {
    assert(pit_token.n <= NDN_PIT_TOKEN_MAX);
    ndn_put_head(o, NDN_LP_PACKET, (pit_token.n ? ndn_element_size(NDN_LP_PIT_TOKEN, pit_token.n) : 0) + others);
    if (pit_token.n) ndn_put_element(o, NDN_LP_PIT_TOKEN, pit_token.at, pit_token.n);
}

size_t ndn_lp_head(struct ndn_span pit_token, uint64_t congestion_mark, size_t n, uint8_t out[NDN_LP_HEAD_MAX]) {
    struct ndn_out o = ndn_out_into(out, NDN_LP_HEAD_MAX);

    if (!pit_token.n && !congestion_mark) return 0;
    lp_put_head(&o, pit_token,
                (congestion_mark ? ndn_number_size(NDN_LP_CONGESTION_MARK, congestion_mark) : 0) +
                    ndn_element_size(NDN_FRAGMENT, n));
    if (congestion_mark) ndn_put_number(&o, NDN_LP_CONGESTION_MARK, congestion_mark);
    ndn_put_head(&o, NDN_FRAGMENT, n);
    assert(!o.full);
    return o.n;
}

size_t ndn_lp_nack(struct ndn_span pit_token, enum ndn_nack reason, struct ndn_span interest, void *out, size_t room) {
    struct ndn_out o = ndn_out_into(out, room < NDN_PACKET_MAX ? room : NDN_PACKET_MAX);
    size_t said = ndn_number_size(NDN_LP_NACK_REASON, reason);

    lp_put_head(&o, pit_token, ndn_element_size(NDN_LP_NACK, said) + ndn_element_size(NDN_FRAGMENT, interest.n));
    ndn_put_head(&o, NDN_LP_NACK, said);
    ndn_put_number(&o, NDN_LP_NACK_REASON, reason);
    ndn_put_element(&o, NDN_FRAGMENT, interest.at, interest.n);
    return o.full ? 0 : o.n;
}
