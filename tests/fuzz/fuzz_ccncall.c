/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_ccncall.c - what a hostile server answers to fairgate-ccncall, and words of its command line.
 *
 * Bytes: as a problem, as a plain text, as a list of services, and as a result on its way to a terminal, in two pieces.
 * Whatever they are, what is printed is UTF-8 and has no control character but line ends and tabs, nor one that turns
 * the direction of text.
 *
 * The same bytes as the name of a call and as a parameter: what is read as a call has a name, unless it is too long,
 * that is read as the same call.
 */
#include <stdlib.h>
#include <string.h>

#include "ccnget/call_told.h"
#include "ccnget/call_words.h"
#include "base/base_clean.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(what)                                                                                                     \
    do {                                                                                                               \
        if (!(what)) abort();                                                                                          \
    } while (0)

static void must_be_harmless(const char *text, size_t n) {
    static const char *const turning[] = { "\xd8\x9c",     "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa",
                                           "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9" };
    json_t *as = json_stringn(text, n); /* it looks at UTF-8 */

    MUST(as);
    json_decref(as);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        MUST((c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t');
        MUST(c != 0xc2 || (unsigned char)text[i + 1] >= 0xa0);
    }
    for (size_t i = 0; i < sizeof turning / sizeof *turning; i++)
        MUST(!memmem(text, n, turning[i], strlen(turning[i])));
}

static void told_by(const char *bytes, size_t n, const char *type) {
    struct get_aside aside = { .bytes = (char *)(uintptr_t)bytes, .n = n, .most = n };
    char *text = NULL, *error = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    MUST(out);
    if (type) {
        call_told_problem("p", 404, type, &aside, out);
    } else {
        int rv = call_told_list(&aside, out, &error);
        MUST(!rv == !error);
    }
    fclose(out);
    must_be_harmless(text, length);
    free(error);
    free(text);
}

static void cleaned(const char *bytes, size_t n) {
    struct base_clean c = { .n = 0 };
    char *out = malloc(BASE_CLEAN_GROWS * n + BASE_CLEAN_MORE), *again = malloc(BASE_CLEAN_GROWS * n + BASE_CLEAN_MORE);
    size_t half = n / 2, used, more;

    MUST(out && again);
    used = base_clean(&c, bytes, n, out);
    used += base_clean_end(&c, out + used);
    must_be_harmless(out, used);
    more = base_clean(&c, bytes, half, again);
    more += base_clean(&c, bytes + half, n - half, again + more);
    more += base_clean_end(&c, again + more);
    MUST(used == more && !memcmp(out, again, used));
    free(out);
    free(again);
}

static void as_words(char *const *word, int n) {
    struct service_call call, same;
    char *corrected, *error = NULL, *name;

    if (call_words(word, n, &call, &corrected, &error)) {
        MUST(error && !corrected && !call.text);
        free(error);
        return;
    }
    MUST(!error && (!corrected || !strcmp(corrected, call.text)));
    free(corrected);
    name = call_words_ndn(&call, &error);
    MUST(!name == (error != NULL));
    free(error);
    error = NULL;
    if (name) {
        MUST(!call_words(&name, 1, &same, &corrected, &error) && !corrected && !strcmp(same.text, call.text));
        service_call_free(&same);
    }
    free(name);
    service_call_free(&call);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *exact = malloc(size ? size : 1), *text = malloc(size + 1), a[] = "/a", *words[] = { a, text };

    MUST(exact && text);
    if (size) memcpy(exact, data, size), memcpy(text, data, size);
    text[size] = 0;
    told_by(exact, size, SERVICE_PROBLEM_TYPE);
    told_by(exact, size, "text/plain");
    told_by(exact, size, NULL);
    cleaned(exact, size);
    as_words(&text, 1);
    if (!strstr(text, "=@")) as_words(words, 2); /* no files */
    free(exact);
    free(text);
    return 0;
}
