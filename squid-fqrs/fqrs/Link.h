/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_LINK_H
#define SQUID_SRC_FQRS_LINK_H

#include "fqrs/Engine.h"
#include "sbuf/SBuf.h"

#include <atomic>

namespace Fqrs
{

/**
 * The bytes that the downlink's interface received and that no response explains: traffic of nobody's class
 * (access-gateway paper 3.5.2). It takes room of the link, so the window must know of it; nobody is charged for it.
 *
 * The link is the machine's: all workers count in one place what their responses explain, and one of them looks at the
 * interface, whichever comes first when it is time.
 */
class Link
{
public:
    /// what all workers know of it; zeroes at first
    struct Count {
        std::atomic<uint64_t> explained; ///< bytes of responses, ever
        std::atomic<uint64_t> foreign; ///< all that unexplained() has told
        std::atomic<uint64_t> looked; ///< when the interface was
        /* changed with the engine's lock only */
        uint64_t start; ///< the interface's counter at restart()
        uint64_t before; ///< `explained` then
        int64_t last; ///< bytes since then that were not explained at the last call
        int64_t reported; ///< how many of them were told
    };

    Link() = default;
    Link(Link &&) = delete;
    ~Link() { close(); }

    /// Counts this interface from now on, or as soon as it is there; an empty name counts none.
    void use(const SBuf &name, Count &);

    /// Bytes of a response came.
    void explained(const uint64_t bytes) {
        if (count)
            count->explained.fetch_add(bytes, std::memory_order_relaxed);
    }

    /// This worker begins to look. What came so far is forgotten, unless others have looked a moment ago.
    void begin(rs_time_t now, bool alone);

    /// The interface's counter is read, if it is time and nobody else has done so: true if there is one, to be handed
    /// to unexplained().
    bool look(rs_time_t now, uint64_t &bytes);

    /// With the engine's lock: bytes that no response explains, since the last call. What one call sees counts with the
    /// next, since what lies unread in Squid's sockets looks foreign, too, until it is read.
    uint64_t unexplained(uint64_t bytes);

    const SBuf &name() const { return name_; }

private:
    bool open();
    void restart(uint64_t bytes);
    bool read(uint64_t &bytes);
    void close();

    SBuf name_;
    int fd = -1;
    bool anew = false; ///< what the next call of unexplained() sees is where it begins
    Count *count = nullptr;
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_LINK_H */

