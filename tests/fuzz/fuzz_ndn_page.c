/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_ndn_page.c - a page that is fetched, and packets that a hostile network makes of right ones and of nothing.
 *
 * Bytes: what is asked for, then events: a right Data of a version and a segment, bare or in an LpPacket, as it is or
 * with bytes changed; any bytes as a packet; a Nack of what was asked; time.  Whatever comes, what the caller gets is
 * the beginning of the version that its head named, byte for byte; and all of it if the page says that it is whole.  To
 * a request that sent a key nothing here is sealed: the head is that of a refusal then.
 */
#include "ndn/ndn_lp.h"
#include "ndn/ndn_page.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEGMENTS = 40, CONTENT = 7 };

struct input {
    const uint8_t *p;
    size_t n;
};

static struct {
    bool headed;
    uint64_t version, first, status;
    size_t n;
    bool sealed, alone; /* a key was sent; the head says that there is just one packet */
} seen;
static uint8_t interest[NDN_PACKET_MAX];
static size_t interest_n;

static unsigned next_byte(struct input *in) {
    if (!in->n) return 0;
    in->n--;
    return *in->p++;
}

static uint8_t byte_of(uint64_t version, uint64_t segment, size_t at) {
    return (uint8_t)(version * 31 + segment * 7 + at);
}

static bool on_head(void *to, const struct ndn_page_head *h) {
    (void)to;
    if (seen.headed) abort();
    seen.headed = true;
    seen.version = h->version;
    seen.first = h->first;
    seen.status = h->status;
    seen.alone = !h->object.n;
    if (seen.sealed && (h->status < 400 || h->status == NDN_NO_NUMBER)) abort();
    return h->status != 302;
}

static bool on_content(void *to, struct ndn_span bytes) {
    (void)to;
    if (!seen.headed || bytes.n != CONTENT) abort();
    for (size_t i = 0; i < bytes.n; i++)
        if (bytes.at[i] != byte_of(seen.version, seen.first + seen.n / CONTENT, i)) abort();
    seen.n += bytes.n;
    return true;
}

/* What stands behind NAME in what was asked for last, if it was private: a digest, or where the result is. */
static void put_private(struct ndn_out *o, const struct ndn_name *page) {
    struct ndn_interest i;
    struct ndn_name asked;

    if (ndn_interest_read((struct ndn_span){ interest, interest_n }, &i)) return;
    if (i.has_parameters) asked = ndn_name_first(&i.name, page->n + 1);
    else if (i.name.n > page->n + 2) asked = ndn_name_first(&i.name, page->n + 2);
    else return;
    ndn_put(o, asked.bytes.at + page->bytes.n, asked.bytes.n - page->bytes.n);
}

/* NAME/54=version/50=segment, or without one of them; where `how` says so, under what a private request is for. */
static size_t right_data(struct input *in, unsigned how, const struct ndn_name *page, uint8_t out[NDN_PACKET_MAX]) {
    static const uint64_t statuses[] = {
        NDN_NO_NUMBER, 200, 404, 302, 410, NDN_NO_NUMBER, NDN_NO_NUMBER, NDN_NO_NUMBER
    };
    uint8_t name[256], content[CONTENT];
    struct ndn_out o = ndn_out_into(name, sizeof name);
    uint64_t version = how & 7, segment = next_byte(in) % SEGMENTS, last = SEGMENTS - 1;
    struct ndn_data_form f = { .segment = segment,
                               .last = how & 8 ? NDN_NO_NUMBER : last,
                               .status = segment ? NDN_NO_NUMBER : statuses[version],
                               .window = how & 16 ? next_byte(in) : NDN_NO_NUMBER,
                               .content = { content, sizeof content },
                               .key = ndn_key_none() };

    ndn_put(&o, page->bytes.at, page->bytes.n);
    if (how & 64) put_private(&o, page);
    ndn_put_component_number(&o, NDN_VERSION_COMPONENT, version);
    if (how & 128) f.segment = NDN_NO_NUMBER, version = NDN_NO_NUMBER, segment = 0; /* no object, so no version */
    if (how & 32) f.content_type = NDN_NO, f.status = how & 1 ? 410 : how & 2 ? 403 : NDN_NO_NUMBER;
    for (size_t i = 0; i < sizeof content; i++) content[i] = byte_of(version, segment, i);
    f.name = (struct ndn_span){ name, o.n };
    return ndn_data_write(&f, out, NDN_PACKET_MAX);
}

