/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gate_auto.c - a window that finds its own size: the smallest that keeps the server busy, and finds it anew when the
 * server changes.
 *
 * Ours; the website-gateway paper (4.2.4) only advises a small number.
 *
 * ELASTICITY.  If a window larger by x per cent gives y per cent more throughput, the elasticity is y / x: 1 while the
 * server has idle hands, 0 when all it can do is let requests queue.  The gate compares epochs at the window that it
 * has (base) with epochs at a larger or a smaller one (probe), in pairs, so that what else goes on in the machine hits
 * both alike.  Differences are relative to the mean of the two, in thousandths, and a probe upwards and one downwards
 * estimate the same number.
 *
 * THROUGHPUT comes from Little's law: number at the server / mean response time, over the responses that end in an
 * epoch.  Unlike a count over a short time it does not depend on where in a burst the epoch begins, and servers whose
 * responses take equally long end them in bursts.  The gate has it by responses and by bytes.  Which of the two varies
 * less depends on the server's bottleneck, and a test uses the one that varied less.  Where costs are times in a slot
 * (await_us), only responses count: Little's law over times in a slot gives the number at the server.
 *
 * A TEST is up to PAIRS pairs, half as many beyond the share cap.  One pair that is very clear is enough.  When probing
 * up with an elasticity near 1 the probe becomes the base, and the next probe is twice as large: 8 to 32 takes three
 * turns of the server.  Below 0 the server is past its knee.  Else the mean decides, as soon as it is clearly away from
 * TAKE or GIVE.  Two standard errors above TAKE is worth a larger window.  Below GIVE is worth a smaller one, if one
 * standard error above the mean is still within the DOUBT.  After tests in both directions that changed nothing the
 * gate pauses, longer each time.  A base with quite another throughput (the server changed) begins anew, upwards.
 *
 * MIXED requests.  Brief and long requests (rs_reserve.h) have very different response times: an epoch's mean would
 * depend on how many of each end in it.  So a brief request counts as usual brief time / usual long time of a long one;
 * both are running means over base epochs.  A probe upwards is saturated if most of its brief requests take LATE times
 * as long as usual and LATE_BY more: requests queue at the server.  Such a probe ends at once, and the gate pauses.
 * Long requests that a probe releases hold the server's workers for seconds.  So beside them:
 * - the window grows to the probe's in steps of base / STEP_OF, each after STEP_ON_TIME brief requests that were
 *   released since the last step and ended on time, or after a window's worth of ends; where none of these is brief,
 *   the rest at once;
 * - the probe's epoch is as long as a usual long request takes, so that lateness shows;
 * - a pair counts only if both windows were full on average, but for an eighth;
 * - one pair with an elasticity above HALF is enough if nearly all brief requests of the probe were on time;
 * - after a saturated probe the next one goes half way there, or, where that is less than an eighth, waits for long.
 * A kind that did not end for USUAL_OF base epochs is forgotten.
 *
 * QUICK servers.  The cost of a window that is too large is the time that requests queue at the server.  Below a mean
 * response time of QUICK this cost is small.  There a mean above TAKE / 3 widens the window, and standard errors are
 * ignored; QUICK bounds the drift that this allows.
 *
 * NOISE.  The pace of a busy machine changes from epoch to epoch.  A rule that takes the likelier answer drifts upwards
 * then.  So one pair is very clear only beyond NOISE_TIMES the mean difference of two base epochs in a row, and an
 * undecided test upwards changes nothing.
 *
 * SHARES.  A window beyond min over the waiting classes of (requests of the class / its share) makes requests queue at
 * the server, where weights say nothing; a server that ends its responses in bursts needs as many again in the queues,
 * to fill the slots that come free together.  So the gate stays at half of that, and goes beyond in small steps, only
 * while the server is elastic.
 *
 * FREE SLOTS.  When nobody fills the window, a larger one says nothing, and neither do a few such epochs.  After
 * SLACK_RUN of them a window smaller than what is there is tried: if as much is done by fewer at a time, the rest only
 * queued at the server, where weights say nothing (30 clients in a window of 32); if as many are at the server as
 * before, or less is done, the server has idle hands, and nobody is kept waiting.
 */
#include "gate.h"

