/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "acl/FilledChecklist.h"
#include "acl/Tree.h"
#include "client_side.h"
#include "comm/Connection.h"
#include "fde.h"
#include "fqdncache.h"
#include "fqrs/Host.h"
#include "fqrs/Classification.h"
#include "fqrs/Classified.h"
#include "fqrs/Config.h"
#include "fqrs/Scheduler.h"
#include "fqrs/Whose.h"
#include "http/Stream.h"
#include "ip/Address.h"
#include "ipcache.h"

#include <utility>

CBDATA_NAMESPACED_CLASS_INIT(Fqrs, Classification);

namespace Fqrs
{

/// an address as policy.h wants it
class PolicyAddress
{
public:
    explicit PolicyAddress(const Ip::Address &a) {
        struct in_addr four;
        if (a.isIPv4() && a.getInAddr(four)) {
            length = sizeof(four);
            memcpy(bytes, &four, length);
        } else {
            struct in6_addr six;
            a.getInAddr(six);
            length = sizeof(six);
            memcpy(bytes, &six, length);
        }
    }

    unsigned char bytes[16];
    unsigned length;
};

static struct policy_text
Text(const SBuf &s)
{
    return { s.rawContent(), s.length() };
}

static struct policy_text
Text(const char *s)
{
    return { s, s ? strlen(s) : 0 };
}

/// The URL in its one spelling, so that no other one leads around a rule; `room` keeps it.
static struct policy_text
Spelled(const HttpRequest &request, const SBuf &scheme, SBuf &room)
{
    struct policy_url u = {};
    const SBuf path(request.url.path());
    u.host = Text(request.url.host());
    u.port = PortNumber(request.url.port());
    if (request.method != Http::METHOD_CONNECT) {
        u.scheme = Text(scheme);
        u.target = Text(path);
    }
    const auto size = policy_url_room(&u);
    const auto start = room.rawAppendStart(size);
    const auto text = policy_url_text(&u, start, size);
    room.rawAppendFinish(start, text.n);
    return text;
}

/// The client's domain name, if it is known and leads back to the client. Never waits: asking starts the look-ups, a
/// later request has them.
static const char *
NameOf(const Ip::Address &client)
{
    const auto name = fqdncache_gethostbyaddr(client, FQDN_LOOKUP_IF_MISS);
    const auto addresses = name ? ipcache_gethostbyname(name, IP_LOOKUP_IF_MISS) : nullptr;
    if (!addresses)
        return nullptr;
    for (const auto &a: addresses->good()) {
        if (a.matchIPAddr(client) == 0)
            return name;
    }
    return nullptr;
}

/// The id of the TLS session that the client has with us, in hex; empty without one.
static SBuf
SessionIdOf(const HttpRequest &request)
{
    SBuf hex;
    const auto manager = request.clientConnectionManager.valid();
    if (!manager || !Comm::IsConnOpen(manager->clientConnection))
        return hex;
    const auto tls = fd_table[manager->clientConnection->fd].ssl.get();
    const unsigned char *id = nullptr;
    unsigned int length = 0;
#if USE_OPENSSL
    if (const auto session = tls ? SSL_get_session(tls) : nullptr)
        id = SSL_SESSION_get_id(session, &length);
#elif USE_GNUTLS
    gnutls_datum_t datum = {};
    if (tls && gnutls_session_get_id2(tls, &datum) == GNUTLS_E_SUCCESS) {
        id = datum.data;
        length = datum.size;
    }
#else
    (void)tls;
#endif
    for (unsigned int i = 0; i < length; ++i)
        hex.appendf("%02x", id[i]);
    return hex;
}

/// Asks an access list. The answer comes to `answered`, perhaps before this returns.
static void
Ask(const acl_access *access, const HttpRequest::Pointer &request, const AccessLogEntryPointer &al, ACLCB *answered,
    void *data)
{
#if FQRS_SQUID_7
    auto checklist = ACLFilledChecklist::Make(access, request.getRaw());
    checklist->updateAle(al);
    checklist->syncAle(request.getRaw(), nullptr);
    ACLFilledChecklist::NonBlockingCheck(std::move(checklist), answered, data);
#else
    const auto checklist = new ACLFilledChecklist(access, request.getRaw(), nullptr); // goes when it has answered
    checklist->al = al;
    checklist->syncAle(request.getRaw(), nullptr);
    checklist->nonBlockingCheck(answered, data);
#endif
}

} // namespace Fqrs

