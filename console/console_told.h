/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * console_told.h - what a host tells its console, each second: its figures as its status has them, samples of the last
 * seconds or of all ten minutes, its dearest pages.
 *
 *     { "house": "mod_qos_drr", "charge": "bytes", "explains": true, "classes_in_all": 3,
 *       "now": { as ?json },
 *       "history": { "every_s": 1, "columns": ["window", "people/queued"],
 *                    "rows": [[number, age in seconds, 64, 2]] },
 *       "top": [{ "class": "people", "url": "www.example.org/a", "requests": 3, "bytes": 2, "slot_s": 1 }],
 *       "host": "www1", "others": ["http://www2/qos-status"] }
 */
#ifndef FAIRGATE_CONSOLE_TOLD_H
#define FAIRGATE_CONSOLE_TOLD_H

#include "console_ring.h"
#include "console_top.h"

#ifdef __cplusplus
extern "C" {
#endif

struct console_told {
    const char                *house;
    const char                *charge;      /* what a class's cost is: "bytes", "time" or "both"; NULL: bytes */
    bool                       explains;    /* it says which class a request gets */
    uint32_t                   classes;     /* that there are; "now" has the first CONSOLE_CLASSES_TOLD of them */
    void                     (*now)(struct base_sink sink, const void *of);     /* one object */
    const void                *of;
    const struct console_ring *ring;
    struct console_top        *top;         /* NULL: none; */
    const char              *(*class_name)(const void *of, uint32_t class);     /* of a page there */
    uint64_t                   now_us;
};

/* All but its end, which is who tells it, and so can be kept for all who ask within a second. */
void console_tell(struct base_sink sink, const struct console_told *t, bool all);
/*
 * The end: `others` are addresses of other consoles with spaces between, or NULL; those are told that the page may ask
 * (console_page.h), so none with a password.
 */
void console_tell_end(struct base_sink sink, const char *host, const char *others);

#ifdef __cplusplus
}
#endif

#endif
