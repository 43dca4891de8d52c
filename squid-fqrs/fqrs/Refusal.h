/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_REFUSAL_H
#define SQUID_SRC_FQRS_REFUSAL_H

#include "log/forward.h"

#include <cstdint>

class ErrorState;
class HttpRequest;

namespace Fqrs
{

/// why a request was answered 503
enum Refusal {
    CLASS_FULL, ///< as many wait as its class may have
    SHARE_FULL, ///< what places are left are kept for other classes
    QUEUE_FULL, ///< as many wait as there is room for
    NO_DESCRIPTOR, ///< its class has as many of Squid's descriptors as it may
    WAIT_OVER, ///< it has waited as long as its class may
    SHUTDOWN, ///< Squid ends
    REFUSALS ///< how many there are
};

/// as access.log tells it
inline const char *
RefusalName(const Refusal r)
{
    static const char *const names[] = { "FQRS_CLASS_FULL",    "FQRS_SHARE_FULL", "FQRS_QUEUE_FULL",
                                         "FQRS_NO_DESCRIPTOR", "FQRS_WAIT_OVER",  "FQRS_SHUTDOWN" };
    return names[r];
}

/// The answer to a request of that class that was refused; the caller owns it.
ErrorState *RefusalPage(Refusal, uint32_t classNumber, HttpRequest *, const AccessLogEntryPointer &);

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_REFUSAL_H */

