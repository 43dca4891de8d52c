/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The segment that processes share, and httpd's area in it, while one of them writes whatever it likes anywhere.  What
 * a child calls ends well, or the child leaves the segment, or it dies as fuzz_memory.h allows; then the next one
 * comes, to a lock whose holder died.  After a child has left, its memory is its own: there it does not die.  What the
 * parent calls never ends in any way but well, and neither touches anything outside.  Likewise a child that is one main
 * loop, which has a table of its own of what waits, by the places of tickets.
 */
#include "fuzz_memory.h"

#include <stdarg.h>
#include <stdatomic.h>

/* Who leaves maps memory of its own: here that is always the same, and nothing is mapped. */
static void *own_mmap(void *at, size_t n, int protection, int flags, int fd, off_t from);
static void *own_mremap(void *at, size_t was, size_t n, int flags, ...);
static int own_munmap(void *at, size_t n);
#define mmap   own_mmap
#define mremap own_mremap
#define munmap own_munmap
#include "shm/shm_lock.c"
#include "shm/shm_loop.c"
#include "shm/shm_owners.c"
#include "shm/shm_rows.c"
#include "shm/shm_segment.c"
#undef mmap
#undef mremap
#undef munmap

#include "pages/pages_known.h"
#include "pages/pages_learnt.h"
#include "pages/pages_ring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TICKETS 16u
#define CLASSES 4u
#define OPS     200
#define PAGES   4u

/* As mod_qos_drr has it, but for what it counts. */
struct area {
    struct pages_known known;
    struct pages_ring ring;
};

static struct shm_view v;
static struct shm_loop loop;
static void *pristine;
static int stock[3];
static rs_ticket_t tickets[TICKETS];
static unsigned serial;

static void *own_mmap(void *at, size_t n, int protection, int flags, int fd, off_t from) {
    static void *own;

    if (!pristine) return mmap(at, n, protection, flags, fd, from);
    if (!own && !(own = malloc(v.bytes))) abort();
    return memset(own, 0, n);
}

/* What asks for a second place of the same memory has the first. */
static void *own_mremap(void *at, size_t was, size_t n, int flags, ...) {
    va_list args;
    void *to;

    if (!was) return at;
    va_start(args, flags);
    to = va_arg(args, void *);
    va_end(args);
    return memcpy(to, at, n);
}

static int own_munmap(void *at, size_t n) {
    (void)at, (void)n;
    return 0;
}

static void note_lost(pid_t child, uint32_t requests) { (void)child, (void)requests; }
static void note_left(const char *why) { (void)why; }
static void note_slot(const struct shm_view *of, uint64_t now, rs_ticket_t t, uint64_t us) {
    rs_progress(of->engine, now, t, us);
}
static const struct shm_host host = { .lost = note_lost, .left = note_left, .had_slot = note_slot };
static const struct shm_host loop_host = { .lost = note_lost, .left = note_left };

static const struct rs_class_settings classes[3] = {
    { .name = "people", .weight = 6, .delay_ms = 1 },
    { .name = "search", .weight = 3, .order = RS_ORDER_SHORTEST, .wait_bound_ms = 10 },
    { .name = "crawlers", .weight = 1, .queue_max = 9, .slots = 1, .within = 2 },
};
static const struct rs_outlet_settings outlets[2] = {
    { .name = "app", .gate = RS_GATE_WINDOW, .window = 2, .window_max = 2 },
    { .name = "shop", .gate = RS_GATE_AUTO, .window = 3, .window_max = 9 },
};

static void set_up(void) {
    struct shm_size z = { .owners = 3,
                          .classes = CLASSES,
                          .tickets = TICKETS,
                          .outlets = 3,
                          .area = sizeof(struct area) + pages_learnt_bytes(PAGES),
                          .keys = 8 };
    struct rs_settings s;
    const char *why;

    rs_settings_default(&s);
    s.window = 2;
    v.alarm = -1;
    v.host = &host;
    if (shm_make(&v, &z, &s, classes, 3, &why)) abort();
    for (int i = 0; i < 3; i++)
        if ((stock[i] = eventfd(0, EFD_NONBLOCK)) < 0) abort();
    shm_stock(&v, stock, 3);
    loop.view = v;
    loop.view.stock = NULL;
    loop.view.nstock = 0;
    loop.view.host = &loop_host;
    loop.view.bells = stock; /* somewhere to write */
    loop.fd = 0;
    if (!(pristine = malloc(v.bytes))) abort();
    memcpy(pristine, v.sh, v.bytes);
    memory_catch(v.sh, v.reserved);
}

