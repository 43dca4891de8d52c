/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_RECORD_H
#define SQUID_SRC_FQRS_RECORD_H

#include "sbuf/SBuf.h"

namespace Fqrs
{

/// What access.log can tell about a request's time with the scheduler: %fqrs::class, %fqrs::wait, %fqrs::slot.
class Record
{
public:
    SBuf className; ///< empty if the request never met the scheduler
    int64_t waitMsec = -1; ///< from arrival to release; -1 if it was never released
    int64_t slotMsec = -1; ///< from release to the end of the response; -1 if there was none
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_RECORD_H */

