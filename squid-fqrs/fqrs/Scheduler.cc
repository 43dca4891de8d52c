/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "comm/Loops.h"
#include "fd.h"
#include "fde.h"
#include "fqrs/Host.h"
#include "fqrs/Clock.h"
#include "fqrs/Config.h"
#include "fqrs/Record.h"
#include "fqrs/Scheduler.h"
#include "fqrs/Ticket.h"
#include "fqrs/Whose.h"
#include "globals.h"
#include "HttpRequest.h"

#include <algorithm>

static const uint32_t Nil = UINT32_MAX;

/// Too little is less than this, and less than this part of what it may have on its way: which is what the link would
/// bring of it in less time.
static const uint64_t StallBytes = 1024;
static const uint64_t StallPart = 8;
/// microseconds: a usual round trip, of a server of which nothing is known
static const uint32_t FirstTrip = 75000;
/// The engine is told of another rate if it differs by more than this part: it looks at all tickets then.
static const uint64_t RatePart = 32;
/// how often it is looked for bytes that lie unread, responses that are stalled, and waits that are over
static const rs_time_t TickTime = 100000;
/// Bytes lie unread, waiting for more, for no longer than this and a tick.
static const rs_time_t UnreadTime = 250000;
/// A class is closed to who comes anew for so long if it is not closed again, at the next tick.
static const rs_time_t ClosedTime = 250000;
/// When so many clients have found no place, there is likely to be none for any.
static const size_t MostFullClients = 16;

/// A tunnel's turn: such a part of what may be outstanding in all, and no more than comes in so many milliseconds. What
/// comes after a turn, before the window is shut, is the window, and that goes by the link (rs_link.h): with shorter
/// turns most of a tunnel's bytes would come between them, and by their windows, of two segments at least, all
/// tunnels have equal parts. With longer ones it would take more seconds until shares hold.
static const uint64_t TurnParts = 3;
static const uint64_t TurnPart = 8;
static const uint64_t MostTurnTime = 112;
/// Beyond its bytes such a part of what may be outstanding is expected of a turn until it has ended. So it counts for
/// as much as a response ever does, an eighth (gate_bytes.c), also when its last read brought more than the turn: eight
/// tunnels have turns at a time. With more the windows of all would be as small as they may be, and so equal; and one
/// that is let go because a turn is nearly over would be of a class that is ahead, before the other has asked again.
static const uint64_t BehindTurnPart = 4;
/// where nobody knows how much may be outstanding
static const uint64_t UsualTurn = 64 << 10;
/// never less, however slow the link is
static const uint64_t LeastTurn = 16 << 10;

/// A tunnel's first turn ends with what an answer begins with, behind the handshake. Its bytes are few and its round
/// trips three, for which a slot as large as any turn's would be idle; and a thousand clients may open tunnels at once.
static const uint64_t OpeningTurn = 8 << 10;
/// a server's half of a handshake; no turn is expected to bring less
static const uint64_t HandshakeSize = 4 << 10;
/// A first turn counts for what a response may bring whose window is as small as one may be, over a round trip in
/// milliseconds as many servers have: for that is its window while it lasts; and for such a part of what may be
/// outstanding at the least. If it counted for its handshake only, openings of all classes together would fill the far
/// queue, and no class would have anybody waiting.
static const uint64_t OpeningWindow = 2920;
static const uint64_t OpeningTrip = 120;
static const uint64_t OpeningPart = 64;
/// that window is never larger: a handshake needs no more, and its server's first answer two round trips of it
static const uint64_t OpeningMost = 4380;
/// A tunnel that needed all of a turn, but brought less than such a part of what may be outstanding in the time of
/// that, which is what one of as many as have turns at a time would have, has nothing to send between its answers: at
/// 20 Mbit/s most that carry pages. Its next turn is what it brings in such a time and a quarter more, and such a
/// part of that is expected behind it. Else it would keep others from what it does not use.
static const uint64_t SlowPart = 8;
static const uint64_t SlowBehindParts = 5;
static const uint64_t SlowBehindPart = 16;
/// The window of a tunnel that needs turns for which nobody of its class waits is such a part larger: what it does not
/// get where turns meet nobody else brings for its class. That of a slow one is larger by a half: what bounds it is
/// how its server begins.
static const uint64_t AloneParts = 3;
static const uint64_t AlonePart = 4;
static const uint64_t SlowMore = 2;
/// What stands in the far queue delays what comes, twice until a new connection's first byte. If that were taken for
/// silence, turns would end with their windows on the way, others would begin, and nothing would ever make the queue
/// shorter again. But a silent server keeps its room no longer than this.
static const rs_time_t QueueTimes = 2;
static const rs_time_t LongestQueueTime = 2000000;

