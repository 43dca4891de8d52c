/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_outer.h"

#include <stdbool.h>
#include <string.h>

#include "base/base_hash.h"

#define DEPTH_MOST 255u

static uint64_t outer_mac(const uint64_t key[2], const char *digits) {
    struct base_hash h;

    base_hash_begin(&h, key);
    base_hash_add(&h, QOS_OUTER_FIELD, sizeof QOS_OUTER_FIELD);
    base_hash_add(&h, digits, QOS_OUTER_TOKEN - 16);
    return base_hash_end(h);
}

static void write_hex(uint64_t n, unsigned digits, char *text) {
    while (digits--) {
        text[digits] = "0123456789abcdef"[n & 15];
        n >>= 4;
    }
}

/* Lower-case digits only: each token has one form. */
static bool read_hex(const char *text, unsigned digits, uint64_t *n) {
    *n = 0;
    for (unsigned i = 0; i < digits; i++) {
        char c = text[i];

        if (c >= '0' && c <= '9') *n = *n << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f') *n = *n << 4 | (uint64_t)(c - 'a' + 10);
        else return false;
    }
    return true;
}

void qos_outer_write(const uint64_t key[2], struct qos_outer outer, char text[QOS_OUTER_TOKEN + 1]) {
    write_hex(outer.ticket, 16, text);
    write_hex(outer.depth < DEPTH_MOST ? outer.depth : DEPTH_MOST, 2, text + 16);
    write_hex(outer_mac(key, text), 16, text + 18);
    text[QOS_OUTER_TOKEN] = '\0';
}

struct qos_outer qos_outer_read(const uint64_t key[2], const char *value, size_t n, char others[QOS_OUTER_TEXT]) {
    struct qos_outer found = { RS_NO_TICKET, 0 };
    const char *end = value + n;
    size_t kept = 0;

    while (value < end) {
        size_t length = 0;
        uint64_t ticket, depth, mac;

        if (*value == ',' || *value == ' ' || *value == '\t') {
            value++;
            continue;
        }
        while (value + length < end && !memchr(", \t", value[length], 3)) length++;
        if (length == QOS_OUTER_TOKEN && read_hex(value, 16, &ticket) && read_hex(value + 16, 2, &depth) &&
            read_hex(value + 18, 16, &mac)) {
            if (mac == outer_mac(key, value)) {
                if (depth >= found.depth) found = (struct qos_outer){ ticket, (uint32_t)depth };
            } else if (kept + QOS_OUTER_TOKEN + 1 < QOS_OUTER_TEXT) {
                if (kept) others[kept++] = ',';
                memcpy(others + kept, value, QOS_OUTER_TOKEN);
                kept += QOS_OUTER_TOKEN;
            }
        }
        value += length;
    }
    others[kept] = '\0';
    return found;
}
