/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "acl/Gadgets.h"
#include "acl/Tree.h"
#include "cache_cf.h"
#include "ConfigParser.h"
#include "base/TextException.h"
#include "fqrs/Host.h"
#include "fqrs/Config.h"
#include "fqrs/base/base_hash.h"
#include "fqrs/policy/policy_exempt.h"
#include "fqrs/Runner.h"
#include "sbuf/Stream.h"
#include "SquidConfig.h"
#include "Store.h"

/* as in Engine.h; with the options of Debian's package a warning is an error */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include "fqrs/policy/policy_engine.h"
#pragma GCC diagnostic pop

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>

Fqrs::Config Fqrs::TheConfig;

/// a wait as long as Squid by default tries to forward a request; a request goes before anybody knows what it brings
static const struct policy_engine_host AtSquid = { 240, true, true, false, 0 };
/// Without a bound of its own a class may owe what the link carries in this time: see sched_rfq.c.
static const uint64_t NormalDebtSeconds = 6;
/// Milliseconds. A connection is opened, its request goes, and slow start takes some round trips more: with less, a
/// link of 20 Mbit/s is not used when servers are 100 ms away. What stands in the far queue is a matter of windows
/// (rs_link.h).
static const uint32_t NormalHorizon = 450;
/// A rate that is learnt is no less than this unless it is said, in bytes a second: of 64 kbit/s.
static const uint64_t LeastRate = 8000;

namespace Fqrs
{

[[noreturn]] static void
Refuse(const SBuf &what)
{
    throw TextException(what, Here());
}

/// a whole number from `least` to `most`
static uint64_t
Number(const char *key, const char *text, const uint64_t least, const uint64_t most)
{
    char *end = nullptr;
    errno = 0;
    const auto n = strtoull(text, &end, 10);
    if (!xisdigit(*text) || *end || errno || n < least || n > most)
        Refuse(ToSBuf(cfg_directive, ": ", key, "=", text, " is not a whole number from ", least, " to ", most));
    return n;
}

/// what the engine says of one of its settings
static const struct rs_setting_info &
Info(const char *field)
{
    for (size_t i = 0; i < rs_settings_count; ++i) {
        if (strcmp(rs_settings_table[i].name, field) == 0)
            return rs_settings_table[i];
    }
    Refuse(ToSBuf("fqrs: the engine has no setting ", field));
}

/// a number for that setting of the engine, within its bounds, but not 0
static uint64_t
Setting(const char *field, const char *key, const char *text)
{
    return Number(key, text, std::max<uint64_t>(Info(field).least, 1), Info(field).most);
}

/// A number written with digits and at most one point, nothing else that strtod() would take; *end == text if there is
/// none.
static double
Decimal(const char *text, char **end)
{
    const auto length = strspn(text, "0123456789.");
    const std::string digits(text, length);
    char *ended = nullptr;
    const auto n = strtod(digits.c_str(), &ended);
    *end = const_cast<char *>(text) + (xisdigit(*text) && !*ended ? length : 0);
    return n;
}

/// a rate as tc(8) writes it, 2mbit, in bytes a second
static uint64_t
Rate(const char *key, const char *text)
{
    static const struct { const char *unit; double bits; } units[] = {
        {"bit", 1}, {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}
    };
    char *end = nullptr;
    const auto n = Decimal(text, &end);
    for (const auto &u: units) {
        const auto bytes = n * u.bits / 8;
        if (end != text && strcasecmp(end, u.unit) == 0 && bytes >= 1000 && bytes <= 1e12)
            return static_cast<uint64_t>(bytes);
    }
    Refuse(ToSBuf(cfg_directive, ": ", key, "=", text,
                  " is not a rate; write 2Mbit, 512kbit or 1Gbit, 8kbit at least"));
}

/// Hands each key=value of the rest of the line to `take`, which returns false for a key that it does not know.
static void
ForEachOption(const char *known, const std::function<bool(const char *key, const char *value)> &take)
{
    std::vector<std::string> seen;
    while (const auto token = ConfigParser::NextToken()) {
        const auto equals = strchr(token, '=');
        if (!equals)
            Refuse(ToSBuf(cfg_directive, ": \"", token, "\" is not of the form KEY=VALUE; there are ", known));
        const std::string key(token, equals - token);
        if (std::find(seen.begin(), seen.end(), key) != seen.end())
            Refuse(ToSBuf(cfg_directive, ": ", key.c_str(), "= stands there twice"));
        seen.push_back(key);
        if (!take(key.c_str(), equals + 1))
            Refuse(ToSBuf(cfg_directive, ": there is no \"", key.c_str(), "\"; there are ", known));
    }
}

/// order=fifo|shortest
static enum rs_order
Order(const char *text)
{
    if (strcmp(text, "fifo") != 0 && strcmp(text, "shortest") != 0)
        Refuse(ToSBuf(cfg_directive, ": order=", text, " is no order in a class; write order=fifo or order=shortest"));
    return *text == 's' ? RS_ORDER_SHORTEST : RS_ORDER_FIFO;
}

/// within=user|client[/BITS/BITS]
static void
Within(const char *text, ClassConfig &c)
{
    char *error = nullptr;
    c.byUser = strcmp(text, "user") == 0;
    const auto address = c.byUser ? "client" : text;
    // a visitor is somebody whom httpd's gateway knows
    if (strcmp(address, "visitor") == 0 || policy_within_read(address, strlen(address), &c.within, &error) != 0) {
        free(error);
        Refuse(ToSBuf(cfg_directive, ": within=", text, " tells no clients apart; write within=client, or ",
                      "within=client/24/56 with how many bits of IPv4 and of IPv6 addresses count, or within=user"));
    }
    c.settings.within = c.within.levels;
}

static std::string
NextWord(const char *what)
{
    const auto token = ConfigParser::NextToken();
    if (!token)
        Refuse(ToSBuf(cfg_directive, ": ", what, " is missing"));
    return token;
}

} // namespace Fqrs

