/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_SEGMENT_H
#define SQUID_SRC_FQRS_SEGMENT_H

#include "fqrs/Engine.h"
#include "fqrs/Link.h"
#include "fqrs/Refusal.h"
#include "fqrs/Seats.h"
#include "fqrs/shm/shm_loop.h"

#include <array>
#include <atomic>
#include <sys/types.h>
#include <vector>

namespace Fqrs
{

class Config;

/**
 * The engine and what else is the machine's and not a worker's, in memory that all workers share.
 *
 * Where Squid has several kids, the master makes it before it starts them, whatever squid.conf says of fqrs; they
 * inherit its descriptors and find a word of it in their environment. Workers take places in it, the coordinator reads
 * it for reports. A Squid that is one process, or whose master has one kid, makes its own when "fqrs on" comes.
 *
 * The master reads nothing there: it only notes which kid has ended. What that one held is given back by the others.
 */
class Segment
{
public:
    enum {
        /// more than POLICY_CLASSES_MAX, so that a reconfiguration finds room while old classes still have outstanding
        /// responses
        ClassesMax = Seats::ClassesMax,
        TicketsMax = 65536
    };

    /// beside the engine's class of the same number
    struct Class {
        std::atomic<uint64_t> refused[REFUSALS];
        std::atomic<uint32_t> waitSeconds;
        std::atomic<rs_time_t> closedUntil; ///< to who comes anew: open tunnels stand in line for its places
        char name[RS_NAME_MAX]; ///< of the class that had this number last; with the engine's lock only
    };

    /// Beside the engine; zeroes at first. Behind it stand Seats::Told of each place, and the table of Sizes.
    struct alignas(64) Area {
        uint64_t secret[2]; ///< see Secret.h; as make() or join() left it
        std::atomic<uint32_t> used; ///< it was "fqrs on" at any time
        std::atomic<uint32_t> on; ///< it is
        Link::Count link;
        std::atomic<uint64_t> refused[REFUSALS]; ///< of all classes that there ever were
        Class classes[ClassesMax];
    };

    /// the engine, locked: whoever has one makes no system call and allocates nothing
    class Turn
    {
    public:
        explicit Turn(Segment &s): segment(s), engine(shm_loop_lock(s.loop_)) {}
        Turn(Turn &&) = delete;
        ~Turn() { shm_loop_unlock(segment.loop_); }

    private:
        Segment &segment;

    public:
        rs_engine_t *const engine;
    };

    static Segment &Instance();
    Segment(Segment &&) = delete;

    /* in the master */
    void make(const Config &); ///< before there are kids
    void ended(pid_t kid);

    /* in any kid */
    void attach(); ///< to what the master made, if it made one

    /* in a worker */
    bool join(const Config &); ///< takes a place, in memory of its own if the master made none; false: it can't be

    bool exists() const { return loop_; }
    bool left() const; ///< it was found damaged, and is used no longer; or this process is away
    const char *leftWhy() const;
    /// Its lock is not given back, by a process that is stopped say: it is used again as soon as comeBack() says so.
    bool away() const { return loop_ && shm_loop_is_away(loop_); }
    bool comeBack(); ///< to be asked ten times a second or so while away()
    shm_loop_t *loop() const { return loop_; }
    Area &area() const { return *static_cast<Area *>(shm_loop_area(loop_)); }
    /// what the worker in that place tells of its descriptors
    Seats::Told &seatsOf(uint32_t place) const;
    void *sizes() const; ///< for Sizes
    std::array<uint64_t, 2> secret() const { return {{ area().secret[0], area().secret[1] }}; }
    /// With the engine's lock: these classes have these numbers from now on; others begin anew, as they do with the
    /// engine.
    void name(const Config &, const std::vector<uint32_t> &numbers);

private:
    Segment() = default;
    static void Lost(pid_t, uint32_t requests);
    static void Left(const char *why);
    static const struct shm_loop_host &Host();
    static struct shm_loop_size Size(uint32_t processes);
    void draw();

    shm_loop_t *loop_ = nullptr;
    bool broken = false; ///< the master made one, and it can't be used
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_SEGMENT_H */