/// no client is told to come back later than after so many seconds
static const rs_time_t LongestRetry = 60;

/// Squid itself needs some descriptors, too: it stops taking connections when no more than a hundred are left, and
/// keeps none for a next request while they are fewer than twice that (comm_init(), fdUsageHigh()).
static uint32_t
MostSeats()
{
    return std::max(Squid_MaxFD - 2 * std::min(100, Squid_MaxFD / 4), 1);
}

/// Bytes that a response must bring within stallTime() not to be parked, when it may have so many on their way.
static uint64_t
Enough(const uint64_t allowance)
{
    return allowance == RS_UNLIMITED ? StallBytes : std::max(allowance / StallPart, StallBytes);
}

Fqrs::Scheduler &
Fqrs::Scheduler::Instance()
{
    static Scheduler scheduler;
    return scheduler;
}

Fqrs::Scheduler::Scheduler():
    going{Nil, Nil},
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
    if (abandoned)
        comeBack();
    if (!joined && wanted)
        join(config);
    if (joined && segment.left() && !abandoned)
        abandon();
    if (!joined || abandoned)
        return;

    auto settings = config.engineSettings();
    const auto classes = config.engineClasses();
    auto &area = segment.area();
    link_.use(wanted ? config.interface : SBuf(), area.link);
    following = config.learns;
    debt = config.debt;
    rate = settings.rate;
    horizon = settings.horizon_ms;
    if (following) {
        const Segment::Turn turn(segment);
        if (const auto link = link_.learnt()) {
            settings.rate = std::min(std::max(link->rate, config.link.rate_min), config.link.rate_max);
            settings.debt_max = Config::DebtFor(settings.rate, settings.sched, debt);
        }
    }
    fitting = wanted && settings.rate && settings.gate == RS_GATE_BYTES;
    Flow::OpenSmall(fitting);
    ours = inForce = config.digest();
    defaultPosition = config.defaultClass;
    numbers.assign(classes.size(), 0);
    const char *why = nullptr;
    const auto done = shm_loop_configure(segment.loop(), inForce, &settings, classes.data(), classes.size(),
                                         defaultPosition, numbers.data(), &why);
    if (done < 0) // only when more classes are retired, with responses outstanding, than there is room for
        debugs(96, DBG_CRITICAL,
               "ERROR: fqrs keeps its former settings, and takes classes it does not know for \""
                   << classes[defaultPosition].name << "\": " << why);
    if (done > 0) {
        const Segment::Turn turn(segment);
        if (shm_loop_configured(segment.loop()) == inForce) // else somebody has come with something newer, and named it
            segment.name(config, numbers);
    }
    if (done >= 0 && rate) {
        const Segment::Turn turn(segment);
        link_.know(Now(), config.link, following ? 0 : rate);
    }
    known.clear();
    for (size_t i = 0; i < classes.size(); ++i) {
        const SBuf name(classes[i].name);
        const auto shortest = classes[i].order == RS_ORDER_SHORTEST ? Sizes::ClassOf(name) : 0;
        known.push_back({name, config.classes[i].waitSeconds, shortest});
    }
    noteNumbers();
    std::vector<Seats::Share> shares;
    for (size_t i = 0; i < classes.size(); ++i)
        shares.push_back({numbers[i], classes[i].weight});
    seats_.configure(MostSeats(), shares);
    area.on = wanted;
    if (wanted)
        area.used = 1;
    accepting = wanted;
    debugs(96, DBG_IMPORTANT,
           "fqrs " << (wanted ? "on" : "off") << ": " << classes.size() << " classes, order "
                   << rs_sched_name(settings.sched) << ", window " << rs_gate_name(settings.gate) << ", " << waiting
                   << " requests waiting, " << released << " outstanding");
    admit();
}

void
Fqrs::Scheduler::join(const Config &config)
{
    if (!segment.join(config))
        return;
    joined = true;
    rows.assign(Segment::TicketsMax, Row{nullptr, RS_NO_TICKET, 0, 0, 0, 0, Nil, Nil, QUEUED});
    queues.assign(Segment::ClassesMax, List{Nil, Nil});
    waits.assign(Segment::ClassesMax, 0);
    fullIn.assign(Segment::ClassesMax, 0);
    guesses.assign(Segment::ClassesMax, 0);
    sizes_.begin(segment.sizes());
    seats_.tell(segment.seatsOf(shm_loop_place(segment.loop())));
}

