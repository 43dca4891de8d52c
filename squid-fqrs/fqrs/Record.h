/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_RECORD_H
#define SQUID_SRC_FQRS_RECORD_H

#include "fqrs/Clock.h"
#include "sbuf/SBuf.h"

namespace Fqrs
{

/// What access.log can tell about a request's time with the scheduler: %fqrs::class, %fqrs::wait, %fqrs::slot. Nearly
/// all of Squid includes
/// this: so it knows nothing of the engine.
class Record
{
public:
    static const uint64_t Never = UINT64_MAX;

    SBuf className; ///< empty if the request never met the scheduler
    int64_t waitMsec = -1; ///< from arrival to release; -1 if it was never released
    uint64_t released = Never;
    uint64_t ended = Never; ///< the response

    /// from release to the end of the response, or to now while it has none; -1 if it was never released
    int64_t slotMsec() const {
        return released == Never ? -1 : static_cast<int64_t>(((ended == Never ? Now() : ended) - released) / 1000);
    }
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_RECORD_H */

