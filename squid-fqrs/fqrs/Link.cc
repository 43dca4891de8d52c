/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "fqrs/Clock.h"
#include "fqrs/Host.h"
#include "fqrs/Link.h"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>

/// What TCP, IP and Ethernet add to a response's bytes on the link, in 1/1000: 66 bytes a segment of 1448 payload.
static const uint64_t Overhead = 46;
/// The overhead is a guess. What it claims too much may hide this many foreign bytes and no more.
static const int64_t Slack = 256 << 10;

void
Fqrs::Link::use(const SBuf &name)
{
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
    if (fd < 0)
        return false;
    begin(); // which closes it if it can't be read
    return fd >= 0;
}

void
Fqrs::Link::begin()
{
    explained_ = 0;
    last = reported = 0;
    if (fd >= 0 && !read(start))
        close();
    seen = start;
}

void
Fqrs::Link::restart()
{
    begin();
    if (learnt_)
        rs_link_restart(learnt_.get(), Now());
}

void
Fqrs::Link::know(const struct rs_link_settings &bounds, const uint64_t rate)
{
    if (learnt_) {
        rs_link_configure(learnt_.get(), Now(), &bounds);
        return;
    }
    learnt_.reset(new struct rs_link);
    rs_link_init(learnt_.get(), Now(), &bounds, rate);
}

/// `bytes` of payload and what they are wrapped in
static uint64_t
OnTheWire(const uint64_t bytes)
{
    return bytes + bytes * Overhead / 1000;
}

void
Fqrs::Link::explained(const uint64_t bytes)
{
    explained_ += bytes;
    if (learnt_ && fd < 0) // else the interface tells
        rs_link_came(learnt_.get(), OnTheWire(bytes));
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

uint64_t
Fqrs::Link::unexplained()
{
    if (name_.isEmpty())
        return 0;
    if (fd < 0) { // a dialled link comes back as another interface of that name
        if (open())
            debugs(96, DBG_IMPORTANT,
                   "fqrs_link: the interface " << name_ << " is there; its foreign traffic is counted");
        return 0;
    }
    uint64_t bytes;
    if (!read(bytes)) {
        debugs(96, DBG_IMPORTANT,
               "WARNING: fqrs_link: the interface " << name_
                                                    << " is gone; its foreign traffic is not counted until it is back");
        close();
        return 0;
    }
    if (learnt_)
        rs_link_came(learnt_.get(), bytes - seen);
    seen = bytes;
    const auto now = static_cast<int64_t>(bytes - start) - static_cast<int64_t>(OnTheWire(explained_));
    const auto rest = std::min(now, last);
    last = now;
    const auto foreign = static_cast<uint64_t>(std::max<int64_t>(rest - reported, 0));
    reported = std::max(rest, std::min(reported, rest + Slack));
    foreign_ += foreign;
    return foreign;
}

