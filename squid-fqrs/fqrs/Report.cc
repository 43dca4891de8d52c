/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "fqrs/Host.h"
#include "fqrs/Report.h"
#include "fqrs/Scheduler.h"
#include "mgr/Registration.h"
#include "Store.h"

#include <algorithm>
#include <functional>

namespace Fqrs
{

/// what there is to tell of a class: the engine's account, and what Squid refused
struct ClassLook: public rs_class_stats {
    Scheduler::Refusals refusals;
    uint32_t seats;

    /// requests that were not even let in
    uint64_t full() const { return refusals[CLASS_FULL] + refusals[SHARE_FULL] + refusals[QUEUE_FULL] + refusals[NO_DESCRIPTOR]; }
};

/// one metric of each class, or of all
struct Metric {
    const char *name, *type, *help;
    double (*of)(const ClassLook &);
};

static const Metric PerClass[] = {
    { "weight", "gauge", "Weight of the class.", [](const ClassLook &c) { return double(c.settings.weight); } },
    { "queued", "gauge", "Requests that wait.", [](const ClassLook &c) { return double(c.queued); } },
    { "outstanding", "gauge", "Responses that are on their way.", [](const ClassLook &c) { return double(c.outstanding); } },
    { "parked", "gauge", "Responses of which nothing comes.", [](const ClassLook &c) { return double(c.parked); } },
    { "expected_bytes", "gauge", "Bytes that the outstanding ones still have to bring.", [](const ClassLook &c) { return double(c.expected); } },
    { "submitted_total", "counter", "Requests that came to be scheduled.", [](const ClassLook &c) { return double(c.counts.submitted); } },
    { "released_total", "counter", "Requests sent on.", [](const ClassLook &c) { return double(c.counts.released); } },
    { "seats", "gauge", "Descriptors that its requests and tunnels hold, or may hold: one while waiting, two from then on.", [](const ClassLook &c) { return double(c.seats); } },
    { "refused_total", "counter", "Requests answered 503 because there was no room for them, whatever of the next four was the reason.",
      [](const ClassLook &c) { return double(c.full()); } },
    { "refused_class_full_total", "counter", "Those because as many of the class waited as may.",
      [](const ClassLook &c) { return double(c.refusals[CLASS_FULL]); } },
    { "refused_share_full_total", "counter", "Those because what places were left are kept for other classes.",
      [](const ClassLook &c) { return double(c.refusals[SHARE_FULL]); } },
    { "refused_queue_full_total", "counter", "Those because as many waited as there is room for.",
      [](const ClassLook &c) { return double(c.refusals[QUEUE_FULL]); } },
    { "refused_no_descriptor_total", "counter", "Those because the class held its part of Squid's descriptors.",
      [](const ClassLook &c) { return double(c.refusals[NO_DESCRIPTOR]); } },
    { "refused_wait_over_total", "counter", "Requests answered 503 because they had waited too long.",
      [](const ClassLook &c) { return double(c.refusals[WAIT_OVER]); } },
    { "cancelled_total", "counter", "Places in the queue given up: the wait was over, the client left, or another class's turn for the same answer came first.",
      [](const ClassLook &c) { return double(c.counts.cancelled); } },
    { "done_total", "counter", "Responses that ended whole.", [](const ClassLook &c) { return double(c.counts.done); } },
    { "aborted_total", "counter", "Responses that ended before their end.", [](const ClassLook &c) { return double(c.counts.aborted); } },
    { "received_bytes_total", "counter", "Bytes received for the class, tunnels included.",
      [](const ClassLook &c) { return double(c.counts.bytes); } },
    { "wait_seconds_total", "counter", "Seconds that released requests have waited.",
      [](const ClassLook &c) { return double(c.counts.wait_us) / 1e6; } },
    { "slot_seconds_total", "counter", "Seconds from release to the end of the response.",
      [](const ClassLook &c) { return double(c.counts.service_us) / 1e6; } },
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
        ClassLook c;
        for (uint32_t i = 0; i < all.classes; ++i) {
            // a class that is gone and empty is of no interest
            if (rs_class_stats(scheduler.engine(), i, &c) && (!c.retired || c.queued || c.outstanding || c.parked)) {
                c.refusals = scheduler.refusalsOf(i);
                c.seats = scheduler.seats().takenBy(i);
                classes.push_back(c);
            }
        }
        for (const auto &k: classes) {
            bytes += k.counts.bytes;
            if (k.counts.submitted || k.counts.bytes)
                weights += k.settings.weight;
        }
    }

