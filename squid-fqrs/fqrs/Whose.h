/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_WHOSE_H
#define SQUID_SRC_FQRS_WHOSE_H

#include <cstdint>

class HttpRequest;

namespace Fqrs
{

class ClassConfig;

/// Whose a request is inside its class, where that is shared within: a hash of its user's name, or of as much of its
/// client's address as counts there. A user's name is that of authentication or of an external ACL, if it is known when
/// the request is classified; one without a name is whoever has his address. 0 where the class is not shared.
uint64_t WhoseIs(const HttpRequest &, const ClassConfig &);

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_WHOSE_H */

