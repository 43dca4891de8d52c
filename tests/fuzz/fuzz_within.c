/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_within.c - any bytes as the value of within=, as a rule about visitors and as a number with a unit.
 *
 * Bytes: an address of 16, the rest is the text.  What must hold: it is right, or there is a sentence in printable
 * characters; of an address the bits that count are there, and no others; what a rule about visitors asks for fits
 * itself.
 */
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_number.h"
#include "policy/policy_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void within_sentence(char *error) {
    assert(error && *error);
    for (const char *c = error; *c; c++) assert(*c >= ' ' && *c <= '~');
    free(error);
}

static void within_bits(const struct policy_within *w, const uint8_t address[16], unsigned len) {
    unsigned char out[16];
    unsigned n = policy_within_prefix(w, address, len, out), bits = n == 4 ? w->bits_v4 : w->bits_v6;
    const uint8_t *from = len == 16 && n == 4 ? address + 12 : address;

    assert(n == 4 || n == 16);
    for (unsigned i = 0; i < 8 * n; i++) {
        unsigned was = from[i / 8] >> (7 - i % 8) & 1, is = out[i / 8] >> (7 - i % 8) & 1u;
        assert(is == (i < bits ? was : 0));
    }
}

static void within_visitor(struct policy_text text) {
    struct policy_visitor v, is;
    char *error = NULL;

    if (policy_visitor_read(text, &v, &error)) {
        within_sentence(error);
        return;
    }
    assert(!error && v.age_s <= POLICY_AGE_MAX && (v.age_s || v.word.n));
    assert(!v.word.n || policy_visitor_word(v.word));
    is = v;
    assert(policy_visitor_fits(&v, &is));
    is.known = false;
    assert(!policy_visitor_fits(&v, &is));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
    struct policy_within w;
    char *error = NULL, *text;
    uint8_t address[16];
    uint64_t number;

    if (size < sizeof address) return 0;
    memcpy(address, data, sizeof address);
    size -= sizeof address;
    text = malloc(size + 1);
    assert(text);
    memcpy(text, data + sizeof address, size);
    text[size] = '\0';
    if (policy_within_read(text, size, &w, &error)) {
        within_sentence(error);
    } else {
        assert(w.levels == 1 && w.bits_v4 >= 1 && w.bits_v4 <= 32 && w.bits_v6 >= 1 && w.bits_v6 <= 128);
        within_bits(&w, address, 16);
        within_bits(&w, address, 4);
        memcpy(address, mapped, sizeof mapped);
        within_bits(&w, address, 16);
    }
    within_visitor((struct policy_text){ text, size });
    error = NULL;
    if (base_number("it", text, "seconds", 1, 1000000, &number, &error)) within_sentence(error);
    else assert(number >= 1 && number <= 1000000);
    free(text);
    return 0;
}
