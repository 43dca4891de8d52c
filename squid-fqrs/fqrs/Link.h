/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_LINK_H
#define SQUID_SRC_FQRS_LINK_H

#include "sbuf/SBuf.h"

namespace Fqrs
{

/**
 * The bytes that the downlink's interface received and that no response explains: traffic of nobody's class (access-gateway paper 3.5.2). It
 * takes room of the link, so the window must know of it; nobody is charged for it.
 */
class Link
{
public:
    Link() = default;
    Link(Link &&) = delete;
    ~Link() { close(); }

    /// Counts this interface from now on; an empty name counts none.
    void use(const SBuf &name);

    /// Bytes of a response came.
    void explained(const uint64_t bytes) { explained_ += bytes; }

    /// Bytes that no response explains, since the last call; seen one call late, when Squid has read what is its own.
    uint64_t unexplained();

    const SBuf &name() const { return name_; }
    int64_t foreign() const { return reported; } ///< unexplained, since use()

private:
    bool read(uint64_t &bytes);
    void close();

    SBuf name_;
    int fd = -1;
    uint64_t start = 0; ///< the interface's counter when we began
    uint64_t came = 0; ///< bytes since then, at the last call
    uint64_t explained_ = 0; ///< bytes of responses since then
    int64_t reported = 0; ///< unexplained bytes since then
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_LINK_H */

