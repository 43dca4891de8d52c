/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "AccessLogEntry.h"
#include "error/Detail.h"
#include "errorpage.h"
#include "fqrs/Host.h"
#include "fqrs/Classification.h"
#include "fqrs/Clock.h"
#include "fqrs/Config.h"
#include "fqrs/Scheduler.h"
#include "fqrs/Ticket.h"
#include "globals.h"
#include "HttpReply.h"
#include "HttpRequest.h"

#include <algorithm>

bool
Fqrs::Ticket::Wanted(const HttpRequest &request)
{
    return Scheduler::Instance().on() && !request.flags.internal && !request.client_addr.isNoAddr();
}

bool
Fqrs::Ticket::hold(HttpRequest *request, const AccessLogEntryPointer &anAl, const AsyncCall::Pointer &aResume)
{
    // what Squid wants for itself, digests, AS numbers and the like, is nobody's to log
    if (state != IDLE || !anAl || !Wanted(*request))
        return false;
    if (request->flags.ftpNative || request->flags.sslPeek) { // a part of another transaction
        account(request, anAl);
        return false;
    }
    waits = true;
    resume = aResume;
    entering = true;
    classify(request, anAl);
    entering = false;
    if (state == REFUSED)
        callBack();
    return state != RELEASED && state != EXEMPT;
}

void
Fqrs::Ticket::account(HttpRequest *request, const AccessLogEntryPointer &anAl)
{
    if (state == IDLE && anAl && Wanted(*request))
        classify(request, anAl);
}

void
Fqrs::Ticket::classify(HttpRequest *request, const AccessLogEntryPointer &anAl)
{
    al = anAl;
    state = CLASSIFYING;
    since = Now();
    classification = new Classification(*this, request, anAl);
    classification->start();
}

void
Fqrs::Ticket::classified(const uint32_t position)
{
    auto &scheduler = Scheduler::Instance();
    delete classification;
    classification = nullptr;
    if (position == Classification::NotScheduled) {
        state = EXEMPT;
        if (!entering)
            callBack();
        return;
    }
    classNumber = scheduler.numberOf(position);
    generation = scheduler.generation();
    al->fqrs.className = scheduler.nameOf(position);
    if (waits) {
        state = WAITING;
        scheduler.submit(*this);
    } else {
        state = ACCOUNTING;
        if (received)
            scheduler.charge(*this, received);
    }
}

void
Fqrs::Ticket::admitted()
{
    const auto now = Now();
    state = RELEASED;
    received = 0;
    al->fqrs.waitMsec = static_cast<int64_t>((now - since) / 1000);
    al->fqrs.released = now;
    al->fqrs.ended = RS_NEVER;
    if (!entering)
        callBack();
}

void
Fqrs::Ticket::refused(const char *aWhy)
{
    state = REFUSED;
    why = aWhy;
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
Fqrs::Ticket::refusal(HttpRequest *request, const AccessLogEntryPointer &anAl) const
{
    if (state != REFUSED)
        return nullptr;
    const auto page = new ErrorState(shutting_down ? ERR_SHUTTING_DOWN : ERR_CANNOT_FORWARD, Http::scServiceUnavailable, request, anAl);
    page->detailError(MakeNamedErrorDetail(why));
    return page;
}

void
Fqrs::Ticket::dispatched(const Comm::ConnectionPointer &conn)
{
    if (state != RELEASED)
        return;
    length = RS_UNLIMITED; // of an earlier try, perhaps
    flow.begin(conn);
    fit();
}

void
Fqrs::Ticket::detached()
{
    flow.end();
}

void
Fqrs::Ticket::fit()
{
    const auto rest = length == RS_UNLIMITED ? RS_UNLIMITED : length - std::min(received, length);
    flow.fit(Scheduler::Instance().allowance(*this), received, rest);
}

void
Fqrs::Ticket::bytesIn(const size_t bytes)
{
    if (state == RELEASED) {
        received += bytes;
        Scheduler::Instance().progress(*this, bytes);
        fit();
    } else if (state == ACCOUNTING) {
        Scheduler::Instance().charge(*this, bytes);
    } else if (state == CLASSIFYING) {
        received += bytes;
    }
}

void
Fqrs::Ticket::replyHeader(const HttpReply &reply, const HttpRequestMethod &method, const int64_t bodySeen)
{
    int64_t body = -1;
    if (state != RELEASED)
        return;
    if (!reply.expectingBody(method, body))
        body = bodySeen;
    if (body < 0)
        return; // only the end will tell
    length = received + static_cast<uint64_t>(std::max<int64_t>(body - bodySeen, 0));
    Scheduler::Instance().expect(*this, length);
    fit();
}

void
Fqrs::Ticket::finish(const bool whole)
{
    if (state == IDLE || state == OVER)
        return;
    if (state == WAITING)
        Scheduler::Instance().cancel(*this);
    else if (state == RELEASED) {
        al->fqrs.ended = Now();
        Scheduler::Instance().finish(*this, whole);
    }
    state = OVER;
    flow.end();
    delete classification;
    classification = nullptr;
    resume = nullptr;
    al = nullptr;
}

