/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "fqrs/Host.h"
#include "fqrs/Clock.h"
#include "fqrs/Config.h"
#include "fqrs/Report.h"
#include "fqrs/Segment.h"
#include "fqrs/core/rs_figures.h"
#include "mgr/Action.h"
#include "mgr/Registration.h"
#include "Store.h"
#include "tools.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace Fqrs
{

static const struct { Refusal refusal; enum rs_why why; } Whys[] = {
    { CLASS_FULL, RS_WHY_CLASS_FULL }, { SHARE_FULL, RS_WHY_SHARE_FULL }, { QUEUE_FULL, RS_WHY_QUEUE_FULL },
    { NO_DESCRIPTOR, RS_WHY_NO_DESCRIPTOR }, { WAIT_OVER, RS_WHY_TOO_LONG }
};

/// What is believed of the link, in short.
struct Belief {
    bool known = false;
    double age = 0; ///< seconds since it was another one
    uint32_t delay = RS_LINK_UNKNOWN, base = 0;
    uint64_t standing = 0, empty = 0, unknown = 0;

    void take(const struct rs_link &l) {
        const auto now = Now();
        known = true;
        age = now > l.since ? double(now - l.since) / 1e6 : 0.0;
        delay = l.delay;
        base = l.base;
        standing = l.standing;
        empty = l.empty;
        unknown = l.unknown;
    }
};

/// Everything there is to tell, taken at one moment. It is the machine's, not a worker's: whoever can see the memory
/// that workers share can tell all of it.
class Look
{
public:
    Look() {
        auto &segment = Segment::Instance();
        auto &area = segment.area();
        on = area.on;
        foreign = area.link.foreign;
        for (const auto &w: Whys)
            refused[w.why] = area.refused[w.refusal];
        {
            const Segment::Turn turn(segment);
            rs_stats(turn.engine, &all);
            if (const auto learnt = Link::LearntIn(area.link))
                link.take(*learnt);
        }
        classes.reserve(all.classes); // not with the lock
        std::vector<uint32_t> numbers, places;
        numbers.reserve(all.classes);
        places.reserve(shm_loop_processes(segment.loop()));
        {
            const Segment::Turn turn(segment);
            struct rs_figures_class c = {};
            for (uint32_t i = 0; i < all.classes; ++i) {
                // a class that is gone and empty is of no interest
                if (!rs_class_stats(turn.engine, i, &c.s) ||
                    (c.s.retired && !c.s.queued && !c.s.outstanding && !c.s.parked))
                    continue;
                for (const auto &w: Whys)
                    c.refused[w.why] = area.classes[i].refused[w.refusal];
                c.wait_s = area.classes[i].waitSeconds;
                c.slot_s = NAN;
                classes.push_back(c);
                numbers.push_back(i);
            }
            for (uint32_t place = 0; place < shm_loop_processes(segment.loop()); ++place) {
                if (shm_loop_process_locked(segment.loop(), place))
                    places.push_back(place);
            }
        }
        for (size_t i = 0; i < classes.size(); ++i) {
            auto &k = classes[i];
            for (const auto place: places)
                k.descriptors += segment.seatsOf(place).takenBy[numbers[i]].load();
            bytes += k.s.counts.bytes;
            if (HasAsked(k))
                weights += k.s.settings.weight;
        }
        for (const auto place: places) {
            seats += segment.seatsOf(place).taken.load();
            mostSeats += segment.seatsOf(place).most.load();
        }
        workers = places.size();
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
        f.on = on;
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

    /// what Squid alone can tell
    std::vector<struct base_figure> own() const {
        std::vector<struct base_figure> told = {
            { "descriptors", "descriptors", "Descriptors that requests and tunnels hold, or may hold.", nullptr,
              double(seats), BASE_GAUGE },
            { "descriptors_max", "descriptors_max", "Descriptors that they may hold together.", nullptr,
              double(mostSeats), BASE_GAUGE },
            { nullptr, "seats", "An old name.", nullptr, double(seats), BASE_GAUGE },
            { nullptr, "seats_most", "An old name.", nullptr, double(mostSeats), BASE_GAUGE },
            { "workers", "workers", "Workers that share the scheduler.", nullptr, double(workers), BASE_GAUGE },
            { "foreign_bytes_total", "foreign_bytes",
              "Bytes that the interface received while somebody waited, and that no response explains.",
              "squid_fqrs_foreign_bytes_total", double(foreign), BASE_COUNTER },
            { "link_learnt", "link_learnt", "1 if the link's rate is learnt, 0 if it is configured.", nullptr,
              double(TheConfig.learns), BASE_TRUTH }
        };
        if (link.known && TheConfig.learns)
            told.push_back({ "link_rate_age_seconds", "link_rate_age_s",
                            "How long the rate has been within a quarter of what it was then.", nullptr, link.age,
                            BASE_GAUGE });
        if (link.known && link.delay != RS_LINK_UNKNOWN)
            told.push_back({ "link_queue_seconds", "link_queue_s",
                            "How long the queue at the link's far end was, by round trips of the last second or so.",
                            nullptr, double(link.delay) / 1e6, BASE_GAUGE });
        if (link.base)
            told.push_back({ "link_round_trip_seconds", "link_round_trip_s", "The shortest round trip of any server.",
                            nullptr, double(link.base) / 1e6, BASE_GAUGE });
        return told;
    }

    bool on = false;
    struct rs_stats all = {};
    Belief link;
    std::vector<struct rs_figures_class> classes;
    uint64_t refused[RS_WHYS] = {};
    uint64_t bytes = 0, weights = 0, foreign = 0;
    uint32_t seats = 0, mostSeats = 0; ///< descriptors of all workers
    uint32_t workers = 0;

private:
    static bool HasAsked(const struct rs_figures_class &c) { return c.s.counts.submitted || c.s.counts.bytes; }
};

/// what to say instead, if nothing is scheduled at all; nil if something is
static const char *
WhyNot()
{
    auto &segment = Segment::Instance();
    if (segment.exists()) {
        if (!IamWorkerProcess() && segment.away())
            segment.comeBack(); // a worker does so by itself
        const Segment::Turn turn(segment); // sees damage, if there is any
    }
    if (segment.left()) {
        return segment.away() ? "the lock of the memory that the workers share is not given back: ask again."
                              : "fqrs schedules nothing until Squid is started anew: the memory that the workers share "
                                "is damaged.";
    }
    return !segment.exists() || !segment.area().used ? "fqrs is off: nothing is scheduled." : nullptr;
}

/// the same in a word
static const char *
State()
{
    const auto &segment = Segment::Instance();
    return !segment.left() ? "off" : segment.away() ? "away" : "damaged";
}

static struct base_sink
Into(StoreEntry *e)
{
    return { [](void *to, const char *text, const size_t bytes) { static_cast<StoreEntry *>(to)->append(text, bytes); },
             e };
}

static void
ReportText(StoreEntry *e)
{
    if (WhyNot()) {
        storeAppendPrintf(e, "# %s\n", Segment::Instance().left() ? WhyNot() : "fqrs is off");
        return;
    }
    const Look l;
    storeAppendPrintf(e, "Fair-Queuing Request Scheduling: %s\n", l.on ? "on" : "off");
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
                      l.refused[RS_WHY_NO_DESCRIPTOR], l.seats, l.mostSeats);
    if (l.link.known && TheConfig.learns)
        storeAppendPrintf(e,
                          "Link is learnt: as it is for %.0f s; intervals with a queue %" PRIu64 ", without %" PRIu64
                          ", that do not tell %" PRIu64 "\n",
                          l.link.age, l.link.standing, l.link.empty, l.link.unknown);
    if (l.link.base && l.link.delay != RS_LINK_UNKNOWN)
        storeAppendPrintf(e, "Queue at its far end: %.0f ms\tShortest round trip: %.0f ms\n",
                          double(l.link.delay) / 1e3, double(l.link.base) / 1e3);
    if (l.on && !TheConfig.interface.isEmpty())
        storeAppendPrintf(e, "Interface " SQUIDSBUFPH ": %" PRIu64 " bytes that are nobody's\n",
                          SQUIDSBUFPRINT(TheConfig.interface), l.foreign);
    if (l.workers > 1)
        storeAppendPrintf(e, "Workers: %u\n", l.workers);
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
    if (const auto why = WhyNot()) {
        rs_figures_none_json(Into(e), RS_AT_SQUID, State(), why);
        return;
    }
    const Look l;
    const auto own = l.own();
    const auto f = l.figures(own);
    rs_figures_json(Into(e), &f);
}

static void
ReportPrometheus(StoreEntry *e)
{
    if (WhyNot()) {
        rs_figures_none_prometheus(Into(e), RS_AT_SQUID, State());
        return;
    }
    const Look l;
    const auto own = l.own();
    const auto f = l.figures(own);
    rs_figures_prometheus(Into(e), &f);
}

/// A page as it is written. What a mere function writes, Squid 7 puts between "by kid0 {" and "} by kid0", even where
/// there is one process: that is neither JSON nor what Prometheus reads. With several workers it is told once: each is
/// asked and has nothing to add, then the coordinator writes it.
template <OBJH Write>
class Page: public Mgr::Action
{
public:
    static Pointer Create(const Mgr::CommandPointer &command) { return new Page(command); }

protected:
    /* Mgr::Action API */
    void dump(StoreEntry *e) override { Write(e); }

private:
    explicit Page(const Mgr::CommandPointer &command): Mgr::Action(command) {}
};

} // namespace Fqrs

void
Fqrs::RegisterReports()
{
    Mgr::RegisterAction("fqrs", "Fair-Queuing Request Scheduling", &Page<ReportText>::Create, 0, 1);
    Mgr::RegisterAction("fqrs_json", "Fair-Queuing Request Scheduling, as JSON", &Page<ReportJson>::Create, 0, 1);
    Mgr::RegisterAction("fqrs_prometheus", "Fair-Queuing Request Scheduling, for Prometheus",
                        &Page<ReportPrometheus>::Create, 0, 1);
}

