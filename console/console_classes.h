/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * console_classes.h - columns of a ring from an engine's figures: window and sums, then of each of the first
 * CONSOLE_CLASSES classes what it had and how long its requests waited.
 *
 * Quantiles are of those released in the last ten seconds or so: counts of before fade by a tenth a second.
 */
#ifndef FAIRGATE_CONSOLE_CLASSES_H
#define FAIRGATE_CONSOLE_CLASSES_H

#include "console_ring.h"
#include "core/rs_figures.h"
#include "core/rs_waits.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CONSOLE_CLASSES = 16, CONSOLE_CLASSES_TOLD = 64 /* in "now" */ };

struct console_waits {                  /* beside the ring; zeroes: nothing seen */
    struct console_wait {
        char     class[RS_NAME_MAX];
        uint32_t seen[RS_WAITS];
        float    lately[RS_WAITS];
    } of[CONSOLE_CLASSES];
};

/*
 * Of a look, into `to`, which has room for CONSOLE_COLUMNS.  waits(of, i): RS_WAITS counts of the i-th class of the
 * look, or NULL.  How many columns.
 */
uint32_t console_classes_columns(struct console_waits *w, const struct rs_figures *f,
                                 const _Atomic uint32_t *(*waits)(const void *of, uint32_t i), const void *of,
                                 struct console_column *to);
/* One more, of the host's own; the new number of them. */
uint32_t console_classes_own(struct console_column *to, uint32_t n, const char *name, bool counter, double value);

#ifdef __cplusplus
}
#endif

#endif