Fqrs::ClassConfig::ClassConfig(const struct policy_engine_class &from)
    : settings(from.settings), waitSeconds(from.wait_s) {}

Fqrs::ClassConfig::ClassConfig(const struct policy_engine_class &from, const struct policy_within &aWithin)
    : settings(from.settings), waitSeconds(from.wait_s), within(aWithin) {}

Fqrs::Config::Config()
{
    clear();
}

Fqrs::Config::~Config()
{
    freeAccess();
}

void
Fqrs::Config::freeAccess()
{
    for (auto &c: classes)
        aclDestroyAccessList(&c.access);
    aclDestroyAccessList(&exempt);
}

void
Fqrs::Config::clear()
{
    freeAccess();
    classes.clear();
    positions.clear();
    policy.reset();
    policyFirst = 0;
    policyFile.clear();
    interface.clear();
    linkSeen = windowSeen = orderSeen = false;
    rs_settings_default(&settings);
    settings.sched = RS_SCHED_RFQ;
    settings.gate = RS_GATE_BYTES;
    settings.debt_max = 0;
    settings.horizon_ms = NormalHorizon;
    learns = false;
    link = {LeastRate, Info("rate").most, 0};
    debt = 0;
}

int
Fqrs::Config::find(const char *name) const
{
    const auto found = positions.find(name);
    return found == positions.end() ? -1 : static_cast<int>(found->second);
}

struct rs_settings
Fqrs::Config::engineSettings() const
{
    auto s = settings;
    if (!enabled)
        s.gate = RS_GATE_NONE;
    return s;
}

std::vector<struct rs_class_settings>
Fqrs::Config::engineClasses() const
{
    std::vector<struct rs_class_settings> all;
    all.reserve(classes.size());
    for (const auto &c: classes)
        all.push_back(c.settings);
    return all;
}