#define FLOOR          2u
#define NORMAL         16u
#define EPOCH_MIN      100000u /* microseconds */
/* for a server that does not end `enough` in that time, if a window's worth has ended */
#define EPOCH_MAX      1000000u
#define ENOUGH         32u
#define PAIRS          8
#define TAKE           60
#define GIVE           30
#define QUICK          20000u /* microseconds */
#define DOUBT          150    /* a smaller window is not worth the risk of an elasticity beyond this */
#define CLEAR          200    /* a difference of a single pair that noise does not make */
#define NOISE_TIMES    3u     /* mean differences of two equal epochs that one pair must show beyond CLEAR or CHANGED */
#define NOISE_FIRST    100u   /* thousandths, until it is measured */
#define STEP_MIN       60
#define SLACK_RUN      4   /* epochs with free slots, until a smaller window is tried, */
#define SLACK_LOW      4u  /* and none below this: a few clients would wait for nothing while it is */
#define ELASTIC        700 /* the next probe may be twice as large */
#define NOT_BUSY       333 /* beyond the share cap: below this the server is the bottleneck */
#define ALL_IDLE       900
#define HALF           500 /* one pair of a mixed server, whose brief requests are on time */
#define CHANGED        300 /* two bases that differ by so much are of different servers */
#define REST_MAX       64u /* epochs */
#define EPS_MAX        4000
#define LATE           2u
#define LATE_BY        50000u /* microseconds: shorter waits cost clients little, and a busy machine makes them */
#define LATE_LEAST     3u     /* brief requests */
#define STEP_ON_TIME   6u     /* brief requests on time, for a step */
#define STEP_OF        8u     /* part of the base that is one step, */
#define STEP_MOST      8u     /* and slots in it at most */
#define REST_SATURATED 32u    /* epochs, after a probe that saturated the server */
#define REST_BELOW     4u     /* where a window between that one and the base can be tried */
#define USUAL_OF       16u    /* base epochs of the running mean */
#define WHOLE          65536u

enum phase { SETTLE_BASE, BASE, SETTLE_PROBE, PROBE };
enum way { UP, DOWN };
enum kind { BRIEF, LONG, KINDS };

struct meter {
    uint64_t ends, bytes;
    uint64_t time[KINDS]; /* sums of response times */
    uint32_t n[KINDS];    /* responses in these sums */
    uint64_t present;     /* sum over the ends of how many were at the server */
    uint32_t slack, most; /* ends after which no request waited; the most that were at the server */
    rs_time_t since;
};

struct speed {
    uint64_t responses, bytes;
    uint64_t present16; /* mean number at the server x 16 */
    uint64_t mean_us;   /* response time */
};

struct tally {
    int64_t n, sum, squares;
};

struct automatic {
    uint32_t window; /* in force */
    uint32_t base, probe;
    uint32_t phase, way;
    uint32_t settle;          /* ends that still belong to the window before */
    uint32_t rest, rest_next; /* base epochs before the next test */
    uint32_t failed;          /* tests in a row that changed nothing */
    uint32_t slack;           /* base epochs in a row in which slots stayed free */
    uint32_t most;            /* at the server in the last of them */
    uint32_t elastic;         /* the last clear answer: the server has idle hands here */
    uint32_t noise8;          /* running mean x 8 of how much two base epochs in a row differ, in thousandths */
    uint32_t cap16;           /* running mean of the share cap x 16; 0 = not known */
    uint32_t late, on_time;   /* brief requests released and ended since the last step of a probe upwards */
    uint32_t longs;           /* at the server at the last end: a mix, even if none of them has ended yet */
    uint32_t absent[KINDS];   /* base epochs in a row in which none ended */
    uint32_t full, full_for;  /* a window at which the server was saturated, 0: none; base epochs since */
    uint64_t usual[KINDS];    /* running mean of the response time in base epochs, microseconds; 0 = not known */
    struct meter meter;
    struct speed base_speed;
    struct tally by_responses, by_bytes;
};

static struct automatic *auto_gate_state(const struct rs_outlet *o) {
    return (struct automatic *)(uintptr_t)o->gate_state;
}

static void tell_window(struct rs_outlet *o, const struct automatic *a) {
    o->open_below = a->window;
    o->open_base = a->base;
}

