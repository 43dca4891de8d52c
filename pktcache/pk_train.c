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
    t->tos = pk_head_tos(first) & (uint8_t)~PK_ECN;
    t->kept = t->sliced = false;
    t->tokens = 0;
    t->saved = 0;
}

/* Writes what changes from the headers that are expected to h.  Its bytes; 0: nothing does; -1: h can't follow here. */
static int changes(const struct pk_train *t, const struct pk_head *h, uint8_t *at, size_t room) {
    unsigned n = 0;

    if (h->length != t->next.length || pk_head_seq(h) != pk_head_seq(&t->next)) return -1;
    if ((pk_head_tos(h) ^ t->tos) & ~PK_ECN) return -1;
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

/*
 * A queue may mark the datagram instead of throwing it away only if each of its packets can be told of that; one that
 * stands for no packet has nobody to tell.  Packets that were marked already say so in their own headers.
 */
static void takes_ecn(struct pk_train *t, enum pk_ecn ecn) {
    enum pk_ecn so_far = t->tos & PK_ECN;

    if (!t->saved || so_far == ecn) so_far = ecn;
    else so_far = so_far == PK_NOT_ECT || ecn == PK_NOT_ECT ? PK_NOT_ECT : PK_ECT_0;
    t->tos = (uint8_t)((t->tos & ~PK_ECN) | so_far);
}

static void taken(struct pk_train *t, const struct pk_head *h, uint32_t bytes, uint32_t segments) {
    takes_ecn(t, pk_head_tos(h) & PK_ECN);
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

/* Where a record of parts is being written. */
struct part_writer {
    uint8_t *next;
    const uint8_t *end;
    uint8_t *part;  /* the SLICES to which the next slice may be added, or NULL */
    uint32_t bytes; /* of these */
    bool slices;
};

static uint8_t *part_room(struct part_writer *w, size_t n) {
    uint8_t *p = w->next;
    if ((size_t)(w->end - w->next) < n) return NULL;
    w->next += n;
    return p;
}

static bool write_bytes(struct part_writer *w, const struct pk_part *p, const uint8_t *payload) {
    bool kept = p->kind == PK_PART_KEPT;
    uint8_t *out = part_room(w, PK_PART_HEAD + (kept ? PK_PLACE : 0u) + p->n);

    if (!out) return false;
    w->part = NULL;
    out[0] = (uint8_t)(p->kind | (p->ends ? PK_PART_ENDS : 0));
    pk_put16(out + 1, p->n);
    out += PK_PART_HEAD;
    if (kept) {
        pk_put32(out, p->place);
        out += PK_PLACE;
    }
    memcpy(out, payload + p->at, p->n);
    return true;
}

static bool write_slice(struct part_writer *w, struct pk_train *t, const struct pk_part *p) {
    uint32_t offset = pk_block_offset(p->place);
    bool same = t->sliced && offset && t->slice_end == offset && pk_fingerprint_same(&t->slice, &p->fp);
    /* More of the same part: the same block goes on, or the next one begins where a whole one ended. */
    bool more = w->part && t->sliced && (same || (!offset && t->slice_end == PK_BLOCK));
    size_t n = (more ? 0 : PK_PART_HEAD) + (same ? 0 : PK_TOKEN) + (more || same ? 0 : (size_t)PK_SLICES_AT);
    uint8_t *out = part_room(w, n);

    if (!out) return false;
    if (!more) {
        w->part = out;
        w->bytes = 0;
        out[0] = (uint8_t)(PK_PART_SLICES | (same ? PK_PART_GOES_ON : 0));
        out += PK_PART_HEAD;
        if (!same) {
            pk_put16(out, offset);
            out += PK_SLICES_AT;
        }
    }
    if (!same) pk_fingerprint_write(&p->fp, out);
    w->bytes += p->n;
    pk_put16(w->part + 1, w->bytes);
    w->slices = true;
    t->sliced = true;
    t->slice = p->fp;
    t->slice_end = offset + p->n;
    return true;
}

bool pk_train_parts(struct pk_train *t, const struct pk_head *h, const uint8_t *payload, const struct pk_parts *parts,
                    uint32_t at, uint32_t count, uint32_t segment, uint32_t last, uint8_t flags) {
    uint8_t *record = t->bytes + t->n;
    struct pk_train before = *t;
    uint32_t n = (count - 1) * segment + last;
    struct pk_part p;
    int changed;

    if (t->room - t->n < 1 + PK_TOKENS_HEAD) return false;
    changed = changes(t, h, record + 1, t->room - t->n - (1 + PK_TOKENS_HEAD));
    if (changed < 0) return false;
    uint8_t *content = record + 1 + changed;
    record[0] = train_kind_of(PK_PARTS, changed, flags);
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
    struct part_writer w = { .next = content, .end = t->bytes + t->room };
    for (uint32_t i = 0; i < parts->n && parts->part[i].at < at + n; i++) {
        if (!pk_part_clip(parts->part + i, at, at + n, &p)) continue;
        t->kept |= p.kind == PK_PART_KEPT;
        if (p.kind == PK_PART_SLICES ? write_slice(&w, t, &p) : write_bytes(&w, &p, payload)) continue;
        *t = before;
        return false;
    }
    t->extend = 0;
    t->n = (size_t)(w.next - t->bytes);
    if (w.slices) t->tokens += count;
    taken(t, h, n, count);
    return true;
}

bool pk_train_gather(struct pk_train *t, const struct pk_head *h, const struct pk_parts *parts, uint32_t at,
                     uint32_t n) {
    uint8_t *record = t->bytes + t->n, *content, *order;
    uint32_t behind = at;
    struct pk_part p;
    int changed;

    if (t->room - t->n < 2 + PK_ORDER) return false;
    changed = changes(t, h, record + 1, t->room - t->n - (2 + PK_ORDER));
    if (changed < 0) return false;
    content = record + 1 + changed;
    record[0] = train_kind_of(PK_GATHER, changed, 0);
    content[0] = 0;
    order = content + 1;
    for (uint32_t i = 0; i < parts->n && parts->part[i].at < at + n && content[0] < UINT8_MAX; i++) {
        if (parts->part[i].kind != PK_PART_KEPT || !pk_part_clip(parts->part + i, at, at + n, &p)) continue;
        if ((size_t)(t->bytes + t->room - order) < PK_ORDER) break;
        order[0] = p.ends ? PK_PART_ENDS : 0;
        pk_put16(order + 1, p.at - behind);
        pk_put16(order + 3, p.n);
        pk_put32(order + 5, p.place);
        behind = p.at + p.n;
        order += PK_ORDER;
        content[0]++;
    }
    if (!content[0]) return false;
    t->extend = 0;
    t->n = (size_t)(order - t->bytes);
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

static bool read_count(struct pk_reader *r, struct pk_record *record, bool one) {
    uint32_t last;

    if (r->end - r->at < (one ? PK_ONE_HEAD : PK_TOKENS_HEAD)) return false;
    record->count = one ? 1 : r->at[0];
    record->segment = pk_get16(r->at + !one);
    last = one ? record->segment : pk_get16(r->at + 3);
    r->at += one ? PK_ONE_HEAD : PK_TOKENS_HEAD;
    if (!record->count || !last || last > record->segment || (record->count == 1 && last != record->segment))
        return false;
    record->n = (record->count - 1) * record->segment + last;
    return record->n + r->next.length <= UINT16_MAX;
}

static bool read_tokens(struct pk_reader *r, struct pk_record *record, bool one) {
    if (!read_count(r, record, one) || r->end - r->at < (ptrdiff_t)(record->count * PK_TOKEN)) return false;
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

void pk_parts_read(struct pk_part_reader *r, const struct pk_record *record) {
    *r = (struct pk_part_reader){ record->bytes, record->end, 0, record->n, record->sliced };
}

static bool read_slices(struct pk_part_reader *r, struct pk_read_part *p, bool goes_on) {
    if (goes_on) {
        if (!r->sliced.fp || r->sliced.end >= PK_BLOCK) return false;
        p->first = r->sliced.fp;
        p->place = r->sliced.end;
    } else {
        if (r->end - r->next < PK_SLICES_AT + (ptrdiff_t)PK_TOKEN) return false;
        p->place = pk_get16(r->next);
        p->first = r->next + PK_SLICES_AT;
        r->next += PK_SLICES_AT + PK_TOKEN;
        if (p->place >= PK_BLOCK) return false;
    }
    p->more = r->next;
    p->blocks = (p->place + p->n + PK_BLOCK - 1) / PK_BLOCK;
    if (!p->n || r->end - r->next < (ptrdiff_t)((p->blocks - 1) * PK_TOKEN)) return false;
    r->next += (p->blocks - 1) * PK_TOKEN;
    r->sliced.fp = p->blocks > 1 ? r->next - PK_TOKEN : p->first;
    r->sliced.end = p->place + p->n - (p->blocks - 1) * PK_BLOCK;
    return true;
}

static bool read_bytes(struct pk_part_reader *r, struct pk_read_part *p) {
    if (p->kind == PK_PART_KEPT) {
        if (r->end - r->next < PK_PLACE) return false;
        p->place = pk_get32(r->next);
        r->next += PK_PLACE;
    }
    if (r->end - r->next < (ptrdiff_t)p->n || (!p->n && !p->ends)) return false;
    p->bytes = r->next;
    r->next += p->n;
    return true;
}

bool pk_parts_next(struct pk_part_reader *r, struct pk_read_part *part) {
    if (!r->left || r->end - r->next < PK_PART_HEAD) return false;
    uint8_t kind = r->next[0];
    *part = (struct pk_read_part){ .kind = kind & PK_PART_KIND, .ends = kind & PK_PART_ENDS, .at = r->at };
    part->n = pk_get16(r->next + 1);
    r->next += PK_PART_HEAD;
    if (kind & ~PK_PART_KNOWN || part->kind > PK_PART_SLICES || part->n > r->left) return false;
    if ((part->ends && part->kind != PK_PART_KEPT) || (kind & PK_PART_GOES_ON && part->kind != PK_PART_SLICES))
        return false;
    if (!(part->kind == PK_PART_SLICES ? read_slices(r, part, kind & PK_PART_GOES_ON) : read_bytes(r, part)))
        return false;
    r->at += part->n;
    r->left -= part->n;
    return true;
}

static bool read_parts(struct pk_reader *r, struct pk_record *record, bool one) {
    struct pk_part_reader parts;
    struct pk_read_part part;

    if (!read_count(r, record, one)) return false;
    record->bytes = r->at;
    record->end = r->end;
    record->sliced = r->sliced;
    pk_parts_read(&parts, record);
    while (pk_parts_next(&parts, &part)) record->slices |= part.kind == PK_PART_SLICES;
    if (parts.left) return false;
    record->end = r->at = parts.next;
    r->sliced = parts.sliced;
    return true;
}

static bool read_gather(struct pk_reader *r, struct pk_record *record) {
    if (r->end - r->at < 1 || r->end - r->at != 1 + r->at[0] * PK_ORDER || !r->at[0]) return false;
    record->bytes = r->at + 1;
    record->end = r->at = r->end;
    return true;
}

bool pk_orders_next(struct pk_part_reader *r, struct pk_read_part *order) {
    if (r->next == r->end) return false;
    *order = (struct pk_read_part){ .kind = PK_PART_KEPT, .ends = r->next[0] & PK_PART_ENDS };
    order->at = r->at + pk_get16(r->next + 1);
    order->n = pk_get16(r->next + 3);
    order->place = pk_get32(r->next + 5);
    r->at = order->at + order->n;
    r->next += PK_ORDER;
    return true;
}

static bool has_count(unsigned kind) { return kind == PK_TOKENS || kind == PK_PARTS; }

enum pk_read pk_train_next(struct pk_reader *r, struct pk_record *record) {
    bool good;

    if (r->at == r->end) return PK_TRAIN_END;
    memset(record, 0, sizeof *record);
    uint8_t kind = *r->at++;
    if (kind & ~PK_RECORD_KNOWN || (kind & PK_RECORD_ONE && !has_count(kind & PK_RECORD_KIND))) return PK_TRAIN_BAD;
    if (kind & PK_RECORD_CHANGED && !read_changes(r)) return PK_TRAIN_BAD;
    record->kind = kind & PK_RECORD_KIND;
    record->flags = (uint8_t)((kind & PK_RECORD_PSH ? PK_PSH : 0) | (kind & PK_RECORD_FIN ? PK_FIN : 0));
    record->head = r->next;
    switch (record->kind) {
    case PK_TOKENS: good = read_tokens(r, record, kind & PK_RECORD_ONE); break;
    case PK_LITERAL: good = read_literal(r, record); break;
    case PK_NATIVE: good = read_native(r, record); break;
    case PK_PARTS: good = read_parts(r, record, kind & PK_RECORD_ONE); break;
    case PK_GATHER: good = read_gather(r, record); break;
    default: good = false;
    }
    if (!good) return PK_TRAIN_BAD;
    pk_head_advance(&r->next, record->n, record->count);
    return PK_RECORD;
}