/// Another worker has come with another configuration: ours goes on with the numbers that its classes have there.
void
Fqrs::Scheduler::keepUp()
{
    const auto is = shm_loop_configured(segment.loop());
    if (is == inForce)
        return;
    inForce = is;
    std::vector<struct rs_class_settings> classes(known.size());
    for (size_t i = 0; i < known.size(); ++i)
        known[i].name.copy(classes[i].name, sizeof(classes[i].name) - 1); // zeroes behind it
    shm_loop_number(segment.loop(), classes.data(), classes.size(), defaultPosition, numbers.data());
    noteNumbers();
    ++generation_;
}

/// A class may have another number than it had. One that is not in force has the default's, and says nothing of that.
void
Fqrs::Scheduler::noteNumbers()
{
    for (size_t i = 0; i < known.size(); ++i) {
        if (i != defaultPosition && numbers[i] == numbers[defaultPosition])
            continue;
        waits[numbers[i]] = known[i].waitSeconds;
        guesses[numbers[i]] = known[i].guesses;
    }
}

uint32_t
Fqrs::Scheduler::numberOf(const uint32_t position)
{
    keepUp();
    return numbers[position];
}

/// Not before there are descriptors to watch, which is later than the first configuration.
void
Fqrs::Scheduler::listen()
{
    if (listening)
        return;
    listening = true;
    const auto bell = shm_loop_bell(segment.loop());
    if (bell < 0)
        return; // there is nobody who could ring
    fd_open(bell, FD_UNKNOWN, "fqrs bell");
    Comm::SetSelect(bell, COMM_SELECT_READ, Rung, nullptr, 0);
}

void
Fqrs::Scheduler::complain() const
{
    if (segment.away())
        debugs(96, DBG_IMPORTANT,
               "WARNING: fqrs schedules nothing for a while: a process that is stopped, or busy with something else, "
               "has the lock of the memory that the workers share");
    else
        debugs(96, DBG_CRITICAL,
               "ERROR: fqrs schedules nothing until Squid is started anew: the memory that the workers share is "
               "damaged: "
                   << segment.leftWhy());
}

/// The memory that workers share is gone, for good or for a while: whoever waits may go, and nobody waits any more.
void
Fqrs::Scheduler::abandon()
{
    abandoned = true;
    accepting = false;
    fitting = following = false;
    Flow::OpenSmall(false);
    complain();
    for (auto &row: rows) {
        const auto ticket = row.ticket;
        if (!ticket)
            continue;
        if (row.where == QUEUED || row.where == GOING) {
            ticket->picked(RS_NO_TICKET, row.classNumber);
        } else {
            ticket->number = RS_NO_TICKET;
            row.ticket = nullptr;
            --released;
        }
    }
    active = {Nil, Nil};
}