static uint32_t cap_of(const struct automatic *a, const struct rs_settings *s) {
    uint32_t cap = s->window_max;
    if (a->cap16 && a->cap16 / 32 < cap) cap = a->cap16 / 32;
    return cap < FLOOR ? FLOOR : cap;
}

static bool is_mixed(const struct automatic *a) { return a->usual[BRIEF] && (a->usual[LONG] || a->longs); }

/* With an empty meter. */
static void set_window(struct automatic *a, uint32_t window, rs_time_t now) {
    a->settle = window > a->window ? window : a->window;
    a->window = window;
    a->late = a->on_time = 0;
    a->meter = (struct meter){ .since = now };
}

/* The next window on the way to a larger one. */
static uint32_t step_after(const struct automatic *a, uint32_t window) {
    uint32_t step = a->base / STEP_OF < 1 ? 1 : a->base / STEP_OF < STEP_MOST ? a->base / STEP_OF : STEP_MOST;
    return window - a->window > step ? a->window + step : window;
}

/* `window` is the base or the probe; a mixed server's window goes to the probe in steps (step_up). */
static void begin_epoch(struct automatic *a, enum phase phase, uint32_t window, rs_time_t now) {
    bool same = window == a->window, steps = phase == SETTLE_PROBE && window > a->window && is_mixed(a);
    set_window(a, steps ? step_after(a, window) : window, now);
    if (same) a->settle = 0;
    a->phase = same ? phase + 1 : phase;
}

static void begin_base(struct automatic *a, rs_time_t now) { begin_epoch(a, SETTLE_BASE, a->base, now); }

static void forget_pairs(struct automatic *a) { a->by_responses = a->by_bytes = (struct tally){ 0 }; }

/* An eighth of the base at least, half way to the window at which the server was saturated. */
static bool has_room_below_full(const struct automatic *a) { return a->full >= a->base + a->base / 4 + 2; }

/* The window to try next in a->way, or the base itself where there is no room.  Nobody jumps over the share cap. */
static uint32_t probe_of(const struct automatic *a, const struct rs_settings *s, int64_t elasticity) {
    uint32_t cap = cap_of(a, s);
    uint64_t probe;
    if (a->way == DOWN) {
        probe = (uint64_t)(a->slack && a->most < a->base ? a->most : a->base) * 7 / 10;
        if (a->slack && probe < SLACK_LOW) probe = a->base < SLACK_LOW ? a->base : SLACK_LOW;
        return probe < FLOOR ? FLOOR : (uint32_t)probe;
    }
    probe = elasticity > ELASTIC ? (uint64_t)a->base * 2 : (uint64_t)a->base * 7 / 5 + 1;
    if ((uint64_t)a->base * 9 / 8 + 1 >= cap) {
        /* A step smaller than an eighth tells nothing but noise. */
        if (!a->elastic) return a->base;
        probe = (uint64_t)a->base * 9 / 8 + 1;
        cap = s->window_max;
    }
    if (probe > cap) probe = cap;
    if (a->full && probe >= a->full) probe = has_room_below_full(a) ? ((uint64_t)a->base + a->full) / 2 : a->base;
    return probe < a->base ? a->base : (uint32_t)probe;
}

/* A test in a->way, or the other way if there is no room in this one; none: stay at the base. */
static void begin_test(struct automatic *a, const struct rs_settings *s, int64_t elasticity, rs_time_t now) {
    forget_pairs(a);
    a->probe = probe_of(a, s, elasticity);
    if (a->probe == a->base && !a->slack) {
        a->way = a->way == UP ? DOWN : UP;
        a->probe = probe_of(a, s, 0);
    }
    if (a->probe == a->base && !a->slack && a->base < s->window_max) {
        /* At the floor, and the share cap is there too: only trying can tell whether the server has idle hands. */
        a->way = UP;
        a->probe = a->base + 1;
    }
    if (a->probe == a->base) begin_base(a, now);
    else begin_epoch(a, SETTLE_PROBE, a->probe, now);
}

