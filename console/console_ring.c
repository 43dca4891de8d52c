/* SPDX-License-Identifier: BSD-2-Clause */
#include "console_ring.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define EVERY_US 1000000u
#define NUMBER   24 /* bytes of one in a row, with its comma, at most */

bool console_ring_due(struct console_ring *r, uint64_t now) {
    uint64_t next = atomic_load_explicit(&r->next_us, memory_order_relaxed), after;

    /* A clock that began anew, or a stranger's hand: no more than a second away. */
    if (now < next && next - now <= EVERY_US) return false;
    after = now >= next && now - next < EVERY_US && next ? next + EVERY_US : now + EVERY_US;
    return atomic_compare_exchange_strong(&r->next_us, &next, after);
}

/* The columns are others than before. */
static bool ring_changes(struct console_ring *r, const struct console_column *columns, uint32_t n) {
    bool other = atomic_load(&r->columns) != n;

    for (uint32_t i = 0; i < n; i++) {
        if (!other && !strncmp(r->name[i], columns[i].name, CONSOLE_NAME)) continue;
        other = true;
        memcpy(r->name[i], columns[i].name, CONSOLE_NAME);
    }
    atomic_store(&r->columns, n);
    return other;
}

void console_ring_add(struct console_ring *r, uint64_t now, const struct console_column *columns, uint32_t n) {
    uint64_t number = atomic_load(&r->added) + 1, last = r->last_us;
    struct console_sample *s = &r->sample[number % CONSOLE_SAMPLES];
    double seconds = last && now > last ? (double)(now - last) / 1e6 : 0;
    bool anew;

    if (n > CONSOLE_COLUMNS) n = CONSOLE_COLUMNS;
    anew = ring_changes(r, columns, n);
    if (anew) atomic_store(&r->begins, number);
    atomic_store(&s->number, 0);
    s->at_us = now;
    for (uint32_t i = 0; i < n; i++) {
        double before = r->before[i], value = columns[i].value;

        if (columns[i].counter) {
            r->before[i] = value;
            value = anew || seconds <= 0 || !(value >= before) ? 0 : (value - before) / seconds;
        }
        s->value[i] = (float)value;
    }
    r->last_us = now;
    atomic_store(&s->number, number);
    atomic_store(&r->added, number);
}

/* Was there one? */
static bool ring_row(struct base_json *j, const struct console_sample *s, uint32_t columns, uint64_t now, bool first) {
    char text[NUMBER * (CONSOLE_COLUMNS + 2)];
    struct console_sample copy;
    uint64_t number = atomic_load(&s->number);
    size_t n;

    memcpy((void *)&copy, (const void *)s, sizeof copy);
    atomic_thread_fence(memory_order_acquire);
    if (!number || atomic_load(&s->number) != number) return false;
    /* How old it is, in seconds: clocks of hosts and browsers differ. */
    n = (size_t)snprintf(text, sizeof text, "%s[%.0f,%.1f", first ? "" : ",", (double)number,
                         now > copy.at_us ? (double)(now - copy.at_us) / 1e6 : 0);
    for (uint32_t i = 0; i < columns; i++) {
        double v = (double)copy.value[i];
        n += (size_t)(isfinite(v) ? snprintf(text + n, NUMBER, ",%.6g", v) : snprintf(text + n, NUMBER, ",null"));
    }
    text[n++] = ']';
    j->sink.write(j->sink.to, text, n);
    return true;
}

void console_ring_json(struct base_json *j, const struct console_ring *r, uint32_t most, uint64_t now) {
    uint64_t last = atomic_load(&r->added), first = atomic_load(&r->begins), n;
    uint32_t columns = atomic_load(&r->columns);
    bool written = false;
    char name[CONSOLE_NAME];

    if (columns > CONSOLE_COLUMNS) columns = CONSOLE_COLUMNS;
    if (most > CONSOLE_SAMPLES - 1) most = CONSOLE_SAMPLES - 1; /* the oldest is about to be written over */
    n = first && first <= last ? last - first < most ? last - first + 1 : most : 0;
    base_json_object(j, "history");
    base_json_whole(j, "every_s", EVERY_US / 1000000u);
    base_json_array(j, "columns");
    for (uint32_t i = 0; i < columns; i++) {
        memcpy(name, r->name[i], sizeof name);
        name[sizeof name - 1] = 0;
        base_json_text(j, NULL, name);
    }
    base_json_end_array(j);
    base_json_array(j, "rows");
    while (n--) {
        const struct console_sample *s = &r->sample[(last - n) % CONSOLE_SAMPLES];

        if (atomic_load(&s->number) != last - n) continue;
        written = ring_row(j, s, columns, now, !written) || written;
    }
    base_json_end_array(j);
    base_json_end_object(j);
}
