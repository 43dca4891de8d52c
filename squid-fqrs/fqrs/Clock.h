/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_CLOCK_H
#define SQUID_SRC_FQRS_CLOCK_H

#include <cstdint>
#include <ctime>
#include <sys/time.h>

extern struct timeval current_time; // Squid's: the wall clock as each turn of its loop finds it

namespace Fqrs
{

/// Microseconds that never jump, as the engine counts them. Not squid_curtime: a step of the wall clock must neither
/// stall nor flood the link. Asked for once in a turn of Squid's loop, in which a request asks a dozen times.
inline uint64_t
Now()
{
    static struct timeval turn;
    static uint64_t now = 0;
    if (!now || turn.tv_usec != current_time.tv_usec || turn.tv_sec != current_time.tv_sec) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        now = static_cast<uint64_t>(t.tv_sec) * 1000000u + static_cast<uint64_t>(t.tv_nsec) / 1000u;
        turn = current_time;
    }
    return now;
}

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_CLOCK_H */