/* The test is over: with a new base, whose speed is known, or with the old one. */
static void auto_gate_take(struct automatic *a, const struct rs_settings *s, struct speed speed, int64_t elasticity,
                           rs_time_t now) {
    a->base = a->probe;
    if (a->base >= a->full) a->full = 0;
    a->base_speed = speed;
    a->failed = a->rest = a->rest_next = 0;
    begin_test(a, s, elasticity, now);
}

static void auto_gate_leave(struct automatic *a, rs_time_t now) {
    forget_pairs(a);
    a->way = a->way == UP ? DOWN : UP;
    if (++a->failed >= 2) {
        a->failed = 0;
        a->rest_next = a->rest_next ? a->rest_next * 2 : 1;
        if (a->rest_next > REST_MAX) a->rest_next = REST_MAX;
        a->rest = a->rest_next;
    }
    begin_base(a, now);
}

/* (b - a) relative to the mean of both, in thousandths. */
static int64_t difference(uint64_t a, uint64_t b) {
    if (a + b == 0) return 0;
    return (int64_t)(((__int128)b - (__int128)a) * 2000 / (__int128)(a + b));
}

static int64_t elasticity_of(int64_t difference, int64_t step) {
    int64_t eps = difference * 1000 / step;
    return eps > EPS_MAX ? EPS_MAX : eps < -EPS_MAX ? -EPS_MAX : eps;
}

static void note(struct tally *t, int64_t eps) {
    t->n++;
    t->sum += eps;
    t->squares += eps * eps;
}

/* Sum of squared deviations from the mean. */
static int64_t spread(const struct tally *t) { return t->squares - t->sum * t->sum / t->n; }

static int64_t error_squared(const struct tally *t) { return spread(t) / (t->n * (t->n - 1)) + 25; }

/* The smallest difference of one pair that counts as more than noise, if it is `quiet` on a machine without noise. */
static int64_t beyond_noise(const struct automatic *a, int64_t quiet) { return quiet + NOISE_TIMES * a->noise8 / 8; }

/* Is the mean away from the border by three times its own error?  Squares, to do without a root. */
static int is_clear(const struct tally *t, int64_t border) {
    if (t->n < 3) return 0;
    int64_t away = t->sum / t->n - border;
    return away * away > 9 * error_squared(t);
}

/* Is the mean above the border by `errors` times its error? */
static int exceeds(const struct tally *t, int64_t border, int64_t errors) {
    int64_t away = t->sum / t->n - border;
    return t->n > 1 && away > 0 && away * away > errors * errors * error_squared(t);
}

/* May the truth, one error away from the mean, be more than the border? */
static int may_exceed(const struct tally *t, int64_t border) {
    int64_t room = border - t->sum / t->n;
    return t->n < 2 || room < 0 || room * room < error_squared(t);
}

/* Idle hands up to the base say little about beyond it, unless it is all of them. */
static int is_elastic(const struct automatic *a, int64_t elasticity) {
    return elasticity > (a->way == UP ? NOT_BUSY : ALL_IDLE);
}

/* True if most brief requests of a probe upwards took too long: requests queue at the server. */
static bool is_saturated(const struct automatic *a) { return a->late >= LATE_LEAST && a->late > a->on_time; }

static void note_brief(struct automatic *a, rs_time_t took) {
    if (took > LATE * a->usual[BRIEF] + LATE_BY) a->late++;
    else a->on_time++;
}

/* True if nearly all brief requests of a probe upwards beside long ones were on time. */
static bool finds_idle_workers(const struct automatic *a) {
    return is_mixed(a) && a->on_time >= LATE_LEAST && a->on_time >= 8 * a->late;
}

static void leave_saturated(struct automatic *a, rs_time_t now) {
    a->elastic = a->full_for = 0;
    a->full = a->window;
    if (has_room_below_full(a)) {
        auto_gate_leave(a, now);
        a->way = UP;
        a->failed = 0;
        a->rest = REST_BELOW;
        return;
    }
    if (a->rest_next < REST_SATURATED / 2) a->rest_next = REST_SATURATED / 2; /* auto_gate_leave doubles it */
    a->failed = 1;
    auto_gate_leave(a, now);
}

/*
 * Beside brief requests the reserve may keep long ones out of a part of the window.  A probe that is not full says
 * nothing about its window, and one that is beside a base that was not says too much.
 */
