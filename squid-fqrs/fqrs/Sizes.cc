/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "fqrs/Secret.h"
#include "fqrs/Sizes.h"
#include "HttpHeader.h"
#include "HttpRequest.h"
#include "sbuf/SBuf.h"

/* as in Engine.h */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include "fqrs/base/base_hash.h"
#include "fqrs/pages/pages_keys.h"
#include "fqrs/pages/pages_learnt.h"
#pragma GCC diagnostic pop

/// rows: 1 MB, of pages, patterns and kinds together
static const uint32_t PagesMax = 65536;
/// what sets the key of a page apart that is asked for if it has changed
static const uint64_t IfChanged = UINT64_C(0x9fb21c651e98df25);
/// No ending of a path that says what a page is has more letters.
static const SBuf::size_type EndingMax = 8;

/// What follows the last point of the path's last part, without the query; empty if nothing of that form does.
static SBuf
EndingOf(const SBuf &target)
{
    const auto path = target.substr(0, target.find('?'));
    const auto slash = path.rfind('/');
    const auto last = slash == SBuf::npos ? path : path.substr(slash + 1);
    const auto point = last.rfind('.');
    SBuf ending;
    if (point != SBuf::npos && last.length() - point - 1 <= EndingMax)
        ending = last.substr(point + 1);
    ending.toLower();
    return ending;
}

/// Server, port and an ending, or none for a tunnel, or a class's name; never 0.
static uint64_t
KindOf(const char what, const SBuf &server, const SBuf &ending)
{
    struct base_hash s;
    base_hash_begin(&s, Fqrs::Secret());
    base_hash_add(&s, &what, 1);
    base_hash_add(&s, server.rawContent(), server.length());
    base_hash_add(&s, "\n", 1);
    base_hash_add(&s, ending.rawContent(), ending.length());
    const auto key = base_hash_end(s);
    return key ? key : 1;
}

/// Squid, or its client, has the page, and asks for it only if it has changed.
static bool
IsConditional(const HttpRequest &request)
{
    return request.lastmod >= 0 || request.etag.size() || request.header.has(Http::HdrType::IF_MODIFIED_SINCE) ||
           request.header.has(Http::HdrType::IF_NONE_MATCH);
}

Fqrs::Sizes::Keys
Fqrs::Sizes::KeysOf(const HttpRequest &request)
{
    Keys keys;
    SBuf server(request.url.authority(true));
    if (request.method == Http::METHOD_CONNECT) {
        keys.kind = KindOf('t', server, SBuf());
        return keys;
    }
    if (request.method != Http::METHOD_GET || request.header.has(Http::HdrType::RANGE))
        return keys;

    const auto target = request.url.path();
    struct pages_keys known;
    pages_keys(Secret(), server.c_str(), target.rawContent(), target.length(), &known);
    const auto takes = request.header.getList(Http::HdrType::ACCEPT_ENCODING); // getStr() is not for lists
    keys.page = pages_key_coded(known.url, pages_coding_of(takes.termedBuf()));
    if (IsConditional(request)) {
        keys.page ^= IfChanged;
        keys.kind = KindOf('c', server, EndingOf(target));
        return keys;
    }
    keys.pattern = known.pattern;
    keys.kind = KindOf('e', server, EndingOf(target));
    return keys;
}

size_t
Fqrs::Sizes::Bytes()
{
    return pages_learnt_bytes(PagesMax);
}

uint64_t
Fqrs::Sizes::mean(const uint64_t key) const
{
    return key && table ? pages_learnt_mean(table, PagesMax, key) : 0;
}

void
Fqrs::Sizes::add(const uint64_t key, const uint64_t bytes)
{
    if (key && table)
        pages_learnt_add(table, PagesMax, key, bytes);
}

uint64_t
Fqrs::Sizes::ClassOf(const SBuf &name)
{
    return KindOf('n', name, SBuf());
}

/// What is known by this key in that class; 0 is nothing.
static uint64_t
OwnKey(const uint64_t ofClass, const uint64_t key)
{
    return ofClass && key ? key ^ ofClass : 0;
}

uint64_t
Fqrs::Sizes::expected(const Keys &keys, const uint64_t ofClass) const
{
    if (const auto bytes = mean(keys.page))
        return bytes;
    if (const auto bytes = mean(OwnKey(ofClass, keys.pattern)))
        return bytes;
    return mean(OwnKey(ofClass, keys.kind));
}

void
Fqrs::Sizes::learn(const Keys &keys, const uint64_t ofClass, const uint64_t bytes)
{
    add(keys.page, bytes);
    add(OwnKey(ofClass, keys.pattern), bytes);
    add(OwnKey(ofClass, keys.kind), bytes);
}

