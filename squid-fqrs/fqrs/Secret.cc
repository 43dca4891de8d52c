/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "fqrs/Secret.h"
#include "fqrs/Segment.h"

const uint64_t *
Fqrs::Secret()
{
    static const auto secret = Segment::Instance().secret();
    return secret.data();
}

