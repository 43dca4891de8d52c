/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "AccessLogEntry.h"
#include "error/Detail.h"
#include "errorpage.h"
#include "fqrs/Refusal.h"
#include "fqrs/Scheduler.h"
#include "HttpReply.h"
#include "HttpRequest.h"
#include "sbuf/Stream.h"

ErrorState *
Fqrs::RefusalPage(const Refusal why, const uint32_t classNumber, HttpRequest *request, const AccessLogEntryPointer &al)
{
    const auto page = new ErrorState(why == SHUTDOWN ? ERR_SHUTTING_DOWN : ERR_CANNOT_FORWARD,
                                     Http::scServiceUnavailable, request, al);
    page->detailError(MakeNamedErrorDetail(RefusalName(why)));
    if (why == NO_DESCRIPTOR)
        request->flags.proxyKeepalive = false; // its connection is what there is not enough of
    if (why == SHUTDOWN)
        return page;

    // Squid's own page of this type speaks of parents and firewalls
    const auto seconds = Scheduler::Instance().retryAfter(classNumber);
    const HttpReplyPointer reply(page->BuildHttpReply());
    const auto text = ToSBuf(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Please try again</title></head>\n"
        "<body><h1>Please try again in ",
        seconds, seconds == 1 ? " second" : " seconds",
        "</h1>\n"
        "<p>Too many requests wait for this line at the moment. The server that you asked was not "
        "reached.</p></body></html>\n");
    reply->header.putStr(Http::HdrType::RETRY_AFTER, ToSBuf(seconds).c_str());
    reply->header.delById(Http::HdrType::CONTENT_LENGTH);
    reply->header.putInt64(Http::HdrType::CONTENT_LENGTH, text.length());
    reply->header.delById(Http::HdrType::CONTENT_LANGUAGE);
    reply->content_length = text.length();
    reply->body.set(text);
    page->response_ = reply;
    return page;
}

