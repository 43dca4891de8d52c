/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_RECORD_H
#define SQUID_SRC_FQRS_RECORD_H

#include "AccessLogEntry.h"
#include "fqrs/Clock.h"
#include "sbuf/SBuf.h"

#include <typeinfo>

namespace Fqrs
{

/// What access.log can tell about a request's time with the scheduler: %fqrs::class, %fqrs::wait, %fqrs::slot.
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

/// What each client's request has for access.log, with a record. Not a member of AccessLogEntry: more than half of
/// Squid's files include that, and as it is they are the same with the scheduler and without, and compiled once.
class LogEntry final: public AccessLogEntry
{
public:
    Record fqrs;
};

/// The entry's record; nil if there is no entry, or it is of nothing that a client has requested.
inline Record *
RecordOf(const AccessLogEntryPointer &al)
{
    const auto entry = al.getRaw();
    return entry && typeid(*entry) == typeid(LogEntry) ? &static_cast<LogEntry *>(entry)->fqrs : nullptr;
}

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_RECORD_H */

