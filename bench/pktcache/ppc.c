/* SPDX-License-Identifier: BSD-2-Clause */
#include "ppc.h"

#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>

enum { SAMPLE = 5, SELECTED_MAX = PPC_PAYLOAD_MAX, LANES = 4, CACHE_LINE = 64 };

/* Irreducible over GF(2), of degree 53: the one of LBFS (Muthitacharoen, Chen, Mazieres, SOSP 2001). */
#define POLYNOMIAL UINT64_C(0x3da3358b4dc173)
#define DEGREE     53
#define SPARE      (64 - DEGREE) /* bits of a word that a fingerprint does not need */

struct entry {
    uint64_t print, at;
}; /* at: 1 + position; 0: no entry */

struct ppc {
    enum ppc_how how;
    unsigned window;
    uint8_t *ring;
    uint64_t size, head;
    struct entry *table;
    uint64_t mask;
    uint64_t shift[256], drop[256]; /* of the byte that leaves the top; of the byte that leaves the window */
    /* tuned: of a byte that is 1 to 4 bytes beyond the top; drop, one step on */
    uint64_t carry[4][256], leave[256];
    uint64_t seen[LANES][PPC_PAYLOAD_MAX / LANES + 1];
    unsigned selected;
    uint16_t at[SELECTED_MAX]; /* where the window ends */
    uint64_t print[SELECTED_MAX];
};

static uint64_t polymod(uint64_t high, uint64_t low) {
    for (int i = 63; i >= 0; i--)
        if (high >> i & 1) {
            int by = i + 64 - DEGREE; /* of the top of POLYNOMIAL to this bit */
            high ^= by >= 64 ? POLYNOMIAL << (by - 64) : by ? POLYNOMIAL >> (64 - by) : 0;
            if (by < 64) low ^= POLYNOMIAL << by;
        }
    for (int i = 63; i >= DEGREE; i--)
        if (low >> i & 1) low ^= POLYNOMIAL << (i - DEGREE);
    return low;
}

static inline uint64_t append(const struct ppc *p, uint64_t f, uint8_t b) {
    return (f << 8 | b) ^ p->shift[f >> (DEGREE - 8)];
}

static void *memory(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    madvise(p, bytes, MADV_HUGEPAGE);
    memset(p, 0, bytes);
    return p;
}

struct ppc *ppc_make(uint64_t bytes, unsigned window, enum ppc_how how) {
    struct ppc *p = calloc(1, sizeof *p);
    uint64_t entries = 1;
    if (!p) return NULL;
    p->how = how;
    p->window = window;
    p->size = bytes;
    while (entries << SAMPLE < bytes) entries *= 2; /* as many as fingerprints that the ring's bytes have */
    p->mask = entries - 1;
    p->ring = memory(bytes);
    p->table = memory(entries * sizeof *p->table);
    for (uint64_t b = 0; b < 256; b++) {
        uint64_t f = 0;
        p->shift[b] = polymod(b >> (64 - DEGREE), b << DEGREE) | b << DEGREE;
        /* The byte, shifted by as many bytes as the window has besides. */
        f = b;
        for (unsigned i = 1; i < window; i++) f = polymod(f >> 56, f << 8);
        p->drop[b] = f;
    }
    for (uint64_t b = 0; b < 256; b++) {
        uint64_t f = b << (DEGREE - 8);
        for (int i = 0; i < 4; i++) p->carry[i][b] = (f = append(p, f, 0)) << SPARE;
        p->leave[b] = append(p, p->drop[b], 0) << SPARE;
    }
    if (!p->ring || !p->table) ppc_free(&p);
    return p;
}

void ppc_free(struct ppc **ppc) {
    struct ppc *p = *ppc;
    *ppc = NULL;
    if (!p) return;
    if (p->ring) munmap(p->ring, p->size);
    if (p->table) munmap(p->table, (p->mask + 1) * sizeof *p->table);
    free(p);
}

/* ---- fingerprints ------------------------------------------------------------------------------------------------ */

