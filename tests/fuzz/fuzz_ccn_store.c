/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_ccn_store.c - pages in memory that processes share, while one of them writes whatever it likes anywhere: between
 * calls, and between two reads of a call.
 *
 * No call touches anything outside, goes in circles, or hands out room that is no block; and when somebody dies with
 * the lock, the next one finds all sound.  Where nobody writes, all is sound after every call, nothing is ever emptied,
 * and a packet that is got is the one that was put there.
 */
#include "fuzz_memory.h"

#include <stdio.h>

static void meanwhile(const volatile void *at, size_t bytes);
#define ONCE(x) (meanwhile(&(x), sizeof(x)), *(volatile __typeof__(x) *)&(x))
#include "mod_ccn/ccn_store.c"
#include "mod_ccn/ccn_store_parts.c"
#include "mod_ccn/ccn_store_rebuild.c"
#include "mod_ccn/ccn_store_take.c"

#define MUST(truth) ((truth) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #truth), abort()))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Small blocks, so that pages have more than one index block: what a segment adds to CCN_STORE_EXTRA wraps. */
enum { BLOCKS = 48, BLOCK = 64, PAGES = 16, DRAFTS = 4, OPS = 60, MAKER = 4711, GUARD = 0x5a };
#define SEGMENT    (BLOCK - CCN_STORE_EXTRA)
#define KEEP       UINT64_C(5000000)
#define SECOND     UINT64_C(1000000)
#define OWNER_DIED 0x40000000u
#define PAGE_BYTES UINT64_C(4096)
#define BEYOND     (UINT64_C(1) << 40) /* 2^32 blocks, or rows, and more */

static struct ccn_store s;
static uint64_t all;
static uint8_t *pristine;
static struct ccn_draft first_draft, drafts[DRAFTS];
static bool hostile;
static uint64_t now;
/* Of reads to come, so many are left as they are; then one finds this. */
static unsigned reads_until;
static uint32_t read_finds;

static void meanwhile(const volatile void *at, size_t bytes) {
    if (!reads_until || --reads_until) return;
    memcpy((void *)(uintptr_t)at, &read_finds, bytes < sizeof read_finds ? bytes : sizeof read_finds);
}

static struct ccn_store_id id_of(uint64_t page) { return ccn_store_id(&s, &page, sizeof page); }
static size_t length_of(uint64_t page, uint32_t i) { return 1 + (page * 7 + i) % BLOCK; }
static uint8_t byte_of(uint64_t page, uint32_t i, size_t at) { return (uint8_t)(page * 31 + i * 5 + at); }

static bool begin(uint64_t page, uint32_t n, struct ccn_draft *d) {
    struct ccn_store_id id = id_of(page);

    if (!ccn_store_begin(&s, now, MAKER, &id, n, d)) return false;
    MUST(d->row < BLOCKS && d->n == n);
    return true;
}

/* From its beginning, however often. */
static void fill(uint64_t page, const struct ccn_draft *whose) {
    struct ccn_draft d = *whose;

    for (uint32_t i = 0; i < d.n; i++) {
        uint8_t *room = ccn_store_room(&s, &d, i);
        if (!room) {
            MUST(hostile);
            return;
        }
        MUST(room >= s.blocks && room < s.blocks + BLOCKS * BLOCK && (room - s.blocks) % BLOCK == 0);
        for (size_t k = 0; k < BLOCK; k++) room[k] = byte_of(page, i, k);
        ccn_store_put(&s, &d, length_of(page, i));
    }
}

static void get(uint64_t page, uint64_t segment, size_t room) {
    static uint8_t out[BLOCK + 8];
    struct ccn_store_id id = id_of(page);
    uint32_t left = UINT32_MAX;
    size_t n = SIZE_MAX;
    enum ccn_got got;

    memset(out, GUARD, sizeof out);
    got = ccn_store_get(&s, now, &id, segment, out, room, &n, &left);
    for (size_t k = room; k < sizeof out; k++) MUST(out[k] == GUARD);
    if (got != CCN_GOT) return;
    MUST(n <= room && n <= BLOCK && segment < CCN_SEGMENTS_MAX);
    if (hostile || !n) return; /* n = 0: it was published before it was filled */
    MUST(n == length_of(page, (uint32_t)segment) && left < BLOCKS);
    for (size_t k = 0; k < n; k++) MUST(out[k] == byte_of(page, (uint32_t)segment, k));
}

