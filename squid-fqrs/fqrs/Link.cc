/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "fqrs/Host.h"
#include "fqrs/Link.h"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>

/// What TCP, IP and Ethernet add to a response's bytes on the link, in 1/1000: 66 bytes a segment of 1448 payload.
static const uint64_t Overhead = 46;
/// The overhead is a guess. What it claims too much may hide this many foreign bytes and no more.
static const int64_t Slack = 256 << 10;
/// Several workers tick ten times a second each, but the interface is looked at so often and no more.
static const rs_time_t LookTime = 90000;
/// when nobody has looked for so long, nobody had anything to wait for
static const rs_time_t Forgotten = 250000;

void
Fqrs::Link::use(const SBuf &name, Count &aCount)
{
    count = &aCount;
    if (name == name_)
        return;
    close();
    name_ = name;
    if (!name.isEmpty() && !open())
        debugs(96, DBG_IMPORTANT,
               "ERROR: fqrs_link: cannot count the interface " << name << " until it is there: " << xstrerr(errno));
}

bool
Fqrs::Link::open()
{
    SBuf path("/sys/class/net/");
    path.append(name_).append("/statistics/rx_bytes");
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    uint64_t bytes;
    if (fd >= 0 && !read(bytes))
        close();
    anew = true; // it may be another interface of that name
    return fd >= 0;
}

void
Fqrs::Link::begin(const rs_time_t now, const bool alone)
{
    if (count && (alone || count->looked + Forgotten <= now))
        anew = true;
}

void
Fqrs::Link::close()
{
    if (fd >= 0)
        ::close(fd);
    fd = -1;
}

bool
Fqrs::Link::read(uint64_t &bytes)
{
    char text[32];
    const auto n = pread(fd, text, sizeof(text) - 1, 0);
    if (n <= 0)
        return false;
    text[n] = '\0';
    bytes = strtoull(text, nullptr, 10);
    return true;
}

bool
Fqrs::Link::look(const rs_time_t now, uint64_t &bytes)
{
    if (name_.isEmpty() || !count)
        return false;
    auto looked = count->looked.load();
    if (!anew && looked + LookTime > now)
        return false; // another worker did
    if (!count->looked.compare_exchange_strong(looked, now))
        return false;
    if (fd < 0) { // a dialled link comes back as another interface of that name
        if (open())
            debugs(96, DBG_IMPORTANT,
                   "fqrs_link: the interface " << name_ << " is there; its foreign traffic is counted");
        return false;
    }
    if (read(bytes))
        return true;
    debugs(96, DBG_IMPORTANT,
           "WARNING: fqrs_link: the interface " << name_
                                                << " is gone; its foreign traffic is not counted until it is back");
    close();
    return false;
}

void
Fqrs::Link::restart(const uint64_t bytes)
{
    anew = false;
    count->start = bytes;
    count->before = count->explained;
    count->last = count->reported = 0;
}

uint64_t
Fqrs::Link::unexplained(const uint64_t bytes)
{
    if (anew)
        restart(bytes);
    const auto explained = count->explained - count->before;
    const auto now = static_cast<int64_t>(bytes - count->start) -
        static_cast<int64_t>(explained + explained * Overhead / 1000);
    const auto rest = std::min(now, count->last);
    count->last = now;
    const auto foreign = static_cast<uint64_t>(std::max<int64_t>(rest - count->reported, 0));
    count->reported = std::max(rest, std::min(count->reported, rest + Slack));
    count->foreign += foreign;
    return foreign;
}

