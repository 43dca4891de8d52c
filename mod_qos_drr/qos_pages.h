/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_pages.h - how big will the answer be?  The page-size table (website-gateway paper, 2.3 and 3.4).
 *
 * A table in shared memory of fixed size: keyed hash of host, path and query -> running mean of the bytes that complete 200 answers
 * to GET had on the wire, header included.  A second row stands for the directory, so that a page never seen before is guessed by
 * its neighbours.  Sets of four rows; a full set forgets its least seen row.
 *
 * Readers and writers take no lock: a row is two atomic words, and a torn pair costs one wrong estimate, which the account corrects
 * when the real length is known.
 *
 * The hash is SipHash-1-3 (Aumasson and Bernstein, 2012) under a key of this start, because URLs come from outside: nobody can aim at rows.
 */
#ifndef FAIRGATE_QOS_PAGES_H
#define FAIRGATE_QOS_PAGES_H

#include <stddef.h>
#include <stdint.h>

struct qos_page_keys { uint64_t url, dir; };

size_t qos_pages_bytes(uint32_t pages);     /* memory for so many rows (rounded up to a power of two) */

/* Keys of a request.  host may be NULL; target: path and query in the spelling of pages/pages_url.h, n bytes. */
void qos_pages_keys(const uint64_t hash_key[2], const char *host, const char *target, size_t n, struct qos_page_keys *keys);

/* Expected bytes by URL, else by directory; 0 if neither is known. */
uint64_t qos_pages_estimate(const void *table, uint32_t pages, const struct qos_page_keys *keys);

void qos_pages_learn(void *table, uint32_t pages, const struct qos_page_keys *keys, uint64_t bytes);

/* Rows in use; reads the whole table. */
uint32_t qos_pages_used(const void *table, uint32_t pages);

#endif
