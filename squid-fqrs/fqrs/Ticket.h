/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_TICKET_H
#define SQUID_SRC_FQRS_TICKET_H

#include "AccessLogEntry.h"
#include "base/AsyncCall.h"
#include "comm/forward.h"
#include "fqrs/Classified.h"
#include "fqrs/Engine.h"
#include "fqrs/Flow.h"
#include "fqrs/Refusal.h"
#include "fqrs/Sizes.h"

#include <vector>

class ErrorState;
class HttpReply;
class HttpRequest;
class HttpRequestMethod;
class StoreEntry;

namespace Fqrs
{

class Classification;
class Companion;

/**
 * A transaction's place with the scheduler; a member of what forwards the request. It gives back what it holds exactly
 * once: at finish(), or when its owner goes.
 *
 *     IDLE ──hold()──> CLASSIFYING ──classified()──> WAITING ──admitted()──> RELEASED ──finish()──> OVER
 *                          │  └──queue full──> REFUSED  │
 *                          │                     ↑──────┘ waited too long, no descriptor, or Squid shuts down
 *                          └──fqrs_access none──> EXEMPT
 *     IDLE ──account()──> CLASSIFYING ──> ACCOUNTING ──finish()──> OVER        (never waits; its bytes are its class's)
 *     any ──finish(), owner gone──> OVER
 *
 * A request that WAITS has a place in its class's queue; when other clients wait for what it fetches, it has one in the
 * queue of each of their classes, too (Companion.h). Whichever comes first is released, and pays; the others are given
 * up. It is refused when it has none left. A class that waits no more, as its last client left, gives its place up
 * unless it is the only one.
 *
 * When its class is known it takes a seat, when it is released a second one (Seats.h), and keeps them to its end. There
 * may be none: then it is refused.
 *
 * All calls come from Squid's main loop.
 */
class Ticket: private Classified
{
public:
    Ticket() = default;
    Ticket(Ticket &&) = delete; // the scheduler knows our address
    ~Ticket() { finish(false); }

    /// Whether hold() or account() would do anything for this request.
    static bool Wanted(const HttpRequest &);

    /// Takes a place for a request that is about to be forwarded. False: go on now. True: `resume` will be called when
    /// it may go, or
    /// when refusal() says why not.
    bool hold(HttpRequest *, const AccessLogEntryPointer &, StoreEntry *, const AsyncCall::Pointer &resume);

    /// Charges the transaction's bytes to the request's class without ever making it wait. It may be one too many: see
    /// refusal().
    void account(HttpRequest *, const AccessLogEntryPointer &);

    /// An error page for a request that may not go at all, asked for once; nil for one that may. The caller owns it.
    ErrorState *refusal(HttpRequest *, const AccessLogEntryPointer &);

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
    friend class Companion;
    friend class Scheduler;

    enum State { IDLE, CLASSIFYING, WAITING, REFUSED, RELEASED, ACCOUNTING, EXEMPT, OVER };

    /// in a class's queue
    struct Place {
        uint32_t classNumber = 0; ///< the engine's
        uint64_t whose = 0; ///< inside the class: of its first client
        rs_ticket_t number = RS_NO_TICKET; ///< or it has none
        uint32_t members = 0; ///< how many clients of the class wait
    };

    void classify(HttpRequest *, const AccessLogEntryPointer &);
    void classified(uint32_t position) override;
    void submit();
    void admitted(); ///< may go now
    void refused(Refusal why); ///< may not go
    void endWaiting(bool released);
    void callBack();
    void fit();

    /* for Scheduler, about a place */
    void picked(rs_ticket_t, uint32_t classNumber); ///< its turn has come
    void lost(rs_ticket_t, Refusal why); ///< its wait is over

    /* for Companion */
    void joined(uint32_t classNumber, uint64_t whose);
    void left(uint32_t classNumber);
    void leaderLeft();

    Place &placeIn(uint32_t classNumber, uint64_t whose);
    bool hasPlace() const;
    void settle();
    void leavePlaces(rs_ticket_t but);

    AccessLogEntryPointer al; ///< where the log will look
    AsyncCall::Pointer resume;
    Classification *classification = nullptr;
    Companion *companions = nullptr; ///< who waits for what is fetched, while it waits
    const StoreEntry *entry = nullptr; ///< what is fetched, while it waits and others may join
    Place own; ///< of the class of the client who asked first
    std::vector<Place> others; ///< of classes whose clients joined
    rs_ticket_t number = RS_NO_TICKET; ///< when released
    rs_time_t since = 0; ///< arrival
    uint64_t received = 0; ///< bytes since the release
    uint64_t length = RS_UNLIMITED; ///< of the whole response, as far as it is known
    Sizes::Keys sizes; ///< what its response is known by
    uint64_t earlier = 0; ///< of `received` those of tries that failed
    bool teaches = false; ///< another response to its request would be as large
    bool tunnel = false; ///< all that comes through it is its response
    Flow flow;
    uint32_t classNumber = 0; ///< the engine's, who pays
    uint32_t seatClass = 0; ///< class whose seats it has
    uint32_t seats = 0; ///< how many
    Refusal why = REFUSALS; ///< it was refused, if it was
    unsigned generation = 0; ///< of the configuration that gave classNumber; for ACCOUNTING
    State state = IDLE;
    bool waits = false; ///< hold(), not account()
    bool entering = false; ///< hold() is at work: its return value tells, not `resume`
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_TICKET_H */

