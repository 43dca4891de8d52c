/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_bots_lists.c - any bytes as a list of networks, and as a configuration of fairgate-bots.
 *
 * The first byte says with which bounds.  What must hold: what is taken is within these, ascending, and written into a
 * table; what is not is refused with a sentence.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prober/bots_config.h"
#include "prober/bots_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_list(const uint8_t *data, size_t size, struct bots_bounds b) {
    struct crawlers_prefix *p = NULL;
    char *error = NULL;
    uint32_t count = 0;

    if (bots_list_read((const char *)data, size, &b, &p, &count, &error)) {
        if (!error || p) abort();
        free(error);
        return;
    }
    if (error || !count) abort();
    for (uint32_t i = 0; i < count; i++) {
        if (!bots_list_fits(&p[i], &b)) abort();
        if (i && crawlers_prefix_compare(&p[i - 1], &p[i]) >= 0) abort();
    }
    free(p);
}

static void fuzz_configuration(const uint8_t *data, size_t size) {
    struct bots_config c;
    char *error = NULL, *text = NULL;
    FILE *f = fmemopen((void *)(uintptr_t)data, size, "r"), *out;
    size_t n;

    if (!f) return;
    if (bots_config_read_stream(&c, f, "f", &error)) {
        if (!error || c.table) abort();
        free(error);
        return;
    }
    /* What was read may stand in a table. */
    out = open_memstream(&text, &n);
    if (error || !out || crawlers_table_write_stream(c.table, out)) abort();
    fclose(out);
    free(text);
    bots_config_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct bots_bounds b;

    if (size < 2) return 0;
    b = (struct bots_bounds){ *data & 1, *data & 2 };
    fuzz_list(data + 1, size - 1, b);
    fuzz_configuration(data + 1, size - 1);
    return 0;
}
