/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * console_top.h - the pages that cost a host most of late, in memory of fixed size that processes share.
 *
 * Sets of four rows, found by the page's hash; who is new takes the place of the cheapest in its set and begins with
 * what that one had cost (space-saving: a page that costs more than a set's fair part is never lost, and none counts
 * for less than it cost).  What was long ago fades: a tenth of all goes each minute.
 *
 * A set is written by one process at a time; who finds it taken passes by, and its request is not counted.  One that
 * died there keeps it taken for a second.  Texts are what strangers sent, and other processes can write there: read
 * within bounds, escaped by who prints them.
 */
#ifndef FAIRGATE_CONSOLE_TOP_H
#define FAIRGATE_CONSOLE_TOP_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CONSOLE_TOP_SETS = 64, CONSOLE_TOP_WAYS = 4, CONSOLE_URL = 120 /* with NUL */, CONSOLE_TOP_SHOWN = 20 };

struct console_dear {
    uint64_t key;               /* 0: nobody's */
    uint64_t us, bytes;         /* at the server; of answers */
    uint32_t requests, class;   /* class: of the last */
    char     url[CONSOLE_URL];
};

struct console_top {            /* zeroes: empty */
    _Atomic uint64_t faded_us;
    struct console_dears {
        _Atomic uint64_t    taken;      /* since when; 0: not */
        struct console_dear row[CONSOLE_TOP_WAYS];
    } set[CONSOLE_TOP_SETS];
};

/* `key` is a hash that strangers can't foresee; `url` n bytes of it, of which what has no room is left out. */
void     console_top_add(struct console_top *t, uint64_t now, uint64_t key, const char *url, size_t n, uint32_t class,
                         uint64_t us, uint64_t bytes);
/* To be called now and then. */
void     console_top_fade(struct console_top *t, uint64_t now);
/* The dearest first, by time at the server.  How many. */
uint32_t console_top_read(struct console_top *t, uint64_t now, struct console_dear *to, uint32_t most);

#ifdef __cplusplus
}
#endif

#endif