/* A packet for the page, in memory of just its size. */
static void hand_over(struct ndn_page *p, uint64_t now, const uint8_t *packet, size_t n) {
    uint8_t *exact = malloc(n + 1);

    memcpy(exact, packet, n);
    ndn_page_packet(p, now, (struct ndn_span){ exact, n });
    free(exact);
}

static void event(struct input *in, struct ndn_page *p, const struct ndn_name *page, uint64_t *now) {
    uint8_t packet[2 * NDN_PACKET_MAX], inner[NDN_PACKET_MAX];
    unsigned what = next_byte(in), how = next_byte(in);
    uint64_t again;
    size_t n, head;

    switch (what % 6) {
    case 0:
    case 1:
        n = right_data(in, how, page, inner);
        head = what & 64 ? ndn_lp_head((struct ndn_span){ NULL, 0 }, 1, n, packet) : 0;
        memcpy(packet + head, inner, n);
        n += head;
        for (unsigned changes = what % 6 ? 1 + next_byte(in) % 4 : 0; changes; changes--)
            packet[(next_byte(in) << 8 | next_byte(in)) % n] = (uint8_t)next_byte(in);
        hand_over(p, *now, packet, n);
        break;
    case 2:
        n = how < in->n ? how : in->n;
        hand_over(p, *now, in->p, n);
        in->p += n;
        in->n -= n;
        break;
    case 3:
        n = ndn_lp_nack((struct ndn_span){ NULL, 0 }, how & 1 ? NDN_NACK_CONGESTION : NDN_NACK_NO_ROUTE,
                        (struct ndn_span){ interest, interest_n }, packet, sizeof packet);
        hand_over(p, *now, packet, n);
        break;
    case 4:
        n = ndn_page_next(p, *now, interest, &again);
        if (n) interest_n = n;
        if (!n && ndn_page_state(p) == NDN_PAGE_GOING && again <= *now) abort();
        break;
    case 5: *now += (uint64_t)how * how * 1000; break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint8_t a_name[] = { 8, 1, 'a', 8, 1, 'b' }, a_version[] = { 8, 1, 'a', 8, 1, 'b', 54, 1, 1 };
    static const uint8_t fields[] = "A: b\nCcn-Nonce: 00\n";
    static const struct ndn_seal_pair pair = { { 9 }, { 1 } };
    struct input in = { data, size };
    unsigned how = next_byte(&in);
    struct ndn_page_calls calls = { NULL, on_head, on_content };
    struct ndn_page_ask ask = { .fresh = how & 1, .lifetime_ms = 4000 };
    uint64_t now = 0;
    struct ndn_page *p;

    ask.fetch =
        (struct ndn_fetch_settings){ (enum ndn_window_kind)(how >> 1 & 3), 1 + next_byte(&in) % 64, 3, 1000000 };
    if (how & 8)
        ask.have = (struct ndn_span){ a_version, sizeof a_version }, ask.have_segments = 1 + next_byte(&in) % 50;
    if (how & 16) ask.gone = (struct ndn_span){ a_version, sizeof a_version };
    if (how & 32) ask.parameters = (struct ndn_span){ fields, sizeof fields - 1 };
    if ((how & 96) == 96) ask.pair = &pair;
    if (!ndn_name_read((struct ndn_span){ a_name, sizeof a_name }, &ask.name)) abort();
    memset(&seen, 0, sizeof seen);
    seen.sealed = ask.pair != NULL;
    interest_n = 0;
    p = ndn_page_new(&ask, &calls, now, NULL);
    if (!p) abort();
    while (in.n) event(&in, p, &ask.name, &now);
    if (ndn_page_state(p) == NDN_PAGE_WHOLE && seen.n != (seen.alone ? 1 : SEGMENTS - seen.first) * CONTENT) abort();
    ndn_page_free(&p);
    return 0;
}