    /// What the class gets while all that have ever wanted something want more; 0 if it has not.
    double due(const ClassLook &c) const {
        return c.counts.submitted || c.counts.bytes ? double(c.settings.weight) / double(weights) : 0.0;
    }

    double share(const ClassLook &c) const { return bytes ? double(c.counts.bytes) / double(bytes) : 0.0; }

    struct rs_stats all = {};
    std::vector<ClassLook> classes;
    uint64_t bytes = 0, weights = 0;
};

static double
MeanMsec(const uint64_t sum, const uint64_t n)
{
    return n ? double(sum) / double(n) / 1000.0 : 0.0;
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
    storeAppendPrintf(e, "Order: %s\tWindow: %s", rs_sched_name(l.all.settings.sched), rs_gate_name(l.all.settings.gate));
    if (l.all.window)
        storeAppendPrintf(e, " (%u responses)", l.all.window);
    storeAppendPrintf(e, "\tLink: %.3f Mbit/s\n", double(l.all.settings.rate) * 8e-6);
    storeAppendPrintf(e, "Requests waiting: %u\tOutstanding: %u\tStalled: %u\tWaited too long: %" PRIu64 "\n", l.all.queued, l.all.outstanding,
                      l.all.parked, scheduler.refusedLate());
    Scheduler::Refusals refused = {};
    for (const auto &c: l.classes)
        std::transform(refused.begin(), refused.end(), c.refusals.begin(), refused.begin(), std::plus<uint64_t>());
    storeAppendPrintf(e, "Refused: class full %" PRIu64 "\tshare full %" PRIu64 "\tqueue full %" PRIu64 "\tno descriptor %" PRIu64 "\tDescriptors: %u of %u\n",
                      refused[CLASS_FULL], refused[SHARE_FULL], refused[QUEUE_FULL], refused[NO_DESCRIPTOR], scheduler.seats().taken(), scheduler.seats().most());
    if (!scheduler.link().name().isEmpty())
        storeAppendPrintf(e, "Interface " SQUIDSBUFPH ": %" PRIu64 " bytes that are nobody's\n", SQUIDSBUFPRINT(scheduler.link().name()), scheduler.link().foreign());
    storeAppendPrintf(e, "\n%-31s %7s %7s %7s %7s %7s %7s %9s %9s %9s %10s %10s %10s\n", "Class", "Weight", "Due", "Share", "Waiting", "Outst.", "Stalled",
                      "Done", "Aborted", "Refused", "Mean kB", "Mean wait", "Mean slot");
    for (const auto &c: l.classes) {
        const auto &n = c.counts;
        storeAppendPrintf(e, "%-31s %7u %6.1f%% %6.1f%% %7u %7u %7u %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %10.1f %8.0fms %8.0fms%s\n", c.settings.name,
                          c.settings.weight, 100.0 * l.due(c), 100.0 * l.share(c), c.queued, c.outstanding, c.parked,
                          n.done, n.aborted, c.full(), double(c.mean) / 1000.0, MeanMsec(n.wait_us, n.released),
                          MeanMsec(n.service_us, n.done + n.aborted), c.retired ? "  (retired)" : "");
    }
}

