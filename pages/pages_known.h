/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pages/pages_known.h - the prober's page-size table (pages/pages_table.h) in the gateway's memory.
 *
 * A file of known sizes becomes a hash table of 16 bytes a row that every process of the server reads, the same pages
 * of memory for all. The memory is made and mapped by the parent before there are children, in two halves, sparse: what
 * is not used takes nothing.
 *
 *     half 0: rows of a table          half 1: rows of the one before, or of the next one while it is being read
 *
 * One word in the segment says which half holds how many rows.  A reader takes no lock: it reads the word, then rows of
 * that half.  Whoever reads a changed file empties the other half, fills it, and writes the word when the file has
 * proved whole; a reader that was caught in between finds a row or none, and one estimate is off.
 *
 * A URL has a row for each coding that makes a difference, and one for its time; patterns and directories have the
 * means of their pages for every coding, and of their times.
 *
 * Departure from mapping the file itself: who writes over a mapped file, or cuts it short, ends every process that
 * looks at it (SIGBUS); and rows found by a keyed hash are found in one place, by nobody's choice.
 *
 * LOCKING.  `loading` survives its holder (base/base_mutex.h): one process reads a file at a time, and all but `now`
 * and `urls` is its own.  Nobody waits for it.
 *
 * WHO WRITES HERE.  Children of httpd, as its user, struct pages_known and the memory alike; the parent only makes
 * both.  A child believes neither further than an estimate goes: what it reads is bounded by the size of a half.
 */
#ifndef FAIRGATE_PAGES_KNOWN_H
#define FAIRGATE_PAGES_KNOWN_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/base_mutex.h"

struct pages_known {                      /* in the segment */
    /* half (bit 0), log2 of its rows (bits 1 to 7), how often it changed (the rest); 0 = no table */
    _Atomic uint64_t now;
    _Atomic uint64_t urls;              /* that it was made from */
    _Atomic uint32_t refused;           /* the file that stands there now was refused, or can't be read */
    struct base_mutex loading;
    uint64_t         hash_key[2];       /* of its keys */
    /* of the file that was judged last: device and inode folded, size, time of change in ns */
    uint64_t         source[3];
    int              trouble;           /* errno of the last time that it could not be judged, 0 = it was */
    uint64_t         again;             /* then not before this time, by the clock of who asks */
};

struct pages_known_area { int fd; char *base; };      /* one for the life of the parent; base NULL: none */

/* 0, or -1 and errno. */
int      pages_known_map(struct pages_known_area *area);
void     pages_known_unmap(struct pages_known_area *area);
/* No table any more. */
void     pages_known_forget(struct pages_known *k, const struct pages_known_area *area);

/* Expected bytes, header included, or microseconds of a key of those (pages_key_timed); 0 if the key is not known. */
uint64_t pages_known_mean(const struct pages_known *k, const struct pages_known_area *area, uint64_t key);

enum pages_known_end {
    /* the file has not changed since it was last judged, or nothing new is to be said */
    PAGES_KNOWN_SAME,
    PAGES_KNOWN_READ,                     /* its rows are in force */
    PAGES_KNOWN_REFUSED                   /* *error says why (malloc'ed); what was in force stays */
};

/* Looks at the file and reads it if it, or hash_key, changed.  now: the clock, in microseconds. */
enum pages_known_end pages_known_look(struct pages_known *k, const struct pages_known_area *area,
                                      const uint64_t hash_key[2], const char *path, uint64_t now, char **error);

#endif
