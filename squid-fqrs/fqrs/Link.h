/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_LINK_H
#define SQUID_SRC_FQRS_LINK_H

#include "fqrs/Engine.h"
#include "sbuf/SBuf.h"

#include <memory>

namespace Fqrs
{

/**
 * The downlink: what it carries, as configured or learnt (rs_link.h), and the bytes that its interface received and
 * that no response explains: traffic of nobody's class (access-gateway paper 3.5.2). It takes room of the link, so the
 * window must know of it; nobody is charged for it.
 */
class Link
{
public:
    Link() = default;
    Link(Link &&) = delete;
    ~Link() { close(); }

    /// Counts this interface from now on, or as soon as it is there; an empty name counts none.
    void use(const SBuf &name);

    /// What it carries is within these bounds; what was learnt before stays as far as they allow. At first it is taken
    /// to carry `rate`; 0: that is to be found.
    void know(const struct rs_link_settings &, uint64_t rate);

    /// Bytes of a response came.
    void explained(uint64_t bytes);

    /// Forgets what came so far. To be called when nothing is outstanding.
    void restart();

    /// Nil until know() is called.
    struct rs_link *learnt() { return learnt_.get(); }
    const struct rs_link *learnt() const { return learnt_.get(); }

    /// Bytes that no response explains, since the last call. To be called again and again: what one call sees counts
    /// with the next, since
    /// what lies unread in Squid's sockets looks foreign, too, until it is read.
    uint64_t unexplained();

    const SBuf &name() const { return name_; }
    uint64_t foreign() const { return foreign_; } ///< all that unexplained() has told

private:
    bool open();
    void begin();
    bool read(uint64_t &bytes);
    void close();

    std::unique_ptr<struct rs_link> learnt_;
    SBuf name_;
    int fd = -1;
    uint64_t seen = 0; ///< the interface's counter, as far as learnt() was told of it
    uint64_t foreign_ = 0;
    uint64_t start = 0; ///< the interface's counter at restart()
    uint64_t explained_ = 0; ///< bytes of responses since then
    int64_t last = 0; ///< bytes since then that were not explained at the last call
    int64_t reported = 0; ///< how many of them were told
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_LINK_H */

