/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "AccessLogEntry.h"
#include "fqrs/Host.h"
#include "fqrs/Classification.h"
#include "fqrs/Clock.h"
#include "fqrs/Companion.h"
#include "fqrs/Config.h"
#include "fqrs/Record.h"
#include "fqrs/Scheduler.h"
#include "fqrs/Ticket.h"
#include "globals.h"
#include "HttpReply.h"
#include "HttpRequest.h"
#include "SquidConfig.h"

#include <algorithm>

// here, where it is known what a request is
Fqrs::Ticket::Ticket() = default;

Fqrs::Ticket::~Ticket()
{
    finish(false);
}

bool
Fqrs::Ticket::Wanted(const HttpRequest &request)
{
    return Scheduler::Instance().on() && !request.flags.internal && !request.client_addr.isNoAddr();
}

bool Fqrs::Ticket::hold(HttpRequest *request, const AccessLogEntryPointer &anAl, StoreEntry *anEntry,
                        const AsyncCall::Pointer &aResume) {
    // what Squid wants for itself, digests, AS numbers and the like, is nobody's to log
    if (state != IDLE || !RecordOf(anAl) || !Wanted(*request))
        return false;
    if (request->flags.ftpNative || request->flags.sslPeek) { // a part of another transaction
        account(request, anAl);
        return false;
    }
    waits = true;
    resume = aResume;
    if (anEntry && ::Config.onoff.collapsed_forwarding) { // else nobody can join
        entry = anEntry;
        Scheduler::Instance().publish(*entry, *this);
    }
    own.members = 1;
    sizes = Sizes::KeysOf(*request);
    entering = true;
    classify(request, anAl);
    entering = false;
    if (state == REFUSED)
        callBack();
    return state != RELEASED && state != EXEMPT;
}

bool
Fqrs::Ticket::holdTunnel(HttpRequest *request, const AccessLogEntryPointer &anAl, const AsyncCall::Pointer &aResume)
{
    if (request->flags.sslPeek || request->pinnedConnection()) {
        begin(request, anAl);
        return false;
    }
    tunnel = true;
    return hold(request, anAl, nullptr, aResume);
}

void
Fqrs::Ticket::begin(HttpRequest *request, const AccessLogEntryPointer &anAl)
{
    tunnel = begun = true;
    account(request, anAl);
}

void
Fqrs::Ticket::account(HttpRequest *request, const AccessLogEntryPointer &anAl)
{
    if (state == IDLE && RecordOf(anAl) && Wanted(*request))
        classify(request, anAl);
}

void
Fqrs::Ticket::classify(HttpRequest *request, const AccessLogEntryPointer &anAl)
{
    al = anAl;
    asked = request;
    state = CLASSIFYING;
    since = Now();
    classification = new Classification(*this, request, anAl);
    classification->start();
}

void
Fqrs::Ticket::classified(const uint32_t position)
{
    auto &scheduler = Scheduler::Instance();
    if (position != Classification::NotScheduled)
        key = classification->whoseIn(position);
    delete classification;
    classification = nullptr;
    if (position == Classification::NotScheduled) {
        state = EXEMPT;
        endWaiting(false);
        if (!entering)
            callBack();
        return;
    }
    classNumber = scheduler.numberOf(position);
    generation = scheduler.generation();
    RecordOf(al)->className = scheduler.nameOf(position);
    if (waits) {
        state = WAITING;
        submit();
    } else {
        state = tunnel ? RESTING : ACCOUNTING;
        seatClass = classNumber;
        seats = 2;
        if (!scheduler.seats().force(seatClass, seats))
            why = NO_DESCRIPTOR;
        if (received)
            scheduler.charge(*this, received);
    }
}

