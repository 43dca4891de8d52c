/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_console.c - any bytes as a request to a console that serves itself, and as addresses of other consoles.
 *
 * What must hold: what was read has an end and nothing that a header of ours or a policy could not hold; a policy has
 * no more directives than without addresses, and of these no more are told than there may be; whose name is no address
 * of this machine is not one of ours.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "console/console_page.h"
#include "console/console_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void is_a_word(const char word[CONSOLE_WORD]) {
    size_t n = strnlen(word, CONSOLE_WORD);

    assert(n < CONSOLE_WORD);
    for (size_t i = 0; i < n; i++) assert(word[i] > ' ' && word[i] <= '~');
}

static unsigned semicolons(const char *text) {
    unsigned n = 0;
    while (*text) n += *text++ == ';';
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1), policy[CONSOLE_POLICY], plain[CONSOLE_POLICY];
    struct console_request r;
    const char *one;
    size_t head;
    int told = 0;

    assert(text);
    memcpy(text, data, size);
    text[size] = 0;
    head = console_request_whole(text, size);
    assert(head <= size);
    /* A copy of its own, so that a byte behind it is seen to be read. */
    if (head) {
        char *copy = malloc(head);
        assert(copy);
        memcpy(copy, text, head);
        console_request_read(copy, head, &r);
        free(copy);
        is_a_word(r.what);
        is_a_word(r.host);
        is_a_word(r.origin);
        is_a_word(r.site);
        assert(!r.refused || (r.refused >= 400 && r.refused < 500 && !r.stays));
        if (console_request_is_ours(&r, "192.0.2.1:9118"))
            assert(!strcmp(r.host, "192.0.2.1:9118") || !strncasecmp(r.host, "localhost", 9) ||
                   !strncmp(r.host, "127.0.0.1", 9) || !strncmp(r.host, "[::1]", 5));
        console_allows(r.origin, text);
    }
    console_policy(plain, NULL);
    console_policy(policy, text);
    assert(strlen(policy) < sizeof policy && !strncmp(policy, plain, strlen(plain)));
    assert(semicolons(policy) == semicolons(plain) && !strpbrk(policy + strlen(plain), "'\"*,\r\n"));
    for (const char *at = text; (head = console_other(&at, &one, &told));)
        assert(one >= text && one + head == at && at <= text + strlen(text) && !memchr(one, ' ', head));
    assert(told <= CONSOLE_OTHERS);
    assert(!console_foreign("same-origin", "", text) && console_foreign("cross-site", "null", text));
    assert(!console_allows("null", text) && !console_allows("", text));
    free(text);
    return 0;
}
