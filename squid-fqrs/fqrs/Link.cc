/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "fqrs/base/base_hash.h"
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
/// For so long it counts that a worker's responses were held back: it says so at each of its ticks.
static const rs_time_t HeldBackTime = 250000;

/// `bytes` of payload and what they are wrapped in
static uint64_t
OnTheWire(const uint64_t bytes)
{
    return bytes + bytes * Overhead / 1000;
}

/// The same in all workers; 0 for no interface.
static uint64_t
HashOf(const SBuf &name)
{
    static const uint64_t key[2] = {};
    struct base_hash h;
    base_hash_begin(&h, key);
    base_hash_add(&h, name.rawContent(), name.length());
    return name.isEmpty() ? 0 : base_hash_end(h);
}

void
Fqrs::Link::use(const SBuf &name, Count &aCount)
{
    count = &aCount;
    if (name != name_) {
        close();
        name_ = name;
        hash = HashOf(name);
        if (!name.isEmpty() && !open())
            debugs(96, DBG_IMPORTANT,
                   "ERROR: fqrs_link: cannot count the interface " << name << " until it is there: " << xstrerr(errno));
    }
    count->interface.store(hash, std::memory_order_relaxed);
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
    anew = anew || fd >= 0; // it may be another interface of that name
    return fd >= 0;
}

void
Fqrs::Link::begin(const rs_time_t now, const bool alone)
{
    if (count && (alone || count->looked + Forgotten <= now))
        anew = idle = true;
}

void
Fqrs::Link::know(const rs_time_t now, const struct rs_link_settings &bounds, const uint64_t rate)
{
    if (const auto link = learnt())
        rs_link_configure(link, now, &bounds);
    else
        rs_link_init(&count->learnt, now, &bounds, rate);
}

void
Fqrs::Link::heldBack(const rs_time_t now)
{
    if (count)
        count->heldBack.store(now + HeldBackTime, std::memory_order_relaxed);
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
Fqrs::Link::look(const rs_time_t now, bool &there, uint64_t &bytes)
{
    if (!count || !isOurs())
        return false;
    auto looked = count->looked.load();
    if (!anew && looked + LookTime > now)
        return false; // another worker did
    if (!count->looked.compare_exchange_strong(looked, now))
        return false;
    there = false;
    if (name_.isEmpty())
        return true;
    if (fd < 0) { // a dialled link comes back as another interface of that name
        if (!open())
            return true;
        debugs(96, DBG_IMPORTANT, "fqrs_link: the interface " << name_ << " is there; its foreign traffic is counted");
    } // and from now on: what it says now is where it begins
    there = read(bytes);
    if (there)
        return true;
    debugs(96, DBG_IMPORTANT,
           "WARNING: fqrs_link: the interface " << name_
                                                << " is gone; its foreign traffic is not counted until it is back");
    close();
    return true;
}

void
Fqrs::Link::restart(const uint64_t bytes, const uint64_t all)
{
    anew = false;
    count->counted = hash;
    count->start = count->seen = bytes;
    count->before = all;
    count->last = count->reported = 0;
}

uint64_t
Fqrs::Link::came(const rs_time_t now, const bool there, const uint64_t bytes)
{
    if (!isOurs())
        return 0; // since look()
    const auto link = learnt();
    const auto all = count->explained.load();
    if (idle) {
        if (link)
            rs_link_restart(link, now);
        count->told = all;
        idle = false;
    }
    if (!there) { // then the responses tell
        if (fd < 0)
            anew = false;
        if (link)
            rs_link_came(link, OnTheWire(all - count->told));
        count->told = all;
        return 0;
    }
    if (anew || count->counted != hash)
        restart(bytes, all);
    if (link && bytes > count->seen)
        rs_link_came(link, bytes - count->seen);
    count->seen = bytes;
    count->told = all;
    const auto rest = static_cast<int64_t>(bytes - count->start) - static_cast<int64_t>(OnTheWire(all - count->before));
    const auto lasting = std::min(rest, count->last);
    count->last = rest;
    const auto foreign = static_cast<uint64_t>(std::max<int64_t>(lasting - count->reported, 0));
    count->reported = std::max(lasting, std::min(count->reported, lasting + Slack));
    count->foreign += foreign;
    return foreign;
}

bool
Fqrs::Link::judge(const rs_time_t now, const bool waiting, const uint64_t least)
{
    const auto link = learnt();
    return link && rs_link_look(link, now, waiting || now < count->heldBack.load(std::memory_order_relaxed), least);
}

