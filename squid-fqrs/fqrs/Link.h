/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_LINK_H
#define SQUID_SRC_FQRS_LINK_H

#include "fqrs/Engine.h"
#include "sbuf/SBuf.h"

#include <atomic>

namespace Fqrs
{

/**
 * The downlink: what it carries, as configured or learnt (rs_link.h), and the bytes that its interface received and
 * that no response explains: traffic of nobody's class (access-gateway paper 3.5.2). It takes room of the link, so the
 * window must know of it; nobody is charged for it.
 *
 * The link is the machine's: all workers count in one place what their responses explain and what round trips they see,
 * and one of them looks at it, whichever comes first when it is time. One that does not know yet of another interface
 * leaves it to those who do.
 */
class Link
{
public:
    /// what all workers know of it; zeroes at first
    struct Count {
        std::atomic<uint64_t> explained; ///< bytes of responses, ever
        std::atomic<uint64_t> foreign; ///< all that count() has told
        std::atomic<uint64_t> looked; ///< when somebody looked
        std::atomic<uint64_t> heldBack; ///< until when responses of any worker would bring more if they might
        std::atomic<uint64_t> interface; ///< a hash of the name of the one that is counted, by the newest squid.conf
        /* changed with the engine's lock only */
        uint64_t counted; ///< the hash of which interface what follows is about
        uint64_t start; ///< its counter at restart()
        uint64_t before; ///< `explained` then
        int64_t last; ///< bytes since then that were not explained at the last call
        int64_t reported; ///< how many of them were told
        uint64_t seen; ///< its counter, as far as `learnt` was told of it
        uint64_t told; ///< `explained`, likewise
        struct rs_link learnt;
    };

    Link() = default;
    Link(Link &&) = delete;
    ~Link() { close(); }

    /// Counts this interface from now on, or as soon as it is there; an empty name counts none.
    void use(const SBuf &name, Count &);

    /// With the engine's lock: what the link carries is within these bounds; what was learnt before stays as far as
    /// they allow. At first it is taken to carry `rate`; 0: that is to be found.
    void know(rs_time_t now, const struct rs_link_settings &, uint64_t rate);

    /// Bytes of a response came.
    void explained(const uint64_t bytes) {
        if (count)
            count->explained.fetch_add(bytes, std::memory_order_relaxed);
    }

    /// Responses of this worker would bring more if their windows were larger.
    void heldBack(rs_time_t now);

    /// This worker begins to look. What came so far is forgotten, unless others have looked a moment ago.
    void begin(rs_time_t now, bool alone);

    /// False: it is not time to look, or another worker does. True: the rest is to be told to came(); `there`: the
    /// interface's counter is `bytes`.
    bool look(rs_time_t now, bool &there, uint64_t &bytes);

    /// With the engine's lock: bytes that no response explains, since the last call. What one call sees counts with the
    /// next, since what lies unread in Squid's sockets looks foreign, too, until it is read.
    uint64_t came(rs_time_t now, bool there, uint64_t bytes);

    /// Likewise, behind came(): whether something else is believed of the link's rate now. `waiting`: somebody waits
    /// for room; `least`: bytes that are on their way in any case.
    bool judge(rs_time_t now, bool waiting, uint64_t least);

    /// With the engine's lock; nil until know() was called by some worker.
    struct rs_link *learnt() const { return count ? LearntIn(*count) : nullptr; }
    static struct rs_link *LearntIn(Count &c) { return rs_link_sound(&c.learnt) ? &c.learnt : nullptr; }

private:
    bool isOurs() const { return count->interface.load(std::memory_order_relaxed) == hash; }
    bool open();
    void restart(uint64_t bytes, uint64_t all);
    bool read(uint64_t &bytes);
    void close();

    SBuf name_;
    uint64_t hash = 0; ///< of the name
    int fd = -1;
    bool anew = false; ///< the interface's counter that came() is told next is where it begins
    bool idle = false; ///< nothing came until now
    Count *count = nullptr;
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_LINK_H */