static bool tells_of_larger(const struct automatic *a, struct speed probe) {
    if (!is_mixed(a)) return true;
    return a->base_speed.present16 >= 14 * (uint64_t)a->base && probe.present16 >= 14 * (uint64_t)a->probe;
}

static void auto_gate_judge(struct automatic *a, const struct rs_settings *s, struct speed probe, rs_time_t now) {
    int64_t step = difference(a->base_speed.present16, probe.present16);
    int64_t responses = difference(a->base_speed.responses, probe.responses),
            bytes = difference(a->base_speed.bytes, probe.bytes);
    int64_t clear = beyond_noise(a, CLEAR);
    int gain = responses > clear && bytes > clear, loss = responses < -clear && bytes < -clear,
        inside = a->probe <= cap_of(a, s);
    if (a->way == UP ? step < STEP_MIN || !tells_of_larger(a, probe) : step > -STEP_MIN) {
        auto_gate_leave(a, now); /* as many at the server as before: nothing to learn */
        return;
    }
    note(&a->by_responses, elasticity_of(responses, step));
    note(&a->by_bytes, elasticity_of(bytes, step));
    if (a->by_responses.n == 1 && (a->way == UP ? gain && inside : loss)) {
        int64_t lower = a->by_responses.sum < a->by_bytes.sum ? a->by_responses.sum : a->by_bytes.sum;
        a->elastic = is_elastic(a, lower);
        if (a->way == DOWN) auto_gate_leave(a, now);
        else auto_gate_take(a, s, probe, lower, now);
        return;
    }
    if (a->by_responses.n == 1 && a->way == UP && inside && a->by_responses.sum > HALF && finds_idle_workers(a)) {
        auto_gate_take(a, s, probe, a->by_responses.sum, now);
        return;
    }
    if (a->by_responses.n == 1 && a->slack && a->way == DOWN && a->by_responses.sum > NOT_BUSY) {
        auto_gate_leave(a, now); /* idle hands: do not keep anybody waiting to know it better */
        return;
    }
    if (a->by_responses.n == 1 && (a->way == UP ? loss : gain)) {
        a->elastic = 0;
        if (a->way == DOWN) auto_gate_take(a, s, probe, 0, now);
        else auto_gate_leave(a, now);
        return;
    }
    const struct tally *t = spread(&a->by_bytes) < spread(&a->by_responses) ? &a->by_bytes : &a->by_responses;
    int64_t mean = t->sum / t->n, beyond = (a->way == UP ? a->probe : a->base) > cap_of(a, s);
    bool quick = a->base_speed.mean_us < QUICK;
    int64_t part = quick ? 3 : 1;
    int64_t take_at = beyond ? NOT_BUSY : TAKE / part, give_at = beyond ? NOT_BUSY : GIVE / part;
    if (t->n < (beyond ? PAIRS / 2 : PAIRS) && !is_clear(t, a->way == UP ? take_at : give_at)) {
        begin_base(a, now);
        return;
    }
    a->elastic = is_elastic(a, mean);
    if (a->way == UP ? exceeds(t, take_at, quick ? 0 : 2) : mean < give_at && (beyond || !may_exceed(t, GIVE + DOUBT)))
        auto_gate_take(a, s, probe, mean, now);
    else auto_gate_leave(a, now);
}

/* What a brief response counts: its part of a long one x WHOLE. */
static uint64_t part_of_brief(const struct automatic *a) {
    if (!a->usual[BRIEF] || !a->usual[LONG] || a->usual[BRIEF] > a->usual[LONG]) return WHOLE;
    return a->usual[BRIEF] * WHOLE / a->usual[LONG];
}

/* Responses whose time says something of the server: those that were not parked. */
static uint64_t responses_in(const struct meter *m) { return (uint64_t)m->n[BRIEF] + m->n[LONG]; }

/* With a response at least. */
static struct speed speed_of(const struct automatic *a, const struct rs_settings *s) {
    const struct meter *m = &a->meter;
    uint64_t n = responses_in(m), sum = m->time[BRIEF] + m->time[LONG];
    unsigned __int128 time = sum ? sum : 1, present16 = m->present * 16 / m->ends, most = (uint64_t)1 << 52;
    unsigned __int128 work = m->n[BRIEF] * part_of_brief(a) + (uint64_t)m->n[LONG] * WHOLE;
    unsigned __int128 responses = (work * present16 << 16) / time, bytes = (m->bytes * present16 << 22) / time;
    if (s->await_us) bytes = responses;
    return (struct speed){ (uint64_t)(responses < most ? responses : most), (uint64_t)(bytes < most ? bytes : most),
                           (uint64_t)present16, sum / n };
}