/* One page of each kind, and one that is being filled; as many as the numbers that tests are likely to hit. */
static void set_up(void) {
    static const uint32_t sizes[] = { 1, 3, 20, 2 };
    uint64_t used = ccn_store_bytes(BLOCKS * BLOCK, SEGMENT), pages = (used + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    uint8_t *reserved = mmap(NULL, BEYOND, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const char *why;

    MUST(reserved != MAP_FAILED && !mprotect(reserved + PAGE_BYTES, pages, PROT_READ | PROT_WRITE));
    MUST(!ccn_store_make(&s, reserved + PAGE_BYTES + pages - used, BLOCKS * BLOCK, SEGMENT, KEEP, &why));
    MUST(s.nblocks == BLOCKS && s.block == BLOCK);
    s.key[0][0] = s.key[0][1] = s.key[1][0] = 1; /* what is found is found again */
    s.key[1][1] = 2;
    all = used;
    for (uint64_t page = 0; page < sizeof sizes / sizeof *sizes; page++) {
        struct ccn_draft d;
        MUST(begin(page, sizes[page], &d));
        fill(page, &d);
        MUST(ccn_store_publish(&s, now, &d));
    }
    get(3, 0, BLOCK);
    get(3, 1, BLOCK);
    get(1, 1, BLOCK);
    MUST(begin(4, 2, &first_draft) && !ccn_store_check(&s));
    pristine = malloc(all);
    MUST(pristine);
    memcpy(pristine, s.area, all);
}

/* Whose pages they are, each draft's owner knows. */
static uint64_t owner[DRAFTS];

static void call(struct input *in, uint8_t op) {
    static const uint32_t sizes[] = { 1, 1, 2, 3, 14, 15, 16, 30, 31, 44, 45, 46, 47, 48, 65536, UINT32_MAX };
    uint8_t which = byte(in);
    uint64_t page = which % PAGES;
    unsigned at = which / PAGES % DRAFTS;
    struct ccn_draft *d = &drafts[at];
    struct ccn_store_counts c;
    struct ccn_store_id id = id_of(page);
    uint32_t left;

    switch (op % 12) {
    case 0:
    case 1:
        if (begin(page, sizes[byte(in) % 16], d)) owner[at] = page;
        else d->n = 0;
        break;
    case 2: fill(owner[at], d); break;
    case 3:
        if (d->n || hostile) ccn_store_publish(&s, now, d);
        if (!hostile) d->n = 0;
        break;
    case 4:
        if (d->n || hostile) ccn_store_drop(&s, d);
        if (!hostile) d->n = 0;
        break;
    case 5: ccn_store_sweep(&s, now); break;
    case 6:
        ccn_store_forget(&s, MAKER - which / 255);
        for (unsigned i = 0; i < DRAFTS && which < 255 && !hostile; i++) drafts[i].n = 0;
        break;
    case 7:
        ccn_store_counts(&s, &c);
        MUST(ccn_store_live(&s) <= BLOCKS && (hostile || !c.emptied));
        break;
    case 8: ccn_store_look(&s, &id, word(in), &left); break;
    case 9: now += byte(in) * SECOND / 8; break;
    case 10: get(page, word(in), byte(in) % (BLOCK + 1)); break;
    case 11: get(page, byte(in) % 48, BLOCK); break;
    }
}

static void enemy(struct input *in, uint8_t op) {
    if (op >= 0xc0) {
        write_over(in, s.area, all);
    } else if (op >= 0xb0) {
        s.area->lock.word = OWNER_DIED;
    } else {
        reads_until = byte(in);
        read_finds = (uint32_t)word(in);
    }
}

/* The first byte: whether there is an enemy. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = { data, data + size };

    if (!pristine) set_up();
    memcpy(s.area, pristine, all);
    for (unsigned i = 0; i < DRAFTS; i++) {
        drafts[i] = first_draft;
        owner[i] = 4;
        if (i) drafts[i].n = 0;
    }
    now = 10 * SECOND;
    reads_until = 0;
    hostile = byte(&in) & 1;
    for (int ops = 0; in.at < in.end && ops < OPS; ops++) {
        uint8_t op = byte(&in);
        if (hostile && op >= 0xa0) enemy(&in, op);
        else call(&in, op);
        if (!hostile) MUST(!ccn_store_check(&s));
    }
    reads_until = 0;
    s.area->lock.word = OWNER_DIED;
    MUST(!ccn_store_check(&s));
    for (uint64_t page = 0; page < PAGES; page++) get(page, 0, BLOCK);
    return 0;
}
