/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "fde.h"
#include "fqrs/Flow.h"
#include "fqrs/Host.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/// A window of fewer segments would make TCP wait for its timers.
static const int FewestSegments = 3;
/// what an Ethernet segment carries, when the connection does not tell
static const int UsualSegment = 1460;
/// beyond this a window is nobody's trouble
static const uint64_t LargestWindow = 16 << 20;
/// A larger window needs no buffer of its size: the kernel's own measure is not much more, and it may grow.
static const int LargestBuffer = 64 << 10;
/// Linux takes half of a buffer for what it costs to hold the rest; since 6.6 it measures what it costs, which may be
/// next to nothing, and nearly twice as much lies there as was asked for. Then so much less is asked for.
static const int GenerousParts = 5;
static const int GenerousPart = 8;
/// Whether this one does; known as soon as so much more than asked for was seen.
static bool Generous = false;
static const int MuchMoreParts = 3;
static const int MuchMorePart = 2;

/// More at a time saves little, and the client sees it later.
static const uint64_t MostGathered = 8192;
/// fewer than two full segments are not worth waiting for
static const uint64_t LeastGathered = 2800;

void
Fqrs::Flow::begin(const Comm::ConnectionPointer &aConn, const bool isBounded)
{
    end();
    conn = aConn;
    bounded = isBounded;
    received = fitted = offered = 0;
    socklen_t size = sizeof(segment);
    if (!Comm::IsConnOpen(conn) || getsockopt(conn->fd, IPPROTO_TCP, TCP_MAXSEG, &segment, &size) != 0 || segment <= 0)
        segment = UsualSegment;
}

void
Fqrs::Flow::set(const int level, const int option, const int value, int &is)
{
    if (!Comm::IsConnOpen(conn))
        return;
    if (setsockopt(conn->fd, level, option, &value, sizeof(value)) == 0)
        is = value;
    else
        debugs(96, 3, "setsockopt(" << conn << ", " << option << ", " << value << "): " << xstrerr(errno));
}

/// whether it is worth a system call
static bool
Differ(const int64_t a, const int64_t b)
{
    return std::abs(a - b) * 4 > b;
}

void
Fqrs::Flow::fit(const uint64_t allowance, const uint64_t rest)
{
    if (!Comm::IsConnOpen(conn))
        return;

    // The kernel enlarges a window that is used well, so it is told again from time to time.
    const auto fitting =
        allowance < LargestWindow ? std::max(static_cast<int>(allowance), FewestSegments * segment) : INT_MAX;
    if ((fitting != INT_MAX || window) &&
        (Differ(fitting, window) || received - fitted > 4 * static_cast<uint64_t>(window))) {
        if (bounded && !isFitted())
            offered = std::max(offered, received + room());
        set(IPPROTO_TCP, TCP_WINDOW_CLAMP, fitting, window);
        fitted = received;
    }
    if (bounded && isFitted())
        keepRoom();

    // What lies unread takes nothing from the window, which is much smaller than the buffer.
    // A response that is parked, as it brings next to nothing, is read as it comes.
    uint64_t wanted = rest == RS_UNLIMITED || allowance == RS_UNLIMITED || !window
                          ? 0
                          : std::min<uint64_t>(MostGathered, static_cast<uint64_t>(window) * 3 / 4);
    if (fd_table[conn->fd].ssl) // TLS reads by records, whose ends we do not know
        wanted = 0;
    wanted = std::min(wanted, rest);
    if (wanted < LeastGathered)
        hasten();
    else if (static_cast<uint64_t>(gather) > rest || Differ(static_cast<int>(wanted), gather))
        set(SOL_SOCKET, SO_RCVLOWAT, static_cast<int>(wanted), gather);
}

void
Fqrs::Flow::came(const uint64_t bytes)
{
    received += bytes;
    // Nothing lies unread now, or nearly so: what the server may send begins here.
    if (bounded && isFitted())
        offered = std::max(offered, received + window);
}

bool
Fqrs::Flow::isFitted() const
{
    return window && window != INT_MAX;
}

/// What the kernel has offered by its own measure: half of the buffer when it connects, later perhaps all of it.
int
Fqrs::Flow::room() const
{
    int size = 0;
    socklen_t length = sizeof(size);
    if (getsockopt(conn->fd, SOL_SOCKET, SO_RCVBUF, &size, &length) != 0)
        return LargestBuffer;
    return received ? size : size / 2;
}

void
Fqrs::Flow::keepRoom()
{
    const auto wanted = std::min(window, LargestBuffer);
    if (!buffer && wanted == LargestBuffer)
        return;
    if (buffer ? !Differ(wanted, buffer) : received + wanted < offered)
        return;
    if (wanted > buffer || received + wanted >= offered) {
        int is = 0;
        set(SOL_SOCKET, SO_RCVBUF, Generous ? wanted * GenerousParts / GenerousPart : wanted, is);
        if (is)
            buffer = wanted;
    }
#if defined(SO_BUF_LOCK)
    if (buffer == LargestBuffer) // it may grow again
        set(SOL_SOCKET, SO_BUF_LOCK, 0, buffer);
#endif
}

uint64_t
Fqrs::Flow::unread() const
{
    int bytes = 0;
    if (!Comm::IsConnOpen(conn) || ioctl(conn->fd, FIONREAD, &bytes) != 0 || bytes < 0)
        return 0;
    if (!Generous && buffer > 2 * FewestSegments * segment && bytes > buffer * MuchMoreParts / MuchMorePart) {
        debugs(96, 3, bytes << " bytes lie in a buffer for " << buffer);
        Generous = true;
    }
    return bytes;
}

void
Fqrs::Flow::hasten()
{
    if (gather)
        set(SOL_SOCKET, SO_RCVLOWAT, 0, gather);
}

void
Fqrs::Flow::end()
{
    hasten();
    if (window)
        set(IPPROTO_TCP, TCP_WINDOW_CLAMP, INT_MAX, window);
    window = buffer = 0;
    conn = nullptr;
}