uint32_t
Fqrs::Config::digest() const
{
    static const uint64_t key[2] = {}; // nobody chooses squid.conf to meet another one
    struct base_hash h;
    base_hash_begin(&h, key);
    const auto s = engineSettings();
    for (size_t i = 0; i < rs_settings_count; ++i)
        base_hash_add(&h, reinterpret_cast<const char *>(&s) + rs_settings_table[i].offset, rs_settings_table[i].width);
    base_hash_add(&h, &enabled, sizeof(enabled));
    base_hash_add(&h, &learns, sizeof(learns));
    base_hash_add(&h, &link.rate_min, sizeof(link.rate_min));
    base_hash_add(&h, &link.rate_max, sizeof(link.rate_max));
    base_hash_add(&h, &debt, sizeof(debt));
    base_hash_add(&h, &defaultClass, sizeof(defaultClass));
    for (const auto &c: classes) {
        const auto rest = offsetof(struct rs_class_settings, weight); // behind the name
        base_hash_add(&h, c.settings.name, strlen(c.settings.name) + 1);
        base_hash_add(&h, reinterpret_cast<const char *>(&c.settings) + rest, sizeof(c.settings) - rest);
        base_hash_add(&h, &c.waitSeconds, sizeof(c.waitSeconds));
        base_hash_add(&h, &c.within.bits_v4, sizeof(c.within.bits_v4));
        base_hash_add(&h, &c.within.bits_v6, sizeof(c.within.bits_v6));
        base_hash_add(&h, &c.byUser, sizeof(c.byUser));
    }
    const auto is = base_hash_end(h);
    return std::max<uint32_t>(static_cast<uint32_t>(is ^ is >> 32), 1);
}

void
Fqrs::Config::add(const ClassConfig &c)
{
    if (strcmp(c.settings.name, "none") == 0)
        Refuse(ToSBuf(cfg_directive,
                      ": \"none\" can't be a class: fqrs_access none is for requests that are not scheduled"));
    if (find(c.settings.name) >= 0)
        Refuse(ToSBuf(cfg_directive, ": there is a class \"", c.settings.name, "\" already"));
    if (classes.size() >= POLICY_CLASSES_MAX)
        Refuse(ToSBuf(cfg_directive, ": more than ", POLICY_CLASSES_MAX, " classes"));
    append(c);
}

void
Fqrs::Config::append(const ClassConfig &c)
{
    positions[c.settings.name] = classes.size();
    classes.push_back(c);
}

/// fqrs_class NAME weight=N [queue=N] [wait=SECONDS] [order=fifo|shortest] [within=client[/BITS/BITS]|user]
void
Fqrs::Config::parseClass()
{
    ClassConfig c;
    const auto name = NextWord("the name of the class");
    if (name.size() >= RS_NAME_MAX ||
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != name.npos)
        Refuse(ToSBuf("fqrs_class: \"", name.c_str(), "\" is not a name; use 1 to ", RS_NAME_MAX - 1,
                      " letters, digits, '-', '_', '.'"));
    memcpy(c.settings.name, name.c_str(), name.size());
    c.waitSeconds = AtSquid.usual_wait_s;

    ForEachOption("weight, queue, wait, order and within", [&c](const char *key, const char *value) {
        if (strcmp(key, "weight") == 0)
            c.settings.weight = Number(key, value, 1, POLICY_QUANTUM_MAX);
        else if (strcmp(key, "queue") == 0)
            c.settings.queue_max = Number(key, value, 1, POLICY_QUEUE_MAX);
        else if (strcmp(key, "wait") == 0)
            c.waitSeconds = Number(key, value, 1, POLICY_WAIT_MAX);
        else if (strcmp(key, "order") == 0)
            c.settings.order = Order(value);
        else if (strcmp(key, "within") == 0)
            Within(value, c);
        else
            return false;
        return true;
    });
    if (!c.settings.weight)
        Refuse(ToSBuf("fqrs_class ", name.c_str(), ": weight=N is missing"));
    if (c.settings.within && c.settings.order == RS_ORDER_SHORTEST)
        Refuse(ToSBuf("fqrs_class ", name.c_str(), ": order=shortest and within= exclude each other; leave one out"));
    // as policy_engine_class() does: the largest are not refused for being large
    c.settings.wait_bound_ms = c.settings.order == RS_ORDER_SHORTEST ? c.waitSeconds * 500 : 0;
    add(c);
}

