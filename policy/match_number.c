/* SPDX-License-Identifier: BSD-2-Clause */
/* match_number.c - addresses, prefixes and ports as numbers. */
#include <arpa/inet.h>
#include <string.h>

#include "match_interval.h"
#include "policy_impl.h"

#define V4_PREFIX 0xffff00000000ull /* ::ffff:0:0/96 */

static uint64_t big_endian(const unsigned char *p, unsigned n) {
    uint64_t x = 0;

    for (unsigned i = 0; i < n; i++) x = x << 8 | p[i];
    return x;
}

int match_address_number(const void *addr, unsigned len, struct match_number *x) {
    const unsigned char *p = addr;

    if (len == 4) *x = (struct match_number){ 0, V4_PREFIX | big_endian(p, 4) };
    else if (len == 16) *x = (struct match_number){ big_endian(p, 8), big_endian(p + 8, 8) };
    else return 0;
    return 1;
}

/* Decimal digits only, no sign, no blank; -1 if it is no such number or above `most`. */
static long match_number_number(const char *p, size_t n, long most) {
    long x = 0;

    if (n == 0) return -1;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9') return -1;
        x = x * 10 + (p[i] - '0');
        if (x > most) return -1;
    }
    return x;
}

static struct match_number mask(unsigned bits) /* ones below a prefix of so many bits of 128 */
{
    if (bits >= 128) return (struct match_number){ 0, 0 };
    if (bits >= 64) return (struct match_number){ 0, UINT64_MAX >> (bits - 64) };
    return (struct match_number){ UINT64_MAX >> bits, UINT64_MAX };
}

int match_parse_address(const char *text, size_t len, struct match_range ranges[2], char **error) {
    char name[INET6_ADDRSTRLEN + 1], first[INET6_ADDRSTRLEN];
    unsigned char raw[16];
    const char *slash = memchr(text, '/', len);
    size_t name_len = slash ? (size_t)(slash - text) : len;
    unsigned v4, width, bits;
    struct match_number x, below;
    long given;

    if (name_len >= sizeof name || memchr(text, '\0', len) != NULL) goto no_address;
    memcpy(name, text, name_len);
    name[name_len] = '\0';
    v4 = inet_pton(AF_INET, name, raw) == 1;
    if (!v4 && inet_pton(AF_INET6, name, raw) != 1) goto no_address;
    width = v4 ? 32 : 128;
    given = slash ? match_number_number(slash + 1, len - name_len - 1, width) : (long)width;
    if (given < 0)
        return base_fail(error, "\"%s\" has no right prefix length; write /0 to /%u behind the address, as in %s",
                         base_quote(text, len).s, width, v4 ? "192.0.2.0/24" : "2001:db8::/32");
    bits = (unsigned)given + (v4 ? 96 : 0);
    match_address_number(raw, v4 ? 4 : 16, &x);
    below = mask(bits);
    if ((x.high & below.high) != 0 || (x.low & below.low) != 0) {
        for (unsigned i = 0; i < width; i++)
            if (i >= (unsigned)given) raw[i / 8] &= (unsigned char)~(0x80u >> (i % 8));
        inet_ntop(v4 ? AF_INET : AF_INET6, raw, first, sizeof first);
        return base_fail(
            error, "\"%s\" has bits set behind its prefix; write %s/%ld for the network or %s for the one address",
            base_quote(text, len).s, first, given, name);
    }
    ranges[0] = (struct match_range){ .from = x, .to = { x.high | below.high, x.low | below.low } };
    if (v4 || bits >= 96 || x.high != 0 || x.low > V4_PREFIX ||
        (ranges[0].to.high == 0 && ranges[0].to.low < V4_PREFIX))
        return 1;
    /* An IPv6 prefix around the mapped addresses: what lies before them, and what lies behind. */
    ranges[1] = ranges[0];
    ranges[1].from = (struct match_number){ 0, V4_PREFIX + 0x100000000ull };
    ranges[0].to = (struct match_number){ 0, V4_PREFIX - 1 };
    return ranges[1].to.high > 0 || ranges[1].to.low >= ranges[1].from.low ? 2 : 1;
no_address:
    return base_fail(error, "\"%s\" is no IP address; write one like 192.0.2.1, 192.0.2.0/24 or 2001:db8::/32",
                     base_quote(text, len).s);
}

int match_parse_port(const char *text, size_t len, struct match_range *range, char **error) {
    const char *dash = memchr(text, '-', len);
    size_t first_len = dash ? (size_t)(dash - text) : len;
    long from = match_number_number(text, first_len, 65535), to = from;

    if (dash) to = match_number_number(dash + 1, len - first_len - 1, 65535);
    if (from < 1 || to < 1)
        return base_fail(error, "\"%s\" is no port; write a number from 1 to 65535, or a range like 8000-8010",
                         base_quote(text, len).s);
    if (from > to)
        return base_fail(error, "port range \"%s\" runs backwards; write %ld-%ld", base_quote(text, len).s, to, from);
    *range = (struct match_range){ .from = { 0, (uint64_t)from }, .to = { 0, (uint64_t)to } };
    return 1;
}
