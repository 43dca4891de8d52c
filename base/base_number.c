/* SPDX-License-Identifier: BSD-2-Clause */
#include "base_number.h"

#include "base_error.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

static const struct unit {
    const char *name, *multiples;
    struct {
        const char *word;
        uint64_t times;
    } multiple[6];
} units[] = {
    { "bytes", "K, M or G", { { "K", 1 << 10 }, { "M", 1 << 20 }, { "G", 1 << 30 } } },
    { "seconds", "s, min, h or d", { { "s", 1 }, { "min", 60 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 } } },
    { "microseconds", "us, ms or s", { { "us", 1 }, { "ms", 1000 }, { "s", 1000000 } } },
};

static const struct unit *unit_of(const char *name) {
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(units[i].name, name)) return units + i;
    return NULL;
}

/* How much is one of `word`; 0: the unit has no such multiple. */
static uint64_t times_of(const struct unit *u, const char *word) {
    if (!*word) return 1;
    for (size_t i = 0; u && u->multiple[i].word; i++)
        if (!strcasecmp(u->multiple[i].word, word)) return u->multiple[i].times;
    return 0;
}

static bool number_read_number(const char *text, const struct unit *u, uint64_t *n) {
    uint64_t times;

    if (*text < '0' || *text > '9') return false;
    for (*n = 0; *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(*n, 10, n) || __builtin_add_overflow(*n, (uint64_t)(*text - '0'), n)) return false;
    times = times_of(u, text);
    return times && !__builtin_mul_overflow(*n, times, n);
}

int base_number(const char *name, const char *text, const char *unit, uint64_t least, uint64_t most, uint64_t *n,
                char **error) {
    const struct unit *u = unit_of(unit);
    uint64_t read;

    if (number_read_number(text, u, &read) && read >= least && read <= most) {
        *n = read;
        return 0;
    }
    return base_fail(error, "%s %s: must be a number%s%s from %" PRIu64 " to %" PRIu64 "%s%s%s", name,
                     base_quote(text, strlen(text)).s, *unit ? " of " : "", unit, least, most, u ? "; " : "",
                     u ? u->multiples : "", u ? " may stand behind it" : "");
}

const char *base_number_multiples(const char *unit) {
    const struct unit *u = unit_of(unit);
    return u ? u->multiples : NULL;
}
