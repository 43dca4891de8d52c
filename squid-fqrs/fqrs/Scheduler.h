/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_SCHEDULER_H
#define SQUID_SRC_FQRS_SCHEDULER_H

#include "fqrs/Alarm.h"
#include "fqrs/Clock.h"
#include "fqrs/Engine.h"
#include "fqrs/Link.h"
#include "fqrs/Refusal.h"
#include "fqrs/Seats.h"
#include "fqrs/Segment.h"
#include "fqrs/Sizes.h"
#include "sbuf/SBuf.h"

#include <unordered_map>
#include <vector>

class StoreEntry;

namespace Fqrs
{

class Config;
class Ticket;

/**
 * One worker's part of the scheduling: its tickets that wait or are released, the clock that wakes it, the bytes of the
 * link that no ticket explains. The engine of core/rs.h is all workers' (Segment.h): whoever makes room, or comes, lets
 * go who is next, in whatever worker, and rings that worker's bell.
 *
 * The engine stays: a reconfiguration keeps queues, accounts, counters and outstanding responses. Workers read
 * squid.conf each at its own time; the first that has a new one puts it in force, and the others know their classes'
 * numbers by name until they have it, too. With "fqrs off" it lets everything go that waits and takes nobody new.
 *
 * A response from which next to nothing comes is parked: an origin that does not answer, that stops in the middle or
 * that drips keeps no room of the link. When as much comes as a response brings, it takes its room back. A tunnel is
 * sent to rest instead, and has no ticket until it asks for one.
 */
class Scheduler
{
public:
    /// A response from which too little came for so long does not count as outstanding: a round trip over the far end
    /// of the world and a queue of some hundred milliseconds at the ISP are less, and who waits behind it is kept for
    /// less than a second.
    static const rs_time_t StallTime = 500000;

    static Scheduler &Instance();

    bool on() const { return accepting; }
    void configure(const Config &);
    void shutdown(); ///< refuses who waits

    /* for Ticket: */
    /// Ends in Ticket::picked() or lost(), after admit(); REFUSALS: done. `estimate`: bytes; 0 = as much as is known of
    /// its response.
    Refusal enqueue(Ticket &, uint32_t classNumber, uint64_t whose, rs_ticket_t &place, uint64_t estimate = 0);
    void dequeue(rs_ticket_t &place); ///< becomes RS_NO_TICKET, as which it does nothing
    void admit() { admit(Now(), true); } ///< lets go whoever may
    void publish(const StoreEntry &e, Ticket &t) { fetches[&e] = &t; } ///< others may join who waits for this entry
    void unpublish(const StoreEntry &e) { fetches.erase(&e); }
    Seats &seats() { return seats_; }
    void countRefusal(uint32_t classNumber, Refusal);
    /// seconds after which a refused request of that class has a chance
    unsigned retryAfter(uint32_t classNumber) const;
    uint64_t progress(Ticket &, uint64_t bytes); ///< its window from now on
    bool isParked(const Ticket &) const;
    uint64_t expect(Ticket &, uint64_t length); ///< its window from now on
    void stir(Ticket &); ///< something happened with its server, though nothing came of it yet
    void lengthen(Ticket &, uint64_t length); ///< the same for one that was picked just now, and lets nobody else go
    void finish(Ticket &, bool whole);
    void end(Ticket &, bool whole); ///< the same for one that has been released, and lets nobody else go
    void decline(Ticket &); ///< one that was picked just now, and can't go; somebody else may, in a moment
    void charge(Ticket &, uint64_t bytes);
    /// a whole response was so large
    void learn(uint32_t classNumber, const Sizes::Keys &keys, uint64_t bytes) {
        sizes_.learn(keys, guesses[classNumber], bytes);
    }
    void renumber(Ticket &); ///< its class may have another number since a reconfiguration
    uint32_t numberOf(uint32_t position);
    const SBuf &nameOf(uint32_t position) const { return known[position].name; }

    /* for a tunnel's ticket: */
    uint64_t openingTurn() const; ///< bytes that the first one may bring before it asks again
    uint64_t turn() const; ///< the same of another one
    /// the same of one behind a turn that was not enough, and brought so many bytes in so many microseconds
    uint64_t turnBehind(uint64_t bytes, rs_time_t took) const;
    uint64_t expectedOf(const Ticket &) const; ///< bytes that such a one is expected to bring, as long as it lasts
    /// It stands in line for a place for its next turn: Ticket::ask() is called, until that finds one.
    void stand(Ticket &);
    void forget(Ticket &); ///< it stands there no longer

    /// the window of its response; RS_UNLIMITED: it is not fitted
    uint64_t windowOf(const Ticket &) const;

    /* for Flow: */
    /// what a connection that is being opened should offer before anybody knows what for; RS_UNLIMITED: does not matter
    uint64_t firstWindow() const;
    /// A round trip with this server takes so long now, and took `least` microseconds at some time; 0: not known.
    void tripped(rs_time_t now, uint64_t server, uint32_t trip, uint32_t least);

