/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "fqrs/Classification.h"
#include "fqrs/Clock.h"
#include "fqrs/Companion.h"
#include "fqrs/Record.h"
#include "fqrs/Scheduler.h"
#include "fqrs/Ticket.h"
#include "HttpRequest.h"

void
Fqrs::Companion::attach(Ticket &t, const State s)
{
    fetch = &t;
    state = s;
    before = nullptr;
    after = t.companions;
    if (after)
        after->before = this;
    t.companions = this;
}

void
Fqrs::Companion::detach()
{
    if (state == JOINED)
        Scheduler::Instance().seats().give(classNumber, 1);
    (before ? before->after : fetch->companions) = after;
    if (after)
        after->before = before;
    before = after = nullptr;
    fetch = nullptr;
    state = APART;
    delete classification;
    classification = nullptr;
    al = nullptr;
}

void
Fqrs::Companion::lead(const StoreEntry &entry)
{
    leave();
    if (const auto t = Scheduler::Instance().fetchOf(entry))
        attach(*t, LEADING);
}

ErrorState *
Fqrs::Companion::join(const StoreEntry &entry, HttpRequest *request, const AccessLogEntryPointer &anAl)
{
    leave();
    const auto t = Scheduler::Instance().fetchOf(entry);
    if (!t || !RecordOf(anAl) || !Ticket::Wanted(*request))
        return nullptr;
    attach(*t, CLASSIFYING);
    al = anAl;
    since = Now();
    classification = new Classification(*this, request, anAl);
    refused = false;
    entering = true;
    classification->start();
    entering = false;
    return refused ? RefusalPage(NO_DESCRIPTOR, classNumber, request, anAl) : nullptr;
}

void
Fqrs::Companion::classified(const uint32_t position)
{
    auto &scheduler = Scheduler::Instance();
    if (position != Classification::NotScheduled)
        whose = classification->whoseIn(position);
    delete classification;
    classification = nullptr;
    if (position == Classification::NotScheduled)
        return detach(); // what the fetch waits for is not this client's business
    classNumber = scheduler.numberOf(position);
    RecordOf(al)->className = scheduler.nameOf(position);
    if (!entering) {
        scheduler.seats().force(classNumber, 1);
    } else if (!scheduler.seats().enter(classNumber)) {
        refused = true;
        scheduler.countRefusal(classNumber, NO_DESCRIPTOR);
        return detach();
    }
    state = JOINED;
    fetch->joined(classNumber, whose);
}

void
Fqrs::Companion::released(const uint64_t now)
{
    if (state == JOINED)
        RecordOf(al)->waitMsec = static_cast<int64_t>((now - since) / 1000);
}

void
Fqrs::Companion::leave()
{
    if (state == APART)
        return;
    auto &t = *fetch;
    const auto was = state;
    detach();
    if (was == LEADING)
        t.leaderLeft();
    else if (was == JOINED)
        t.left(classNumber);
}