/* After a base epoch, between tests. */
static void learn_usual(struct automatic *a) {
    for (int k = 0; k < KINDS; k++) {
        a->absent[k] = a->meter.n[k] ? 0 : a->absent[k] + 1;
        if (a->absent[k] > USUAL_OF) a->usual[k] = a->absent[k] = 0;
        if (!a->meter.n[k]) continue;
        uint64_t mean = a->meter.time[k] / a->meter.n[k] + 1;
        if (a->usual[k] && mean > 2 * a->usual[k]) mean = 2 * a->usual[k]; /* a while in which requests queue */
        a->usual[k] = a->usual[k] ? a->usual[k] - a->usual[k] / USUAL_OF + mean / USUAL_OF : mean;
    }
}

static int auto_gate_is_over(const struct automatic *a, rs_time_t now) {
    const struct meter *m = &a->meter;
    uint32_t window = a->window;
    uint64_t enough = 2 * (uint64_t)window > ENOUGH ? 2 * (uint64_t)window : ENOUGH;
    if (now - m->since < EPOCH_MIN) return 0;
    if (a->phase == PROBE && a->way == UP && is_mixed(a) && now - m->since < a->usual[LONG] &&
        now - m->since < 10 * EPOCH_MAX)
        return 0;
    return m->ends >= enough || (now - m->since >= EPOCH_MAX && m->ends >= window) || now - m->since >= 10 * EPOCH_MAX;
}

static void end_base(struct automatic *a, const struct rs_settings *s, struct speed speed, rs_time_t now) {
    int64_t responses = difference(a->base_speed.responses, speed.responses),
            bytes = difference(a->base_speed.bytes, speed.bytes);
    int known = a->base_speed.responses != 0 && !a->slack;
    int64_t most = beyond_noise(a, CHANGED);
    int changed = known && ((responses > most && bytes > most) || (responses < -most && bytes < -most));
    if (known && !changed) a->noise8 += (uint32_t)(responses < 0 ? -responses : responses) - a->noise8 / 8;
    if (!a->by_responses.n) {
        learn_usual(a);
        if (++a->full_for > 2 * REST_SATURATED) a->full = 0;
        speed = speed_of(a, s); /* what a brief request counts is another part from now on */
    }
    a->base_speed = speed;
    if (a->slack && !a->by_responses.n) a->way = DOWN;
    if (changed) {
        a->way = UP;
        a->full = 0;
        a->failed = a->rest = a->rest_next = 0;
        begin_test(a, s, 0, now);
    } else if (a->rest) {
        a->rest--;
        begin_base(a, now);
    } else if (a->by_responses.n) {
        begin_epoch(a, SETTLE_PROBE, a->probe, now);
    } else {
        begin_test(a, s, a->elastic && a->way == UP ? EPS_MAX : 0, now);
    }
}

static void learn_cap(struct rs_outlet *o, struct automatic *a) {
    uint32_t cap = o->share_cap > 100000000 ? 100000000 : o->share_cap;
    if (o->share_cap == RS_NIL || o->share_cap == 0) a->cap16 = 0;
    else a->cap16 = a->cap16 ? a->cap16 - a->cap16 / 4 + cap * 4 : cap * 16;
}

/* A probe upwards beside long requests, whose window is not there yet: it is not saturated, or not known to be. */
static void step_up(struct automatic *a, rs_time_t now) {
    uint32_t late = a->late, on_time = a->on_time;
    if (a->settle) a->settle--;
    if (on_time >= STEP_ON_TIME && on_time > 2 * late) {
        set_window(a, step_after(a, a->probe), now);
    } else if (!a->settle) {
        set_window(a, on_time + late ? step_after(a, a->probe) : a->probe, now);
        a->late = late; /* these few are all there are */
        a->on_time = on_time;
    }
}