static inline void select_one(struct ppc *p, uint64_t f, size_t end) {
    if (f & ((1u << SAMPLE) - 1)) return;
    p->at[p->selected] = (uint16_t)end;
    p->print[p->selected++] = f;
}

static void scan_textbook(struct ppc *p, const uint8_t *b, size_t n) {
    uint64_t f = 0;
    for (size_t i = 0; i < n; i++) {
        if (i >= p->window) f ^= p->drop[b[i - p->window]];
        f = append(p, f, b[i]);
        if (i + 1 >= p->window) select_one(p, f, i + 1);
    }
}

#define EACH_LANE _Pragma("GCC unroll 8") for (size_t k = 0; k < LANES; k++)

_Static_assert(SPARE + SAMPLE == 16, "the low 16 bits of what is selected are zero, and have room for a place");

static inline uint64_t get32(const uint8_t *b) {
    return (uint64_t)b[0] << 24 | (uint64_t)b[1] << 16 | (uint64_t)b[2] << 8 | b[3];
}

/*
 * As many parts of the packet at a time as there are lanes.  A fingerprint stands at the top of its word, so what is
 * shifted out is gone and 16 bits tell whether it is selected; then they hold its place.  Each is written down, and
 * stays if it is selected: a branch would be guessed wrong once for each.  The last part begins early enough to be as
 * long as the others: a few windows may be selected twice, which changes nothing.
 */
static void scan_tuned(struct ppc *p, const uint8_t *b, size_t n) {
    size_t w = p->window, windows = n - w + 1, part = (windows + LANES - 1) / LANES, seen[LANES];
    const uint8_t *lane[LANES];
    uint64_t f[LANES] = { 0 };

    if (part < w || w % 4) {
        scan_textbook(p, b, n);
        return;
    }
    EACH_LANE lane[k] = b + (k < LANES - 1 ? k * part : windows - part);
    for (size_t i = 0; i < w; i += 4) EACH_LANE {
            uint64_t g = f[k];
            f[k] = g << 32 ^ get32(lane[k] + i) << SPARE ^ p->carry[3][g >> 56] ^ p->carry[2][g >> 48 & 255] ^
                   p->carry[1][g >> 40 & 255] ^ p->carry[0][g >> 32 & 255];
        }
    EACH_LANE {
        p->seen[k][0] = f[k];
        seen[k] = !(uint16_t)f[k];
    }
    for (size_t i = 1; i < part; i++) EACH_LANE {
            f[k] = f[k] << 8 ^ ((uint64_t)lane[k][i + w - 1] << SPARE ^ p->leave[lane[k][i - 1]]) ^
                   p->carry[0][f[k] >> 56];
            p->seen[k][seen[k]] = f[k] + i;
            seen[k] += !(uint16_t)f[k];
        }
    for (size_t k = 0; k < LANES; k++)
        for (size_t i = 0; i < seen[k]; i++) {
            p->at[p->selected] = (uint16_t)((size_t)(lane[k] - b) + (uint16_t)p->seen[k][i] + w);
            p->print[p->selected++] = p->seen[k][i] >> 16 << SAMPLE;
        }
}

static void scan(struct ppc *p, const uint8_t *b, size_t n) {
    p->selected = 0;
    if (n < p->window) return;
    if (p->how == PPC_TEXTBOOK) {
        scan_textbook(p, b, n);
        return;
    }
    for (size_t i = 0; i < n; i += CACHE_LINE) __builtin_prefetch(p->ring + p->head % p->size + i, 1);
    scan_tuned(p, b, n);
    for (unsigned i = 0; i < p->selected; i++) __builtin_prefetch(&p->table[p->print[i] >> SAMPLE & p->mask], 1);
}

/* ---- the store --------------------------------------------------------------------------------------------------- */

/*
 * Where a window with that fingerprint ends, or NULL; *before, *behind: bytes of its packet's ring that may be looked
 * at.
 */
static struct entry *find(struct ppc *p, uint64_t print) {
    struct entry *e = &p->table[print >> SAMPLE & p->mask];
    return e->at && e->print == print && p->head - (e->at - 1) < p->size - PPC_PAYLOAD_MAX ? e : NULL;
}