/// fqrs_access NAME|none allow|deny acl ...
void
Fqrs::Config::parseAccess()
{
    const auto name = NextWord("the name of the class");
    if (name == "none") {
        ConfigParser parser;
        aclParseAccessLine(cfg_directive, parser, &exempt);
        return;
    }
    const auto position = find(name.c_str());
    if (position < 0)
        Refuse(ToSBuf("fqrs_access: there is no class \"", name.c_str(),
                      "\"; its fqrs_class line, or fqrs_policy, must come before"));
    ConfigParser parser;
    aclParseAccessLine(cfg_directive, parser, &classes[position].access);
}

/// fqrs_policy FILE
void
Fqrs::Config::parsePolicy()
{
    if (policy)
        Refuse(ToSBuf("fqrs_policy: there is one already: ", policyFile));
    policyFile = NextWord("the name of the file").c_str();
    char *error = nullptr;
    const auto p = policy_load(policyFile.c_str(), &error);
    if (!p) {
        const SBuf why(error ? error : "out of memory");
        free(error);
        Refuse(ToSBuf("fqrs_policy: ", why));
    }
    policy.reset(p, PolicyDeleter());
    if (policy_exempt_of(p))
        Refuse(ToSBuf("fqrs_policy: ", policyFile, ": <exempt> is of httpd's gateway; leave it out, and write ",
                      "fqrs_access none for what Squid is not to schedule"));
    policyFirst = classes.size();
    for (uint32_t i = 0; i < policy_class_count(p); ++i) {
        struct policy_engine_class from;
        policy_engine_class(policy_class_at(p, i), &AtSquid, &from);
        ClassConfig c(from, policy_class_at(p, i)->within);
        c.fromPolicy = true;
        add(c);
    }
}

/// fqrs_link rate=RATE [interface=NAME] | auto [min=RATE] [max=RATE] [interface=NAME]
void
Fqrs::Config::parseLink()
{
    if (linkSeen)
        Refuse(SBuf("fqrs_link: there is one already"));
    linkSeen = true;
    const auto first = ConfigParser::PeekAtToken();
    learns = first && strcmp(first, "auto") == 0;
    if (learns)
        (void)ConfigParser::NextToken();
    uint64_t least = 0;
    const auto known = learns ? "min, max and interface" : "rate and interface";
    ForEachOption(known, [this, &least](const char *key, const char *value) {
        if (!learns && strcmp(key, "rate") == 0)
            settings.rate = Rate(key, value);
        else if (learns && strcmp(key, "min") == 0)
            link.rate_min = least = Rate(key, value);
        else if (learns && strcmp(key, "max") == 0)
            link.rate_max = Rate(key, value);
        else if (strcmp(key, "interface") == 0 && *value && strlen(value) < 16 && !strchr(value, '/') && *value != '.')
            interface = value;
        else if (strcmp(key, "interface") == 0)
            Refuse(ToSBuf("fqrs_link: \"", value, "\" is not the name of an interface"));
        else
            return false;
        return true;
    });
    if (learns) {
        if (link.rate_min > link.rate_max)
            Refuse(SBuf(least ? "fqrs_link: min= is more than max="
                              : "fqrs_link: max= is less than 64kbit, the least without min=; write min=, too"));
        settings.rate = std::min(std::max(RS_LINK_RATE_FIRST, link.rate_min), link.rate_max);
    }
    if (!settings.rate)
        Refuse(SBuf("fqrs_link: rate=RATE is missing, as in rate=2Mbit, or auto, to have it learnt"));
}