/* As a host does it (qos_hold.c). */
static void submit(struct input *in, uint32_t child) {
    struct shm_wakes w = { .n = 0 };
    rs_ticket_t t = RS_NO_TICKET;
    uint32_t class = byte(in) % CLASSES, way = byte(in) % 5;
    struct shm_request q = { .owner = child,
                             .class = class,
                             .outlet = class % 3,
                             .estimate = word(in),
                             .deadline = UINT64_MAX,
                             .client_fd = -1,
                             .park_us = way == 3 ? 1000000 : 0,
                             .key = { way % 3, way % 2 } };

    shm_reclaim(&v);
    shm_lock(&v);
    if (shm_begin_locked(&v, shm_now(), &q, &t) == RS_OK) {
        shm_pump_locked(&v, shm_now(), child, t, &w);
        if (shm_row_of(&v, t)->go) way = 0;
        if (way == 1 || (way == 4 && shm_block_locked(&v, t, class, 1, 1))) shm_hold_locked(&v, t);
        else if (way == 2) shm_block_locked(&v, t, class, 1, 1);
        else if (way == 3) shm_block_aside_locked(&v, t);
        tickets[serial++ % TICKETS] = t;
    }
    shm_unlock(&v);
    shm_wake(&v, &w);
}

static void end(rs_ticket_t t, int whole) {
    struct shm_wakes w = { .n = 0 };
    uint32_t index = rs_ticket_index(t);

    if (index >= v.size.tickets) return;
    shm_lock(&v);
    if (whole) rs_finish(v.engine, shm_now(), t);
    else rs_abort(v.engine, shm_now(), t);
    shm_end_locked(&v, t);
    shm_pump_locked(&v, shm_now(), 0, RS_NO_TICKET, &w);
    shm_unlock(&v);
    shm_wake(&v, &w);
}

static void dispatch(uint32_t child) {
    struct shm_row *row;

    shm_lock(&v);
    for (uint32_t n = 0; n < TICKETS && (row = shm_next_released_locked(&v, child)) != NULL; n++) shm_row_fd(&v, row);
    shm_unlock(&v);
}

static void read_all(void) {
    struct rs_stats all;
    struct rs_class_stats c;
    struct rs_outlet_stats o;

    shm_lock(&v);
    rs_stats(v.engine, &all);
    for (uint32_t i = 0; i < 4; i++) rs_outlet_stats(v.engine, i, &o);
    rs_windows(v.engine);
    for (uint32_t i = 0; i < CLASSES; i++) rs_class_stats(v.engine, i, &c);
    shm_unlock(&v);
}

static void child_does(struct input *in, uint8_t op) {
    static const struct pages_known_area known = { -1, NULL };
    struct area *area = v.area;
    uint32_t child = byte(in) % 3, generation = byte(in), number[3], which = byte(in) % TICKETS;
    rs_ticket_t t = tickets[which];
    struct rs_settings s;
    const char *why;
    bool left_out;

    switch (op % 16) {
    case 0:
    case 1:
    case 2: submit(in, child); break;
    case 3: end(t, 1); break;
    case 4: end(t, 0); break;
    case 5:
        if (rs_ticket_index(t) < v.size.tickets) shm_end_wait(&v, t);
        break;
    case 6: shm_pump(&v, child); break;
    case 7: shm_sweep(&v, word(in)); break;
    case 8: shm_owner_started(&v, (pid_t)generation); break;
    case 9: shm_reclaim(&v); break;
    case 10: dispatch(child); break;
    case 11: read_all(); break;
    case 12:
        rs_settings_default(&s);
        s.sched = generation % RS_SCHED_COUNT;
        s.gate = generation / 8 % RS_GATE_COUNT;
        shm_configure(&v, generation, &s, classes, 3, 2, number, &why);
        for (int i = 0; i < 3; i++)
            if (number[i] >= CLASSES) abort();
        shm_configure_outlets(&v, generation, outlets, generation % 3, number, &left_out, &why);
        for (int i = 0; i < (int)(generation % 3); i++)
            if (number[i] >= 3) abort();
        break;
    case 13:
        shm_lock(&v);
        rs_header(v.engine, shm_now(), t, word(in));
        rs_progress(v.engine, shm_now(), t, word(in));
        shm_unlock(&v);
        break;
    case 14:
        shm_lock(&v);
        if (generation & 1) rs_park(v.engine, shm_now(), t);
        shm_unlock(&v);
        if (!(generation & 1) && rs_ticket_index(t) < v.size.tickets) shm_resume(&v, t);
        if (generation & 2 && rs_ticket_index(t) < v.size.tickets) shm_begins(&v, t);
        if (generation & 4 && rs_ticket_index(t) < v.size.tickets) shm_park(&v, child, t, SHM_PARKED_LARGE);
        if (shm_keeps(&v, generation, child)) shm_keeps_no_longer(&v, generation, child);
        break;
    default:
        pages_ring_put(&area->ring, word(in) | 1);
        pages_ring_take(&area->ring);
        pages_learnt_add(area + 1, PAGES, word(in), word(in));
        pages_known_mean(&area->known, &known, word(in));
        break;
    }
}