static void auto_gate_ended(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now,
                            const struct rs_ticket_row *r) {
    struct automatic *a = auto_gate_state(o);
    struct meter *m = &a->meter;
    enum kind kind = r->began_brief ? BRIEF : LONG;
    a->longs = o->longs;
    bool known = kind == BRIEF && !r->was_parked && r->released >= m->since && is_mixed(a);
    if (a->phase >= SETTLE_PROBE && a->way == UP && known) {
        note_brief(a, now - r->released);
        if (is_saturated(a)) {
            leave_saturated(a, now);
            tell_window(o, a);
            return;
        }
    }
    if (a->phase == SETTLE_PROBE && a->window < a->probe && a->window > a->base) {
        step_up(a, now);
        tell_window(o, a);
        return;
    }
    if (a->settle) {
        if (--a->settle) return;
        a->phase++;
        *m = (struct meter){ .since = now };
        return;
    }
    if (rs_nobody_waits(o)) m->slack++;
    if (o->outstanding >= m->most) m->most = o->outstanding + 1;
    m->present += o->outstanding + 1;
    m->ends++;
    if (!r->was_parked) {
        m->n[kind]++;
        m->time[kind] += now - r->released;
        m->bytes += r->received;
    }
    if (!auto_gate_is_over(a, now)) return;
    if (!responses_in(m)) {
        *m = (struct meter){ .since = now };
        return;
    }
    struct speed speed = speed_of(a, s);
    int slack = m->slack * 8 > m->ends;
    if (slack) a->most = m->most;
    learn_cap(o, a);
    o->cap_wanted = 1;
    if (a->phase == BASE) a->slack = slack ? a->slack + 1 : 0;
    if (slack && (a->phase == PROBE ? a->way == UP : a->slack < SLACK_RUN)) {
        /* Nobody fills it.  A probe upwards is no use then; without this the same one would be tried for ever. */
        if (a->phase == PROBE) {
            a->way = DOWN;
            a->elastic = 0;
        }
        forget_pairs(a);
        a->base_speed = (struct speed){ 0 };
        begin_base(a, now);
    } else if (a->phase == BASE) {
        end_base(a, s, speed, now);
    } else {
        auto_gate_judge(a, s, speed, now);
    }
    tell_window(o, a);
}

static void auto_gate_init(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now, int again) {
    _Static_assert(sizeof(struct automatic) <= sizeof o->gate_state, "the gate's state has no room");
    struct automatic *a = auto_gate_state(o);
    uint32_t base = again && a->base >= FLOOR ? a->base : rs_window_or(s, NORMAL);
    if (base > s->window_max) base = s->window_max;
    if (base < FLOOR) base = FLOOR;
    *a = (struct automatic){ .window = base, .base = base, .probe = base, .way = UP, .noise8 = 8 * NOISE_FIRST };
    o->share_cap = RS_NIL;
    o->cap_wanted = 1;
    begin_base(a, now);
    tell_window(o, a);
}

static uint32_t auto_gate_limit(const struct rs_outlet *o, const struct rs_settings *s) {
    (void)s;
    return auto_gate_state(o)->window;
}

static const char *auto_gate_check(const struct rs_outlet *o, const struct rs_settings *s) {
    const struct automatic *a = auto_gate_state(o);
    if (a->window < FLOOR || a->window > s->window_max || a->base < FLOOR || a->base > s->window_max ||
        a->probe > s->window_max)
        return "auto: the window is out of bounds";
    if (a->phase > PROBE || a->way > DOWN) return "auto: an epoch of no kind";
    if (a->settle > s->window_max || a->rest > REST_MAX) return "auto: an epoch without end";
    if (o->open_below != a->window) return "auto: the gate and its window differ";
    bool in_steps = a->phase == SETTLE_PROBE && a->window > a->base && a->window < a->probe;
    if (!in_steps && a->window != (a->phase < SETTLE_PROBE ? a->base : a->probe))
        return "auto: the window is not that of its epoch";
    return o->open_base == a->base ? NULL : "auto: the gate and its base differ";
}

const struct rs_gate_ops rs_gate_auto = {
    .name = "auto", .init = auto_gate_init, .ended = auto_gate_ended, .limit = auto_gate_limit, .check = auto_gate_check
};
