/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "fqrs/Secret.h"
#include "fqrs/Segment.h"

/* as in Engine.h */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include "fqrs/base/base_hash.h"
#pragma GCC diagnostic pop

const uint64_t *
Fqrs::Secret()
{
    static const auto secret = Segment::Instance().secret();
    return secret.data();
}

uint64_t
Fqrs::Hashed(const char kind, const void *const bytes, const size_t n)
{
    struct base_hash s;
    base_hash_begin(&s, Secret());
    base_hash_add(&s, &kind, 1);
    base_hash_add(&s, bytes, n);
    return base_hash_end(s);
}