void
Fqrs::Ticket::submit()
{
    auto &scheduler = Scheduler::Instance();
    if (shutting_down)
        return refused(SHUTDOWN);
    if (!scheduler.on())
        return admitted(); // turned off meanwhile

    auto whyNot = NO_DESCRIPTOR;
    own.classNumber = classNumber;
    own.whose = key;
    seatClass = classNumber;
    if (scheduler.seats().enter(seatClass)) {
        seats = 1;
        whyNot = scheduler.enqueue(*this, own.classNumber, own.whose, own.number);
    }
    if (companions) { // they came while our class was not known
        for (auto c = companions; c; c = c->after) {
            if (c->state == Companion::JOINED)
                ++placeIn(c->classNumber, c->whose).members;
        }
        settle();
    }
    if (!hasPlace())
        return scheduler.on() ? refused(whyNot) : admitted(); // the memory is damaged, as was seen just now
    scheduler.admit();
}

/* ---- places in queues -------------------------------------------------------------------------------------------- */

/// The one in this class's queue, which is made if there is none: for a client of that whose.
Fqrs::Ticket::Place &
Fqrs::Ticket::placeIn(const uint32_t aClass, const uint64_t whose)
{
    if (own.classNumber == aClass)
        return own;
    for (auto &p: others) {
        if (p.classNumber == aClass)
            return p;
    }
    others.emplace_back();
    others.back().classNumber = aClass;
    others.back().whose = whose;
    return others.back();
}

bool
Fqrs::Ticket::hasPlace() const
{
    return own.number != RS_NO_TICKET ||
           std::any_of(others.begin(), others.end(), [](const Place &p) { return p.number != RS_NO_TICKET; });
}

/// A place for nobody is given up if there is one for somebody; if there is none for anybody, those who wait without
/// one try again.
void
Fqrs::Ticket::settle()
{
    auto &scheduler = Scheduler::Instance();
    const auto needed = [](const Place &p) { return p.members && p.number != RS_NO_TICKET; };
    auto held = needed(own) || std::any_of(others.begin(), others.end(), needed);
    const auto retry = [&](Place &p) {
        if (!held && p.members)
            held = scheduler.enqueue(*this, p.classNumber, p.whose, p.number) == REFUSALS;
    };
    retry(own);
    std::for_each(others.begin(), others.end(), retry);
    const auto drop = [&](Place &p) {
        if (held && !p.members)
            scheduler.dequeue(p.number);
    };
    drop(own);
    std::for_each(others.begin(), others.end(), drop);
    others.erase(std::remove_if(others.begin(), others.end(),
                                [](const Place &p) { return !p.members && p.number == RS_NO_TICKET; }),
                 others.end());
}

void
Fqrs::Ticket::leavePlaces(const rs_ticket_t but)
{
    auto &scheduler = Scheduler::Instance();
    if (own.number != but)
        scheduler.dequeue(own.number);
    for (auto &p: others) {
        if (p.number != but)
            scheduler.dequeue(p.number);
    }
    own = Place();
    others.clear();
}

void
Fqrs::Ticket::picked(const rs_ticket_t aNumber, const uint32_t aClass)
{
    number = aNumber;
    classNumber = aClass;
    leavePlaces(number);
    auto &scheduler = Scheduler::Instance();
    if (begun)
        return admitted(); // it has both
    if (!scheduler.seats().take(seatClass)) {
        // the class of who asked first has no more; that of those who pay may have
        if (classNumber == seatClass || !scheduler.seats().take(classNumber)) {
            scheduler.decline(*this);
            return refused(NO_DESCRIPTOR);
        }
        scheduler.seats().give(seatClass, seats);
        scheduler.seats().force(classNumber, seats);
        seatClass = classNumber;
    }
    ++seats;
    admitted();
}

void
Fqrs::Ticket::lost(const rs_ticket_t aNumber, const Refusal aWhy)
{
    auto &scheduler = Scheduler::Instance();
    const auto lose = [&](Place &p) {
        if (p.number != aNumber)
            return;
        scheduler.dequeue(p.number);
        p.members = 0; // they wait as long as others do
    };
    lose(own);
    std::for_each(others.begin(), others.end(), lose);
    if (aWhy == SHUTDOWN)
        leavePlaces(RS_NO_TICKET);
    else
        settle();
    if (hasPlace())
        return;
    if (begun && aWhy == SHUTDOWN)
        goOn();
    else
        refused(aWhy);
}

