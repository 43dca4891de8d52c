/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "fatal.h"
#include "fqrs/Host.h"
#include "fqrs/Clock.h"
#include "fqrs/Config.h"
#include "fqrs/Scheduler.h"
#include "fqrs/Ticket.h"
#include "globals.h"

#include <algorithm>
#include <sys/mman.h>

/// more than POLICY_CLASSES_MAX, so that a reconfiguration finds room while old classes still have outstanding
/// responses
static const uint32_t ClassesMax = 16384;
static const uint32_t TicketsMax = 65536;
static const uint32_t Nil = UINT32_MAX;

/// A response from which too little came for so long does not count as outstanding: a round trip over the far end of
/// the world and a queue of
/// some hundred milliseconds at the ISP are less, and who waits behind it is kept for less than a second.
static const rs_time_t StallTime = 500000;
/// Too little is less than this, and less than this part of what it may have on its way: which is what the link would
/// bring of it in less time.
static const uint64_t StallBytes = 1024;
static const uint64_t StallPart = 5;
/// how often it is looked for bytes that lie unread, responses that are stalled, and waits that are over
static const rs_time_t TickTime = 100000;
/// Bytes lie unread, waiting for more, for no longer than this and a tick.
static const rs_time_t UnreadTime = 250000;

/// A tunnel's turn: such a part of what may be outstanding in all. Its window is about an eighth of that, and what
/// comes after a turn, before the window is shut, is as much. With shorter turns most of a tunnel's bytes would come
/// between them, and by their windows, of three segments at least, all tunnels have equal parts.
static const uint64_t TurnParts = 3;
static const uint64_t TurnPart = 8;
/// where nobody knows how much may be outstanding, and at least
static const uint64_t UsualTurn = 64 << 10;
static const uint64_t LeastTurn = 16 << 10;

/// no client is told to come back later than after so many seconds
static const rs_time_t LongestRetry = 60;

/// Squid itself needs some descriptors, too: it stops taking connections when no more than a hundred are left, and
/// keeps none for a next
/// request while they are fewer than twice that (comm_init(), fdUsageHigh()).
static uint32_t
MostSeats()
{
    return std::max(Squid_MaxFD - 2 * std::min(100, Squid_MaxFD / 4), 1);
}

Fqrs::Scheduler &
Fqrs::Scheduler::Instance()
{
    static Scheduler scheduler;
    return scheduler;
}

Fqrs::Scheduler::Scheduler():
    active{Nil, Nil},
    alarm(Rang)
{
}

/* ---- configuration ----------------------------------------------------------------------------------------------- */

void
Fqrs::Scheduler::configure(const Config &config)
{
    const bool wanted = config.enabled;
    ++generation_;
    accepting = false;
    if (!engine_ && !wanted)
        return;

    if (!engine_)
        create(config);

    auto settings = config.settings;
    if (!wanted)
        settings.gate = RS_GATE_NONE; // whoever waits may go
    std::vector<struct rs_class_settings> classes;
    for (const auto &c: config.classes)
        classes.push_back(c.settings);

    std::vector<uint32_t> fresh(classes.size());
    const char *why = nullptr;
    if (rs_configure(engine_, &settings, classes.data(), classes.size(), fresh.data(), Now(), &why) != 0) {
        // only when more classes are retired, with responses outstanding, than there is room for
        debugs(96, DBG_CRITICAL,
               "ERROR: fqrs keeps its former settings, and takes classes it does not know for \"" << names[0]
                                                                                                  << "\": " << why);
        for (size_t i = 0; i < classes.size(); ++i) {
            const auto former = std::find(names.begin(), names.end(), SBuf(classes[i].name));
            fresh[i] = numbers[former == names.end() ? 0 : former - names.begin()];
        }
    }
    numbers.swap(fresh);
    names.clear();
    for (size_t i = 0; i < classes.size(); ++i) {
        names.emplace_back(classes[i].name);
        waits[numbers[i]] = config.classes[i].waitSeconds;
        queuesUsed = std::max(queuesUsed, numbers[i] + 1);
    }
    std::vector<Seats::Share> shares;
    for (size_t i = 0; i < classes.size(); ++i) {
        auto &owner = owners[numbers[i]];
        if (owner != names[i]) { // another one begins anew, as it does with the engine
            owner = names[i];
            refusalsByClass[numbers[i]].fill(0);
        }
        shares.push_back({numbers[i], classes[i].weight});
    }
    seats_.configure(MostSeats(), shares);
    turn_ = settings.gate == RS_GATE_BYTES && settings.rate
                ? std::max(settings.rate * settings.horizon_ms / 1000 * TurnParts / TurnPart, LeastTurn)
                : UsualTurn;
    link_.use(wanted ? config.interface : SBuf());
    accepting = wanted;
    debugs(96, DBG_IMPORTANT,
           "fqrs " << (wanted ? "on" : "off") << ": " << classes.size() << " classes, order "
                   << rs_sched_name(settings.sched) << ", window " << rs_gate_name(settings.gate) << ", " << waiting
                   << " requests waiting, " << released << " outstanding");
    admit(Now());
}

