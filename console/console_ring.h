/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * console_ring.h - the last ten minutes of a host's figures, a sample a second: a block of memory without pointers,
 * which processes may share.
 *
 * A column is a gauge, or a counter, of which a sample has what came in a second.  When the columns become others (a
 * class is new), what was kept of before is told no more.
 *
 * WHO WRITES.  Whoever comes first when a second is over (console_ring_due) writes; nobody waits for anybody.  Readers
 * take no lock, either: a sample that is written over while it is read is left out.  What other processes can write
 * there is read within bounds, and is numbers; names are escaped by who prints them.
 */
#ifndef FAIRGATE_CONSOLE_RING_H
#define FAIRGATE_CONSOLE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base_report.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CONSOLE_SAMPLES = 600,
    CONSOLE_COLUMNS = 160,
    CONSOLE_NAME = 48,          /* with NUL */
    CONSOLE_RECENT = 5          /* samples that a page asks for each second, so that it may miss some */
};

struct console_column {
    char   name[CONSOLE_NAME];  /* "queued"; "people/queued" of a class */
    bool   counter;
    double value;
};

struct console_sample {
    _Atomic uint64_t number;    /* 1 of the first; 0 while it is written */
    uint64_t         at_us;
    float            value[CONSOLE_COLUMNS];
};

struct console_ring {           /* zeroes: empty */
    _Atomic uint64_t next_us;   /* when the next is due */
    _Atomic uint64_t added;     /* ever */
    _Atomic uint64_t begins;    /* samples with lower numbers had other columns; 0: these are being written */
    _Atomic uint32_t columns;
    uint64_t         last_us;
    char             name[CONSOLE_COLUMNS][CONSOLE_NAME];
    double           before[CONSOLE_COLUMNS];       /* of counters */
    struct console_sample sample[CONSOLE_SAMPLES];
};

/* A second is over, and the caller is to write; `now` in microseconds of a clock that never goes back. */
bool console_ring_due(struct console_ring *r, uint64_t now);
void console_ring_add(struct console_ring *r, uint64_t now, const struct console_column *columns, uint32_t n);
/* A member "history" of an object that is open: the last `most` samples, oldest first. */
void console_ring_json(struct base_json *j, const struct console_ring *r, uint32_t most, uint64_t now);

#ifdef __cplusplus
}
#endif

#endif
