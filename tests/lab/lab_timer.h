/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lab_timer.h - many timers of one event loop, kept in a binary heap.
 *
 * A timer is embedded in what it wakes; the heap points to it and it knows its place, so that setting it again and
 * clearing it cost O(log n).  Times are microseconds of the caller's clock.  The heap's memory belongs to the
 * lab_timers and grows as needed; running out of memory ends the program.
 */
#ifndef FAIRGATE_LAB_TIMER_H
#define FAIRGATE_LAB_TIMER_H

#include <stddef.h>
#include <stdint.h>

#define LAB_NEVER UINT64_MAX

struct lab_timer {
    uint64_t when;
    uint32_t place;             /* 1 + index in the heap; 0 = not set, so zeroed memory is a timer that is not set */
};

struct lab_timers {
    uint32_t magic;
#define LAB_TIMERS_MAGIC 0x4c544d52u
    uint32_t count;
    uint32_t room;
    struct lab_timer **heap;
};

/* The struct that a timer is embedded in. */
#define LAB_OWNER(timer, type, field) ((type *)(void *)((char *)(timer) - offsetof(type, field)))

void lab_timers_init(struct lab_timers *ts);
void lab_timers_free(struct lab_timers *ts);

/* Sets a timer, or moves one that is set. */
void lab_timer_set(struct lab_timers *ts, struct lab_timer *t, uint64_t when);

/* Takes a timer out; one that is not set is left alone. */
void lab_timer_clear(struct lab_timers *ts, struct lab_timer *t);

/* Takes out and returns a timer whose time has come; NULL when there is none. */
struct lab_timer *lab_timers_due(struct lab_timers *ts, uint64_t now);

/* When the next one is due; LAB_NEVER when none is set. */
uint64_t lab_timers_next(const struct lab_timers *ts);

/* The clock of the lab's programs: monotonic microseconds. */
uint64_t lab_now(void);

#endif
