/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ndn/ndn_fetch.h - the fetching side: which segment of an object is to be asked for next, and when one counts as lost.
 *
 * It knows no socket and no clock: what came is told with the time, and what to send is asked for.  So the same code
 * serves our client, a generator of load and a simulator.
 *
 *     begin ─→ next: 0 ─→ data(0, the window its maker fits) ─→ next: 1, 2, ... w ─→ data ... ─→ whole
 *                │                                                  │
 *                └──── no answer: asked again, `tries` times ───────┴─→ failed
 *
 * The first segment is asked for alone; it says how many there are, and, from servers that do (APDSFC, ccn-idsrs-apdsfc
 * paper 5.3), how many to ask for at one time.  Where it does not say how many there are, the window is filled until
 * one says it; what was asked for beyond that one is forgotten.
 *
 * STATES of a segment that was asked for.  Only those that are out count as outstanding, and none goes out while there
 * are as many of them as the window allows.
 *
 *     out ──→ came
 *      │ ↑
 *      │ └──── due      lost; goes out as soon as the window has room, before any new one, the lowest first
 *      ├──→ due         no answer in time
 *      └──→ held        refused on the way: due when as much time has passed as an answer may take
 *
 * One that is due or held has come, too, when its answer comes late.  One whose last try is lost fails the whole.
 *
 * WINDOWS, one file each (ndn_window_*.c):
 *
 *     fixed   so many, whatever happens; 1 is one at a time
 *     hint    begins at what the first Data says, up to the cap; from there on, and without a hint, as cubic
 *     aimd    begins at 2, doubles until the first sign of congestion, then grows by one each round trip and is halved
 *             at a sign (ndn-cxx's, from its description)
 *     cubic   as aimd, but grows by RFC 9438's curve (NDNts' and ndnget's, from their descriptions)
 *
 * A sign of congestion is a mark that a forwarder set, or a loss; only what was asked for after the last sign gives
 * another, so it counts once in a round trip.  Before the first answer there is nothing to make smaller: no sign.
 *
 * An answer is lost when it has not come within the estimate of RFC 6298 (200 ms to 4 s; before it is measured, 1 s),
 * which is doubled for each further try of the same segment, or for each loss that was a sign until one is measured
 * anew, whichever is more.  The first answer, for which a page is made, measures nothing.
 *
 * Times are microseconds of any origin; one that lies before an earlier one is taken for that.  Nothing allocates; who
 * has very many fetches with small windows gives each as few places as it needs.
 */
#ifndef FAIRGATE_NDN_FETCH_H
#define FAIRGATE_NDN_FETCH_H

#include "ndn_tlv.h"

#define NDN_WINDOW_MAX     1024u        /* forwarders hold that many packets and drop the rest in silence */
#define NDN_TRIES_MAX      100u
#define NDN_FIRST_WAIT_MAX 3600000000u  /* an hour */

enum ndn_window_kind { NDN_WINDOW_FIXED, NDN_WINDOW_HINT, NDN_WINDOW_AIMD, NDN_WINDOW_CUBIC, NDN_WINDOW_KINDS };

struct ndn_fetch_settings {
    enum ndn_window_kind kind;
    uint32_t             window;        /* fixed: how many; others: never more; 1 .. NDN_WINDOW_MAX */
    uint32_t             tries;         /* of one segment, 1 .. NDN_TRIES_MAX */
    uint64_t             first_wait;    /* until the first segment counts as lost: a page takes its time; 1 .. MAX */
};

enum ndn_asked_state { NDN_ASKED_OUT, NDN_ASKED_DUE, NDN_ASKED_HELD, NDN_ASKED_CAME };

/* A place for a segment between the lowest that is missing and the next new one. */
struct ndn_asked {
    uint64_t sent;                      /* its last try */
    uint32_t wait;                      /* from then on */
    uint16_t tries;
    uint8_t  state;                     /* enum ndn_asked_state */
};

/*
 * How many places a fetch needs, a power of two: so far, four windows, it may run ahead of a segment that is missing.
 */
#define NDN_PLACES_MAX 4096u
static inline uint32_t ndn_fetch_places(uint32_t window) {
    uint32_t n = 4;
    while (n < 4 * window && n < NDN_PLACES_MAX) n *= 2;
    return n;
}

/* What a window knows, whatever its kind; ndn_window.h moves it. */
struct ndn_window {
    enum ndn_window_kind kind;
    double   size, threshold;           /* segments; below the threshold it doubles in each round trip */
    double   peak;                      /* cubic: where its curve is flat */
    double   begun, prior, friendly;    /* cubic: size at the epoch and before it; the size that Reno would have */
    uint32_t most;
    uint64_t epoch;                     /* when this rise of cubic's began */
    bool     hinted;
};

struct ndn_fetch {
    struct ndn_fetch_settings settings;
    struct ndn_window window;
    struct ndn_asked *place;            /* of segment s: place[s & (places - 1)], for low <= s < next */
    uint32_t places;
    uint64_t first, low, next;          /* it began here; all before it have come; never asked for yet */
    uint64_t last, highest;             /* NDN_NO_NUMBER: not known yet; the highest that came, counts if one came */
    uint32_t outstanding, due;          /* how many are in these states */
    uint64_t due_from;                  /* none below it is due */
    bool     failed;
    uint64_t now, earliest;             /* the latest time told; none that is out or held is up before */
    uint64_t sign;                      /* when the last one was: what was sent before gives no other */
    double   srtt, rttvar;              /* RFC 6298; srtt 0: not measured yet */
    uint32_t rto, doublings;
    /* figures: Interests, how many of them for a segment once more; answers lost or refused, marked, new; signs */
    uint64_t interests, retransmissions, losses, marks, came, signs;
};

/*
 * `places`: ndn_fetch_places(s->window) of them, the caller's, for as long as the fetch lasts; need not be cleared.
 * `first`: the segment to begin with, all before it are there already.  False: a setting is out of bounds.
 */
bool ndn_fetch_begin(struct ndn_fetch *f, const struct ndn_fetch_settings *s, struct ndn_asked *places, uint64_t first,
                     uint64_t now);

/*
 * The segment to ask for now; call until it returns NDN_NO_NUMBER, and then again at *again (UINT64_MAX: never without
 * an answer), which is later than now, or when something came.  The segments that are under way are looked through only
 * when the time of one may be up.
 */
uint64_t ndn_fetch_next(struct ndn_fetch *f, uint64_t now, uint64_t *again);

/*
 * STRANGE: never asked for, behind the last, or it says another last than one before; the segment is still missing.
 */
enum ndn_came { NDN_CAME_NEW, NDN_CAME_AGAIN, NDN_CAME_STRANGE };

/*
 * A segment came; `last`, `window`: what its Data says, or NDN_NO_NUMBER; `marked`: a forwarder is congested.  Only
 * what is NEW is to be used.
 */
enum ndn_came ndn_fetch_data(struct ndn_fetch *f, uint64_t now, uint64_t segment, uint64_t last, uint64_t window,
                             bool marked);
/* It was refused on the way: lost, and a sign of congestion if that is why. */
void ndn_fetch_nack(struct ndn_fetch *f, uint64_t now, uint64_t segment, bool congested);

bool     ndn_fetch_whole(const struct ndn_fetch *f);
bool     ndn_fetch_failed(const struct ndn_fetch *f);   /* one was asked for `tries` times in vain */
uint32_t ndn_fetch_window(const struct ndn_fetch *f);   /* how many may be out */

#endif
