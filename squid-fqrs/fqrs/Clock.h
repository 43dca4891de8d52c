/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_CLOCK_H
#define SQUID_SRC_FQRS_CLOCK_H

#include "fqrs/Engine.h"

#include <ctime>

namespace Fqrs
{

/// Microseconds that never jump. Not squid_curtime: a step of the wall clock must neither stall nor flood the link.
inline rs_time_t
Now()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<rs_time_t>(t.tv_sec) * 1000000u + static_cast<rs_time_t>(t.tv_nsec) / 1000u;
}

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_CLOCK_H */