/// Whether that memory is there again, and we with nothing in it: the rest is configure()'s.
bool
Fqrs::Scheduler::comeBack()
{
    if (!segment.away())
        return false;
    if (!segment.comeBack()) {
        if (!segment.away()) // others found it damaged meanwhile
            complain();
        return false;
    }
    abandoned = false;
    seats_.tell(segment.seatsOf(shm_loop_place(segment.loop())));
    debugs(96, DBG_IMPORTANT, "fqrs goes on: the lock of the memory that the workers share was given back");
    return true;
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

Fqrs::Scheduler::List &
Fqrs::Scheduler::listOf(const Row &row)
{
    return row.where == QUEUED ? queues[row.classNumber] : row.where == GOING ? going : active;
}

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

/// Into a class's waiting list, which is in the order of time: who has stood in line comes before those who have not.
void
Fqrs::Scheduler::insert(List &list, const uint32_t index)
{
    auto &row = rows[index];
    row.before = list.last;
    row.after = Nil;
    while (row.before != Nil && rows[row.before].moved > row.moved) {
        row.after = row.before;
        row.before = rows[row.before].before;
    }
    (row.before == Nil ? list.first : rows[row.before].after) = index;
    (row.after == Nil ? list.last : rows[row.after].before) = index;
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

/// What its response is expected to bring, of a tunnel in its first turn; 0: as others of its class.
uint64_t
Fqrs::Scheduler::sizeOf(const Ticket &t, const uint32_t classNumber) const
{
    // In order of arrival an account does better with its class's mean than with that of some pages that are like it.
    const auto bytes = sizes_.expected(t.sizes, guesses[classNumber]);
    if (!t.tunnel)
        return bytes;
    // where the shortest goes first, it goes by that
    if (fitting && !(bytes && guesses[classNumber]))
        return openingSize();
    return std::min(bytes, turn());
}

Fqrs::Refusal
Fqrs::Scheduler::enqueue(Ticket &t, const uint32_t classNumber, const uint64_t whose, rs_ticket_t &place,
                         const uint64_t estimate)
{
    const auto now = Now();
    const uint64_t key[RS_KEY_LEVELS] = { whose, 0 };
    const auto bytes = estimate ? estimate : sizeOf(t, classNumber);
    auto refusal = RS_OK;
    if (!t.begun && isClosed(classNumber, now))
        return CLASS_FULL;
    listen();
    {
        const Segment::Turn turn(segment);
        refusal = shm_loop_submit_locked(segment.loop(), now, classNumber, bytes, key, 0, &place);
        if (refusal == RS_OK && rows[rs_ticket_index(place)].ticket && !segment.left())
            shm_loop_leave_locked(segment.loop(), "a request was given another one's place");
        // Nobody else sees the memory that is there now, and places in it are others' already with us.
        if (refusal == RS_OK && segment.left())
            shm_loop_cancel_locked(segment.loop(), now, place);
    }
    if (segment.left()) {
        accepting = false; // abandon() does the rest, when nobody is in the middle of something
        alarm.set(now);
        place = RS_NO_TICKET;
        return QUEUE_FULL;
    }
    if (refusal != RS_OK) {
        place = RS_NO_TICKET;
        return refusal == RS_CLASS_FULL ? CLASS_FULL : refusal == RS_SHARE_FULL ? SHARE_FULL : QUEUE_FULL;
    }
    const auto index = rs_ticket_index(place);
    auto &row = rows[index];
    row.ticket = &t;
    row.number = place;
    row.classNumber = classNumber;
    row.where = QUEUED;
    row.moved = t.begun ? t.turnSince : now;
    insert(queues[classNumber], index);
    queuesUsed = std::max(queuesUsed, classNumber + 1);
    ++waiting;
    return REFUSALS;
}

void
Fqrs::Scheduler::dequeue(rs_ticket_t &place)
{
    if (place == RS_NO_TICKET)
        return;
    const auto now = Now();
    bool waited;
    {
        const Segment::Turn turn(segment);
        waited = shm_loop_cancel_locked(segment.loop(), now, place);
    }
    const auto index = rs_ticket_index(place);
    auto &row = rows[index];
    assert(row.number == place && (row.where == QUEUED || row.where == GOING));
    remove(listOf(row), index);
    --waiting;
    row.ticket = nullptr;
    place = RS_NO_TICKET;
    if (!waited || firstInLine)
        alarm.set(now); // another worker had let it go just now: somebody else may; or there is a place in the queue
}

/// Lets as many go as the window has room for. `acted`: something that we did may have changed that.
void
Fqrs::Scheduler::admit(const rs_time_t now, const bool acted)
{
    if (!joined)
        return;
    {
        const Segment::Turn turn(segment);
        pump(turn.engine, now);
    }
    tell(now, acted);
}

/// With the lock: whoever may go is let go, and ours, also those that others have let go before, stand in `going`.
void
Fqrs::Scheduler::pump(rs_engine_t *const engine, const rs_time_t now)
{
    again = rs_queued(engine) ? shm_loop_pump_locked(segment.loop(), now) : RS_NEVER;
    auto latest = Nil;
    for (;;) {
        const auto number = shm_loop_next_locked(segment.loop());
        if (number == RS_NO_TICKET)
            break;
        const auto index = rs_ticket_index(number);
        auto &row = rows[index];
        if (!row.ticket || row.number != number || row.where != QUEUED) {
            shm_loop_leave_locked(segment.loop(), "a request was let go that does not wait");
            break;
        }
        remove(queues[row.classNumber], index);
        row.where = GOING;
        row.after = latest;
        latest = index;
    }
    while (latest != Nil) { // the first comes first
        const auto index = latest;
        latest = rows[index].after;
        append(going, index);
    }
}

/// Behind pump(), without the lock: tickets that were let go are told so, and the clock is set.
void
Fqrs::Scheduler::tell(const rs_time_t now, const bool acted)
{
    if (segment.left() && !abandoned)
        abandon();
    if (going.first != Nil && firstInLine)
        alarm.set(now); // there are places in queues
    while (going.first != Nil) {
        const auto index = going.first;
        auto &row = rows[index];
        remove(going, index);
        append(active, index);
        row.where = ACTIVE;
        row.read = row.moved = now;
        row.since = 0;
        --waiting;
        ++released;
        row.ticket->picked(row.number, row.classNumber);
    }
    // Who has changed when others may go sees that they do, once; then those who wait have heard of it.
    if (acted || waiting)
        alarm.set(again);
    if (abandoned && listening && segment.away())
        alarm.set(now + TickTime);
    if (!waiting && !released && !firstInLine) {
        nextTick = RS_NEVER;
        return;
    }
    if (nextTick == RS_NEVER) {
        nextTick = now + TickTime;
        link_.begin(now, shm_loop_bell(segment.loop()) < 0); // what came before is of no interest
        watchLink(now);
    }
    alarm.set(nextTick);
}

/// It comes with every read, and takes the lock once.
uint64_t
Fqrs::Scheduler::progress(Ticket &t, const uint64_t bytes)
{
    link_.explained(bytes);
    if (t.number == RS_NO_TICKET)
        return RS_UNLIMITED;
    const auto now = Now();
    uint64_t window;
    const auto index = rs_ticket_index(t.number);
    auto &row = rowOf(t);
    row.read = now;
    row.since += bytes;
    {
        const Segment::Turn turn(segment);
        const auto parked = row.where == PARKED;
        const auto first = t.opening && t.received == bytes; // of a handshake
        // where the shortest has most, what it may have says nothing of what its server brings
        if (first || row.since >= (parked || guesses[t.classNumber]
                                       ? StallBytes
                                       : Enough(rs_allowance(turn.engine, now, t.number)))) {
            row.moved = now;
            row.since = 0;
            if (parked) {
                rs_resume(turn.engine, now, t.number);
                row.where = ACTIVE;
                append(active, index);
            }
        }
        rs_progress(turn.engine, now, t.number, bytes);
        pump(turn.engine, now);
        window = windowIn(turn.engine, t, now);
    }
    if (row.where == ACTIVE && active.last != index) {
        remove(active, index);
        append(active, index);
    }
    tell(now, true);
    return t.number == RS_NO_TICKET ? RS_UNLIMITED : window; // the memory may have been left
}

bool
Fqrs::Scheduler::isParked(const Ticket &t) const
{
    return t.number != RS_NO_TICKET && rows[rs_ticket_index(t.number)].where == PARKED;
}

void
Fqrs::Scheduler::stir(Ticket &t)
{
    if (t.number != RS_NO_TICKET)
        rowOf(t).moved = Now();
}

uint64_t
Fqrs::Scheduler::expect(Ticket &t, const uint64_t length)
{
    if (t.number == RS_NO_TICKET)
        return RS_UNLIMITED;
    const auto now = Now();
    uint64_t window;
    {
        const Segment::Turn turn(segment);
        rs_header(turn.engine, now, t.number, length);
        pump(turn.engine, now);
        window = windowIn(turn.engine, t, now);
    }
    tell(now, true);
    return t.number == RS_NO_TICKET ? RS_UNLIMITED : window; // the memory may have been left
}

void
Fqrs::Scheduler::lengthen(Ticket &t, const uint64_t length)
{
    if (t.number == RS_NO_TICKET)
        return;
    const auto now = Now();
    const Segment::Turn turn(segment);
    rs_header(turn.engine, now, t.number, length);
}

uint64_t
Fqrs::Scheduler::windowOf(const Ticket &t) const
{
    if (t.number == RS_NO_TICKET)
        return RS_UNLIMITED;
    const auto now = Now();
    const Segment::Turn turn(segment);
    return windowIn(turn.engine, t, now);
}

/// With the lock.
uint64_t
Fqrs::Scheduler::windowIn(rs_engine_t *const engine, const Ticket &t, const rs_time_t now) const
{
    const auto allowed = rs_allowance(engine, now, t.number);
    const auto link = fitting ? link_.learnt() : nullptr;
    if (!link || allowed == RS_UNLIMITED)
        return allowed;
    const auto window = rs_link_window(link, now, t.flow.server(), t.flow.leastTrip(), allowed);
    if (t.opening)
        return std::min(window, OpeningMost);
    if (!t.tunnel || t.usual != RS_UNLIMITED)
        return window;
    if (queues[t.classNumber].first == Nil)
        return window + window * AloneParts / AlonePart;
    return t.next < t.turn ? window + window / SlowMore : window;
}

/// What the link carries in a usual round trip and with what is to stand in the queue; each outstanding has an equal
/// part.
uint64_t
Fqrs::Scheduler::firstWindow() const
{
    if (!fitting)
        return RS_UNLIMITED;
    const Segment::Turn turn(segment);
    const auto link = link_.learnt();
    if (!link)
        return RS_UNLIMITED;
    const auto together = static_cast<double>(link->rate) * (FirstTrip + RS_LINK_QUEUE) / 1e6;
    return static_cast<uint64_t>(together) / std::max<uint64_t>(rs_live(turn.engine), 1);
}

void
Fqrs::Scheduler::tripped(const rs_time_t now, const uint64_t server, const uint32_t trip, const uint32_t least)
{
    if (!joined || abandoned)
        return;
    const Segment::Turn turn(segment);
    if (const auto link = link_.learnt())
        rs_link_round_trip(link, now, server, trip, least);
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
    if (t.number == RS_NO_TICKET)
        return;
    const auto now = Now();
    if (rowOf(t).where == ACTIVE)
        remove(active, rs_ticket_index(t.number));
    bool done;
    {
        const Segment::Turn turn(segment);
        done = shm_loop_end_locked(segment.loop(), now, t.number, whole);
    }
    assert(done || segment.left());
    --released;
    drop(t);
}

void
Fqrs::Scheduler::decline(Ticket &t)
{
    end(t, false);
    alarm.set(Now()); // we are in tell(), behind the pump
}

void
Fqrs::Scheduler::drop(Ticket &t)
{
    rowOf(t).ticket = nullptr;
    t.number = RS_NO_TICKET;
}

void
Fqrs::Scheduler::charge(Ticket &t, const uint64_t bytes)
{
    link_.explained(bytes);
    if (!accepting)
        return;
    renumber(t);
    const uint64_t key[RS_KEY_LEVELS] = { t.key, 0 };
    const auto now = Now();
    const Segment::Turn turn(segment);
    rs_charge_keyed(turn.engine, now, t.classNumber, 0, key, bytes);
}

void
Fqrs::Scheduler::renumber(Ticket &t)
{
    keepUp();
    if (t.generation == generation_)
        return;
    const auto found = TheConfig.find(RecordOf(t.al)->className.c_str());
    const auto position = found < 0 ? TheConfig.defaultClass : static_cast<uint32_t>(found);
    t.classNumber = numbers[position];
    t.key = WhoseIs(*t.asked, TheConfig.classes[position]);
    t.generation = generation_;
}

/// bytes a second, as configured or learnt
uint64_t
Fqrs::Scheduler::carries() const
{
    if (following) {
        const Segment::Turn turn(segment);
        if (const auto link = link_.learnt())
            return link->rate;
    }
    return rate;
}

uint64_t
Fqrs::Scheduler::openingTurn() const
{
    return fitting ? OpeningTurn : UsualTurn;
}

uint64_t
Fqrs::Scheduler::openingSize() const
{
    return std::max({OpeningWindow * horizon / OpeningTrip, carries() * horizon / 1000 / OpeningPart, HandshakeSize});
}

uint64_t
Fqrs::Scheduler::turn() const
{
    if (!fitting)
        return UsualTurn;
    return std::max(carries() * std::min(horizon * TurnParts / TurnPart, MostTurnTime) / 1000, LeastTurn);
}

uint64_t
Fqrs::Scheduler::turnBehind(const uint64_t bytes, const rs_time_t took) const
{
    const auto most = turn();
    if (!fitting)
        return most;
    const auto part = static_cast<double>(carries()) * horizon / 1000 / SlowPart;
    const auto brings = static_cast<double>(bytes) * horizon * 1000 / std::max<rs_time_t>(took, 1) * 5 / 4;
    if (brings >= part)
        return most;
    return std::min(std::max(static_cast<uint64_t>(brings), LeastTurn), most);
}

/// A tunnel of which a turn was not enough brings as much again and more. One that fell silent brings next time about
/// what it brought before; and one that has just opened, what others to its server did.
uint64_t
Fqrs::Scheduler::expectedOf(const Ticket &t) const
{
    const auto most = turn();
    if (!fitting)
        return most;
    if (t.usual == RS_UNLIMITED && t.next < most)
        return t.next + t.next * SlowBehindParts / SlowBehindPart;
    if (t.usual == RS_UNLIMITED)
        return most + carries() * horizon / BehindTurnPart / 1000 + 1;
    if (t.usual)
        return std::min(std::max(t.usual, HandshakeSize), most);
    const auto all = sizes_.expected(t.sizes, guesses[t.classNumber]);
    if (!all)
        return std::min(LeastTurn, most);
    return std::min(all > t.carried ? all - t.carried : all, most);
}

/* ---- open tunnels, that want places in queues for their turns ---------------------------------------------------- */

/*
 * Those for whom there is none ask again ten times a second, and whenever one of ours has left a queue. Who comes anew
 * is behind them, at any worker: a class for which somebody stands in line has no places for him.
 */

bool
Fqrs::Scheduler::isClosed(const uint32_t classNumber, const rs_time_t now) const
{
    const auto until = segment.area().classes[classNumber].closedUntil.load(std::memory_order_relaxed);
    return until > now && until - now <= ClosedTime;
}

/// For a while, so that it is open again if nobody of this worker is there to say so.
void
Fqrs::Scheduler::closeClass(const uint32_t classNumber, const rs_time_t now)
{
    segment.area().classes[classNumber].closedUntil.store(now + ClosedTime, std::memory_order_relaxed);
}

void
Fqrs::Scheduler::stand(Ticket &t)
{
    const auto alone = !firstInLine;
    const auto now = Now();
    t.inLine = true;
    t.before = lastInLine;
    t.after = nullptr;
    (lastInLine ? lastInLine->after : firstInLine) = &t;
    lastInLine = &t;
    if (alone)
        askAgain(now);
    else
        alarm.set(now); // and all ask in their order
    admit(now, true);
}

void
Fqrs::Scheduler::forget(Ticket &t)
{
    if (!t.inLine)
        return;
    (t.before ? t.before->after : firstInLine) = t.after;
    (t.after ? t.after->before : lastInLine) = t.before;
    t.before = t.after = nullptr;
    t.inLine = false;
    auto &closed = segment.area().classes[t.classNumber].closedUntil;
    if (closed.load(std::memory_order_relaxed))
        closed.store(0, std::memory_order_relaxed); // who is next closes it again, if there is no place for him
}

/// In the order in which they came; when there is no place for one, those of its class that stand behind it do not ask.
void
Fqrs::Scheduler::askAgain(const rs_time_t now)
{
    ++round;
    fullClients.clear();
    for (auto next = firstInLine; next;) {
        auto &t = *next;
        next = t.after;
        if (accepting) {
            renumber(t);
            if (isOver(t.classNumber, t.turnSince, now)) {
                forget(t);
                t.refused(WAIT_OVER);
                continue;
            }
        }
        const auto client = t.key + t.classNumber;
        if (fullIn[t.classNumber] == round ||
            std::find(fullClients.begin(), fullClients.end(), client) != fullClients.end())
            continue;
        const auto whyNot = t.ask();
        if (whyNot == REFUSALS) {
            forget(t);
        } else if (whyNot == SHARE_FULL && t.key && fullClients.size() < MostFullClients) {
            fullClients.push_back(client); // there may be places for others
        } else {
            fullIn[t.classNumber] = round;
            closeClass(t.classNumber, now);
        }
    }
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

void
Fqrs::Scheduler::Rang()
{
    auto &me = Instance();
    const auto now = Now();
    if (me.abandoned && !shutting_down && me.comeBack())
        me.configure(TheConfig);
    const auto due = now >= me.nextTick;
    if (due)
        me.tick(now);
    else
        me.askAgain(now);
    me.admit(now, due);
}

/// Another worker has let requests of ours go.
void
Fqrs::Scheduler::Rung(const int bell, void *)
{
    auto &me = Instance();
    shm_loop_silence(me.segment.loop());
    Comm::SetSelect(bell, COMM_SELECT_READ, Rung, nullptr, 0);
    me.admit(Now(), false);
}

void
Fqrs::Scheduler::tick(const rs_time_t now)
{
    // who did not get to run for a while first reads what came meanwhile, once
    const auto late = now >= nextTick + TickTime;
    wasLate = late && !wasLate;
    nextTick = now + TickTime;
    shm_loop_reclaim(segment.loop());
    admit(now, false); // who was let go meanwhile has not waited too long
    hasten(now);
    if (!wasLate)
        park(now);
    refuseOverdue(now);
    askAgain(now);
    watchLink(now);
}

void
Fqrs::Scheduler::watchLink(const rs_time_t now)
{
    if (isHeldBack(now))
        link_.heldBack(now);
    auto there = false;
    uint64_t bytes = 0;
    if (!link_.look(now, there, bytes))
        return;
    const Segment::Turn turn(segment);
    if (const auto foreign = link_.came(now, there, bytes))
        rs_charge(turn.engine, now, RS_NO_CLASS, 0, foreign);
    if (link_.judge(now, rs_queued(turn.engine), rs_live(turn.engine) * Flow::LeastWindow()) && following)
        follow(turn.engine, now);
}

/// Whether the link would bring more of our responses if we let it: the last ones of which bytes came are likely to be
/// held back.
bool
Fqrs::Scheduler::isHeldBack(const rs_time_t now) const
{
    for (auto i = active.last; i != Nil; i = rows[i].before) {
        if (rows[i].ticket->flow.heldBack(now))
            return true;
    }
    return false;
}

/// With the lock: the engine goes by the rate that is believed in, unless another worker has come with something newer.
void
Fqrs::Scheduler::follow(rs_engine_t *const engine, const rs_time_t now)
{
    const auto link = link_.learnt();
    if (!link || shm_loop_configured(segment.loop()) != ours)
        return;
    struct rs_stats all;
    rs_stats(engine, &all);
    const auto told = all.settings.rate;
    if (std::max(link->rate, told) - std::min(link->rate, told) > told / RatePart)
        rs_set_rate(engine, now, link->rate, Config::DebtFor(link->rate, all.settings.sched, debt));
}

/// nobody's last bytes lie unread because more are waited for
void
Fqrs::Scheduler::hasten(const rs_time_t now)
{
    for (auto i = active.first; i != Nil && now - rows[i].read >= UnreadTime; i = rows[i].after)
        rows[i].ticket->flow.hasten();
}

/// for how long too little may come of a response that is outstanding
rs_time_t
Fqrs::Scheduler::stallTime() const
{
    const Segment::Turn turn(segment);
    const auto link = link_.learnt();
    if (!link || link->delay == RS_LINK_UNKNOWN)
        return StallTime;
    return StallTime + std::min(QueueTimes * link->delay, LongestQueueTime);
}

/// Responses of which a little comes again and again are anywhere in the list; there are no more than are outstanding.
void
Fqrs::Scheduler::park(const rs_time_t now)
{
    const auto longest = active.first == Nil ? 0 : stallTime();
    for (auto i = active.first; i != Nil;) {
        auto &row = rows[i];
        const auto index = i;
        i = row.after;
        if (now - row.moved < longest)
            continue;
        if (row.ticket->rest())
            continue;
        remove(active, index);
        row.ticket->flow.hasten();
        row.where = PARKED;
        row.since = 0;
        const Segment::Turn turn(segment);
        rs_park(turn.engine, now, row.ticket->number);
    }
}

/// Whether who has waited since then has waited for as long as his class may.
bool
Fqrs::Scheduler::isOver(const uint32_t classNumber, const rs_time_t since, const rs_time_t now) const
{
    const auto wait = waits[classNumber];
    return wait && now > since && now - since >= wait * UINT64_C(1000000);
}

/// Those of a class stand in the order of time, so only its first can be the next whose wait is over.
void
Fqrs::Scheduler::refuseOverdue(const rs_time_t now)
{
    for (uint32_t c = 0; c < queuesUsed; ++c) {
        while (queues[c].first != Nil && isOver(c, rows[queues[c].first].moved, now))
            rows[queues[c].first].ticket->lost(rows[queues[c].first].number, WAIT_OVER);
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

void
Fqrs::Scheduler::countRefusal(const uint32_t classNumber, const Refusal why)
{
    ++segment.area().classes[classNumber].refused[why];
    ++segment.area().refused[why];
}

/// As long as the first of its queue has waited is about what the next one will.
unsigned
Fqrs::Scheduler::retryAfter(const uint32_t classNumber) const
{
    const Segment::Turn turn(segment);
    return std::min<rs_time_t>(rs_behind(turn.engine, classNumber) / 1000000 + 1, LongestRetry);
}

Fqrs::Ticket *
Fqrs::Scheduler::fetchOf(const StoreEntry &e) const
{
    const auto found = fetches.find(&e);
    return found == fetches.end() ? nullptr : found->second;
}