void
Fqrs::Scheduler::create(const Config &config)
{
    struct rs_capacity capacity = {};
    capacity.classes = ClassesMax;
    capacity.tickets = TicketsMax;
    capacity.outlets = 1;
    const auto size = rs_size(&capacity);
    const auto memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fatalf("fqrs: no memory for %zu bytes: %s", size, xstrerr(errno));

    std::vector<struct rs_class_settings> classes;
    for (const auto &c: config.classes)
        classes.push_back(c.settings);
    const char *why = nullptr;
    engine_ = rs_create(memory, size, &capacity, &config.settings, classes.data(), classes.size(), Now(), &why);
    if (!engine_)
        fatalf("fqrs: %s", why);
    rows.assign(TicketsMax, Row{nullptr, RS_NO_TICKET, 0, 0, 0, 0, Nil, Nil, false});
    queues.assign(ClassesMax, List{Nil, Nil});
    waits.assign(ClassesMax, 0);
    refusalsByClass.assign(ClassesMax, Refusals{});
    owners.resize(ClassesMax);
}

void
Fqrs::Scheduler::shutdown()
{
    accepting = false;
    for (auto &list: queues) {
        while (list.first != Nil)
            rows[list.first].ticket->lost(rows[list.first].number, SHUTDOWN);
    }
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

Fqrs::Scheduler::Row &
Fqrs::Scheduler::rowOf(const Ticket &t)
{
    auto &row = rows[rs_ticket_index(t.number)];
    assert(row.ticket == &t);
    return row;
}

void
Fqrs::Scheduler::append(List &list, const uint32_t index)
{
    auto &row = rows[index];
    row.before = list.last;
    row.after = Nil;
    (list.last == Nil ? list.first : rows[list.last].after) = index;
    list.last = index;
}

void
Fqrs::Scheduler::remove(List &list, const uint32_t index)
{
    auto &row = rows[index];
    (row.before == Nil ? list.first : rows[row.before].after) = row.after;
    (row.after == Nil ? list.last : rows[row.after].before) = row.before;
    row.before = row.after = Nil;
}

/* ---- the life of a ticket; ticket.number is RS_NO_TICKET for one that was let through without the engine --------- */

Fqrs::Refusal
Fqrs::Scheduler::enqueue(Ticket &t, const uint32_t classNumber, rs_ticket_t &place, const uint64_t estimate)
{
    const auto now = Now();
    const auto refusal = rs_submit(engine_, now, classNumber, 0, estimate, 0, 0, &place);
    if (refusal != RS_OK) {
        place = RS_NO_TICKET;
        return refusal == RS_CLASS_FULL ? CLASS_FULL : refusal == RS_SHARE_FULL ? SHARE_FULL : QUEUE_FULL;
    }
    const auto index = rs_ticket_index(place);
    auto &row = rows[index];
    row.ticket = &t;
    row.number = place;
    row.classNumber = classNumber;
    row.parked = false;
    row.moved = now;
    append(queues[classNumber], index);
    ++waiting;
    return REFUSALS;
}

void
Fqrs::Scheduler::dequeue(rs_ticket_t &place)
{
    if (place == RS_NO_TICKET)
        return;
    const auto done = rs_cancel(engine_, Now(), place);
    assert(done);
    const auto index = rs_ticket_index(place);
    auto &row = rows[index];
    remove(queues[row.classNumber], index);
    --waiting;
    row.ticket = nullptr;
    place = RS_NO_TICKET;
}

/// lets as many go as the window has room for
void
Fqrs::Scheduler::admit(const rs_time_t now)
{
    rs_time_t again = RS_NEVER;
    while (waiting) {
        const auto number = rs_pick(engine_, now, &again);
        if (number == RS_NO_TICKET)
            break;
        const auto index = rs_ticket_index(number);
        auto &row = rows[index];
        remove(queues[row.classNumber], index);
        append(active, index);
        row.read = row.moved = now;
        row.since = 0;
        --waiting;
        ++released;
        row.ticket->picked(number, row.classNumber);
    }
    if (!waiting && !released && postponed.empty()) {
        nextTick = RS_NEVER;
        return;
    }
    if (nextTick == RS_NEVER) {
        link_.restart(); // what came before is of no interest
        nextTick = now + TickTime;
    }
    alarm.set(std::min(again, nextTick));
}

void
Fqrs::Scheduler::progress(Ticket &t, const uint64_t bytes)
{
    link_.explained(bytes);
    if (t.number == RS_NO_TICKET)
        return;
    const auto now = Now();
    const auto index = rs_ticket_index(t.number);
    auto &row = rowOf(t);
    row.read = now;
    row.since += bytes;
    if (row.parked ? row.since >= StallBytes : row.since >= enough(t)) {
        row.moved = now;
        row.since = 0;
        if (row.parked) {
            rs_resume(engine_, now, t.number);
            row.parked = false;
            append(active, index);
        }
    }
    if (!row.parked && active.last != index) {
        remove(active, index);
        append(active, index);
    }
    rs_progress(engine_, now, t.number, bytes);
    admit(now);
}

void
Fqrs::Scheduler::expect(Ticket &t, const uint64_t length)
{
    if (t.number == RS_NO_TICKET)
        return;
    lengthen(t, length);
    admit();
}

void
Fqrs::Scheduler::lengthen(Ticket &t, const uint64_t length)
{
    if (t.number != RS_NO_TICKET)
        rs_header(engine_, Now(), t.number, length);
}

/// Bytes that a response must bring within StallTime not to be parked.
uint64_t
Fqrs::Scheduler::enough(const Ticket &t) const
{
    const auto may = allowance(t);
    return may == RS_UNLIMITED ? StallBytes : std::max(may / StallPart, StallBytes);
}

uint64_t
Fqrs::Scheduler::allowance(const Ticket &t) const
{
    return t.number == RS_NO_TICKET ? RS_UNLIMITED : rs_allowance(engine_, Now(), t.number);
}

void
Fqrs::Scheduler::finish(Ticket &t, const bool whole)
{
    if (t.number == RS_NO_TICKET)
        return;
    end(t, whole);
    admit();
}

void
Fqrs::Scheduler::end(Ticket &t, const bool whole)
{
    const auto now = Now();
    if (!rowOf(t).parked)
        remove(active, rs_ticket_index(t.number));
    const auto done = whole ? rs_finish(engine_, now, t.number) : rs_abort(engine_, now, t.number);
    assert(done);
    --released;
    drop(t);
}

void
Fqrs::Scheduler::drop(Ticket &t)
{
    auto &row = rowOf(t);
    row.ticket = nullptr;
    row.parked = false;
    t.number = RS_NO_TICKET;
}

void
Fqrs::Scheduler::charge(Ticket &t, const uint64_t bytes)
{
    link_.explained(bytes);
    if (!accepting)
        return;
    renumber(t);
    rs_charge(engine_, Now(), t.classNumber, 0, bytes);
}

void
Fqrs::Scheduler::renumber(Ticket &t) const
{
    if (t.generation == generation_)
        return;
    const auto position = TheConfig.find(t.al->fqrs.className.c_str());
    t.classNumber = numbers[position < 0 ? TheConfig.defaultClass : position];
    t.generation = generation_;
}

/* ---- tunnels for whose turn there is no place in the queue ------------------------------------------------------- */

void
Fqrs::Scheduler::postpone(Ticket &t)
{
    postponed.push_back(&t);
    admit(); // which sets the clock
}

void
Fqrs::Scheduler::forget(Ticket &t)
{
    postponed.erase(std::remove(postponed.begin(), postponed.end(), &t), postponed.end());
}

void
Fqrs::Scheduler::askAgain()
{
    std::vector<Ticket *> all;
    all.swap(postponed);
    for (const auto t: all)
        t->ask();
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

void
Fqrs::Scheduler::Rang()
{
    auto &me = Instance();
    const auto now = Now();
    if (now >= me.nextTick)
        me.tick(now);
    me.admit(now);
}

void
Fqrs::Scheduler::tick(const rs_time_t now)
{
    // who did not get to run for a while first reads what came meanwhile, once
    const auto late = now >= nextTick + TickTime;
    wasLate = late && !wasLate;
    nextTick = now + TickTime;
    hasten(now);
    if (!wasLate)
        park(now);
    refuseOverdue(now);
    askAgain();
    if (const auto foreign = link_.unexplained())
        rs_charge(engine_, now, RS_NO_CLASS, 0, foreign);
}

/// nobody's last bytes lie unread because more are waited for
void
Fqrs::Scheduler::hasten(const rs_time_t now)
{
    for (auto i = active.first; i != Nil && now - rows[i].read >= UnreadTime; i = rows[i].after)
        rows[i].ticket->flow.hasten();
}

/// Responses of which a little comes again and again are anywhere in the list; there are no more than are outstanding.
void
Fqrs::Scheduler::park(const rs_time_t now)
{
    for (auto i = active.first; i != Nil;) {
        auto &row = rows[i];
        const auto index = i;
        i = row.after;
        if (now - row.moved < StallTime)
            continue;
        if (row.ticket->rest())
            continue;
        remove(active, index);
        row.ticket->flow.hasten();
        rs_park(engine_, now, row.ticket->number);
        row.parked = true;
        row.since = 0;
    }
}

/// Those of a class were queued in the order of their list, so only its first can be the next whose wait is over.
void
Fqrs::Scheduler::refuseOverdue(const rs_time_t now)
{
    for (uint32_t c = 0; c < queuesUsed; ++c) {
        while (queues[c].first != Nil && now - rows[queues[c].first].moved >= waits[c] * UINT64_C(1000000))
            rows[queues[c].first].ticket->lost(rows[queues[c].first].number, WAIT_OVER);
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

void
Fqrs::Scheduler::countRefusal(const uint32_t classNumber, const Refusal why)
{
    ++refusalsByClass[classNumber][why];
    ++refusals_[why];
}

/// As long as the first of its queue has waited is about what the next one will.
unsigned
Fqrs::Scheduler::retryAfter(const uint32_t classNumber) const
{
    const auto first = queues[classNumber].first;
    const auto waited = first == Nil ? 0 : (Now() - rows[first].moved) / 1000000;
    return std::min<rs_time_t>(waited + 1, LongestRetry);
}

Fqrs::Ticket *
Fqrs::Scheduler::fetchOf(const StoreEntry &e) const
{
    const auto found = fetches.find(&e);
    return found == fetches.end() ? nullptr : found->second;
}

