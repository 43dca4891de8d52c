/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Outlets with windows of their own, for an engine that may be running.
 *
 * As rs_configure does it for classes: what is wanted is written beside what is in force, marked, and applied; every
 * act can be done twice.  The first outlet is always there and has the engine's own window.
 */
#include "rs_engine.h"

#include <string.h>

const char *rs_outlet_wrong(const struct rs_outlet_settings *o) {
    if (!o->name[0] || !memchr(o->name, 0, sizeof o->name))
        return "an outlet has no name, or one of more than 63 bytes";
    if (o->gate != RS_GATE_WINDOW && o->gate != RS_GATE_AUTO) return "the gate of an outlet must be window or auto";
    if (o->window < 1 || o->window > 1000000)
        return "the window of an outlet is out of bounds: it goes from 1 to 1,000,000";
    if (o->window_max < 2 || o->window_max > 1000000)
        return "the largest window of an outlet is out of bounds: it goes from 2 to 1,000,000";
    return NULL;
}

static uint32_t outlet_number(const rs_engine_t *e, const char *name) {
    for (uint32_t n = 1; n < e->capacity.outlets; n++) {
        const struct rs_outlet_row *row = rs_outlet_row(e, n);
        if (row->used && !strncmp(row->settings.name, name, sizeof row->settings.name)) return n;
    }
    return 0;
}

uint32_t rs_outlet_named(const rs_engine_t *e, const char *name) {
    rs_enter(e);
    uint32_t n = outlet_number(e, name);
    return n && !rs_outlet_row(e, n)->retired ? n : 0;
}

/* A place that can be given to an outlet; 0: there is none. */
static uint32_t outlet_place(const rs_engine_t *e) {
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t n = 1; n < e->capacity.outlets; n++) {
            const struct rs_outlet_row *row = rs_outlet_row(e, n);
            const struct rs_outlet *o = rs_outlet(e, n);
            uint32_t act = rs_outlet_wanted(e, n)->act;
            bool empty = !o->queued && !o->outstanding && !o->parked;
            if (act == RS_ACT_KEEP || act == RS_ACT_FRESH) continue;
            /* Those that retire now come last. */
            if (!row->used || (empty && (row->retired || pass))) return n;
        }
    return 0;
}

/* NULL, or what is wrong, and nothing that is in force has changed. */
static const char *outlets_plan(rs_engine_t *e, const struct rs_outlet_settings *outlets, uint32_t wanted) {
    for (uint32_t n = 0; n < e->capacity.outlets; n++)
        rs_outlet_wanted(e, n)->act = n && rs_outlet_row(e, n)->used ? RS_ACT_RETIRE : RS_ACT_NONE;
    for (uint32_t i = 0; i < wanted; i++) {
        const char *wrong = rs_outlet_wrong(&outlets[i]);
        if (wrong) return wrong;
        for (uint32_t k = 0; k < i; k++)
            if (!strcmp(outlets[k].name, outlets[i].name)) return "two outlets have the same name";
        uint32_t n = outlet_number(e, outlets[i].name);
        if (!n) continue;
        rs_outlet_wanted(e, n)->act = RS_ACT_KEEP;
        rs_outlet_wanted(e, n)->settings = outlets[i];
    }
    for (uint32_t i = 0; i < wanted; i++) {
        uint32_t n = outlet_number(e, outlets[i].name) ? 0 : outlet_place(e);
        if (!n) continue;
        rs_outlet_wanted(e, n)->act = RS_ACT_FRESH;
        rs_outlet_wanted(e, n)->settings = outlets[i];
    }
    return NULL;
}

const char *rs_outlets_wrong(const rs_engine_t *e) {
    const char *wrong = NULL;
    for (uint32_t n = 1; !wrong && n < e->capacity.outlets; n++) {
        const struct rs_outlet_row *want = rs_outlet_wanted(e, n);
        if (want->act > RS_ACT_FRESH) wrong = "the journal wants what is no act";
        else if (want->act == RS_ACT_KEEP || want->act == RS_ACT_FRESH) wrong = rs_outlet_wrong(&want->settings);
    }
    return wrong;
}

void rs_outlets_apply(rs_engine_t *e, rs_time_t now) {
    for (uint32_t n = 1; n < e->capacity.outlets; n++) {
        const struct rs_outlet_row *want = rs_outlet_wanted(e, n);
        struct rs_outlet_row *row = rs_outlet_row(e, n);
        if (want->act == RS_ACT_FRESH) {
            memset(row, 0, sizeof *row);
            row->used = row->fresh = 1;
            row->built_gate = RS_NIL;
        }
        if (want->act == RS_ACT_FRESH || want->act == RS_ACT_KEEP) row->settings = want->settings;
        row->retired = want->act == RS_ACT_RETIRE;
    }
    rs_make_anew(e, now);
    RS_BARRIER();
    e->journal_valid = RS_JOURNAL_NONE;
}

int rs_outlets(rs_engine_t *e, const struct rs_outlet_settings *outlets, uint32_t n, rs_time_t now, const char **why) {
    rs_enter(e);
    RS_ASSERT(!rs_shape_wrong(e));
    now = rs_clamp_now(e, now);
    const char *wrong = outlets_plan(e, outlets, n);
    if (wrong) {
        *why = wrong;
        return -1;
    }
    RS_BARRIER();
    e->journal_valid = RS_JOURNAL_OUTLETS;
    RS_BARRIER();
    rs_outlets_apply(e, now);
    return 0;
}
