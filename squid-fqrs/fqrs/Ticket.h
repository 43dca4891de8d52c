/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_TICKET_H
#define SQUID_SRC_FQRS_TICKET_H

#include "AccessLogEntry.h"
#include "base/AsyncCall.h"
#include "comm/forward.h"
#include "fqrs/Engine.h"
#include "fqrs/Flow.h"

class ErrorState;
class HttpReply;
class HttpRequest;
class HttpRequestMethod;

namespace Fqrs
{

class Classification;

/**
 * A transaction's place with the scheduler; a member of what forwards the request. It gives back what it holds exactly once: at finish(), or
 * when its owner goes.
 *
 *     IDLE ──hold()──> CLASSIFYING ──classified()──> WAITING ──admitted()──> RELEASED ──finish()──> OVER
 *                          │  └──queue full──> REFUSED  │
 *                          │                     ↑──────┘ waited too long, or Squid shuts down
 *                          └──fqrs_access none──> EXEMPT
 *     IDLE ──account()──> CLASSIFYING ──> ACCOUNTING ──finish()──> OVER        (never waits; its bytes are its class's)
 *     any ──finish(), owner gone──> OVER
 *
 * All calls come from Squid's main loop.
 */
class Ticket
{
public:
    Ticket() = default;
    Ticket(Ticket &&) = delete; // the scheduler knows our address
    ~Ticket() { finish(false); }

    /// Whether hold() or account() would do anything for this request.
    static bool Wanted(const HttpRequest &);

    /// Takes a place for a request that is about to be forwarded. False: go on now. True: `resume` will be called when it may go, or
    /// when refusal() says why not.
    bool hold(HttpRequest *, const AccessLogEntryPointer &, const AsyncCall::Pointer &resume);

    /// Charges the transaction's bytes to the request's class without ever making it wait.
    void account(HttpRequest *, const AccessLogEntryPointer &);

    /// An error page for a request that may not go at all; nil for one that may. The caller owns it.
    ErrorState *refusal(HttpRequest *, const AccessLogEntryPointer &) const;

    /// The request is about to go out on this connection.
    void dispatched(const Comm::ConnectionPointer &);

    /// The connection is no longer ours.
    void detached();

    /// Bytes came from the server.
    void bytesIn(size_t);

    /// The reply's header is known, of whose body `bodySeen` bytes are among those that came.
    void replyHeader(const HttpReply &, const HttpRequestMethod &, int64_t bodySeen);

    /// The transaction is over. Only a whole response teaches how large responses are.
    void finish(bool whole);

private:
    friend class Classification;
    friend class Scheduler;

    enum State { IDLE, CLASSIFYING, WAITING, REFUSED, RELEASED, ACCOUNTING, EXEMPT, OVER };

    void classify(HttpRequest *, const AccessLogEntryPointer &);
    void classified(uint32_t position);
    void admitted(); ///< by the scheduler: may go now
    void refused(const char *why); ///< by the scheduler: may not go
    void callBack();
    void fit();

    AccessLogEntryPointer al; ///< where the log will look
    AsyncCall::Pointer resume;
    Classification *classification = nullptr;
    const char *why = nullptr; ///< it was refused
    rs_ticket_t number = RS_NO_TICKET;
    rs_time_t since = 0; ///< arrival
    uint64_t received = 0; ///< bytes since the release
    uint64_t length = RS_UNLIMITED; ///< of the whole response, as far as it is known
    Flow flow;
    uint32_t classNumber = 0; ///< the engine's
    unsigned generation = 0; ///< of the configuration that gave classNumber; for ACCOUNTING
    State state = IDLE;
    bool waits = false; ///< hold(), not account()
    bool entering = false; ///< hold() is at work: its return value tells, not `resume`
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_TICKET_H */

