/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_RUNNER_H
#define SQUID_SRC_FQRS_RUNNER_H

namespace Fqrs
{

/// The scheduler hears of Squid's start, reconfigurations and end from now on. Calling it again does nothing.
void Run();

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_RUNNER_H */

