/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_whole.c - any bytes as what has come of the head of a request.
 *
 * The first byte says which limits hold.  What must hold: what httpd reads without waiting it reads so whatever comes
 * after; what is whole has a blank line behind its request line, and what has one is whole or answered.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mod_qos_drr/qos_whole.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Behind its first line that is not blank. */
static int has_blank_line(const char *p, size_t n) {
    size_t begin = 0;
    int begun = 0;

    for (size_t i = 0; i < n; i++) {
        int blank = i == begin || (i == begin + 1 && p[begin] == '\r');

        if (p[i] != '\n') continue;
        if (begun && blank) return 1;
        begun |= !blank;
        begin = i + 1;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct qos_whole_limits limits = { .line = 8190, .field = 8190, .fields = 100 };
    size_t n = size - 1;
    enum qos_whole was = QOS_NOT_WHOLE;
    char *head;

    if (size < 1) return 0;
    limits.strict = data[0] & 1;
    limits.proxied = data[0] & 2;
    if (data[0] & 4) limits.line = 40, limits.field = 20, limits.fields = 3;
    for (size_t i = 0; i <= n; i++) {
        /* Of its own, so that a byte behind it is seen to be read. */
        char *part = malloc(i ? i : 1);
        enum qos_whole is;

        assert(part);
        memcpy(part, data + 1, i);
        is = qos_whole(&limits, part, i);
        free(part);
        assert(is >= was && is <= QOS_WHOLE);
        was = is;
    }
    if (limits.proxied) return 0;
    if (was == QOS_WHOLE) assert(has_blank_line((const char *)data + 1, n));
    if (was != QOS_NOT_WHOLE) return 0;
    head = malloc(n + 6);
    assert(head);
    memcpy(head, data + 1, n);
    assert(!has_blank_line(head, n));
    /* The end of a line that had begun, if one had, that of the request line, and a blank one. */
    memcpy(head + n, "\r\n\r\n\r\n", 6);
    if (has_blank_line(head, n + 6)) assert(qos_whole(&limits, head, n + 6));
    free(head);
    return 0;
}
