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
#include <climits>
#include <netinet/tcp.h>

/// A window of fewer than three segments would make TCP wait for its timers.
static const int SmallestClamp = 4500;
/// beyond this a window is nobody's trouble
static const uint64_t LargestClamp = 16 << 20;
/// how often a window is fitted anew while bytes come
static const rs_time_t FitEvery = 50000;

bool
Fqrs::Ticket::Wanted(const HttpRequest &request)
{
    // digests, netdb and the like are Squid's own, and have no client
    return Scheduler::Instance().on() && !request.flags.internal && !request.client_addr.isNoAddr();
}

bool
Fqrs::Ticket::hold(HttpRequest *request, const AccessLogEntryPointer &anAl, const AsyncCall::Pointer &aResume)
{
    if (state != IDLE || !Wanted(*request))
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
    return state != RELEASED;
}

void
Fqrs::Ticket::account(HttpRequest *request, const AccessLogEntryPointer &anAl)
{
    if (state == IDLE && Wanted(*request))
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
    classNumber = scheduler.numberOf(position);
    generation = scheduler.generation();
    if (al)
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
    if (al)
        al->fqrs.waitMsec = static_cast<int64_t>((now - since) / 1000);
    since = now;
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
    freeWindow();
    if (state != RELEASED)
        return;
    server = conn;
    fitWindow(Now());
}

/// Fits the receive window to what the scheduler lets be on its way, so that many responses do not fill the far router's queue, nor one
/// takes more of the link than its class is due.
void
Fqrs::Ticket::fitWindow(const rs_time_t now)
{
    fitted = now;
    const auto allowance = Scheduler::Instance().allowance(*this);
    if (allowance >= LargestClamp)
        return freeWindow();
    const auto bytes = std::max(static_cast<int>(allowance), SmallestClamp);
    if (abs(bytes - clamp) * 8 > clamp || received > clamped + static_cast<uint64_t>(clamp)) {
        // the kernel enlarges a window that is used well, so a clamp must be said again
        (void)setsockopt(server->fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &bytes, sizeof(bytes));
        clamp = bytes;
        clamped = received;
    }
}

/// Leaves the connection to the next transaction as we found it.
void
Fqrs::Ticket::freeWindow()
{
    if (clamp && Comm::IsConnOpen(server)) {
        const int bytes = INT_MAX;
        (void)setsockopt(server->fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &bytes, sizeof(bytes));
    }
    clamp = 0;
}

void
Fqrs::Ticket::bytesIn(const size_t bytes)
{
    if (state == RELEASED) {
        const auto now = Now();
        received += bytes;
        Scheduler::Instance().progress(*this, bytes, now);
        if (now - fitted >= FitEvery && Comm::IsConnOpen(server))
            fitWindow(now);
    } else if (state == ACCOUNTING) {
        Scheduler::Instance().charge(*this, bytes);
    } else if (state == CLASSIFYING) {
        received += bytes;
    }
}

void
Fqrs::Ticket::replyHeader(const HttpReply &reply, const HttpRequestMethod &method, const int64_t bodySeen)
{
    int64_t length = -1;
    if (state != RELEASED)
        return;
    if (!reply.expectingBody(method, length))
        length = bodySeen;
    if (length >= 0) // else only the end will tell
        Scheduler::Instance().expect(*this, received + static_cast<uint64_t>(length > bodySeen ? length - bodySeen : 0));
}

void
Fqrs::Ticket::finish(const bool whole)
{
    if (state == IDLE || state == OVER)
        return;
    if (state == WAITING)
        Scheduler::Instance().cancel(*this);
    else if (state == RELEASED) {
        if (al)
            al->fqrs.slotMsec = static_cast<int64_t>((Now() - since) / 1000);
        Scheduler::Instance().finish(*this, whole);
        freeWindow();
    }
    state = OVER;
    server = nullptr;
    delete classification;
    classification = nullptr;
    resume = nullptr;
    al = nullptr;
}