/// fqrs_window bytes [horizon=MS] | wrc [f=N] [umax=U] [most=N] | N | none
void
Fqrs::Config::parseWindow()
{
    if (windowSeen)
        Refuse(SBuf("fqrs_window: there is one already"));
    windowSeen = true;
    const auto kind = NextWord("the kind of window");
    if (kind == "bytes") {
        settings.gate = RS_GATE_BYTES;
        ForEachOption("horizon", [this](const char *key, const char *value) {
            if (strcmp(key, "horizon") != 0)
                return false;
            settings.horizon_ms = Setting("horizon_ms", key, value);
            return true;
        });
    } else if (kind == "wrc") {
        settings.gate = RS_GATE_WRC;
        ForEachOption("f, umax and most", [this](const char *key, const char *value) {
            if (strcmp(key, "f") == 0)
                settings.wrc_f = Setting("wrc_f", key, value);
            else if (strcmp(key, "most") == 0)
                settings.window_max = Setting("window_max", key, value);
            else if (strcmp(key, "umax") == 0) {
                char *end = nullptr;
                const auto u = Decimal(value, &end);
                if (end == value || *end || u < 0.001 || u > 1)
                    Refuse(ToSBuf("fqrs_window: umax=", value, " is not a utilisation above 0 and up to 1, like 0.95"));
                settings.wrc_umax_permille = static_cast<uint32_t>(lround(u * 1000));
            } else
                return false;
            return true;
        });
    } else if (kind == "none") {
        settings.gate = RS_GATE_NONE;
    } else if (xisdigit(kind[0])) {
        settings.gate = RS_GATE_WINDOW;
        settings.window = Setting("window", "N", kind.c_str());
    } else {
        Refuse(ToSBuf("fqrs_window: \"", kind.c_str(),
                      "\" is no window; there are bytes, wrc, none, and a number of responses"));
    }
    if (const auto token = ConfigParser::NextToken())
        Refuse(ToSBuf("fqrs_window: \"", token, "\" is too much"));
}

/// fqrs_order rfq [debt=BYTES] | rfq-paper | drr | fifo
void
Fqrs::Config::parseOrder()
{
    if (orderSeen)
        Refuse(SBuf("fqrs_order: there is one already"));
    orderSeen = true;
    const auto name = NextWord("the name of the order");
    const auto sched = rs_sched_by_name(name.c_str());
    if (sched != RS_SCHED_RFQ && sched != RS_SCHED_RFQ_PAPER && sched != RS_SCHED_DRR && sched != RS_SCHED_FIFO)
        Refuse(ToSBuf("fqrs_order: \"", name.c_str(), "\" is no order; there are rfq, rfq-paper, drr and fifo"));
    settings.sched = sched;
    if (sched == RS_SCHED_RFQ) {
        ForEachOption("debt", [this](const char *key, const char *value) {
            if (strcmp(key, "debt") != 0)
                return false;
            debt = Setting("debt_max", key, value);
            return true;
        });
    }
    if (const auto token = ConfigParser::NextToken())
        Refuse(ToSBuf("fqrs_order: \"", token, "\" is too much"));
}

uint64_t
Fqrs::Config::DebtFor(const uint64_t rate, const uint32_t sched, const uint64_t configured)
{
    if (configured || sched != RS_SCHED_RFQ)
        return configured;
    return std::min(rate * NormalDebtSeconds, Info("debt_max").most);
}

void
Fqrs::Config::finalize()
{
    Run();
    const auto policyDefault = policy ? policy_engine_default(policy.get()) : POLICY_NONE;
    const auto other = find(POLICY_OTHER);
    if (policyDefault != POLICY_NONE) {
        defaultClass = policyFirst + policyDefault;
    } else if (other >= 0) {
        defaultClass = other;
    } else {
        uint32_t lightest = classes.empty() ? 0 : POLICY_QUANTUM_MAX;
        for (const auto &k: classes)
            lightest = std::min(lightest, k.settings.weight);
        struct policy_engine_class rest;
        policy_engine_other(lightest, &AtSquid, &rest);
        defaultClass = classes.size();
        append(ClassConfig(rest));
    }
    settings.debt_max = DebtFor(settings.rate, settings.sched, debt);
    if (!learns)
        link.rate_min = link.rate_max = settings.rate;
    link.horizon_ms = settings.horizon_ms;

    if (!enabled)
        return;
    if (!settings.rate && (settings.gate == RS_GATE_BYTES || settings.gate == RS_GATE_WRC))
        Refuse(
            SBuf("fqrs on: how fast is the link? Add fqrs_link rate=RATE, or fqrs_link auto, or fqrs_window with a "
                 "number of responses"));
}

