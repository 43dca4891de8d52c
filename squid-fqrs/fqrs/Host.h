/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_HOST_H
#define SQUID_SRC_FQRS_HOST_H

/* what has different names, or types, in Squid 5, 6 and 7 */

#if __has_include("debug/Stream.h")
#include "debug/Stream.h"
#else
#include "Debug.h"
#endif

#include <cstdint>

/// whether this is Squid 7 or later; the file came with it
#if __has_include("mgr/ActionFeatures.h")
#define FQRS_SQUID_7 1
#else
#define FQRS_SQUID_7 0
#endif

namespace Fqrs
{

/// A URL's port as a number; 0 if it has none. Squid 7 has std::optional for it.
inline uint16_t
PortNumber(const uint16_t port)
{
    return port;
}

template <class Optional>
inline auto
PortNumber(const Optional &port) -> decltype(port.value_or(0))
{
    return port.value_or(0);
}

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_HOST_H */

