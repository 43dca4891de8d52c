/* SPDX-License-Identifier: BSD-2-Clause */
/* The settings table, and the disciplines and gates by number and by name. */
#include "rs_engine.h"

#include <string.h>

const struct rs_setting_info rs_settings_table[] = {
#define RS_SETTING(field, unit, least, most, normal, text)                                                             \
    { #field,                                                                                                          \
      unit,                                                                                                            \
      text,                                                                                                            \
      least,                                                                                                           \
      most,                                                                                                            \
      normal,                                                                                                          \
      offsetof(struct rs_settings, field),                                                                             \
      sizeof(((struct rs_settings *)0)->field) },
#include "rs_settings.def"
#undef RS_SETTING
};
const size_t rs_settings_count = sizeof rs_settings_table / sizeof *rs_settings_table;

/*
 * The rows beside each other are as large as the struct: none is missing in the table (padding would be a row of less
 * than 8 bytes).
 */
struct rows {
#define RS_SETTING(field, unit, least, most, normal, text) __typeof__(((struct rs_settings *)0)->field) field;
#include "rs_settings.def"
#undef RS_SETTING
};
_Static_assert(sizeof(struct rows) == sizeof(struct rs_settings), "rs_settings.def and struct rs_settings differ");

const struct rs_sched_ops *const rs_scheds[256] = {
    [RS_SCHED_FIFO] = &rs_sched_fifo,
    [RS_SCHED_DRR] = &rs_sched_drr,
    [RS_SCHED_RFQ] = &rs_sched_rfq,
    [RS_SCHED_RFQ_PAPER] = &rs_sched_rfq_paper,
    [RS_SCHED_LEVELS] = &rs_sched_levels,
    [RS_SCHED_SHORTEST] = &rs_sched_shortest,
    [RS_SCHED_DRR_PAPER] = &rs_sched_drr_paper,
};

const struct rs_gate_ops *const rs_gates[256] = {
    [RS_GATE_NONE] = &rs_gate_none,   [RS_GATE_WINDOW] = &rs_gate_window, [RS_GATE_AUTO] = &rs_gate_auto,
    [RS_GATE_BYTES] = &rs_gate_bytes, [RS_GATE_WRC] = &rs_gate_wrc,       [RS_GATE_THREADS] = &rs_gate_threads,
};

static uint64_t rs_settings_value_of(const struct rs_settings *s, const struct rs_setting_info *i) {
    const char *at = (const char *)s + i->offset;
    uint32_t narrow;
    uint64_t wide;
    if (i->width == sizeof narrow) {
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, at, sizeof wide);
    return wide;
}

void rs_settings_default(struct rs_settings *s) {
    memset(s, 0, sizeof *s);
#define RS_SETTING(field, unit, least, most, normal, text) s->field = normal;
#include "rs_settings.def"
#undef RS_SETTING
}

/* One sentence per setting, made at compile time: the engine has no memory of its own to format into. */
const char *rs_settings_wrong(const struct rs_settings *s) {
    static const char *const out_of_bounds[] = {
#define RS_SETTING(field, unit, least, most, normal, text)                                                             \
    "the setting " #field " is out of bounds: it goes from " #least " to " #most " " unit,
#include "rs_settings.def"
#undef RS_SETTING
    };
    for (size_t i = 0; i < rs_settings_count; i++) {
        uint64_t v = rs_settings_value_of(s, &rs_settings_table[i]);
        if (v < rs_settings_table[i].least || v > rs_settings_table[i].most) return out_of_bounds[i];
    }
    return NULL;
}

int rs_sched_by_name(const char *name) {
    for (int i = 0; i < RS_SCHED_COUNT; i++)
        if (!strcmp(name, rs_scheds[i]->name)) return i;
    return -1;
}

int rs_gate_by_name(const char *name) {
    for (int i = 0; i < RS_GATE_COUNT; i++)
        if (!strcmp(name, rs_gates[i]->name)) return i;
    return -1;
}

const char *rs_sched_name(int sched) {
    return sched >= 0 && sched < RS_SCHED_COUNT ? rs_scheds[sched]->name : "unknown";
}
const char *rs_gate_name(int gate) { return gate >= 0 && gate < RS_GATE_COUNT ? rs_gates[gate]->name : "unknown"; }

const char *rs_refusal_text(enum rs_refusal r) {
    switch (r) {
    case RS_OK: return "accepted";
    case RS_CLASS_FULL: return "the class has as many requests waiting as it may";
    case RS_SHARE_FULL: return "the class has as many requests waiting as it may while places are kept for others";
    case RS_TOTAL_FULL: return "as many requests as may be are waiting or being served";
    case RS_NO_SUCH_CLASS: return "there is no such class";
    }
    return "unknown refusal";
}
