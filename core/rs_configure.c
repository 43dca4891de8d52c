/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * New settings and classes for an engine that may be running.
 *
 * All is judged and written to the journal first; then the journal is marked valid and applied.  A process that dies
 * while it applies leaves a valid journal, and rs_rebuild applies it again: every act in it can be done twice.
 */
#include "rs_engine.h"

#include <string.h>

const char *rs_class_wrong(const struct rs_class_settings *c) {
    if (!c->name[0] || !memchr(c->name, 0, sizeof c->name)) return "a class has no name, or one of more than 31 bytes";
    if (c->weight < 1 || c->weight > 1000000)
        return "the weight of a class is out of bounds: it goes from 1 to 1,000,000";
    if (c->level > RS_LEVEL_MAX) return "the level of a class is out of bounds: it goes from 0 to 65,535";
    if (c->slots > 1000000) return "the slots of a class are out of bounds: they go from 0 to 1,000,000";
    if (c->order != RS_ORDER_FIFO && c->order != RS_ORDER_SHORTEST)
        return "the order of a class must be fifo or shortest";
    if (c->within > RS_KEY_LEVELS) return "a class is shared by two levels of keys at most";
    if (c->within && c->order != RS_ORDER_FIFO)
        return "a class that keys share can't go shortest first: its order must be fifo";
    if (c->delay_ms > RS_DELAY_MAX)
        return "the delay of a class is out of bounds: it goes from 0 to 3,600,000 milliseconds";
    return NULL;
}

/*
 * The hash: slots of class numbers by name, those of all places in use; linear probing, twice as many slots as classes.
 * While a plan is made there are slots of NEW + position in the list given, too, and a place that is to be given away
 * goes by the name of its next owner.
 */
#define NEW 0x80000000u

static uint32_t configure_hash_of(const char *name) {
    uint32_t h = 2166136261u;
    while (*name) h = (h ^ (unsigned char)*name++) * 16777619u;
    return h ^ h >> 15;
}

/* `classes`: NULL, or the list of the plan that is made. */
static const char *configure_name_of(const rs_engine_t *e, const struct rs_class_settings *classes, uint32_t slot) {
    if (classes && slot & NEW) return classes[slot & ~NEW].name;
    const struct rs_journal_row *j = rs_journal(e, slot);
    return classes && j->act == RS_ACT_FRESH ? j->settings.name : rs_class_row(e, slot)->settings.name;
}

/* The slot where the name stands, or the empty one where it would. */
static uint32_t *slot_of(const rs_engine_t *e, const struct rs_class_settings *classes, const char *name) {
    uint32_t *hash = rs_hash(e), mask = e->hash_size - 1, looked = 0;
    for (uint32_t i = configure_hash_of(name) & mask;; i = (i + 1) & mask) {
        if (hash[i] == RS_NIL || !strcmp(configure_name_of(e, classes, hash[i]), name)) return &hash[i];
        RS_ASSERT(looked++ < mask);
    }
}

void rs_index_names(rs_engine_t *e) {
    uint32_t *hash = rs_hash(e);
    for (uint32_t i = 0; i < e->hash_size; i++) hash[i] = RS_NIL;
    for (uint32_t c = 0; c < e->capacity.classes; c++)
        if (rs_class_row(e, c)->used) *slot_of(e, NULL, rs_class_row(e, c)->settings.name) = c;
}

/* What stands there may be anything: it is judged, and there are no more looks than slots. */
uint32_t rs_class_named(const rs_engine_t *e, const char *name) {
    rs_enter(e);
    const uint32_t *hash = rs_hash(e), mask = e->hash_size - 1;
    for (uint32_t i = configure_hash_of(name), looked = 0; looked <= mask; i++, looked++) {
        uint32_t c = hash[i & mask];
        if (c >= e->classes) return RS_NO_CLASS;
        const struct rs_class_row *row = rs_class_row(e, c);
        if (row->used && !strncmp(row->settings.name, name, sizeof row->settings.name)) return c;
    }
    return RS_NO_CLASS;
}

static int is_empty(const struct rs_class_row *row) { return !row->queued && !row->outstanding && !row->parked; }

/*
 * The next place from *c on that can be given to a class: never used, or retired and empty; `also_new` those that
 * retire now.
 */
