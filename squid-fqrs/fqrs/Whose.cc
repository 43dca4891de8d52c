/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "fqrs/Config.h"
#include "fqrs/Secret.h"
#include "fqrs/Whose.h"
#include "HttpRequest.h"
#include "ip/Address.h"
#if USE_AUTH
#include "auth/UserRequest.h"
#endif

#include <cstring>

namespace Fqrs
{

/// nil if nobody knows it
static const char *
UserOf(const HttpRequest &request)
{
    const char *name = nullptr;
#if USE_AUTH
    if (request.auth_user_request)
        name = request.auth_user_request->username();
#endif
    if ((!name || !*name) && request.extacl_user.size())
        name = request.extacl_user.termedBuf();
    return name && *name ? name : nullptr;
}

static uint64_t
AddressOf(const Ip::Address &client, const struct policy_within &within)
{
    unsigned char counts[16];
    struct in_addr four;
    struct in6_addr six;
    unsigned n = 0;
    if (client.isIPv4() && client.getInAddr(four)) {
        n = policy_within_prefix(&within, &four, sizeof(four), counts);
    } else {
        client.getInAddr(six);
        n = policy_within_prefix(&within, &six, sizeof(six), counts);
    }
    return Hashed('a', counts, n);
}

} // namespace Fqrs

uint64_t
Fqrs::WhoseIs(const HttpRequest &request, const ClassConfig &c)
{
    if (!c.settings.within)
        return 0;
    const auto name = c.byUser ? UserOf(request) : nullptr;
    return name ? Hashed('u', name, strlen(name)) : AddressOf(request.client_addr, c.within);
}

