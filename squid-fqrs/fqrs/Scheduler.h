/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_SCHEDULER_H
#define SQUID_SRC_FQRS_SCHEDULER_H

#include "fqrs/Alarm.h"
#include "fqrs/Clock.h"
#include "fqrs/Engine.h"
#include "fqrs/Link.h"
#include "fqrs/Refusal.h"
#include "fqrs/Seats.h"
#include "sbuf/SBuf.h"

#include <array>
#include <unordered_map>
#include <vector>

class StoreEntry;

namespace Fqrs
{

class Config;
class Ticket;

/**
 * The engine of core/rs.h in Squid's main loop: the tickets that wait or are released, the clock that wakes it, the
 * bytes of the link that no ticket explains.
 *
 * The engine's block is made once, at the first configuration with "fqrs on", and stays: a reconfiguration keeps
 * queues, accounts, counters and outstanding responses. With "fqrs off" it lets everything go that waits and takes
 * nobody new.
 *
 * A response from which next to nothing comes is parked: an origin that does not answer, that stops in the middle or
 * that drips keeps no room of the link. When as much comes as a response brings, it takes its room back. A tunnel is
 * sent to rest instead, and has no ticket until it asks for one.
 */
class Scheduler
{
public:
    static Scheduler &Instance();

    bool on() const { return accepting; }
    void configure(const Config &);
    void shutdown(); ///< refuses who waits

    /* for Ticket: */
    /// ends in Ticket::picked() or lost(), after admit(); REFUSALS: done. `estimate`: bytes; 0 = as others of its class
    Refusal enqueue(Ticket &, uint32_t classNumber, rs_ticket_t &place, uint64_t estimate = 0);
    void dequeue(rs_ticket_t &place); ///< becomes RS_NO_TICKET, as which it does nothing
    void admit() { admit(Now()); } ///< lets go whoever may
    void publish(const StoreEntry &e, Ticket &t) { fetches[&e] = &t; } ///< others may join who waits for this entry
    void unpublish(const StoreEntry &e) { fetches.erase(&e); }
    Seats &seats() { return seats_; }
    void countRefusal(uint32_t classNumber, Refusal);
    /// seconds after which a refused request of that class has a chance
    unsigned retryAfter(uint32_t classNumber) const;
    void progress(Ticket &, uint64_t bytes);
    uint64_t allowance(const Ticket &) const; ///< bytes that may be on their way at one time
    void expect(Ticket &, uint64_t length);
    void lengthen(Ticket &, uint64_t length); ///< the same for one that was picked just now, and lets nobody else go
    void finish(Ticket &, bool whole);
    void end(Ticket &, bool whole); ///< the same for one that has been released, and lets nobody else go
    void charge(Ticket &, uint64_t bytes);
    /// for tunnels: bytes that one may bring before it asks again
    uint64_t turn() const { return turn_; }
    void renumber(Ticket &) const; ///< its class may have another number since a reconfiguration
    void postpone(Ticket &); ///< there was no place for its next turn: Ticket::ask() is called again
    void forget(Ticket &); ///< nor need it be
    uint32_t numberOf(uint32_t position) const { return numbers[position]; }
    const SBuf &nameOf(uint32_t position) const { return names[position]; }

    /* for Companion: */
    Ticket *fetchOf(const StoreEntry &) const; ///< what waits to fetch that entry; nil if nothing does

    /// Goes up whenever positions of classes may have changed.
    unsigned generation() const { return generation_; }

    /* for reports: */
    const rs_engine_t *engine() const { return engine_; }
    const Link &link() const { return link_; }
    const Seats &seats() const { return seats_; }
    typedef std::array<uint64_t, REFUSALS> Refusals;
    const Refusals &refusals() const { return refusals_; } ///< of all classes that there ever were
    const Refusals &refusalsOf(uint32_t classNumber) const { return refusalsByClass[classNumber]; }
    uint32_t waitOf(uint32_t classNumber) const { return waits[classNumber]; } ///< seconds

private:
    /// a doubly linked list of rows by their index
    struct List {
        uint32_t first, last;
    };

    /// what we keep of each of the engine's tickets
    struct Row {
        Ticket *ticket;
        rs_ticket_t number;
        uint32_t classNumber;
        rs_time_t read; ///< when it was released, or bytes came last
        rs_time_t moved; ///< when it was queued, then released, then when enough bytes came last
        uint64_t since; ///< bytes since then
        uint32_t before, after; ///< in its class's waiting list, or in `active`
        bool parked;
    };

    Scheduler();
    static void Rang();
    void create(const Config &);
    void admit(rs_time_t now);
    void tick(rs_time_t now);
    void park(rs_time_t now);
    void hasten(rs_time_t now);
    void refuseOverdue(rs_time_t now);
    void askAgain();
    uint64_t enough(const Ticket &) const;
    void append(List &, uint32_t index);
    void remove(List &, uint32_t index);
    void drop(Ticket &);
    Row &rowOf(const Ticket &);

    rs_engine_t *engine_ = nullptr;
    bool accepting = false;
    unsigned generation_ = 0;
    uint32_t waiting = 0; ///< tickets in queues
    uint32_t released = 0;
    rs_time_t nextTick = RS_NEVER; ///< while anything waits or is outstanding
    bool wasLate = false; ///< the last tick, and so nothing was parked
    uint64_t turn_ = 0;
    std::vector<Ticket *> postponed; ///< the one that came first first
    std::vector<Row> rows; ///< by the ticket's index
    std::vector<List> queues; ///< by class number
    uint32_t queuesUsed = 0; ///< no class number was larger so far, plus 1
    std::vector<uint32_t> waits; ///< by class number: seconds
    List active; ///< released and not parked, the one of which bytes came longest ago first
    std::vector<uint32_t> numbers; ///< by position in the configuration
    std::vector<SBuf> names; ///< likewise
    std::vector<Refusals> refusalsByClass; ///< by class number
    Refusals refusals_ = {};
    std::vector<SBuf> owners; ///< by class number: name of the class that had it last
    std::unordered_map<const StoreEntry *, Ticket *> fetches; ///< what waits and may be joined
    Seats seats_;
    Alarm alarm;
    Link link_;
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_SCHEDULER_H */