static void note_place(rs_ticket_t t) {
    if (rs_ticket_index(t) >= TICKETS) __builtin_trap();
    tickets[serial++ % TICKETS] = t;
}

static void loop_does(struct input *in, uint8_t op) {
    rs_ticket_t t = tickets[byte(in) % TICKETS];
    uint32_t class = byte(in), number[3];
    const uint64_t key[RS_KEY_LEVELS] = { class % 3, class % 2 };
    struct rs_settings s;
    const char *why;

    loop.own = class % 3;
    rs_settings_default(&s);
    s.window = class;
    shm_loop_lock(&loop);
    switch (op % 8) {
    case 0:
        if (shm_loop_submit_locked(&loop, shm_now(), class % CLASSES, word(in), key, 0, &t) == RS_OK) note_place(t);
        break;
    case 1: shm_loop_pump_locked(&loop, shm_now()); break;
    case 2:
        for (uint32_t n = 0; n < TICKETS && (t = shm_loop_next_locked(&loop)) != RS_NO_TICKET; n++) note_place(t);
        break;
    case 3: shm_loop_end_locked(&loop, shm_now(), t, class & 1); break;
    case 4: shm_loop_cancel_locked(&loop, shm_now(), t); break;
    case 5:
        rs_header(loop.view.engine, shm_now(), t, word(in));
        rs_progress(loop.view.engine, shm_now(), t, word(in));
        rs_allowance(loop.view.engine, shm_now(), t);
        rs_set_rate(loop.view.engine, shm_now(), word(in), word(in));
        break;
    default: break;
    }
    shm_loop_unlock(&loop);
    if (op % 8 == 6) {
        s.gate = class % RS_GATE_COUNT;
        s.rate = word(in) % 1000000;
        shm_loop_configure(&loop, class, &s, classes, 3, 2, number, &why);
    } else if (op % 8 == 7) {
        shm_loop_reclaim(&loop);
        shm_loop_number(&loop, classes, 3, class % 3, number);
    }
    for (int i = 0; i < 3 && op % 8 >= 6; i++)
        if (number[i] >= CLASSES) __builtin_trap();
}

static void parent_does(uint8_t op) {
    if (op & 1) shm_tell_ended(&v, op >> 4);
    else shm_tell_generation(&v, op);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = { data, data + size };
    volatile int deaths = 0, ops = 0;

    if (!pristine) set_up();
    atomic_store(&left_from, NULL);
    memcpy(v.sh, pristine, v.bytes);
    memset(tickets, 0, sizeof tickets);
    v.told_ended = 0;
    if (MEMORY_TRY) {
        /* A child died.  The kernel marks a lock that it held. */
        if (shm_has_left(&v)) __builtin_trap();
        if (v.sh->lock.word & 0x3fffffff) v.sh->lock.word = (v.sh->lock.word & 0x80000000) | 0x40000000;
        if (++deaths > 4) goto out;
    }
    while (in.at < in.end && ops++ < OPS) {
        uint8_t op = byte(&in);

        /* Nobody else writes to what a child has for itself. */
        if (op >= 0xc0 && !shm_has_left(&v)) {
            write_over(&in, v.sh, v.bytes);
        } else if (op >= 0xb0) {
            memory_trying = 0;
            if (!shm_has_left(&v)) parent_does(byte(&in));
            memory_trying = 1;
        } else if (op >= 0xa0) {
            loop_does(&in, op);
        } else {
            child_does(&in, op);
        }
    }
    if (shm_has_left(&v) && rs_check(v.engine)) __builtin_trap();
out:
    memory_trying = 0;
    return 0;
}
