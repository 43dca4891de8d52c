/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_crawlers.c - any bytes as a table of crawlers, and as an answer of DNS.
 *
 * A table that is read is written byte for byte the same, and answers as its networks say; anything else is refused
 * with a sentence.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "crawlers/crawlers_dns.h"
#include "crawlers/crawlers_known.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first and the last address of each network are its crawler's. */
static void fuzz_ask(const struct crawlers_table *t) {
    struct crawlers_known *k = crawlers_known_new(t);

    if (!k) abort();
    for (uint32_t c = 0; c < t->n; c++)
        for (uint32_t s = 0; s < t->crawler[c].nsources; s++)
            for (uint32_t i = 0; i < t->crawler[c].source[s].n; i++) {
                const struct crawlers_prefix *p = &t->crawler[c].source[s].prefix[i];
                uint8_t last[16];

                crawlers_prefix_last(p, last);
                if (!(crawlers_known_of(k, p->address, 16) >> c & 1) || !(crawlers_known_of(k, last, 16) >> c & 1))
                    abort();
            }
    crawlers_known_claims(k, "Mozilla/5.0 (compatible; Googlebot/2.1)");
    crawlers_known_free(&k);
}

static void fuzz_read(const uint8_t *data, size_t size, const char *last) {
    size_t n = size + strlen(last), length = 0;
    char *text = malloc(n), *again = NULL, *error = NULL;
    struct crawlers_table *t;
    FILE *out;

    if (!text) abort();
    memcpy(text, data, size);
    memcpy(text + size, last, strlen(last));
    t = crawlers_table_read_stream(fmemopen(text, n, "r"), "f", &error);
    if (!t != (error != NULL)) abort();
    free(error);
    if (t) {
        out = open_memstream(&again, &length);
        if (!out || crawlers_table_write_stream(t, out)) abort();
        fclose(out);
        if (length != n || memcmp(text, again, n)) abort();
        fuzz_ask(t);
    }
    free(again);
    free(text);
    crawlers_table_free(&t);
}

static void fuzz_answer(const uint8_t *data, size_t size) {
    char name[CRAWLERS_DNS_NAMES][CRAWLERS_DNS_NAME];
    uint8_t address[16] = { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 };
    unsigned n = crawlers_dns_names(data, size, name);

    if (n > CRAWLERS_DNS_NAMES) abort();
    for (unsigned i = 0; i < n; i++)
        if (strlen(name[i]) >= CRAWLERS_DNS_NAME || strchr(name[i], ' ')) abort();
    crawlers_dns_leads_to(data, size, address);
    address[0] = 1;
    crawlers_dns_leads_to(data, size, address);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char last[32];

    if (!size) return 0;
    fuzz_answer(data, size);
    /* As it is, and with the right checksum, or nothing would ever be taken. */
    fuzz_read(data, size, "");
    snprintf(last, sizeof last, "end\t%08lx\n", crc32(0, data, (uInt)size));
    fuzz_read(data, size, last);
    return 0;
}
