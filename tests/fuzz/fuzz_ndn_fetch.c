/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_ndn_fetch.c - anything that may happen to a fetch, in any order: answers that were asked for or not, with any
 * last segment and window, refusals, time that passes or goes back.
 *
 * Bytes: the settings, then events.  After each its sums must be right; what is asked for is not there yet, is not
 * behind a last segment that was told, has tries left and room in the window; each segment is new once.  In the end all
 * that is asked for is answered, or nothing: it is whole, or has failed.
 */
#include "tests/unit/test_ndn_fetch.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEGMENTS_MAX = 1 << 13 };

struct input {
    const uint8_t *p;
    size_t n;
};

static struct ndn_fetch f;
static struct ndn_asked place[NDN_PLACES_MAX];
static uint64_t now, again;
static struct {
    uint8_t tries;
    bool came;
} seen[SEGMENTS_MAX];

static uint64_t number(struct input *in, size_t bytes) {
    uint64_t n = 0;
    for (; bytes && in->n; bytes--, in->n--) n = n << 8 | *in->p++;
    return n;
}

static void must(bool holds) {
    if (!holds) abort();
}

static void must_be_sound(void) { must(!fetch_unsound(&f)); }

/* One more is asked for; false: nothing to ask for now. */
static bool ask(void) {
    uint64_t segment = ndn_fetch_next(&f, now, &again);

    must(segment == NDN_NO_NUMBER || f.outstanding <= ndn_fetch_window(&f));
    if (segment == NDN_NO_NUMBER) {
        bool over = ndn_fetch_whole(&f) || ndn_fetch_failed(&f),
             at_the_end = f.low == f.next && f.next == NDN_NO_NUMBER;
        must(again == UINT64_MAX || again > f.now);
        must(again != UINT64_MAX || over || at_the_end || f.now > UINT64_MAX - NDN_FIRST_WAIT_MAX);
        return false;
    }
    must(segment >= f.first && (f.last == NDN_NO_NUMBER || segment <= f.last));
    if (segment - f.first >= SEGMENTS_MAX) return false;
    must(!seen[segment - f.first].came);
    must(++seen[segment - f.first].tries <= f.settings.tries);
    return true;
}

static void answer(uint64_t segment, uint64_t last, uint64_t window, bool marked) {
    uint64_t told = f.last;
    enum ndn_came c = ndn_fetch_data(&f, now, segment, last, window, marked);

    must(told == NDN_NO_NUMBER || last == NDN_NO_NUMBER || last == told || c == NDN_CAME_STRANGE);
    must(told == NDN_NO_NUMBER || f.last == told);
    if (segment < f.first || segment - f.first >= SEGMENTS_MAX) return;
    must(c != NDN_CAME_NEW || (!seen[segment - f.first].came && seen[segment - f.first].tries));
    must(c != NDN_CAME_AGAIN || seen[segment - f.first].came);
    if (c == NDN_CAME_NEW) seen[segment - f.first].came = true;
}

static void event(struct input *in) {
    uint64_t what = number(in, 1), segment;

    /* Mostly one that was asked for. */
    segment = what & 0x40 ? number(in, 8) : f.low + number(in, what & 0x20 ? 2 : 1) % (f.next - f.low + 1);
    switch (what & 7) {
    case 0: answer(segment, NDN_NO_NUMBER, NDN_NO_NUMBER, what & 8); break;
    case 1: answer(segment, f.last, number(in, 1), what & 8); break;
    case 2: answer(segment, f.next + number(in, 1) - 128, number(in, 8), what & 8); break;
    case 3: ndn_fetch_nack(&f, now, segment, what & 8); break;
    case 4: now += number(in, 3); break;
    case 5: now = what & 8 ? number(in, 8) : again; break;
    case 6: ask(); break;
    case 7:
        for (uint64_t n = number(in, 1); n && ask(); n--) continue;
    }
    must_be_sound();
}

static void finish(bool answers) {
    uint64_t steps = 0;

    now = f.now;
    while (!ndn_fetch_whole(&f) && !ndn_fetch_failed(&f) && f.next - f.first < SEGMENTS_MAX) {
        while (ask()) continue;
        if (answers && f.last == NDN_NO_NUMBER) answer(f.low, f.next - 1, 3, false);
        for (uint64_t s = f.low; answers && s < f.next; s++) answer(s, f.last, NDN_NO_NUMBER, false);
        if (again > UINT64_MAX - 2 * NDN_FIRST_WAIT_MAX) return;
        now = again;
        must(++steps < 200000);
        must_be_sound();
    }
    while (ask()) must(f.next - f.first >= SEGMENTS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = { data, size };
    struct ndn_fetch_settings s = { .kind = (enum ndn_window_kind)(number(&in, 1) % NDN_WINDOW_KINDS),
                                    .window = (uint32_t)number(&in, 2) % (NDN_WINDOW_MAX + 1),
                                    .tries = (uint32_t)number(&in, 1) % (NDN_TRIES_MAX + 1),
                                    .first_wait = number(&in, 4) };
    uint64_t how = number(&in, 1), first = how & 1 ? number(&in, 8) : number(&in, 1);

    now = how & 2 ? number(&in, 8) : 0;
    memset(place, 0xa5, sizeof *place * ndn_fetch_places(s.window ? s.window : 1));
    if (!ndn_fetch_begin(&f, &s, place, first, now)) return 0;
    again = now;
    while (in.n && f.next - f.first < SEGMENTS_MAX - NDN_WINDOW_MAX) event(&in);
    finish(how & 4);
    memset(seen, 0,
           sizeof *seen * (f.next - f.first < SEGMENTS_MAX ? f.next - f.first + NDN_WINDOW_MAX : SEGMENTS_MAX));
    return 0;
}
