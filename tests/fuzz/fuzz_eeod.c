/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_eeod.c - a page with marks in pieces: its blocks are those that the slow way finds. */
#include "tests/unit/test_eeod.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const pairs[][2] = {
    { "<!--EEOD-->", "<!--/EEOD-->" }, { "aaab", "aabb" }, { "<<>>", "<><>" }, { "<frag>", "</frag>" }
};

/* The first bytes: which marks, whether they stay, the least block; how long the pieces are, again and again. */
enum { CHOICES = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct eeod_marks m;
    struct eeod_blocks b;
    struct cut slow, fast;
    if (size < CHOICES || size > 65536) return 0;
    const char *const *pair = pairs[data[0] % 4];
    if (eeod_marks_set(&m, pair[0], pair[1])) abort();
    int strip = data[0] / 4 % 2;
    size_t least = data[1], n = size - CHOICES;
    const uint8_t *page = data + CHOICES;

    cut_open(&fast, n);
    struct fast f = { .cut = &fast, .page = page };
    eeod_blocks_begin(&b, &m, strip, least, fast_take, &f);
    for (size_t i = 0, turn = 2; i < n; turn = turn + 1 < CHOICES ? turn + 1 : 2) {
        size_t k = 1 + (data[turn] % 2 ? data[turn] : data[turn] * 8u);
        if (k > n - i) k = n - i;
        fast_feed(&b, &f, i, k);
        i += k;
        if (i - fast.eaten > EEOD_MARK_MAX + least) abort();
    }
    eeod_blocks_end(&b);
    cut_open(&slow, n);
    cut_slowly(&slow, &m, strip, least, page, n);
    if (fast.eaten != n || !cut_same(&slow, &fast)) abort();
    cut_close(&slow);
    cut_close(&fast);
    return 0;
}
