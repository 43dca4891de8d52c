/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_train.h"

#include "pk_bytes.h"

#include <assert.h>
#include <string.h>

/* ---- writing ----------------------------------------------------------------------------------------------------- */

void pk_train_open(struct pk_train *t, void *bytes, size_t room, const struct pk_head *first) {
    assert(room >= PK_TRAIN_LEAST);
    t->bytes = bytes;
    t->room = room;
    t->bytes[0] = (uint8_t)first->length;
    memcpy(t->bytes + 1, first->bytes, first->length);
    t->n = 1 + first->length;
    t->next = *first;
    t->extend = 0;
    t->tokens = 0;
    t->saved = 0;
}

/* Writes what changes from the headers that are expected to h.  Its bytes; 0: nothing does; -1: h can't follow here. */
static int changes(const struct pk_train *t, const struct pk_head *h, uint8_t *at, size_t room) {
    unsigned n = 0;

    if (h->length != t->next.length || pk_head_seq(h) != pk_head_seq(&t->next)) return -1;
    if (!memcmp(h->bytes, t->next.bytes, h->length)) return 0;
    for (uint32_t i = 0; i < h->length; i += 2) {
        if (!memcmp(h->bytes + i, t->next.bytes + i, 2)) continue;
        if (n == PK_CHANGES_MAX || 1 + (n + 1) * PK_CHANGE > room) return -1;
        at[1 + n * PK_CHANGE] = (uint8_t)(i / 2);
        memcpy(at + 2 + n * PK_CHANGE, h->bytes + i, 2);
        n++;
    }
    at[0] = (uint8_t)n;
    return (int)(1 + n * PK_CHANGE);
}

static uint8_t train_kind_of(enum pk_record_kind kind, int changed, uint8_t flags) {
    return (uint8_t)(kind | (changed ? PK_RECORD_CHANGED : 0) | (flags & PK_PSH ? PK_RECORD_PSH : 0) |
                     (flags & PK_FIN ? PK_RECORD_FIN : 0));
}

static void taken(struct pk_train *t, const struct pk_head *h, uint32_t bytes, uint32_t segments) {
    t->next = *h;
    pk_head_advance(&t->next, bytes, segments);
    t->saved += bytes + segments * h->length;
}

/* Makes the last record, of ONE segment, one that can have many. */
static void widen(struct pk_train *t, uint8_t *record, uint8_t *content) {
    uint32_t segment = pk_get16(content);

    memmove(content + PK_TOKENS_HEAD, content + PK_ONE_HEAD, PK_TOKEN);
    content[0] = 1;
    pk_put16(content + 1, segment);
    pk_put16(content + 3, segment);
    record[0] &= (uint8_t)~PK_RECORD_ONE;
    t->n += PK_TOKENS_HEAD - PK_ONE_HEAD;
}

/* Adds a segment to the last record. */
static bool extend(struct pk_train *t, const struct pk_head *h, const struct pk_fingerprint *fp, uint32_t segment,
                   uint8_t flags) {
    uint8_t *record = t->bytes + t->extend, *content;

    if (!t->extend || t->room - t->n < PK_TOKEN + PK_TOKENS_HEAD - PK_ONE_HEAD) return false;
    if (h->length != t->next.length || memcmp(h->bytes, t->next.bytes, h->length)) return false;
    content = record + 1 + (record[0] & PK_RECORD_CHANGED ? 1 + record[1] * PK_CHANGE : 0);
    if (record[0] & PK_RECORD_ONE) {
        if (segment > pk_get16(content) || 2 * pk_get16(content) + h->length > UINT16_MAX) return false;
        if (record[0] & (PK_RECORD_PSH | PK_RECORD_FIN)) return false;
        widen(t, record, content);
    }
    if (content[0] == PK_TOKENS_MAX || pk_get16(content + 1) != pk_get16(content + 3) ||
        segment > pk_get16(content + 1))
        return false;
    if ((content[0] + 1u) * pk_get16(content + 1) + h->length > UINT16_MAX ||
        record[0] & (PK_RECORD_PSH | PK_RECORD_FIN))
        return false;
    content[0]++;
    pk_put16(content + 3, segment);
    record[0] |= train_kind_of(0, 0, flags);
    pk_fingerprint_write(fp, t->bytes + t->n);
    t->n += PK_TOKEN;
    t->tokens++;
    taken(t, h, segment, 1);
    return true;
}

uint32_t pk_train_tokens(struct pk_train *t, const struct pk_head *h, const struct pk_fingerprint *fps, uint32_t count,
                         uint32_t segment, uint32_t last, uint8_t flags) {
    uint8_t *record = t->bytes + t->n;
    uint32_t most;
    int changed;

    if (count == 1 && extend(t, h, fps, last, flags)) return 1;
    if (t->room - t->n < 1 + PK_TOKENS_HEAD + PK_TOKEN) return 0;
    changed = changes(t, h, record + 1, t->room - t->n - (1 + PK_TOKENS_HEAD + PK_TOKEN));
    if (changed < 0) return 0;
    uint8_t *content = record + 1 + changed;
    most = (uint32_t)((t->room - (size_t)(content - t->bytes) - PK_TOKENS_HEAD) / PK_TOKEN);
    if (most > PK_TOKENS_MAX) most = PK_TOKENS_MAX;
    if (count > most) {
        count = most;
        last = segment;
        flags = 0;
    }
    record[0] = train_kind_of(PK_TOKENS, changed, flags);
    if (count == 1) {
        record[0] |= PK_RECORD_ONE;
        pk_put16(content, last);
        content += PK_ONE_HEAD;
    } else {
        content[0] = (uint8_t)count;
        pk_put16(content + 1, segment);
        pk_put16(content + 3, last);
        content += PK_TOKENS_HEAD;
    }
    for (uint32_t i = 0; i < count; i++) pk_fingerprint_write(fps + i, content + i * PK_TOKEN);
    t->extend = t->n;
    t->n = (size_t)(content - t->bytes) + count * PK_TOKEN;
    t->tokens += count;
    taken(t, h, (count - 1) * segment + last, count);
    return count;
}