void
Fqrs::Config::dumpClass(StoreEntry *e, const ClassConfig &c) const
{
    storeAppendPrintf(e, "fqrs_class %s weight=%u", c.settings.name, c.settings.weight);
    if (c.settings.queue_max)
        storeAppendPrintf(e, " queue=%u", c.settings.queue_max);
    storeAppendPrintf(e, " wait=%u", c.waitSeconds);
    if (c.settings.order == RS_ORDER_SHORTEST)
        storeAppendPrintf(e, " order=shortest");
    if (c.byUser)
        storeAppendPrintf(e, " within=user");
    else if (c.settings.within)
        storeAppendPrintf(e, " within=client/%u/%u", c.within.bits_v4, c.within.bits_v6);
    storeAppendPrintf(e, "\n");
}

/// Those that stand before the policy's; dumpPolicy() has the others, so that what is dumped means the same when it is
/// read.
void
Fqrs::Config::dumpClasses(StoreEntry *e, const char *) const
{
    for (size_t i = 0; i < (policy ? policyFirst : classes.size()); ++i)
        dumpClass(e, classes[i]);
}

void
Fqrs::Config::dumpAccess(StoreEntry *e, const char *directive) const
{
    if (exempt)
        dump_acl_access(e, ToSBuf(directive, " none").c_str(), exempt);
    for (const auto &c: classes) {
        if (c.access)
            dump_acl_access(e, ToSBuf(directive, ' ', c.settings.name).c_str(), c.access);
    }
}

void
Fqrs::Config::dumpPolicy(StoreEntry *e, const char *directive) const
{
    if (!policy)
        return;
    storeAppendPrintf(e, "%s " SQUIDSBUFPH "\n", directive, SQUIDSBUFPRINT(policyFile));
    for (size_t i = policyFirst; i < classes.size(); ++i) {
        if (!classes[i].fromPolicy)
            dumpClass(e, classes[i]);
    }
}

void
Fqrs::Config::dumpLink(StoreEntry *e, const char *directive) const
{
    if (!linkSeen)
        return;
    if (learns)
        storeAppendPrintf(e, "%s auto min=%" PRIu64 "bit max=%" PRIu64 "bit", directive, link.rate_min * 8,
                          link.rate_max * 8);
    else
        storeAppendPrintf(e, "%s rate=%" PRIu64 "bit", directive, settings.rate * 8);
    if (!interface.isEmpty())
        storeAppendPrintf(e, " interface=" SQUIDSBUFPH, SQUIDSBUFPRINT(interface));
    storeAppendPrintf(e, "\n");
}

void
Fqrs::Config::dumpWindow(StoreEntry *e, const char *directive) const
{
    switch (settings.gate) {
    case RS_GATE_BYTES:
        storeAppendPrintf(e, "%s bytes horizon=%u\n", directive, settings.horizon_ms);
        break;
    case RS_GATE_WRC:
        storeAppendPrintf(e, "%s wrc f=%u umax=%u.%03u most=%u\n", directive, settings.wrc_f,
                          settings.wrc_umax_permille / 1000, settings.wrc_umax_permille % 1000, settings.window_max);
        break;
    case RS_GATE_WINDOW:
        storeAppendPrintf(e, "%s %u\n", directive, settings.window);
        break;
    default:
        storeAppendPrintf(e, "%s none\n", directive);
    }
}

void
Fqrs::Config::dumpOrder(StoreEntry *e, const char *directive) const
{
    storeAppendPrintf(e, "%s %s", directive, rs_sched_name(settings.sched));
    if (const auto bound = learns ? debt : settings.debt_max) // one that follows the rate is no setting
        storeAppendPrintf(e, " debt=%" PRIu64, bound);
    storeAppendPrintf(e, "\n");
}

