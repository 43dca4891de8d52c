/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ndn.h - what tests of ndn/ have in common: bytes written as hexadecimal digits, in blocks that end where they
 * end, so that a sanitizer sees a byte that is read behind them; names; chance that is the same each time.
 */
#ifndef FAIRGATE_TEST_NDN_H
#define FAIRGATE_TEST_NDN_H

#include "ndn/ndn_packet.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* A copy in a block of its own, also of none; freed with span_free. */
static inline struct ndn_span span_copy(const void *bytes, size_t n) {
    uint8_t *at = malloc(n ? n : 1);
    ck_assert_ptr_nonnull(at);
    if (n) memcpy(at, bytes, n);
    return (struct ndn_span){ n ? at : at + 1, n };     /* behind the block's end, where there is nothing */
}

static inline void span_free(struct ndn_span s) { free((void *)(uintptr_t)(s.n ? s.at : s.at - 1)); }

#define SPAN_ROOM (2 * NDN_PACKET_MAX)

/* Up to the bracket that closes what *hex stands in, or the end. */
static inline void span_put_hex(struct ndn_out *o, const char **hex) {
    for (; **hex && !strchr("}]", **hex); ++*hex) {
        uint8_t inner[SPAN_ROOM];
        struct ndn_out value = ndn_out_into(inner, sizeof inner);
        unsigned long times = 1;
        unsigned byte;

        if (**hex == ' ') continue;
        if (**hex == '*') {
            char *end;
            times = strtoul(*hex + 1, &end, 10);
            *hex = end + strspn(end, " ");
        }
        if (**hex == '{' || **hex == '[') {
            bool element = *(*hex)++ == '{';
            span_put_hex(&value, hex);
            ck_assert_int_eq(**hex, element ? '}' : ']');
            if (element) ndn_put_var(o, value.n);
        } else {
            ck_assert_int_eq(sscanf(*hex, "%2x", &byte), 1);
            ndn_put(&value, &(uint8_t){ (uint8_t)byte }, 1);
            ++*hex;
        }
        ck_assert(!value.full);
        while (times--) ndn_put(o, inner, value.n);
    }
}

/*
 * Hexadecimal digits; blanks between them mean nothing.  "08{61}" is an element: the length of what stands between the
 * braces comes before it.  "*3 61" is 61 three times, "*3 [0861]" both bytes three times.
 */
static inline struct ndn_span span_of(const char *hex) {
    uint8_t bytes[SPAN_ROOM];
    struct ndn_out o = ndn_out_into(bytes, sizeof bytes);

    span_put_hex(&o, &hex);
    ck_assert(!*hex && !o.full);
    return span_copy(bytes, o.n);
}

static inline bool span_equal(struct ndn_span a, struct ndn_span b) {
    return a.n == b.n && (!a.n || !memcmp(a.at, b.at, a.n));
}

static inline bool span_is(struct ndn_span s, const char *text) {
    return span_equal(s, (struct ndn_span){ (const uint8_t *)text, strlen(text) });
}

/* A name's components, from its text, into room of the caller's. */
static inline struct ndn_name name_of(const char *text, uint8_t room[SPAN_ROOM]) {
    struct ndn_out o = ndn_out_into(room, SPAN_ROOM);
    struct ndn_name name;
    char *error = NULL;

    ck_assert_msg(!ndn_name_parse(text, &o, &name, &error), "%s", error);
    return name;
}

static inline const char *text_of_name(const struct ndn_name *name) {
    static char text[4 * NDN_PACKET_MAX];
    ck_assert_uint_lt(ndn_name_print(name, text, sizeof text), sizeof text);
    return text;
}

/* ---- chance ------------------------------------------------------------------------------------------------------ */

static inline uint64_t chance(uint64_t *seed) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33 ^ *seed >> 11;
}

static inline size_t chance_below(uint64_t *seed, size_t n) { return (size_t)(chance(seed) >> 8) % n; }

/* Small and large ones, and those beside which another length begins. */
static inline uint64_t chance_number(uint64_t *seed) {
    static const uint64_t near[] = { 0, 252, 255, UINT16_MAX, UINT32_MAX, UINT64_MAX - 2 };
    uint64_t n = near[chance_below(seed, sizeof near / sizeof *near)] + chance_below(seed, 3);
    return n >= UINT64_MAX - 2 ? n - 3 : n;
}

/* A name's components of any type and any bytes; `most` of these, but for heads. */
static inline struct ndn_name chance_name(uint64_t *seed, size_t most, uint8_t *room) {
    static const uint32_t types[] = { 8, 8, 8, 32, 50, 52, 54, 56, 58, 252, 253, 65535, 1 };
    struct ndn_out o = ndn_out_into(room, SPAN_ROOM);
    struct ndn_name name;
    uint8_t value[300];

    for (size_t i = 1 + chance_below(seed, 8); i; i--) {
        uint32_t type = types[chance_below(seed, sizeof types / sizeof *types)];
        size_t n = type == 1 ? NDN_DIGEST : chance_below(seed, most < 300 ? most : 300);
        for (size_t k = 0; k < n; k++) value[k] = (uint8_t)(chance_below(seed, 4) ? chance(seed) : '.');
        if (type >= 50 && type <= 58 && chance_below(seed, 2)) ndn_put_component_number(&o, type, chance_number(seed));
        else ndn_put_component(&o, type, value, n);
    }
    ck_assert(!o.full && ndn_name_read((struct ndn_span){ room, o.n }, &name));
    return name;
}

#endif