static int find_place(const rs_engine_t *e, uint32_t *c, int also_new) {
    for (; *c < e->capacity.classes; ++*c) {
        const struct rs_class_row *row = rs_class_row(e, *c);
        uint32_t act = rs_journal(e, *c)->act;
        if (act == RS_ACT_KEEP || act == RS_ACT_FRESH) continue;
        if (!row->used || (is_empty(row) && (row->retired || also_new))) return 1;
    }
    return 0;
}

/* Fills the journal.  NULL, or what is wrong, and nothing that is in force has changed. */
static const char *plan(rs_engine_t *e, const struct rs_class_settings *classes, uint32_t n) {
    uint32_t place = 0;
    int also_new = 0;
    if (n < 1) return "an engine needs at least one class";
    if (n > e->capacity.classes) return "there are more classes than the engine has places for";
    for (uint32_t c = 0; c < e->capacity.classes; c++) {
        const struct rs_class_row *row = rs_class_row(e, c);
        rs_journal(e, c)->act = row->used ? RS_ACT_RETIRE : RS_ACT_NONE;
    }
    rs_index_names(e);
    for (uint32_t i = 0; i < n; i++) {
        const char *wrong = rs_class_wrong(&classes[i]);
        if (wrong) return wrong;
        if (classes[i].within && !e->capacity.keys) return "the engine has no places for keys that share a class";
        uint32_t *slot = slot_of(e, classes, classes[i].name);
        if (*slot == RS_NIL) {
            *slot = NEW | i;
            continue;
        }
        if (*slot & NEW || rs_journal(e, *slot)->act == RS_ACT_KEEP) return "two classes have the same name";
        rs_journal(e, *slot)->act = RS_ACT_KEEP;
        rs_journal(e, *slot)->settings = classes[i];
    }
    RS_ASSERT(e->classes <= e->capacity.classes);
    e->journal_classes = e->classes;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *slot = slot_of(e, classes, classes[i].name);
        if (!(*slot & NEW)) continue;
        if (!find_place(e, &place, also_new) && !also_new) {
            also_new = 1;
            place = 0;
        }
        if (!find_place(e, &place, also_new))
            return "no place is left for a new class: those of retired classes still have requests";
        rs_journal(e, place)->act = RS_ACT_FRESH;
        rs_journal(e, place)->settings = classes[i];
        if (place >= e->journal_classes) e->journal_classes = place + 1;
        *slot = place;
    }
    return NULL;
}

void rs_journal_apply(rs_engine_t *e, rs_time_t now) {
    for (uint32_t c = 0; c < e->journal_classes; c++) {
        const struct rs_journal_row *j = rs_journal(e, c);
        struct rs_class_row *row = rs_class_row(e, c);
        if (j->act == RS_ACT_FRESH) {
            rs_counts_add(&e->gone, &row->counts);
            memset(row, 0, sizeof *row);
            row->used = row->fresh = 1;
        }
        if (j->act == RS_ACT_FRESH || j->act == RS_ACT_KEEP) row->settings = j->settings;
        row->retired = j->act == RS_ACT_RETIRE;
    }
    e->settings = e->journal_settings;
    e->classes = e->journal_classes;
    rs_make_anew(e, now);
    RS_BARRIER();
    e->journal_valid = RS_JOURNAL_NONE;
}

int rs_configure(rs_engine_t *e, const struct rs_settings *s, const struct rs_class_settings *classes,
                 uint32_t nclasses, uint32_t *number, rs_time_t now, const char **why) {
    rs_enter(e);
    RS_ASSERT(!rs_shape_wrong(e));
    now = rs_clamp_now(e, now);
    const char *wrong = rs_settings_wrong(s);
    if (!wrong && (wrong = plan(e, classes, nclasses)) != NULL) rs_index_names(e); /* of those that stay */
    if (wrong) {
        *why = wrong;
        return -1;
    }
    if (number)
        for (uint32_t i = 0; i < nclasses; i++) number[i] = *slot_of(e, classes, classes[i].name);
    e->journal_settings = *s;
    RS_BARRIER();
    e->journal_valid = RS_JOURNAL_CLASSES;
    RS_BARRIER();
    rs_journal_apply(e, now);
    return 0;
}
