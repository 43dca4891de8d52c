/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_eeod_keyed.c - a page with marks of every kind in pieces: what becomes of it is what the slow way makes. */
#include "tests/unit/test_eeod_keyed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first bytes: how long the pieces are, again and again.  A 1 in the page stands for the key. */
enum { CHOICES = 6 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t page[65536];
    struct keyed_page slow, fast;
    struct eeod_keyed k;
    size_t n = 0;
    if (size < CHOICES || size > 4096) return 0;
    for (size_t i = CHOICES; i < size && n + EEOD_KEY_DIGITS < sizeof page; i++) {
        if (data[i] == 1) {
            memcpy(page + n, KEYED_KEY, EEOD_KEY_DIGITS);
            n += EEOD_KEY_DIGITS;
        } else {
            page[n++] = data[i];
        }
    }

    keyed_open(&fast, n);
    struct keyed_fast f = { .to = &fast, .page = page };
    eeod_keyed_begin(&k, KEYED_KEY, keyed_take_fast, &f);
    for (size_t i = 0, turn = 0; i < n; turn = (turn + 1) % CHOICES) {
        size_t piece = 1 + (data[turn] % 2 ? data[turn] / 2 : data[turn] * 8u);
        if (piece > n - i) piece = n - i;
        keyed_feed_fast(&k, &f, i, piece);
        i += piece;
    }
    keyed_end_fast(&k, &f);
    keyed_open(&slow, n);
    keyed_slowly(&slow, page, n);
    if (fast.eaten != n || !keyed_same(&slow, &fast)) abort();
    keyed_close(&slow);
    keyed_close(&fast);
    return 0;
}
