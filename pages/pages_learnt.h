/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pages/pages_learnt.h - what answers taught about the size of pages (website-gateway paper, 2.3 and 3.4: updated by
 * the later accesses).
 *
 * A table in shared memory of fixed size: key (pages/pages_keys.h) -> running mean of the bytes that complete 200
 * answers to GET had on the wire, header included.  Sets of four rows; a full set forgets its least seen row.
 *
 * Readers and writers take no lock: a row is two atomic words, and a torn pair costs one wrong estimate, which the
 * account corrects when the real length is known.
 */
#ifndef FAIRGATE_PAGES_LEARNT_H
#define FAIRGATE_PAGES_LEARNT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

size_t   pages_learnt_bytes(uint32_t pages);       /* memory for so many rows (rounded up to a power of two) */
uint64_t pages_learnt_mean(const void *table, uint32_t pages, uint64_t key);       /* 0 if the key is not known */
void     pages_learnt_add(void *table, uint32_t pages, uint64_t key, uint64_t bytes);
uint32_t pages_learnt_used(const void *table, uint32_t pages);     /* rows in use; reads the whole table */

#ifdef __cplusplus
}
#endif

#endif
