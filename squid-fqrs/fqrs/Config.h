/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_CONFIG_H
#define SQUID_SRC_FQRS_CONFIG_H

#include "acl/forward.h"
#include "fqrs/Engine.h"
#include "fqrs/policy/policy.h"
#include "fqrs/policy/policy_url.h"
#include "sbuf/SBuf.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

class StoreEntry;
struct policy_engine_class;

namespace Fqrs
{

struct PolicyDeleter {
    void operator()(policy_t *p) const { policy_free(&p); }
};

/// A class of requests: an fqrs_class line, or a class of the fqrs_policy file.
class ClassConfig
{
public:
    ClassConfig() = default;
    explicit ClassConfig(const struct policy_engine_class &);
    ClassConfig(const struct policy_engine_class &, const struct policy_within &);

    struct rs_class_settings settings = {}; ///< name, weight, queue, order
    uint32_t waitSeconds = 0; ///< longest wait
    acl_access *access = nullptr; ///< fqrs_access lines of this class in their order; owned by Config
    struct policy_within within = {}; ///< whom its clients are told apart by, if settings.within
    bool byUser = false; ///< by their users' names first
    bool fromPolicy = false;
};

/**
 * squid.conf's fqrs directives. Each parse_ method handles one line and throws a TextException that says what is wrong
 * and what would be right. What is parsed takes effect when Scheduler::configure() is called; a running scheduler holds
 * what it needs by itself, so that clear() may come first.
 */
class Config
{
public:
    ~Config();

    void parseClass();
    void parseAccess();
    void parsePolicy();
    void parseLink();
    void parseWindow();
    void parseOrder();
    void dumpClasses(StoreEntry *, const char *directive) const;
    void dumpAccess(StoreEntry *, const char *directive) const;
    void dumpPolicy(StoreEntry *, const char *directive) const;
    void dumpLink(StoreEntry *, const char *directive) const;
    void dumpWindow(StoreEntry *, const char *directive) const;
    void dumpOrder(StoreEntry *, const char *directive) const;
    void clear(); ///< back to an empty squid.conf

    /// What no single line can tell. Called once, when all lines are parsed.
    void finalize();

    /// Position of the class of that name; -1 if there is none.
    int find(const char *name) const;

    /// what the engine is to be set to: with "fqrs off" whoever waits may go
    struct rs_settings engineSettings() const;
    std::vector<struct rs_class_settings> engineClasses() const;

    /// Of all that the engine and other workers must know; never 0. Workers with one digest have one configuration.
    uint32_t digest() const;

    /// How much a class of mean weight may owe on a link of this rate, if so much is configured; 0: nothing is.
    static uint64_t DebtFor(uint64_t rate, uint32_t sched, uint64_t configured);

public:
    int enabled = 0; ///< fqrs on|off
    /// in order of appearance; after finalize() with "other" if nothing else takes the rest
    std::vector<ClassConfig> classes;
    acl_access *exempt = nullptr; ///< fqrs_access none: requests that are not scheduled; owned by us
    uint32_t defaultClass = 0; ///< position of the class of requests that match nothing; valid after finalize()
    std::shared_ptr<policy_t> policy; ///< nil if there is none
    uint32_t policyFirst = 0; ///< position of the policy's first class
    SBuf policyFile;
    SBuf interface; ///< whose received bytes are counted; empty for none
    struct rs_settings settings; ///< of the engine
    bool learns = false; ///< the link's rate is learnt; settings has where that begins
    struct rs_link_settings link = {}; ///< within which bounds; a rate that is known twice
    uint64_t debt = 0; ///< of fqrs_order; 0: what goes with the rate

private:
    void add(const ClassConfig &);
    void append(const ClassConfig &);
    void dumpClass(StoreEntry *, const ClassConfig &) const;
    void freeAccess();

    std::unordered_map<std::string, uint32_t> positions; ///< of classes, by name
    bool linkSeen = false;
    bool windowSeen = false;
    bool orderSeen = false;

public:
    Config();
};

extern Config TheConfig;

} // namespace Fqrs

/* what cf_gen calls; one triple for each TYPE of cf.data.pre */

#define FQRS_DIRECTIVE(Type, Parse, Dump) \
    inline void parse_##Type(Fqrs::Config *c) { c->Parse(); } \
    inline void dump_##Type(StoreEntry *e, const char *name, const Fqrs::Config &c) { c.Dump(e, name); } \
    inline void free_##Type(Fqrs::Config *c) { c->clear(); }

FQRS_DIRECTIVE(FqrsClass, parseClass, dumpClasses)
FQRS_DIRECTIVE(FqrsAccess, parseAccess, dumpAccess)
FQRS_DIRECTIVE(FqrsPolicy, parsePolicy, dumpPolicy)
FQRS_DIRECTIVE(FqrsLink, parseLink, dumpLink)
FQRS_DIRECTIVE(FqrsWindow, parseWindow, dumpWindow)
FQRS_DIRECTIVE(FqrsOrder, parseOrder, dumpOrder)

#undef FQRS_DIRECTIVE

#endif /* SQUID_SRC_FQRS_CONFIG_H */