Fqrs::Classification::Classification(Classified &c, HttpRequest *r, const AccessLogEntryPointer &a):
    asker(c), request(r), al(a), generation(Scheduler::Instance().generation())
{
}

/// The access list at `position` or behind it; nil if there are no more.
const acl_access *
Fqrs::Classification::nextAccess()
{
    if (position == NotScheduled) {
        if (TheConfig.exempt)
            return TheConfig.exempt;
        position = 0;
    }
    while (position < TheConfig.classes.size() && !TheConfig.classes[position].access)
        ++position;
    return position < TheConfig.classes.size() ? TheConfig.classes[position].access : nullptr;
}

void
Fqrs::Classification::run()
{
    running = true;
    while (!found) {
        const auto access = nextAccess();
        if (!access)
            break;
        waiting = true;
        Ask(access, request, al, Checked, this);
        if (waiting) {
            running = false;
            return;
        }
    }
    running = false;
    asker.classified(found ? position : askPolicy()); // deletes this
}

void
Fqrs::Classification::Checked(Acl::Answer answer, void *data)
{
    const auto me = static_cast<Classification *>(data);
    me->waiting = false;
    if (me->generation != Scheduler::Instance().generation()) {
        me->generation = Scheduler::Instance().generation();
        me->position = NotScheduled; // the classes are others now
    } else if (answer.allowed()) {
        me->found = true;
    } else {
        ++me->position; // from NotScheduled to the first class
    }
    if (!me->running)
        me->run();
}

uint64_t
Fqrs::Classification::whoseIn(const uint32_t aPosition) const
{
    return WhoseIs(*request, TheConfig.classes[aPosition]);
}

uint32_t
Fqrs::Classification::askPolicy() const
{
    const auto policy = TheConfig.policy.get();
    if (!policy)
        return TheConfig.defaultClass;

    struct policy_request r = {};
    const PolicyAddress source(request->client_addr);
    r.src_addr = source.bytes;
    r.src_addr_len = source.length;
    r.src_port = request->client_addr.port();
    r.dst_port = PortNumber(request->url.port());
    const auto known = request->flags.intercepted || request->flags.interceptTproxy ? request->my_addr : Ip::Address();
    const bool numeric = request->url.hostIsNumeric();
    const PolicyAddress destination(numeric ? request->url.hostIP() : known);
    if (numeric || !known.isAnyAddr()) {
        r.dst_addr = destination.bytes;
        r.dst_addr_len = destination.length;
    }
    const SBuf scheme(request->url.getScheme().image());
    r.prot_type = Text(scheme);
    r.dst_dn = Text(request->url.host());
    if (policy_uses(policy, POLICY_SRC_DN))
        r.src_dn = Text(NameOf(request->client_addr));
    r.user_agent = Text(request->header.getStr(Http::HdrType::USER_AGENT));
    r.cookie = Text(request->header.getStr(Http::HdrType::COOKIE));
    SBuf url;
    if (policy_uses(policy, POLICY_URL))
        r.url = Spelled(*request, scheme, url);
    const auto session = policy_uses(policy, POLICY_SSL_ID) ? SessionIdOf(*request) : SBuf();
    r.ssl_id = Text(session);

    const auto answer = policy_match_request(policy, &r);
    return answer.position == POLICY_NONE ? TheConfig.defaultClass : TheConfig.policyFirst + answer.position;
}

