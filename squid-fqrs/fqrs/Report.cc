/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "fqrs/Host.h"
#include "fqrs/Report.h"
#include "fqrs/core/rs_figures.h"
#include "fqrs/Scheduler.h"
#include "mgr/Registration.h"
#include "Store.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace Fqrs
{

static const struct { Refusal refusal; enum rs_why why; } Whys[] = {
    { CLASS_FULL, RS_WHY_CLASS_FULL }, { SHARE_FULL, RS_WHY_SHARE_FULL }, { QUEUE_FULL, RS_WHY_QUEUE_FULL },
    { NO_DESCRIPTOR, RS_WHY_NO_DESCRIPTOR }, { WAIT_OVER, RS_WHY_TOO_LONG }
};

/// everything there is to tell, taken at one moment
class Look
{
public:
    Look() {
        const auto &scheduler = Scheduler::Instance();
        if (!scheduler.engine())
            return;
        rs_stats(scheduler.engine(), &all);
        for (const auto &w: Whys)
            refused[w.why] = scheduler.refusals()[w.refusal];
        struct rs_figures_class c = {};
        for (uint32_t i = 0; i < all.classes; ++i) {
            // a class that is gone and empty is of no interest
            if (!rs_class_stats(scheduler.engine(), i, &c.s) ||
                (c.s.retired && !c.s.queued && !c.s.outstanding && !c.s.parked))
                continue;
            for (const auto &w: Whys)
                c.refused[w.why] = scheduler.refusalsOf(i)[w.refusal];
            c.wait_s = scheduler.waitOf(i);
            c.slot_s = NAN;
            c.descriptors = scheduler.seats().takenBy(i);
            classes.push_back(c);
        }
        for (const auto &k: classes) {
            bytes += k.s.counts.bytes;
            if (HasAsked(k))
                weights += k.s.settings.weight;
        }
    }

    /// What the class gets while all that have ever wanted something want more; 0 if it has not.
    double due(const struct rs_figures_class &c) const {
        return HasAsked(c) ? double(c.s.settings.weight) / double(weights) : 0.0;
    }

    double share(const struct rs_figures_class &c) const { return rs_figures_share(&c, bytes); }

    /// as the engine's writers want it
    struct rs_figures figures(const std::vector<struct base_figure> &own) const {
        struct rs_figures f = {};
        f.at = RS_AT_SQUID;
        f.on = Scheduler::Instance().on();
        f.all = all;
        f.classes = classes.data();
        f.nclasses = classes.size();
        std::copy(std::begin(refused), std::end(refused), f.refused);
        for (const auto &w: Whys)
            f.whys_by_class |= 1u << w.why;
        f.own = own.data();
        f.nown = own.size();
        f.own_prefix = "fairgate_fqrs_";
        return f;
    }

    struct rs_stats all = {};
    std::vector<struct rs_figures_class> classes;
    uint64_t refused[RS_WHYS] = {};
    uint64_t bytes = 0, weights = 0;

private:
    static bool HasAsked(const struct rs_figures_class &c) { return c.s.counts.submitted || c.s.counts.bytes; }
};

/// seconds since the belief in the link's rate was another one
static double
Age(const struct rs_link &link)
{
    const auto now = Now();
    return now > link.since ? double(now - link.since) / 1e6 : 0.0;
}

/// what Squid alone can tell
static std::vector<struct base_figure>
Own()
{
    const auto &scheduler = Scheduler::Instance();
    std::vector<struct base_figure> own = {
        { "descriptors", "descriptors", "Descriptors that requests and tunnels hold, or may hold.", nullptr,
          double(scheduler.seats().taken()), BASE_GAUGE },
        { "descriptors_max", "descriptors_max", "Descriptors that they may hold together.", nullptr,
          double(scheduler.seats().most()), BASE_GAUGE },
        { nullptr, "seats", "An old name.", nullptr, double(scheduler.seats().taken()), BASE_GAUGE },
        { nullptr, "seats_most", "An old name.", nullptr, double(scheduler.seats().most()), BASE_GAUGE },
        { "foreign_bytes_total", "foreign_bytes",
          "Bytes that the interface received while somebody waited, and that no response explains.",
          "squid_fqrs_foreign_bytes_total", double(scheduler.link().foreign()), BASE_COUNTER },
        { "link_learnt", "link_learnt", "1 if the link's rate is learnt, 0 if it is configured.", nullptr,
          double(scheduler.learns()), BASE_TRUTH }
    };
    const auto link = scheduler.link().learnt();
    if (link && scheduler.learns())
        own.push_back({ "link_rate_age_seconds", "link_rate_age_s",
                        "How long the rate has been within a quarter of what it was then.", nullptr, Age(*link),
                        BASE_GAUGE });
    if (link && link->delay != RS_LINK_UNKNOWN)
        own.push_back({ "link_queue_seconds", "link_queue_s",
                        "How long the queue at the link's far end was, by round trips of the last second or so.",
                        nullptr, double(link->delay) / 1e6, BASE_GAUGE });
    if (link && link->base)
        own.push_back({ "link_round_trip_seconds", "link_round_trip_s", "The shortest round trip of any server.",
                        nullptr, double(link->base) / 1e6, BASE_GAUGE });
    return own;
}

static struct base_sink
Into(StoreEntry *e)
{
    return { [](void *to, const char *text, const size_t bytes) { static_cast<StoreEntry *>(to)->append(text, bytes); },
             e };
}

static bool
Nothing(StoreEntry *e)
{
    if (Scheduler::Instance().engine())
        return false;
    storeAppendPrintf(e, "# fqrs is off\n");
    return true;
}

static void
ReportText(StoreEntry *e)
{
    if (Nothing(e))
        return;
    const auto &scheduler = Scheduler::Instance();
    const Look l;
    storeAppendPrintf(e, "Fair-Queuing Request Scheduling: %s\n", scheduler.on() ? "on" : "off");
    storeAppendPrintf(e, "Order: %s\tWindow: %s", rs_sched_name(l.all.settings.sched),
                      rs_gate_name(l.all.settings.gate));
    if (l.all.window)
        storeAppendPrintf(e, " (%u responses)", l.all.window);
    storeAppendPrintf(e, "\tLink: %.3f Mbit/s\n", double(l.all.settings.rate) * 8e-6);
    storeAppendPrintf(e, "Requests waiting: %u\tOutstanding: %u\tStalled: %u\tWaited too long: %" PRIu64 "\n",
                      l.all.queued, l.all.outstanding, l.all.parked, l.refused[RS_WHY_TOO_LONG]);
    storeAppendPrintf(e,
                      "Refused: class full %" PRIu64 "\tshare full %" PRIu64 "\tqueue full %" PRIu64
                      "\tno descriptor %" PRIu64 "\tDescriptors: %u of %u\n",
                      l.refused[RS_WHY_CLASS_FULL], l.refused[RS_WHY_SHARE_FULL], l.refused[RS_WHY_QUEUE_FULL],
                      l.refused[RS_WHY_NO_DESCRIPTOR], scheduler.seats().taken(), scheduler.seats().most());
    if (const auto link = scheduler.link().learnt()) {
        if (scheduler.learns())
            storeAppendPrintf(e,
                              "Link is learnt: as it is for %.0f s; intervals with a queue %" PRIu64
                              ", without %" PRIu64 ", that do not tell %" PRIu64 "\n",
                              Age(*link), link->standing, link->empty, link->unknown);
        if (link->base && link->delay != RS_LINK_UNKNOWN)
            storeAppendPrintf(e, "Queue at its far end: %.0f ms\tShortest round trip: %.0f ms\n",
                              double(link->delay) / 1e3, double(link->base) / 1e3);
    }
    if (!scheduler.link().name().isEmpty())
        storeAppendPrintf(e, "Interface " SQUIDSBUFPH ": %" PRIu64 " bytes that are nobody's\n",
                          SQUIDSBUFPRINT(scheduler.link().name()), scheduler.link().foreign());
    storeAppendPrintf(e, "\n%-31s %7s %7s %7s %7s %7s %7s %9s %9s %9s %10s %10s %10s\n", "Class", "Weight", "Due",
                      "Share", "Waiting", "Outst.", "Stalled", "Done", "Aborted", "Refused", "Mean kB", "Mean wait",
                      "Mean slot");
    for (const auto &c: l.classes) {
        const auto &k = c.s;
        const auto &n = k.counts;
        storeAppendPrintf(e,
                          "%-31s %7u %6.1f%% %6.1f%% %7u %7u %7u %9" PRIu64 " %9" PRIu64 " %9" PRIu64
                          " %10.1f %8.0fms %8.0fms%s\n",
                          k.settings.name, k.settings.weight, 100.0 * l.due(c), 100.0 * l.share(c), k.queued,
                          k.outstanding, k.parked, n.done, n.aborted, rs_figures_refused(c.refused),
                          double(k.mean) / 1000.0,
                          rs_figures_mean_ms(n.wait_us, n.released),
                          rs_figures_mean_ms(n.service_us, n.done + n.aborted), k.retired ? "  (retired)" : "");
    }
}

static void
ReportJson(StoreEntry *e)
{
    if (!Scheduler::Instance().engine()) {
        rs_figures_none_json(Into(e), RS_AT_SQUID, "off", "fqrs is off: nothing is scheduled.");
        return;
    }
    const Look l;
    const auto own = Own();
    const auto f = l.figures(own);
    rs_figures_json(Into(e), &f);
}

static void
ReportPrometheus(StoreEntry *e)
{
    if (!Scheduler::Instance().engine()) {
        rs_figures_none_prometheus(Into(e), RS_AT_SQUID, "off");
        return;
    }
    const Look l;
    const auto own = Own();
    const auto f = l.figures(own);
    rs_figures_prometheus(Into(e), &f);
}

} // namespace Fqrs

void
Fqrs::RegisterReports()
{
    Mgr::RegisterAction("fqrs", "Fair-Queuing Request Scheduling", &ReportText, 0, 1);
    Mgr::RegisterAction("fqrs_json", "Fair-Queuing Request Scheduling, as JSON", &ReportJson, 0, 1);
    Mgr::RegisterAction("fqrs_prometheus", "Fair-Queuing Request Scheduling, for Prometheus", &ReportPrometheus, 0, 1);
}