bool pk_train_literal(struct pk_train *t, const struct pk_head *h, const void *bytes, uint32_t n, uint8_t flags) {
    const size_t least = 1 + PK_LITERAL_HEAD;
    uint8_t *record = t->bytes + t->n;
    int changed;

    if (t->room - t->n < least + n || n > UINT16_MAX - h->length) return false;
    changed = changes(t, h, record + 1, t->room - t->n - least - n);
    if (changed < 0) return false;
    record[0] = train_kind_of(PK_LITERAL, changed, flags);
    pk_put16(record + 1 + changed, n);
    memcpy(record + least + changed, bytes, n);
    t->extend = 0;
    t->n += least + (size_t)changed + n;
    taken(t, h, n, 1);
    return true;
}

bool pk_train_native(struct pk_train *t, const struct pk_head *h, uint32_t n) {
    uint8_t *record = t->bytes + t->n;
    int changed;

    if (t->room - t->n < 1 + PK_NATIVE_BYTES) return false;
    changed = changes(t, h, record + 1, t->room - t->n - (1 + PK_NATIVE_BYTES));
    if (changed < 0) return false;
    record[0] = train_kind_of(PK_NATIVE, changed, 0);
    pk_put32(record + 1 + changed, n);
    t->extend = 0;
    t->n += 1 + PK_NATIVE_BYTES + (size_t)changed;
    return true;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

bool pk_train_read(struct pk_reader *r, const void *bytes, size_t n) {
    const uint8_t *p = bytes;

    memset(r, 0, sizeof *r);
    if (n < 1 || p[0] > PK_HEADERS_MAX || n < 1u + p[0]) return false;
    r->next.length = p[0];
    memcpy(r->next.bytes, p + 1, p[0]);
    r->at = p + 1 + p[0];
    r->end = p + n;
    return pk_head_valid(&r->next);
}

static bool read_changes(struct pk_reader *r) {
    uint32_t length = r->next.length, n;

    if (r->end - r->at < 1) return false;
    n = *r->at++;
    if (!n || n > PK_CHANGES_MAX || r->end - r->at < (ptrdiff_t)(n * PK_CHANGE)) return false;
    for (; n; n--, r->at += PK_CHANGE) {
        if (r->at[0] * 2u + 2 > length) return false;
        memcpy(r->next.bytes + r->at[0] * 2u, r->at + 1, 2);
    }
    return pk_head_valid(&r->next);
}

static bool read_tokens(struct pk_reader *r, struct pk_record *record, bool one) {
    uint32_t last;

    if (r->end - r->at < (one ? PK_ONE_HEAD : PK_TOKENS_HEAD)) return false;
    record->count = one ? 1 : r->at[0];
    record->segment = pk_get16(r->at + !one);
    last = one ? record->segment : pk_get16(r->at + 3);
    r->at += one ? PK_ONE_HEAD : PK_TOKENS_HEAD;
    if (!record->count || !last || last > record->segment || (record->count == 1 && last != record->segment))
        return false;
    record->n = (record->count - 1) * record->segment + last;
    if (record->n + r->next.length > UINT16_MAX || r->end - r->at < (ptrdiff_t)(record->count * PK_TOKEN)) return false;
    record->bytes = r->at;
    r->at += record->count * PK_TOKEN;
    return true;
}

static bool read_literal(struct pk_reader *r, struct pk_record *record) {
    if (r->end - r->at < PK_LITERAL_HEAD) return false;
    record->n = record->segment = pk_get16(r->at);
    record->count = 1;
    r->at += PK_LITERAL_HEAD;
    if (!record->n || record->n + r->next.length > UINT16_MAX || r->end - r->at < (ptrdiff_t)record->n) return false;
    record->bytes = r->at;
    r->at += record->n;
    return true;
}

static bool read_native(struct pk_reader *r, struct pk_record *record) {
    if (r->end - r->at != PK_NATIVE_BYTES) return false;
    record->n = pk_get32(r->at);
    r->at += PK_NATIVE_BYTES;
    return record->n && record->n <= PK_NATIVE_MAX;
}

enum pk_read pk_train_next(struct pk_reader *r, struct pk_record *record) {
    bool good;

    if (r->at == r->end) return PK_TRAIN_END;
    memset(record, 0, sizeof *record);
    uint8_t kind = *r->at++;
    if (kind & ~PK_RECORD_KNOWN || (kind & PK_RECORD_ONE && (kind & PK_RECORD_KIND) != PK_TOKENS)) return PK_TRAIN_BAD;
    if (kind & PK_RECORD_CHANGED && !read_changes(r)) return PK_TRAIN_BAD;
    record->kind = kind & PK_RECORD_KIND;
    record->flags = (uint8_t)((kind & PK_RECORD_PSH ? PK_PSH : 0) | (kind & PK_RECORD_FIN ? PK_FIN : 0));
    record->head = r->next;
    good = record->kind == PK_TOKENS    ? read_tokens(r, record, kind & PK_RECORD_ONE)
           : record->kind == PK_LITERAL ? read_literal(r, record)
                                        : record->kind == PK_NATIVE && read_native(r, record);
    if (!good) return PK_TRAIN_BAD;
    pk_head_advance(&r->next, record->n, record->count);
    return PK_RECORD;
}
