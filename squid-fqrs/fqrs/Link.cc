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

void
Fqrs::Link::use(const SBuf &name)
{
    if (name == name_ && fd >= 0)
        return;
    close();
    name_ = name;
    if (name.isEmpty())
        return;
    SBuf path("/sys/class/net/");
    path.append(name).append("/statistics/rx_bytes");
    fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !read(start)) {
        debugs(96, DBG_IMPORTANT, "ERROR: fqrs_link: cannot count the interface " << name << ": " << xstrerr(errno));
        close();
    }
    came = explained_ = 0;
    reported = 0;
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
    uint64_t bytes;
    if (fd < 0)
        return 0;
    if (!read(bytes)) {
        debugs(96, DBG_IMPORTANT, "WARNING: fqrs_link: the interface " << name_ << " is gone; its foreign traffic is not counted any more");
        close();
        return 0;
    }
    const auto rest = static_cast<int64_t>(came) - static_cast<int64_t>(explained_ + explained_ * Overhead / 1000);
    came = bytes - start;
    const auto foreign = static_cast<uint64_t>(std::max<int64_t>(rest - reported, 0));
    reported = std::max(rest, std::min(reported, rest + Slack));
    return foreign;
}

