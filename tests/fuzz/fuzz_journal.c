/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An engine in memory that somebody wrote over: its journal, or all of it but the constant part, or all.  A rebuild,
 * which does the journal's work again, is refused with a sentence, or done; and if the engine is sound then, it is
 * sound after more calls, and is made anew once more, unless its arrivals stood so near the bound that they passed it.
 */
#include "fuzz_memory.h"

#include "core/rs_engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TICKETS 16u
#define CLASSES 5u
#define OUTLETS 3u

static rs_engine_t *e;
static void *pristine, *journal;
static size_t bytes;
static rs_ticket_t tickets[TICKETS];

static const struct rs_class_settings classes[4] = {
    { .name = "people", .weight = 6, .delay_ms = 5 },
    { .name = "search", .weight = 3, .order = RS_ORDER_SHORTEST, .wait_bound_ms = 10 },
    { .name = "crawlers", .weight = 1, .queue_max = 9, .slots = 2, .within = 2 },
    { .name = "members", .weight = 9, .delay_ms = 20 },
};

static const struct rs_outlet_settings outlets[3] = {
    { .name = "app", .gate = RS_GATE_WINDOW, .window = 1, .window_max = 2 },
    { .name = "shop", .gate = RS_GATE_AUTO, .window = 3, .window_max = 9 },
    { .name = "wiki", .gate = RS_GATE_WINDOW, .window = 2, .window_max = 2 },
};

/* By three networks of two addresses each. */
static enum rs_refusal submit(rs_time_t now, uint32_t class, uint32_t outlet, uint64_t estimate, uint32_t owner,
                              rs_ticket_t *t) {
    uint64_t key[RS_KEY_LEVELS] = { estimate % 3, estimate % 2 };

    return rs_submit_keyed(e, now, class, outlet, estimate, key, owner, 0, t);
}

/*
 * Of three classes there are requests in every state; then a configuration is under way that drops one of them and has
 * another.  Likewise for outlets, where that is what the journal says.
 */
static void set_up(void) {
    struct rs_capacity cap = { .classes = CLASSES, .tickets = TICKETS, .outlets = OUTLETS, .keys = 8 };
    struct rs_settings s;
    const char *why;
    rs_time_t again;

    bytes = rs_size(&cap);
    e = mmap(NULL, (bytes + 4095) / 4096 * 4096 + RS_REACH, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
             0);
    if (e == MAP_FAILED || mprotect(e, bytes, PROT_READ | PROT_WRITE)) abort();
    rs_settings_default(&s);
    s.window = 4;
    if (!rs_create(e, bytes, &cap, &s, classes, 3, 0, &why)) abort();
    if (rs_outlets(e, outlets, 2, 0, &why)) abort();
    for (uint32_t i = 0; i < 12; i++)
        if (submit(i, i % 3, i / 3 % OUTLETS, 1000 + i, 1 + i % 2, &tickets[i]) != RS_OK) abort();
    for (int i = 0; i < 4; i++) rs_pick(e, 20, &again);
    rs_park(e, 21, tickets[0]);
    pristine = malloc(bytes);
    journal = malloc(bytes);
    if (!pristine || !journal) abort();
    memcpy(pristine, e, bytes);
    s.sched = RS_SCHED_RFQ;
    if (rs_configure(e, &s, classes + 1, 3, NULL, 30, &why)) abort();
    memcpy(journal, e, bytes);
    /* The journal of after, in the state of before. */
    if (rs_outlets(e, outlets + 1, 2, 30, &why)) abort();
    memcpy(rs_outlet_wanted(pristine, 0), rs_outlet_wanted(e, 0), OUTLETS * sizeof(struct rs_outlet_row));
    memcpy(rs_journal(pristine, 0), rs_journal(journal, 0), CLASSES * sizeof(struct rs_journal_row));
    ((rs_engine_t *)pristine)->journal_settings = ((rs_engine_t *)journal)->journal_settings;
    ((rs_engine_t *)pristine)->journal_classes = ((rs_engine_t *)journal)->journal_classes;
    ((rs_engine_t *)pristine)->journal_valid = 1;
    memory_catch(e, (bytes + 4095) / 4096 * 4096 + RS_REACH);
}

static void live(struct input *in, rs_time_t now) {
    rs_time_t again;
    rs_ticket_t t = RS_NO_TICKET;

    for (int i = 0; i < 40; i++, now += 10000) {
        switch (byte(in) % 9) {
        case 0:
        case 1:
            if (submit(now, byte(in) % CLASSES, byte(in) % OUTLETS, word(in), 1, &t) == RS_OK) tickets[i % TICKETS] = t;
            break;
        case 2:
        case 3:
            t = rs_pick(e, now, &again);
            if (t != RS_NO_TICKET) tickets[i % TICKETS] = t;
            break;
        case 4: rs_finish(e, now, tickets[byte(in) % TICKETS]); break;
        case 5: rs_progress(e, now, tickets[byte(in) % TICKETS], word(in) % 100000); break;
        case 6: rs_cancel(e, now, tickets[byte(in) % TICKETS]); break;
        case 7:
            t = rs_overdue(e, now);
            if (t != RS_NO_TICKET) tickets[i % TICKETS] = t;
            break;
        default: rs_reclaim(e, now, byte(in) % 4); break;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = { data, data + size };
    uint8_t part, writes;

    if (!pristine) set_up();
    memcpy(e, pristine, bytes);
    part = byte(&in) % 4;
    writes = byte(&in) % 16;
    if (!(part & 1)) e->journal_valid = byte(&in);
    for (int i = 0; i < writes; i++) {
        if (part < 2) write_over(&in, rs_journal(e, 0), CLASSES * sizeof(struct rs_journal_row));
        if (part < 2) write_over(&in, rs_outlet_row(e, 0), 2 * OUTLETS * sizeof(struct rs_outlet_row));
        if (part == 1) write_over(&in, &e->journal_valid, sizeof *e - offsetof(struct rs_engine, journal_valid));
        if (part == 2) write_over(&in, (char *)e + RS_CONSTANT, bytes - RS_CONSTANT);
        if (part == 3) write_over(&in, e, bytes);
    }
    if (!MEMORY_TRY) {
        /* What a host's lock would have found out. */
        if (!memcmp(e, pristine, RS_CONSTANT) && !rs_rebuild(e, 100000) && !rs_check(e)) {
            rs_time_t now = e->now;
            live(&in, now < UINT64_MAX / 2 ? now : 0);
            if (rs_check(e)) __builtin_trap();
            if (e->seq < RS_ARRIVALS_MAX && (rs_rebuild(e, 0) || rs_check(e))) __builtin_trap();
        }
    }
    memory_trying = 0;
    return 0;
}
