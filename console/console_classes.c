/* SPDX-License-Identifier: BSD-2-Clause */
#include "console_classes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FADES 0.9f

static void wait_fades(struct console_wait *w, const char *class, const _Atomic uint32_t *waits) {
    bool other = strncmp(w->class, class, sizeof w->class) != 0;

    if (other) {
        memset(w, 0, sizeof *w);
        memccpy(w->class, class, 0, sizeof w->class);
    }
    for (uint32_t b = 0; b < RS_WAITS; b++) {
        uint32_t n = atomic_load_explicit(&waits[b], memory_order_relaxed), came = n - w->seen[b];

        w->seen[b] = n;
        if (other || came > 1u << 30) came = 0;
        w->lately[b] = w->lately[b] * FADES + (float)came;
        if (w->lately[b] < 0.05f) w->lately[b] = 0;
    }
}

/* In milliseconds; NAN: nobody was released. */
static double wait_quantile(const struct console_wait *w, float part) {
    float sum = 0, seen = 0;

    for (uint32_t b = 0; b < RS_WAITS; b++) sum += w->lately[b];
    for (uint32_t b = 0; sum > 0 && b < RS_WAITS; b++) {
        seen += w->lately[b];
        if (seen >= sum * part) return (double)rs_waits_most(b) / 1e3;
    }
    return NAN;
}

uint32_t console_classes_own(struct console_column *to, uint32_t n, const char *name, bool counter, double value) {
    if (n >= CONSOLE_COLUMNS) return n;
    memset(to[n].name, 0, CONSOLE_NAME);
    snprintf(to[n].name, CONSOLE_NAME, "%s", name);
    to[n].counter = counter;
    to[n].value = value;
    return n + 1;
}

static uint32_t of_class(struct console_column *to, uint32_t n, const char *class, const char *name, bool counter,
                         double value) {
    char whole[CONSOLE_NAME];

    snprintf(whole, sizeof whole, "%s/%s", class, name);
    return console_classes_own(to, n, whole, counter, value);
}

uint32_t console_classes_columns(struct console_waits *w, const struct rs_figures *f,
                                 const _Atomic uint32_t *(*waits)(const void *of, uint32_t i), const void *of,
                                 struct console_column *to) {
    uint32_t n = 0, told = 0;

    n = console_classes_own(to, n, "window", false, f->all.window);
    n = console_classes_own(to, n, "queued", false, f->all.queued);
    n = console_classes_own(to, n, "outstanding", false, f->all.outstanding);
    n = console_classes_own(to, n, "parked", false, f->all.parked);
    n = console_classes_own(to, n, "released", true, (double)f->all.counts.released);
    n = console_classes_own(
        to, n, "refused", true,
        (double)(rs_figures_refused(f->refused) + f->refused[RS_WHY_TOO_LONG] + f->refused[RS_WHY_STANDING]));
    for (uint32_t i = 0; i < f->nclasses && told < CONSOLE_CLASSES; i++) {
        const struct rs_figures_class *c = f->classes + i;
        const _Atomic uint32_t *counted = waits ? waits(of, i) : NULL;
        const char *class = c->s.settings.name;
        struct console_wait *k = &w->of[told];

        if (c->s.retired && !c->s.queued && !c->s.outstanding && !c->s.parked) continue;
        told++;
        if (counted) wait_fades(k, class, counted);
        n = of_class(to, n, class, "bytes", true, (double)c->s.counts.bytes);
        n = of_class(to, n, class, "slot_s", true, isnan(c->slot_s) ? (double)c->s.counts.service_us / 1e6 : c->slot_s);
        n = of_class(to, n, class, "released", true, (double)c->s.counts.released);
        n = of_class(to, n, class, "refused", true,
                     (double)(rs_figures_refused(c->refused) + c->refused[RS_WHY_STANDING]));
        n = of_class(to, n, class, "queued", false, c->s.queued);
        n = of_class(to, n, class, "outstanding", false, c->s.outstanding);
        n = of_class(to, n, class, "p50_ms", false, wait_quantile(k, 0.5f));
        n = of_class(to, n, class, "p95_ms", false, wait_quantile(k, 0.95f));
    }
    return n;
}