static void
ReportJson(StoreEntry *e)
{
    const auto &scheduler = Scheduler::Instance();
    const Look l;
    storeAppendPrintf(e, "{\"on\":%s,\"order\":\"%s\",\"gate\":\"%s\",\"window\":%u,\"rate\":%" PRIu64 ",\"queued\":%u,\"outstanding\":%u,\"parked\":%u,"
                      "\"seats\":%u,\"seats_most\":%u,\"waited_too_long\":%" PRIu64 ",\"foreign_bytes\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"classes\":[",
                      scheduler.on() ? "true" : "false", rs_sched_name(l.all.settings.sched), rs_gate_name(l.all.settings.gate), l.all.window,
                      l.all.settings.rate, l.all.queued, l.all.outstanding, l.all.parked, scheduler.seats().taken(), scheduler.seats().most(),
                      scheduler.refusedLate(), scheduler.link().foreign(), l.bytes);
    auto comma = "";
    for (const auto &c: l.classes) {
        const auto &n = c.counts;
        // names hold letters, digits, '-', '_' and '.' only: nothing to escape
        storeAppendPrintf(e, "%s{\"name\":\"%s\",\"weight\":%u,\"retired\":%s,\"queued\":%u,\"outstanding\":%u,\"parked\":%u,\"expected\":%" PRIu64
                          ",\"seats\":%u,\"submitted\":%" PRIu64 ",\"released\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"refused_class_full\":%" PRIu64
                          ",\"refused_share_full\":%" PRIu64 ",\"refused_queue_full\":%" PRIu64 ",\"refused_no_descriptor\":%" PRIu64 ",\"refused_wait_over\":%" PRIu64
                          ",\"cancelled\":%" PRIu64 ",\"done\":%" PRIu64
                          ",\"aborted\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"share\":%.4f,\"balance\":%" PRId64 ",\"response_mean\":%" PRIu64
                          ",\"wait_ms_mean\":%.3f,\"wait_ms_max\":%.3f,\"slot_ms_mean\":%.3f}",
                          comma, c.settings.name, c.settings.weight, c.retired ? "true" : "false", c.queued, c.outstanding, c.parked, c.expected,
                          c.seats, n.submitted, n.released, c.full(), c.refusals[CLASS_FULL], c.refusals[SHARE_FULL], c.refusals[QUEUE_FULL],
                          c.refusals[NO_DESCRIPTOR], c.refusals[WAIT_OVER], n.cancelled, n.done, n.aborted, n.bytes, l.share(c), c.balance,
                          c.mean, MeanMsec(n.wait_us, n.released), double(c.wait_max) / 1000.0, MeanMsec(n.service_us, n.done + n.aborted));
        comma = ",";
    }
    storeAppendPrintf(e, "]}\n");
}

static void
Single(StoreEntry *e, const char *name, const char *type, const char *help, const double value)
{
    storeAppendPrintf(e, "# HELP squid_fqrs_%s %s\n# TYPE squid_fqrs_%s %s\nsquid_fqrs_%s %.15g\n", name, help, name, type, name, value);
}

static void
ReportPrometheus(StoreEntry *e)
{
    if (Nothing(e))
        return;
    const auto &scheduler = Scheduler::Instance();
    const Look l;
    Single(e, "on", "gauge", "1 if requests are scheduled.", scheduler.on());
    Single(e, "window", "gauge", "Responses that may be outstanding; 0 if the window does not count responses.", l.all.window);
    Single(e, "waited_too_long_total", "counter", "Requests answered 503 because they had waited too long.", double(scheduler.refusedLate()));
    Single(e, "foreign_bytes_total", "counter", "Bytes that the interface received while somebody waited, and that no response explains.",
           double(scheduler.link().foreign()));
    for (const auto &m: PerClass) {
        storeAppendPrintf(e, "# HELP squid_fqrs_%s %s\n# TYPE squid_fqrs_%s %s\n", m.name, m.help, m.name, m.type);
        for (const auto &c: l.classes)
            storeAppendPrintf(e, "squid_fqrs_%s{class=\"%s\"} %.15g\n", m.name, c.settings.name, m.of(c));
    }
}

} // namespace Fqrs

void
Fqrs::RegisterReports()
{
    Mgr::RegisterAction("fqrs", "Fair-Queuing Request Scheduling", &ReportText, 0, 1);
    Mgr::RegisterAction("fqrs_json", "Fair-Queuing Request Scheduling, as JSON", &ReportJson, 0, 1);
    Mgr::RegisterAction("fqrs_prometheus", "Fair-Queuing Request Scheduling, for Prometheus", &ReportPrometheus, 0, 1);
}

