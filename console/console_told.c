/* SPDX-License-Identifier: BSD-2-Clause */
#include "console_told.h"

#include <string.h>

#include "console_page.h"

static void told_top(struct base_json *j, const struct console_told *t) {
    struct console_dear dear[CONSOLE_TOP_SHOWN];
    uint32_t n = console_top_read(t->top, t->now_us, dear, CONSOLE_TOP_SHOWN);

    base_json_array(j, "top");
    for (uint32_t i = 0; i < n; i++) {
        base_json_object(j, NULL);
        base_json_text(j, "class", t->class_name(t->of, dear[i].class));
        base_json_text(j, "url", dear[i].url);
        base_json_whole(j, "requests", dear[i].requests);
        base_json_whole(j, "bytes", dear[i].bytes);
        base_json_number(j, "slot_s", (double)dear[i].us / 1e6);
        base_json_end_object(j);
    }
    base_json_end_array(j);
}

void console_tell(struct base_sink sink, const struct console_told *t, bool all) {
    struct base_json j = base_json_into(sink);

    base_json_object(&j, NULL);
    base_json_text(&j, "house", t->house);
    base_json_text(&j, "charge", t->charge ? t->charge : "bytes");
    base_json_truth(&j, "explains", t->explains);
    base_json_whole(&j, "classes_in_all", t->classes);
    base_json_opened(&j, "now");
    t->now(sink, t->of);
    console_ring_json(&j, t->ring, all ? CONSOLE_SAMPLES : CONSOLE_RECENT, t->now_us);
    if (t->top) told_top(&j, t);
}

void console_tell_end(struct base_sink sink, const char *host, const char *others) {
    /* As console_tell left it. */
    struct base_json j = { sink, 1, 1 };
    const char *at = others ? others : "", *one;
    char text[256];
    int told = 0;

    base_json_text(&j, "host", host);
    base_json_array(&j, "others");
    for (size_t n; (n = console_other(&at, &one, &told));) {
        if (n >= sizeof text) continue;
        memcpy(text, one, n);
        text[n] = 0;
        base_json_text(&j, NULL, text);
    }
    base_json_end_array(&j);
    base_json_end_object(&j);
    base_json_done(&j);
}