static void store(struct ppc *p, const uint8_t *b, size_t n) {
    uint64_t place = p->head % p->size;
    if (p->size - place < n) {
        p->head += p->size - place;
        place = 0;
    }
    memcpy(p->ring + place, b, n);
    for (unsigned i = 0; i < p->selected; i++)
        p->table[p->print[i] >> SAMPLE & p->mask] = (struct entry){ p->print[i], p->head + p->at[i] + 1 };
    p->head += n;
}

/* ---- both sides -------------------------------------------------------------------------------------------------- */

static void put16(uint8_t *p, size_t v) {
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}
static size_t get16(const uint8_t *p) { return (size_t)p[0] << 8 | p[1]; }

size_t ppc_encode(struct ppc *p, const uint8_t *b, size_t n, uint8_t *out) {
    size_t done = 0, length = PPC_HEAD;
    unsigned matches = 0;

    scan(p, b, n);
    for (unsigned i = 0; i < p->selected && length < n; i++) {
        size_t end = p->at[i], from = end - p->window, left = 0, right = 0;
        struct entry *e;
        if (from < done || !(e = find(p, p->print[i]))) continue;
        uint64_t place = (e->at - 1) % p->size;
        if (place < p->window || memcmp(p->ring + place - p->window, b + from, p->window)) continue;
        while (from - left > done && place - p->window - left > 0 &&
               p->ring[place - p->window - left - 1] == b[from - left - 1])
            left++;
        while (end + right < n && place + right < p->size && (e->at - 1) + right < p->head &&
               p->ring[place + right] == b[end + right])
            right++;
        size_t literal = from - left - done, size = left + p->window + right;
        if (length + 2 + literal + PPC_MATCH > PPC_PAYLOAD_MAX) break;
        put16(out + length, literal);
        memcpy(out + length + 2, b + done, literal);
        length += 2 + literal;
        put16(out + length, size);
        put16(out + length + 2, left);
        for (int k = 0; k < 6; k++) out[length + 4 + (size_t)k] = (uint8_t)(p->print[i] >> (SAMPLE + 8 * k));
        length += PPC_MATCH - 2; /* with the two of the literal's length, 12 */
        done += literal + size;
        matches++;
    }
    put16(out, matches);
    if (matches && length + (n - done) < n) {
        memcpy(out + length, b + done, n - done);
        length += n - done;
    } else {
        length = n;
    }
    store(p, b, n);
    return length;
}

size_t ppc_decode(struct ppc *p, const uint8_t *b, size_t n, int raw, uint8_t *out) {
    size_t at = PPC_HEAD, length = 0, matches;

    if (raw) {
        memcpy(out, b, n);
        length = n;
    } else {
        if (n < PPC_HEAD) return 0;
        for (matches = get16(b); matches; matches--) {
            if (n - at < 2) return 0;
            size_t literal = get16(b + at), size, left;
            uint64_t print = 0;
            if (n - at < 2 + literal + PPC_MATCH - 2 || length + literal > PPC_PAYLOAD_MAX) return 0;
            memcpy(out + length, b + at + 2, literal);
            length += literal;
            at += 2 + literal;
            size = get16(b + at);
            left = get16(b + at + 2);
            for (int k = 0; k < 6; k++) print |= (uint64_t)b[at + 4 + (size_t)k] << (SAMPLE + 8 * k);
            struct entry *e = find(p, print);
            at += PPC_MATCH - 2;
            if (!e || size > PPC_PAYLOAD_MAX - length || left + p->window > size ||
                (e->at - 1) % p->size < left + p->window || (e->at - 1) % p->size - left - p->window + size > p->size)
                return 0;
            memcpy(out + length, p->ring + (e->at - 1) % p->size - left - p->window, size);
            length += size;
        }
        if (n - at > PPC_PAYLOAD_MAX - length) return 0;
        memcpy(out + length, b + at, n - at);
        length += n - at;
    }
    scan(p, out, length);
    store(p, out, length);
    return length;
}