void
Fqrs::Ticket::joined(const uint32_t aClass, const uint64_t whose)
{
    if (state != WAITING)
        return;
    auto &scheduler = Scheduler::Instance();
    auto &p = placeIn(aClass, whose);
    if (!p.members)
        p.whose = whose;
    ++p.members;
    if (p.number == RS_NO_TICKET)
        scheduler.enqueue(*this, aClass, p.whose,
                          p.number);    // who finds its queue full waits as long as those who were there before
    settle();
    scheduler.admit();
}

void
Fqrs::Ticket::left(const uint32_t aClass)
{
    if (state != WAITING)
        return;
    auto &p = placeIn(aClass, 0);
    if (p.members)
        --p.members;
    settle();
}

void
Fqrs::Ticket::leaderLeft()
{
    if (state == WAITING)
        left(own.classNumber);
    else
        own.members = 0;
}

/* ---- what becomes of it ------------------------------------------------------------------------------------------ */

/// Nobody can join any more.
void
Fqrs::Ticket::endWaiting(const bool released)
{
    if (entry)
        Scheduler::Instance().unpublish(*entry);
    entry = nullptr;
    while (const auto c = companions) {
        if (released)
            c->released(Now());
        c->detach();
    }
}

void
Fqrs::Ticket::admitted()
{
    const auto now = Now();
    state = RELEASED;
    received = 0;
    opening = tunnel && !begun;
    if (tunnel) {
        const auto &scheduler = Scheduler::Instance();
        turn = opening ? scheduler.openingTurn() : scheduler.turn();
        if (!opening && usual == RS_UNLIMITED)
            turn = std::min(turn, next);
        turnFrom = now;
    }
    if (begun) {
        const auto unread = flow.unread();
        turn += unread;
        Scheduler::Instance().lengthen(*this, Scheduler::Instance().expectedOf(*this) + unread);
        fit();
    } else {
        begun = true;
        const auto record = RecordOf(al);
        record->waitMsec = static_cast<int64_t>((now - since) / 1000);
        record->released = now;
        record->ended = Record::Never;
        endWaiting(true);
    }
    if (!entering)
        callBack();
}

/* ---- a tunnel's turns -------------------------------------------------------------------------------------------- */

bool
Fqrs::Ticket::nextTurn(const AsyncCall::Pointer &aResume)
{
    auto &scheduler = Scheduler::Instance();
    if (number != RS_NO_TICKET) {
        usual = opening ? 0 : RS_UNLIMITED;
        next = scheduler.turnBehind(received, Now() - turnFrom);
        scheduler.end(*this, true);
    }
    state = WAITING;
    resume = aResume;
    turnSince = Now();
    entering = true;
    scheduler.stand(*this);
    entering = false;
    const auto waiting = state == WAITING;
    if (!waiting)
        resume = nullptr;
    return waiting;
}

Fqrs::Refusal
Fqrs::Ticket::ask()
{
    auto &scheduler = Scheduler::Instance();
    if (!scheduler.on() || shutting_down) {
        goOn();
        return REFUSALS;
    }
    scheduler.renumber(*this);
    own.classNumber = classNumber;
    own.whose = key;
    own.members = 1;
    // what lies there is paid with it, about as much as came after the last turn
    const auto estimate = scheduler.expectedOf(*this) + flow.unread();
    const auto whyNot = scheduler.enqueue(*this, own.classNumber, own.whose, own.number, estimate);
    if (whyNot == REFUSALS || scheduler.on())
        return whyNot;
    goOn(); // as in submit()
    return REFUSALS;
}

bool
Fqrs::Ticket::rest()
{
    if (!tunnel)
        return false;
    usual = opening ? 0 : received;
    Scheduler::Instance().end(*this, received >= SignsOfLife);
    state = RESTING;
    received = 0;
    return true;
}

/// without a turn, since nobody has one any more, nor a window
void
Fqrs::Ticket::goOn()
{
    state = RESTING;
    received = 0;
    flow.release();
    if (!entering)
        callBack();
}

