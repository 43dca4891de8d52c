/* SPDX-License-Identifier: BSD-2-Clause */
/* policy_within.c - keys that share a class: the client's address, as far as it counts, or the visitor. */
#include <string.h>

#include "policy_impl.h"

#define USUAL_V4 32u
#define USUAL_V6 64u /* what one line of a provider has at the least */

static const unsigned char mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

/* "/BITS" at *at, which moves behind it; 0 if it is not there, or not of 1 to `most`. */
static uint32_t within_bits(const char **at, const char *end, uint32_t most) {
    uint32_t bits = 0;
    const char *p = *at;

    if (p == end || *p++ != '/' || p == end || *p == '0') return 0;
    for (; p < end && *p >= '0' && *p <= '9' && bits <= most; p++) bits = bits * 10 + (uint32_t)(*p - '0');
    *at = p;
    return bits <= most ? bits : 0;
}

int policy_within_read(const char *text, size_t n, struct policy_within *within, char **error) {
    static const char word[] = "client";
    const char *at = text + sizeof word - 1, *end = text + n;

    *within = (struct policy_within){ .levels = 1, .bits_v4 = USUAL_V4, .bits_v6 = USUAL_V6 };
    if (n == 7 && memcmp(text, "visitor", n) == 0) {
        within->visitor = true;
        return 0;
    }
    if (n >= sizeof word - 1 && memcmp(text, word, sizeof word - 1) == 0) {
        if (at == end) return 0;
        within->bits_v4 = within_bits(&at, end, 32);
        within->bits_v6 = within_bits(&at, end, 128);
        if (within->bits_v4 && within->bits_v6 && at == end) return 0;
    }
    return base_fail(
        error,
        "within=\"%s\" is not right; write within=\"client\", or within=\"client/24/56\" with how many bits "
        "of IPv4 and of IPv6 addresses count, or within=\"visitor\"",
        base_quote(text, n).s);
}

unsigned policy_within_prefix(const struct policy_within *within, const void *addr, unsigned len,
                              unsigned char out[16]) {
    const unsigned char *from = addr;
    uint32_t bits;

    if (len == 16 && memcmp(from, mapped, sizeof mapped) == 0) {
        from += sizeof mapped;
        len = 4;
    }
    bits = len == 4 ? within->bits_v4 : within->bits_v6;
    for (unsigned i = 0; i < len; i++) {
        uint32_t left = bits > i * 8 ? bits - i * 8 : 0;
        out[i] = left >= 8 ? from[i] : (unsigned char)(from[i] & (0xff00u >> left));
    }
    return len;
}
