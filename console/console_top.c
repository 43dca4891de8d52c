/* SPDX-License-Identifier: BSD-2-Clause */
#include "console_top.h"

#include <stdbool.h>
#include <string.h>

#define DIED_US    1000000u
#define FADE_US    60000000u
#define READ_TRIES 1000 /* somebody copies a URL meanwhile, at most */

static bool top_take(struct console_dears *s, uint64_t now) {
    uint64_t since = atomic_load_explicit(&s->taken, memory_order_relaxed);

    /* Who has it may have looked at the clock later than this one. */
    if (since && (now > since ? now - since : since - now) < DIED_US) return false;
    return atomic_compare_exchange_strong(&s->taken, &since, now ? now : 1);
}

static void top_give(struct console_dears *s) { atomic_store_explicit(&s->taken, 0, memory_order_release); }

void console_top_add(struct console_top *t, uint64_t now, uint64_t key, const char *url, size_t n, uint32_t class,
                     uint64_t us, uint64_t bytes) {
    struct console_dears *s = &t->set[key % CONSOLE_TOP_SETS];
    struct console_dear *d = s->row;

    key |= 1;
    if (!top_take(s, now)) return;
    for (int i = 0; i < CONSOLE_TOP_WAYS; i++) {
        if (s->row[i].key == key) {
            d = &s->row[i];
            break;
        }
        if (s->row[i].us < d->us) d = &s->row[i];
    }
    if (d->key != key) {
        if (n >= sizeof d->url) n = sizeof d->url - 1;
        memcpy(d->url, url, n);
        d->url[n] = 0;
        d->key = key;
        d->bytes = d->requests = 0;
    }
    d->us += us;
    d->bytes += bytes;
    d->requests++;
    d->class = class;
    top_give(s);
}

void console_top_fade(struct console_top *t, uint64_t now) {
    uint64_t last = atomic_load(&t->faded_us);

    if (!last) atomic_compare_exchange_strong(&t->faded_us, &last, now);
    if (!last || now - last < FADE_US || !atomic_compare_exchange_strong(&t->faded_us, &last, now)) return;
    for (uint32_t i = 0; i < CONSOLE_TOP_SETS; i++) {
        if (!top_take(&t->set[i], now)) continue;
        for (int k = 0; k < CONSOLE_TOP_WAYS; k++) {
            struct console_dear *d = &t->set[i].row[k];

            d->us -= d->us / 10;
            d->bytes -= d->bytes / 10;
            d->requests -= d->requests / 10;
        }
        top_give(&t->set[i]);
    }
}

/* Put in its place from behind; what falls off is the cheapest. */
static uint32_t top_insert(struct console_dear *to, uint32_t n, uint32_t most, const struct console_dear *d) {
    uint32_t at = n;

    if (!d->key || !d->requests) return n;
    if (n == most && to[--at].us >= d->us) return n;
    for (; at && to[at - 1].us < d->us; at--) to[at] = to[at - 1];
    to[at] = *d;
    to[at].url[sizeof to[at].url - 1] = 0;
    return n < most ? n + 1 : n;
}

uint32_t console_top_read(struct console_top *t, uint64_t now, struct console_dear *to, uint32_t most) {
    uint32_t n = 0;

    for (uint32_t i = 0; i < CONSOLE_TOP_SETS; i++) {
        bool taken = false;

        for (int tries = 0; tries < READ_TRIES && !(taken = top_take(&t->set[i], now)); tries++) {}
        if (!taken) continue;
        for (int k = 0; k < CONSOLE_TOP_WAYS; k++) n = top_insert(to, n, most, &t->set[i].row[k]);
        top_give(&t->set[i]);
    }
    return n;
}
