/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_SECRET_H
#define SQUID_SRC_FQRS_SECRET_H

#include <cstddef>
#include <cstdint>

namespace Fqrs
{

/// The key of all hashes of what clients choose: URLs, names, addresses. Nobody foresees which row of a table he meets,
/// or whose. Two words, the same in all workers (Segment.h); not to be asked for before there is a segment.
const uint64_t *Secret();

/// So many bytes, with it. Those of different kinds are never the same: a user's name and an address, say.
uint64_t Hashed(char kind, const void *bytes, size_t n);

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_SECRET_H */

