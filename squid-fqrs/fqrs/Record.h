/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_RECORD_H
#define SQUID_SRC_FQRS_RECORD_H

#include "fqrs/Clock.h"
#include "sbuf/SBuf.h"

namespace Fqrs
{

/// What access.log can tell about a request's time with the scheduler: %fqrs::class, %fqrs::wait, %fqrs::slot.
class Record
{
public:
    SBuf className; ///< empty if the request never met the scheduler
    int64_t waitMsec = -1; ///< from arrival to release; -1 if it was never released
    rs_time_t released = RS_NEVER;
    rs_time_t ended = RS_NEVER; ///< the response

    /// from release to the end of the response, or to now while it has none; -1 if it was never released
    int64_t slotMsec() const { return released == RS_NEVER ? -1 : static_cast<int64_t>(((ended == RS_NEVER ? Now() : ended) - released) / 1000); }
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_RECORD_H */

