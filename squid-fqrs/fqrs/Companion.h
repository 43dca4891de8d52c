/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_COMPANION_H
#define SQUID_SRC_FQRS_COMPANION_H

#include "AccessLogEntry.h"
#include "fqrs/Classified.h"

class ErrorState;
class HttpRequest;
class StoreEntry;

namespace Fqrs
{

class Classification;
class Ticket;

/**
 * A client that waits for a store entry whose fetch waits with the scheduler: its own request's, or with collapsed
 * forwarding another client's. A member of what answers the client.
 *
 * Who joins another's fetch takes a place for it in the queue of its own class, as if it had asked for itself;
 * whichever of the fetch's places comes first lets it go, see Ticket.h. So nobody waits longer because somebody with
 * less weight asked first, and a place is given up when nobody of its class waits any more.
 *
 *     APART ──lead()──────────────────────────────────────────────> LEADING ──┐ leave(), or the fetch is over
 *       │ ↑ └─join()──> CLASSIFYING ──classified()──> JOINED ─────────────────┤
 *       └─┴────<────────────────────────────────────────────────────<─────────┘
 */
class Companion: private Classified
{
public:
    Companion() = default;
    Companion(Companion &&) = delete; // the ticket knows our address
    ~Companion() { leave(); }

    /// This entry's fetch was begun for our client.
    void lead(const StoreEntry &);

    /// Our client, who sent this request, waits for this entry as well. Does nothing unless its fetch waits with the
    /// scheduler. An error page if there is no seat for him, which the caller owns; one whose class is known only later
    /// sits down in any case.
    ErrorState *join(const StoreEntry &, HttpRequest *, const AccessLogEntryPointer &);

    /// Our client waits no more.
    void leave();

private:
    friend class Ticket;

    enum State { APART, LEADING, CLASSIFYING, JOINED };

    void classified(uint32_t position) override;
    void attach(Ticket &, State);
    void detach();
    void released(uint64_t now); ///< by the ticket: its fetch goes

    Ticket *fetch = nullptr;
    Companion *before = nullptr, *after = nullptr; ///< in the ticket's list
    Classification *classification = nullptr;
    AccessLogEntryPointer al; ///< where the log will look
    uint64_t since = 0; ///< when it joined
    uint32_t classNumber = 0; ///< the engine's
    uint64_t whose = 0; ///< in its class
    State state = APART;
    bool entering = false; ///< join() is at work: it can still refuse
    bool refused = false; ///< by this join()
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_COMPANION_H */

