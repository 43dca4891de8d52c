/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "comm/Loops.h"
#include "fatal.h"
#include "fd.h"
#include "fde.h"
#include "fqrs/Host.h"
#include "fqrs/Alarm.h"
#include "fqrs/Clock.h"

#include <sys/timerfd.h>
#include <unistd.h>

void
Fqrs::Alarm::open()
{
    fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (fd < 0)
        fatalf("fqrs: cannot make a timer: %s", xstrerr(errno));
    fd_open(fd, FD_UNKNOWN, "fqrs alarm");
    watch();
}

void
Fqrs::Alarm::watch()
{
    Comm::SetSelect(fd, COMM_SELECT_READ, Rang, this, 0);
}

void
Fqrs::Alarm::set(const rs_time_t when)
{
    if (when >= armed)
        return;
    if (fd < 0)
        open();
    struct itimerspec t = {};
    t.it_value.tv_sec = static_cast<time_t>(when / 1000000u);
    t.it_value.tv_nsec = static_cast<long>(when % 1000000u) * 1000;
    if (!t.it_value.tv_sec && !t.it_value.tv_nsec)
        t.it_value.tv_nsec = 1; // zero would disarm it
    if (timerfd_settime(fd, TFD_TIMER_ABSTIME, &t, nullptr) == 0)
        armed = when;
    else
        debugs(96, DBG_IMPORTANT, "ERROR: fqrs cannot set its timer: " << xstrerr(errno));
}

void
Fqrs::Alarm::Rang(int, void *data)
{
    const auto alarm = static_cast<Alarm *>(data);
    uint64_t times;
    const auto got = read(alarm->fd, &times, sizeof(times));
    alarm->watch();
    if (got != static_cast<ssize_t>(sizeof(times)))
        return; // it was set anew meanwhile
    alarm->armed = RS_NEVER;
    alarm->callback();
}

