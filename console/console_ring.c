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

/* The columns are others than before: nothing is told until there is a sample of these. */
static bool ring_changes(struct console_ring *r, const struct console_column *columns, uint32_t n) {
    bool other = atomic_load(&r->columns) != n;

    for (uint32_t i = 0; i < n && !other; i++) other = strncmp(r->name[i], columns[i].name, CONSOLE_NAME) != 0;
    if (!other) return false;
    atomic_store(&r->begins, 0);
    atomic_thread_fence(memory_order_release);
    for (uint32_t i = 0; i < n; i++) memcpy(r->name[i], columns[i].name, CONSOLE_NAME);
    atomic_store(&r->columns, n);
    return true;
}

/* How many there are, their names, and the first sample that has them: 0 while they change. */
static uint32_t ring_columns(const struct console_ring *r, char name[][CONSOLE_NAME], uint64_t *first) {
    uint64_t begins = atomic_load(&r->begins);
    uint32_t n = atomic_load(&r->columns);

    if (n > CONSOLE_COLUMNS) n = CONSOLE_COLUMNS;
    memcpy(name, r->name, n * sizeof *name);
    atomic_thread_fence(memory_order_acquire);
    *first = atomic_load(&r->begins) == begins ? begins : 0;
    for (uint32_t i = 0; i < n; i++) name[i][CONSOLE_NAME - 1] = 0;
    return n;
}

void console_ring_add(struct console_ring *r, uint64_t now, const struct console_column *columns, uint32_t n) {
    uint64_t number = atomic_load(&r->added) + 1, last = r->last_us;
    struct console_sample *s = &r->sample[number % CONSOLE_SAMPLES];
    double seconds = last && now > last ? (double)(now - last) / 1e6 : 0;
    bool anew;

    if (n > CONSOLE_COLUMNS) n = CONSOLE_COLUMNS;
    anew = ring_changes(r, columns, n);
    atomic_store(&s->number, 0);
    atomic_thread_fence(memory_order_release);
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
    if (anew) atomic_store(&r->begins, number);
}

/* Was there one of that number? */
static bool ring_row(struct base_json *j, const struct console_sample *s, uint64_t number, uint32_t columns,
                     uint64_t now, bool first) {
    char text[NUMBER * (CONSOLE_COLUMNS + 2)];
    struct console_sample copy;
    size_t n;

    if (!number || atomic_load(&s->number) != number) return false;
    memcpy((void *)&copy, (const void *)s, sizeof copy);
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load(&s->number) != number) return false;
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
    char name[CONSOLE_COLUMNS][CONSOLE_NAME];
    uint64_t last = atomic_load(&r->added), first, n;
    uint32_t columns = ring_columns(r, name, &first);
    bool written = false;

    if (most > CONSOLE_SAMPLES - 1) most = CONSOLE_SAMPLES - 1; /* the oldest is about to be written over */
    n = first && first <= last ? last - first < most ? last - first + 1 : most : 0;
    base_json_object(j, "history");
    base_json_whole(j, "every_s", EVERY_US / 1000000u);
    base_json_array(j, "columns");
    for (uint32_t i = 0; i < columns; i++) base_json_text(j, NULL, name[i]);
    base_json_end_array(j);
    base_json_array(j, "rows");
    for (; n; n--) {
        uint64_t number = last - n + 1;
        written = ring_row(j, &r->sample[number % CONSOLE_SAMPLES], number, columns, now, !written) || written;
    }
    base_json_end_array(j);
    base_json_end_object(j);
}
