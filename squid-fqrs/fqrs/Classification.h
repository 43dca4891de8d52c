/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_CLASSIFICATION_H
#define SQUID_SRC_FQRS_CLASSIFICATION_H

#include "acl/Acl.h"
#include "acl/forward.h"
#include "AccessLogEntry.h"
#include "cbdata.h"
#include "HttpRequest.h"

namespace Fqrs
{

class Classified;

/**
 * Finds a request's class: none if "fqrs_access none" allows it; the first class, in squid.conf's order, whose
 * fqrs_access allows it; else what the policy says; else the default class. Slow ACLs (external, dstdomain of an
 * address, ...) may make it wait, so the answer comes to Classified::classified(), perhaps before start() returns.
 * Belongs to who asked, who deletes it when it wants to know no more.
 */
class Classification
{
    CBDATA_CLASS(Classification);

public:
    /// the answer for a request that is not scheduled, and the place before the first class
    static const uint32_t NotScheduled = UINT32_MAX;

    Classification(Classified &, HttpRequest *, const AccessLogEntryPointer &);
    Classification(Classification &&) = delete;

    void start() { run(); }

    /// Whose the request is in the class at that position, which is the answer.
    uint64_t whoseIn(uint32_t position) const;

private:
    static void Checked(Acl::Answer, void *data);
    const acl_access *nextAccess();
    void run();
    uint32_t askPolicy() const;

    Classified &asker;
    const HttpRequest::Pointer request;
    const AccessLogEntryPointer al;
    uint32_t position = NotScheduled; ///< of the class whose fqrs_access is asked
    unsigned generation; ///< of the configuration in which `position` is one
    bool running = false; ///< run() is at work further up the stack
    bool waiting = false; ///< for an ACL's answer
    bool found = false;
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_CLASSIFICATION_H */

