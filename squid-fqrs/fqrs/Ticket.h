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
#include "http/forward.h"

#include <vector>

class ErrorState;
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
 * and of a tunnel also (TURNS):
 *
 *     IDLE ──begin()──> CLASSIFYING ──> RESTING
 *     RELEASED ──nothing came for a moment──> RESTING ──bytes came, nextTurn()──> WAITING
 *     RELEASED ──its turn is over, nextTurn()──> WAITING
 *
 * A request that WAITS has a place in its class's queue; when other clients wait for what it fetches, it has one in the
 * queue of each of their classes, too (Companion.h). Whichever comes first is released, and pays; the others are given
 * up. It is refused when it has none left. A class that waits no more, as its last client left, gives its place up
 * unless it is the only one.
 *
 * When its class is known it takes a seat, when it is released a second one (Seats.h), and keeps them to its end. There
 * may be none: then it is refused.
 *
 * TURNS. What a tunnel carries are answers, too, but nobody outside sees where one begins or how large it is. So a
 * tunnel has a turn at a time, which is to the scheduler what a request is: it is let go, may bring so many bytes
 * (Scheduler::turn()), and is over when it has, or when next to nothing came for a moment. The CONNECT waits for the
 * first turn. For each further one the tunnel waits, and while it does it is not read: its server sends what the
 * receive window and buffer hold, which are small (Flow.h), and stops. That much lies there when its turn comes; it is
 * paid for, and the turn begins behind it: what is scheduled is what the window lets come, not what has come.
 * tests/sim/test_sim_tunnels.c has the figures, and those of what is simpler.
 *
 * A tunnel of which nothing comes RESTS: it has no ticket, takes no room, and is read. What has come then has come: it
 * goes to the client at once and is charged. But before more is read the tunnel waits for a turn, unless it was hardly
 * anything.
 *
 * If there is no place in the queue the tunnel stands in line for one, before those who come anew: half an answer is no
 * answer. If its wait is over, in line and in the queue together, it is closed. What the client sends is never delayed.
 *
 * All calls come from Squid's main loop.
 */
class Ticket: private Classified
{
public:
    Ticket();
    Ticket(Ticket &&) = delete; // the scheduler knows our address
    ~Ticket();

    /// Whether hold() or account() would do anything for this request.
    static bool Wanted(const HttpRequest &);

    /// Takes a place for a request that is about to be forwarded. False: go on now. True: `resume` will be called when
    /// it may go, or when refusal() says why not.
    bool hold(HttpRequest *, const AccessLogEntryPointer &, StoreEntry *, const AsyncCall::Pointer &resume);

    /// The same for a CONNECT, which waits for its tunnel's first turn. One whose server is connected already begins as
    /// by begin().
    bool holdTunnel(HttpRequest *, const AccessLogEntryPointer &, const AsyncCall::Pointer &resume);

    /// A tunnel that is there already; it rests.
    void begin(HttpRequest *, const AccessLogEntryPointer &);

    /// Whether the tunnel must ask for another turn before it reads from its server again.
    bool turnIsOver() const {
        return tunnel && (state == RELEASED ? received >= turn : state == RESTING && received >= SignsOfLife);
    }

    /// Asks for it. False: read now. True: `resume` will be called when it may read, or when it wasRefused().
    bool nextTurn(const AsyncCall::Pointer &resume);

    bool wasRefused() const { return state == REFUSED; }

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

    enum State { IDLE, CLASSIFYING, WAITING, REFUSED, RELEASED, RESTING, ACCOUNTING, EXEMPT, OVER };

    /// A tunnel that rests asks for a turn when it has brought so many bytes within Scheduler::StallTime: signs of life
    /// never do.
    static const uint64_t SignsOfLife = 1024;

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
    void fit(uint64_t allowed);
    void fit();

    /* for Scheduler, about a place */
    void picked(rs_ticket_t, uint32_t classNumber); ///< its turn has come
    void lost(rs_ticket_t, Refusal why); ///< its wait is over
    bool rest(); ///< hardly anything came; false: it is no tunnel
    Refusal ask(); ///< for the next turn; REFUSALS: it has a place, or needs none
    void goOn();

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
    HttpRequestPointer asked; ///< for: whose it is depends on its class, which may become another one
    uint64_t key = 0; ///< inside the class: of its client
    rs_ticket_t number = RS_NO_TICKET; ///< when released
    rs_time_t since = 0; ///< arrival
    uint64_t received = 0; ///< bytes since the release, or since restedFrom
    rs_time_t restedFrom = 0; ///< when what comes at rest was counted anew
    uint64_t turn = 0; ///< of a tunnel: how many it may be
    uint64_t length = RS_UNLIMITED; ///< of the whole response, as far as it is known
    Sizes::Keys sizes; ///< what its response is known by
    uint64_t earlier = 0; ///< of `received` those of tries that failed
    bool teaches = false; ///< another response to its request would be as large
    uint64_t carried = 0; ///< by a tunnel, in all its turns and between them
    uint64_t usual = 0; ///< in its last turn; RS_UNLIMITED: that was not enough; 0: it had none but the first
    uint64_t next = 0; ///< bytes of its next turn, when that was not enough
    rs_time_t turnFrom = 0; ///< when its turn began
    Flow flow;
    uint32_t classNumber = 0; ///< the engine's, who pays
    uint32_t seatClass = 0; ///< class whose seats it has
    uint32_t seats = 0; ///< how many
    Refusal why = REFUSALS; ///< it was refused, if it was
    unsigned generation = 0; ///< of the configuration that gave classNumber; for ACCOUNTING
    State state = IDLE;
    bool waits = false; ///< hold(), not account()
    bool tunnel = false;
    bool opening = false; ///< the tunnel has its first turn
    bool begun = false; ///< it was released once
    rs_time_t turnSince = 0; ///< when it asked for its turn
    Ticket *before = nullptr, *after = nullptr; ///< in the line for a place
    bool inLine = false; ///< it stands there
    bool entering = false; ///< hold() is at work: its return value tells, not `resume`
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_TICKET_H */

