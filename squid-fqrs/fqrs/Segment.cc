/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "fatal.h"
#include "fqrs/Host.h"
#include "fqrs/Config.h"
#include "fqrs/Segment.h"
#include "fqrs/Sizes.h"
#include "SquidConfig.h"
#include "tools.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

/// where kids find what the master tells of it
static const char *const Variable = "SQUID_FQRS_SEGMENT";

/// a place more than there are workers costs nothing
static const uint32_t SparePlaces = 2;

static std::atomic<const char *> LeftWhy(nullptr);

Fqrs::Segment &
Fqrs::Segment::Instance()
{
    static Segment segment;
    return segment;
}

struct shm_loop_size
Fqrs::Segment::Size(const uint32_t processes)
{
    struct shm_loop_size z = {};
    z.processes = processes;
    z.classes = ClassesMax;
    z.tickets = TicketsMax;
    z.keys = rs_keys_for(TicketsMax); // not touched until a class is shared within
    z.area = sizeof(Area) + processes * sizeof(Seats::Told) + Sizes::Bytes();
    return z;
}

void
Fqrs::Segment::Lost(const pid_t worker, const uint32_t requests)
{
    debugs(96, DBG_IMPORTANT, "fqrs: worker process " << worker << " is gone; what " << requests
                                                      << " of its requests held was given back");
}

const struct shm_loop_host &
Fqrs::Segment::Host()
{
    static const struct shm_loop_host host = { Lost, Left };
    return host;
}

/// Perhaps with the lock: who comes next says so, see Scheduler::abandon().
void
Fqrs::Segment::Left(const char *why)
{
    LeftWhy = why;
}

bool
Fqrs::Segment::left() const
{
    return LeftWhy.load(std::memory_order_relaxed);
}

const char *
Fqrs::Segment::leftWhy() const
{
    return LeftWhy;
}

bool
Fqrs::Segment::comeBack()
{
    if (!shm_loop_return(loop_))
        return false;
    LeftWhy = nullptr;
    return true;
}

void
Fqrs::Segment::make(const Config &config)
{
    static char text[SHM_LOOP_TEXT];
    unsetenv(Variable); // of whoever started us, perhaps
    if (!UsingSmp())
        return; // the only kid has all to itself
    const auto workers = static_cast<uint32_t>(std::max(::Config.workers, 1));
    const auto size = Size(std::min<uint32_t>(workers + SparePlaces, SHM_LOOP_PROCESSES));
    const auto settings = config.engineSettings();
    const auto classes = config.engineClasses();
    const char *why = nullptr;
    loop_ = shm_loop_make(&size, &settings, classes.data(), classes.size(), text, &why);
    if (loop_) {
        draw();
        setenv(Variable, text, 1);
    } else if (config.enabled) {
        fatalf("fqrs: no memory for the workers to share: %s", why);
    } else {
        debugs(96, DBG_IMPORTANT, "WARNING: fqrs can't be turned on: no memory for the workers to share: " << why);
    }
}

void
Fqrs::Segment::ended(const pid_t kid)
{
    if (loop_)
        shm_loop_ended(loop_, kid);
}

void
Fqrs::Segment::attach()
{
    const auto text = getenv(Variable);
    if (loop_ || broken || IamMasterProcess() || !text)
        return;
    const char *why = nullptr;
    loop_ = shm_loop_attach(text, &Host(), &why);
    broken = !loop_;
    unsetenv(Variable); // what this process starts has no use for it
    if (loop_) {
        shm_loop_comes_back(loop_);
        shm_loop_reclaim(loop_); // of whom we come after, whatever he was
    } else {
        debugs(96, DBG_CRITICAL,
               "ERROR: fqrs: this process can't use the memory that the workers share: "
                   << why << "; it schedules nothing until Squid is started anew");
    }
}

bool
Fqrs::Segment::join(const Config &config)
{
    if (!loop_ && (broken || UsingSmp())) { // on its own it would take the whole link
        debugs(96, DBG_CRITICAL,
               "ERROR: fqrs is on, but there is no memory that the workers share: nothing is scheduled");
        return false;
    }
    if (!loop_) {
        const auto size = Size(1);
        const auto settings = config.engineSettings();
        const auto classes = config.engineClasses();
        const char *why = nullptr;
        loop_ = shm_loop_alone(&size, &Host(), &settings, classes.data(), classes.size(), &why);
        if (!loop_)
            fatalf("fqrs: no memory: %s", why);
        draw();
    }
    const auto joined = shm_loop_join(loop_);
    if (joined)
        LeftWhy = nullptr; // it may have been away until now
    else
        debugs(96, DBG_CRITICAL,
               "ERROR: fqrs is on, but " << (left() ? leftWhy() : "there are more workers than the master knew of")
                                         << ": this one schedules nothing until "
                                         << (away() ? "squid.conf is read again" : "Squid is started anew"));
    return joined;
}

/// Before anybody else is there.
void
Fqrs::Segment::draw()
{
    if (getentropy(area().secret, sizeof(area().secret)) != 0)
        fatalf("fqrs: no random numbers: %s", xstrerr(errno));
}

Fqrs::Seats::Told &
Fqrs::Segment::seatsOf(const uint32_t place) const
{
    return reinterpret_cast<Seats::Told *>(&area() + 1)[place];
}

void *
Fqrs::Segment::sizes() const
{
    return &seatsOf(shm_loop_processes(loop_)); // behind the last one
}

void
Fqrs::Segment::name(const Config &config, const std::vector<uint32_t> &numbers)
{
    for (size_t i = 0; i < numbers.size(); ++i) {
        auto &c = area().classes[numbers[i]];
        const auto &is = config.classes[i];
        c.waitSeconds = is.waitSeconds;
        if (strncmp(c.name, is.settings.name, sizeof(c.name)) == 0)
            continue;
        memcpy(c.name, is.settings.name, sizeof(c.name));
        for (auto &n: c.refused)
            n = 0;
    }
}

