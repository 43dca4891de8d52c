/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_CLOCK_H
#define SQUID_SRC_FQRS_CLOCK_H

#include <cstdint>
#include <ctime>

namespace Fqrs
{

/// Microseconds that never jump, as the engine counts them. Not squid_curtime: a step of the wall clock must neither
/// stall nor flood the link.
inline uint64_t
Now()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1000000u + static_cast<uint64_t>(t.tv_nsec) / 1000u;
}

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_CLOCK_H */