    /* for Companion: */
    Ticket *fetchOf(const StoreEntry &) const; ///< what waits to fetch that entry; nil if nothing does

    /// Goes up whenever positions of classes, or their numbers, may have changed.
    unsigned generation() const { return generation_; }

private:
    /// a doubly linked list of rows by their index
    struct List {
        uint32_t first, last;
    };

    /// GOING: let go, by whomever, and its ticket has yet to be told
    enum Where { QUEUED, GOING, ACTIVE, PARKED };

    /// what we keep of each of our tickets
    struct Row {
        Ticket *ticket;
        rs_ticket_t number;
        uint32_t classNumber;
        rs_time_t read; ///< when it was released, or bytes came last
        rs_time_t moved; ///< when it was queued, then released, then when enough bytes came last
        uint64_t since; ///< bytes since then
        uint32_t before, after; ///< in its class's waiting list, in `going`, or in `active`
        Where where;
    };

    /// what we keep of each class of our configuration
    struct Known {
        SBuf name;
        uint32_t waitSeconds;
        uint64_t guesses;
    };

    Scheduler();
    static void Rang();
    static void Rung(int fd, void *);
    void join(const Config &);
    void keepUp();
    void noteNumbers();
    void listen();
    void complain() const;
    void abandon();
    bool comeBack();
    void admit(rs_time_t now, bool acted);
    void pump(rs_engine_t *, rs_time_t now);
    void tell(rs_time_t now, bool acted);
    void tick(rs_time_t now);
    void park(rs_time_t now);
    void hasten(rs_time_t now);
    void refuseOverdue(rs_time_t now);
    bool isOver(uint32_t classNumber, rs_time_t since, rs_time_t now) const;
    bool isClosed(uint32_t classNumber, rs_time_t now) const;
    void closeClass(uint32_t classNumber, rs_time_t now);
    void askAgain(rs_time_t now);
    uint64_t sizeOf(const Ticket &, uint32_t classNumber) const;
    uint64_t windowIn(rs_engine_t *, const Ticket &, rs_time_t now) const;
    uint64_t carries() const;
    uint64_t openingSize() const;
    rs_time_t stallTime() const;
    void watchLink(rs_time_t now);
    bool isHeldBack(rs_time_t now) const;
    void follow(rs_engine_t *, rs_time_t now);
    List &listOf(const Row &);
    void append(List &, uint32_t index);
    void insert(List &, uint32_t index);
    void remove(List &, uint32_t index);
    void drop(Ticket &);
    Row &rowOf(const Ticket &);

    Segment &segment = Segment::Instance();
    bool joined = false; ///< it has a place there
    bool listening = false; ///< to the bell
    bool abandoned = false; ///< that the segment is gone, for good or for a while, was made known to our tickets
    uint32_t inForce = 0; ///< digest of the configuration by which `numbers` are
    uint32_t ours = 0; ///< of the one that this worker has
    bool accepting = false;
    unsigned generation_ = 0;
    uint32_t waiting = 0; ///< our tickets in queues
    uint32_t released = 0; ///< ours, too
    rs_time_t again = RS_NEVER; ///< when somebody may go, whoever it is
    rs_time_t nextTick = RS_NEVER; ///< while anything waits or is outstanding
    bool wasLate = false; ///< the last tick, and so nothing was parked
    Ticket *firstInLine = nullptr, *lastInLine = nullptr; ///< of the tunnels that want a place in a queue
    uint32_t round = 0; ///< of askAgain()
    std::vector<uint32_t> fullIn; ///< by class number: the last round in which there was no place
    std::vector<uint64_t> fullClients; ///< of this round: those for whom there was none, perhaps for them alone
    std::vector<Row> rows; ///< by the ticket's index
    std::vector<List> queues; ///< by class number
    uint32_t queuesUsed = 0; ///< no class number was larger so far, plus 1
    std::vector<uint32_t> waits; ///< by class number: seconds
    /// by class number: as which of Sizes' classes it guesses what nobody has asked for yet; 0: no matter
    std::vector<uint64_t> guesses;
    List going; ///< let go, and not told yet
    List active; ///< released and not parked, the one of which bytes came longest ago first
    std::vector<uint32_t> numbers; ///< by position in the configuration
    std::vector<Known> known; ///< likewise
    uint32_t defaultPosition = 0; ///< of the class for those that match nothing
    std::unordered_map<const StoreEntry *, Ticket *> fetches; ///< what waits and may be joined
    Seats seats_;
    Sizes sizes_;
    Alarm alarm;
    Link link_;
    bool fitting = false; ///< windows
    bool following = false; ///< the engine has the rate that link_ believes in
    uint64_t rate = 0; ///< of the link as configured, where learning begins, bytes/s; 0: there is none
    uint64_t horizon = 0; ///< of the window of bytes, milliseconds
    uint64_t debt = 0; ///< the bound of debts as configured; 0: goes with the rate
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_SCHEDULER_H */

