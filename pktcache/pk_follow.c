/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_follow.h"

#include "pk_wire.h"

static void follow_begin(struct pk_follow *f, uint32_t ask_next) {
    pk_http_begin(&f->http);
    f->joining = false;
    f->ask_known = true;
    f->ask_next = ask_next;
}

static void follow_join(struct pk_follow *f, const struct pk_packet *k) {
    if (!(k->flags & PK_ACK) || !f->flow.known || k->ack != f->flow.next ||
        !pk_http_looks_asked(k->ip + k->headers, k->payload))
        return;
    follow_begin(f, k->seq);
    f->http.unknown = true;
    f->joining = true;
    f->from = k->ack;
}

void pk_follow_request(struct pk_follow *f, const struct pk_packet *k) {
    if (k->flags & PK_SYN) {
        follow_begin(f, k->seq + 1);
        f->flow.known = false;
        return;
    }
    if (!k->payload) return;
    if (!f->ask_known || pk_http_lost(&f->http)) follow_join(f, k);
    if (!f->ask_known || pk_http_lost(&f->http)) return;
    int32_t missing = (int32_t)(k->seq - f->ask_next);
    if (missing < 0 && (int32_t)(k->seq + k->payload - f->ask_next) <= 0) return; /* again */
    if (missing) pk_http_lose(&f->http);
    f->ask_next = k->seq + k->payload;
    pk_http_ask(&f->http, k->ip + k->headers, k->payload);
}

static bool follow_data(struct pk_follow *f, const struct pk_packet *k) {
    if (k->segments > PK_SEGMENTS_MAX) {
        pk_http_lose(&f->http);
        f->flow.known = false;
        return false;
    }
    if (!f->flow.known) {
        f->flow.known = true;
        f->flow.next = k->seq;
        if (!f->joining) pk_http_lose(&f->http);
    }
    int32_t missing = (int32_t)(k->seq - f->flow.next);
    if (missing < 0) {
        if ((int32_t)(k->next - f->flow.next) > 0) { /* something of it is new, but cut otherwise than before */
            f->flow.next = k->next;
            pk_http_lose(&f->http);
        }
        return false;
    }
    f->flow.next = k->next;
    if (f->joining && k->seq == f->from) f->joining = false;
    else if (missing || f->joining) pk_http_lose(&f->http);
    if (pk_http_lost(&f->http)) f->joining = false;
    return true;
}

bool pk_follow_response(struct pk_follow *f, const struct pk_packet *k) {
    if (k->flags & PK_SYN) {
        follow_begin(f, k->ack);
        f->ask_known = k->flags & PK_ACK;
        f->flow.known = true;
        f->flow.next = k->seq + 1;
        return false;
    }
    if (k->payload) return follow_data(f, k);
    if (k->flags & PK_FIN && f->flow.known && k->seq == f->flow.next) f->flow.next = k->next;
    return false;
}

uint32_t pk_follow_keep(struct pk_follow *f, const struct pk_packet *k, const struct pk_config *c, bool *keep,
                        struct pk_spans *spans) {
    bool blocks = c->mode == PK_MODE_TRAIN && c->keep == PK_KEEP_HTTP;
    uint32_t kept = 0, n;

    spans->n = 0;
    for (uint32_t i = 0; i < k->segments; i++) {
        const uint8_t *bytes = pk_packet_segment(k, i, &n);
        spans->base = i * k->segment;
        keep[i] = pk_http_answer(&f->http, &c->mark, bytes, n, blocks ? spans : NULL) || c->keep == PK_KEEP_ALL;
        keep[i] &= n >= c->least && n <= PK_DATAGRAM_MAX;
        kept += keep[i];
    }
    return kept;
}
