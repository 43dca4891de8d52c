/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soak.h - what an engine must have inside, kept a second time in the simplest way: the model that the soak compares it
 * with.
 *
 * The model learns each call's outcome after the engine, and says with a sentence what could not be so (NULL: all is
 * well). Its queues are plain linked lists per class and outlet in order of arrival.
 */
#ifndef FAIRGATE_SOAK_H
#define FAIRGATE_SOAK_H

#include <stdint.h>

#include "rs.h"

#define SOAK_NONE UINT32_MAX

struct soak_row {               /* by ticket index */
    rs_ticket_t   ticket;
    enum rs_state state;
    uint32_t      class, outlet, owner;
    uint32_t      place;        /* in its state's list of live ones */
    uint32_t      before, after;    /* in its queue, by arrival */
    uint64_t      tag;
};

/* the tickets of one state, for a random choice among them */
struct soak_set { uint32_t *index, count; };
struct soak_flow { uint32_t first, last, queued, outstanding, parked; };

struct soak_class { struct rs_class_settings settings; uint32_t queued, outstanding, parked, own; };

struct soak_model {
    struct rs_capacity cap;
    struct rs_settings settings;
    uint64_t           shared;      /* places that are for whoever comes */
    /* by number; of one without a window of its own the gate is RS_GATE_NONE */
    struct rs_outlet_settings outlets[64];
    int                bulkheads;   /* some outlet has had a window of its own */
    struct soak_row   *rows;        /* cap.tickets */
    struct soak_set    set[4];      /* by enum rs_state; RS_FREE holds ended tickets, for late calls */
    struct soak_flow  *flows;       /* class x outlet */
    struct soak_class *classes;     /* by number */
    uint32_t           numbers;     /* in use */
    uint32_t           at_outlet[64][4];    /* tickets there, by state */
    struct rs_counts   counts;
    uint64_t           tags;
};

void soak_model_init(struct soak_model *m, const struct rs_capacity *cap);
void soak_model_free(struct soak_model *m);

/* New settings are in force; number[i] is where classes[i] stands now. */
void soak_model_configured(struct soak_model *m, const struct rs_settings *s, const struct rs_class_settings *classes,
                           uint32_t n, const uint32_t *number);

/* Outlets have windows of their own; number[i] is where outlets[i] stands, 0: nowhere. */
void soak_model_outlets(struct soak_model *m, const struct rs_outlet_settings *outlets, uint32_t n,
                        const uint32_t *number);

const char *soak_model_submitted(struct soak_model *m, uint32_t class, uint32_t outlet, uint32_t owner, uint64_t tag,
                                 enum rs_refusal why, rs_ticket_t t);
/* t: RS_NO_TICKET if nothing may go; then the engine wants to be asked again within so many microseconds. */
const char *soak_model_picked(struct soak_model *m, rs_ticket_t t, rs_time_t within);
void        soak_model_moved(struct soak_model *m, uint32_t index, enum rs_state to);  /* RS_FREE: its life is over */
/* all counts and tickets; O(tickets + classes) */
const char *soak_model_compare(const struct soak_model *m, const rs_engine_t *e);

#endif
