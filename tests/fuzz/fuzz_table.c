/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A page-size table that is read whole is written byte for byte the same, unless it is of the version before; anything
 * else is refused with a sentence.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "pages/pages_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *copy(const char *p, size_t n, char *last) {
    size_t k = strlen(last);
    char *text = malloc(n + k + 1);

    if (!text) abort();
    memcpy(text, p, n);
    memcpy(text + n, last, k + 1);
    return text;
}

/* Reads it; if it is whole, writes it again and compares. */
static void read_and_write(char *text, size_t n) {
    char *error = NULL, *again = NULL, origin[PAGES_ORIGIN_MAX + 1] = "";
    size_t length = 0;
    pages_reader_t *r = pages_reader_of(fmemopen(text, n, "r"), "f", &error);
    FILE *out = open_memstream(&again, &length);
    enum pages_next next = r ? PAGES_ROW : PAGES_BAD;
    pages_writer_t *w;
    struct pages_row row;
    int origins = 0, old = n > 16 && text[15] == '1';

    if (!out) abort();
    w = r ? pages_writer_of(out, "f", pages_reader_rows(r), &error) : NULL;
    while (next == PAGES_ROW && (next = pages_reader_next(r, &row, &error)) == PAGES_ROW) {
        if (strcmp(origin, pages_reader_origin(r))) {
            strcpy(origin, pages_reader_origin(r));
            if (pages_writer_origin(w, origin, pages_reader_rules(r))) abort();
        }
        if (pages_writer_row(w, &row)) abort();
    }
    if ((next == PAGES_BAD) != (error != NULL)) abort();
    /* An origin may stand without rows: the only thing that is not written again. */
    for (char *at = text; (at = memmem(at, n - (size_t)(at - text), "\norigin\t", 8)) != NULL; at++) origins++;
    if (next == PAGES_END) {
        if (pages_writer_commit(&w, &error)) abort();
        fflush(out);
        if (!old && origins <= 1 && *origin && (length != n || memcmp(again, text, n))) abort();
    }
    pages_writer_abort(&w);
    pages_reader_close(&r);
    fclose(out);
    free(again);
    free(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char last[32], *text;

    if (!size) return 0;
    /* As it is, and with the right checksum, or no row would ever be looked at. */
    text = copy((const char *)data, size, "");
    read_and_write(text, size);
    free(text);
    snprintf(last, sizeof last, "end\t%08lx\n", crc32(0, data, (uInt)size));
    text = copy((const char *)data, size, last);
    read_and_write(text, size + strlen(last));
    free(text);
    return 0;
}
