/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_fresh.c - any bytes as what the server of a directory of keys says about keeping it, and as addresses.
 *
 * Lines of the input: a letter (c Cache-Control, a Age, v Vary) and a value, or an address.  What must hold: nothing is
 * fresh for longer than the largest number that counts, nor the fresher for its age; an address that is read is read
 * again as it is written.
 */
#undef NDEBUG
#include <assert.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "web/web_address.h"
#include "web/web_fresh.h"

#define MOST 2147483648u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fresh_address(const char *value, size_t n) {
    char text[128], again[INET6_ADDRSTRLEN], whole[INET6_ADDRSTRLEN + 16];
    struct sockaddr_storage a, b;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a;

    if (n >= sizeof text) return;
    memcpy(text, value, n);
    text[n] = '\0';
    if (web_address_read(text, &a)) return;
    assert(a.ss_family == AF_INET || a.ss_family == AF_INET6);
    if (a.ss_family == AF_INET) {
        inet_ntop(AF_INET, &v4->sin_addr, again, sizeof again);
        snprintf(whole, sizeof whole, "%s:%u", again, ntohs(v4->sin_port));
    } else {
        inet_ntop(AF_INET6, &v6->sin6_addr, again, sizeof again);
        snprintf(whole, sizeof whole, "[%s]:%u", again, ntohs(v6->sin6_port));
    }
    assert(!web_address_read(again, &b));
    assert(web_address_fits((const struct sockaddr *)&a, &b));
    if ((a.ss_family == AF_INET ? v4->sin_port : v6->sin6_port) != 0) assert(!web_address_read(whole, &b));
    if (web_address_is_loopback((const struct sockaddr *)&a))
        assert(web_address_range((const struct sockaddr *)&a) != WEB_PUBLIC);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *at = (const char *)data, *end = at + size;
    struct web_fresh f = { 0 };

    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        uint64_t before = web_fresh_seconds(&f);
        bool said = web_fresh_was_said(&f), never = f.never;

        if (!stop) stop = end;
        switch (*at) {
        case 'c': web_fresh_control(&f, at + 1, (size_t)(stop - at - 1)); break;
        case 'a': web_fresh_age(&f, at + 1, (size_t)(stop - at - 1)); break;
        case 'v': web_fresh_vary(&f, at + 1, (size_t)(stop - at - 1)); break;
        case '\n': break;
        default: fresh_address(at, (size_t)(stop - at)); break;
        }
        assert(web_fresh_seconds(&f) <= MOST);
        assert(web_fresh_was_said(&f) || !web_fresh_seconds(&f));
        assert(f.never >= never && (!f.never || !web_fresh_seconds(&f)));
        /* An age never makes it fresher. */
        if (said && *at == 'a') assert(web_fresh_seconds(&f) <= before);
        at = stop + 1;
    }
    return 0;
}