void
Fqrs::Ticket::refused(const Refusal aWhy)
{
    state = REFUSED;
    why = aWhy;
    Scheduler::Instance().countRefusal(classNumber, why);
    endWaiting(false);
    if (!entering)
        callBack();
}

void
Fqrs::Ticket::callBack()
{
    if (!resume)
        return;
    ScheduleCallHere(resume);
    resume = nullptr;
}

ErrorState *
Fqrs::Ticket::refusal(HttpRequest *request, const AccessLogEntryPointer &anAl)
{
    if ((state == ACCOUNTING || state == RESTING) && why != REFUSALS)
        Scheduler::Instance().countRefusal(classNumber, why);
    else if (state != REFUSED)
        return nullptr;
    return RefusalPage(why, classNumber, request, anAl);
}

void
Fqrs::Ticket::dispatched(const Comm::ConnectionPointer &conn)
{
    if (state != RELEASED && !(tunnel && (state == RESTING || state == CLASSIFYING)))
        return;
    length = RS_UNLIMITED; // of an earlier try, perhaps
    earlier = received;
    teaches = false;
    flow.begin(conn, tunnel);
    if (state != RELEASED)
        return;
    if (opening)
        Scheduler::Instance().stir(*this);
    fit();
}

void
Fqrs::Ticket::detached()
{
    flow.end();
}

void
Fqrs::Ticket::fit(const uint64_t allowed)
{
    flow.fit(allowed, length == RS_UNLIMITED ? RS_UNLIMITED : length - std::min(received, length));
}

void
Fqrs::Ticket::fit()
{
    fit(Scheduler::Instance().windowOf(*this));
}

void
Fqrs::Ticket::bytesIn(const size_t bytes)
{
    if (tunnel)
        carried += bytes;
    if (state == RELEASED) {
        received += bytes;
        flow.came(bytes);
        const auto window = Scheduler::Instance().progress(*this, bytes);
        if (!Scheduler::Instance().isParked(*this)) // else it keeps the window that it had
            fit(window);
    } else if (state == RESTING) {
        const auto now = Now();
        if (now - restedFrom >= Scheduler::StallTime) {
            restedFrom = now;
            received = 0;
        }
        received += bytes;
        flow.came(bytes);
        Scheduler::Instance().charge(*this, bytes);
    } else if (state == ACCOUNTING) {
        Scheduler::Instance().charge(*this, bytes);
    } else if (state == CLASSIFYING) {
        received += bytes;
        flow.came(bytes);
    }
}

void
Fqrs::Ticket::replyHeader(const HttpReply &reply, const HttpRequestMethod &method, const int64_t bodySeen)
{
    int64_t body = -1;
    if (state != RELEASED)
        return;
    const auto status = reply.sline.status();
    teaches = method == Http::METHOD_GET && (status == Http::scOkay || status == Http::scNotModified);
    if (!reply.expectingBody(method, body))
        body = bodySeen;
    if (body < 0)
        return; // only the end will tell
    length = received + static_cast<uint64_t>(std::max<int64_t>(body - bodySeen, 0));
    fit(Scheduler::Instance().expect(*this, length));
}

void
Fqrs::Ticket::finish(const bool whole)
{
    if (state == IDLE || state == OVER)
        return;
    if (state == WAITING) {
        leavePlaces(RS_NO_TICKET);
        if (tunnel)
            Scheduler::Instance().forget(*this);
    }
    const auto record = RecordOf(al);
    if (state == RELEASED || (tunnel && record && record->released != Record::Never))
        record->ended = Now();
    if (tunnel ? begun && carried >= SignsOfLife : whole && state == RELEASED && teaches)
        Scheduler::Instance().learn(classNumber, sizes, tunnel ? carried : received - earlier);
    if (state == RELEASED)
        Scheduler::Instance().finish(*this, tunnel ? received >= SignsOfLife : whole); // less teaches nothing
    state = OVER;
    endWaiting(false);
    Scheduler::Instance().seats().give(seatClass, seats);
    seats = 0;
    flow.end();
    delete classification;
    classification = nullptr;
    resume = nullptr;
    asked = nullptr;
    al = nullptr;
}

