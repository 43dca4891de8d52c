/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gate.h - what a gate is: may one more request be released to this outlet now?
 *
 * A gate is one file with one table.  It reads the outlet's sums (queued, outstanding, parked; expected if it says so),
 * which the engine keeps, and owns outlet->gate_state, open_below and, if automatic, open_base (set in init and
 * whenever they change).  A slot is one of `outstanding`; parked ones have given theirs back.
 *
 * HOOKS
 *     init      new state, with the settings given; also when the settings changed while the kind of gate stayed (again
 *               = 1: keep what was learnt as far as the new bounds allow) and after a rebuild (again = 1 too: distrust
 *               what is out of bounds)
 *     slice     so many bytes of a response count in outlet->expected, and no more (NULL: the gate does not read it,
 *               and nobody keeps it)
 *     may       called only when somebody waits and no fewer than outlet->open_below are outstanding.  0: no; *again
 *               may be lowered to the time at which asking once more can help.  NULL: never; the gate is a window, and
 *               open_below says all
 *     arrived   bytes came (NULL: not interested)
 *     aside     bytes came that belong to no ticket; arrived is called for them, too (NULL: not interested)
 *     bound     bytes that may be on their way at one time, for rs_allowance (NULL: the gate does not count bytes)
 *     ended     the response of ticket r ended and the sums have been lowered (NULL: not interested)
 *     limit     the present window, 0 if the gate has none
 *
 *     spare     called when `may` has said no: yet one may go of a class that has less outstanding than its part
 *               (rs_below_its_part), if the discipline knows of such a class (NULL: none)
 * A gate that sets outlet->cap_wanted finds outlet->share_cap answered at its next hook.
 */
#ifndef FAIRGATE_GATE_H
#define FAIRGATE_GATE_H

#include "base_block.h"

struct rs_gate_ops {
    const char *name;
    uint64_t    (*slice)(const struct rs_settings *s);
    void        (*init)(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now, int again);
    int         (*may)(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now, rs_time_t *again);
    void        (*arrived)(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now, uint64_t bytes);
    void        (*aside)(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now, uint64_t bytes);
    bool        (*spare)(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now);
    uint64_t    (*bound)(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now);
    void (*ended)(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now, const struct rs_ticket_row *r);
    uint32_t    (*limit)(const struct rs_outlet *o, const struct rs_settings *s);
    const char *(*check)(const struct rs_outlet *o, const struct rs_settings *s);   /* NULL: nothing to check */
};

extern const struct rs_gate_ops rs_gate_none, rs_gate_window, rs_gate_auto, rs_gate_bytes, rs_gate_wrc, rs_gate_threads;

/* settings.window = 0 leaves the beginning to the gate. */
static inline uint32_t rs_window_or(const struct rs_settings *s, uint32_t normal) {
    return s->window ? s->window : normal;
}
#define RS_WINDOW_NORMAL 8u

#endif
