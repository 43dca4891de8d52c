/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_RUNNER_H
#define SQUID_SRC_FQRS_RUNNER_H

#include <sys/types.h>

namespace Fqrs
{

/// The scheduler hears of Squid's start, reconfigurations and end from now on. Calling it again does nothing.
void Run();

/// In the master: that process is no longer there. What it held the others give back.
void KidEnded(pid_t);

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_RUNNER_H */

