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
#include <sys/socket.h>

/// A window of fewer segments would make TCP wait for its timers.
static const int FewestSegments = 3;
/// what an Ethernet segment carries, when the connection does not tell
static const int UsualSegment = 1460;
/// beyond this a window is nobody's trouble
static const uint64_t LargestWindow = 16 << 20;
/// More at a time saves little, and the client sees it later.
static const uint64_t MostGathered = 8192;
/// fewer than two full segments are not worth waiting for
static const uint64_t LeastGathered = 2800;

void
Fqrs::Flow::begin(const Comm::ConnectionPointer &aConn)
{
    end();
    conn = aConn;
    fitted = 0;
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
Fqrs::Flow::fit(const uint64_t allowance, const uint64_t received, const uint64_t rest)
{
    if (!Comm::IsConnOpen(conn))
        return;

    // The kernel enlarges a window that is used well, so it is told again from time to time.
    const auto fitting =
        allowance < LargestWindow ? std::max(static_cast<int>(allowance), FewestSegments * segment) : INT_MAX;
    if ((fitting != INT_MAX || window) &&
        (Differ(fitting, window) || received - fitted > 4 * static_cast<uint64_t>(window))) {
        set(IPPROTO_TCP, TCP_WINDOW_CLAMP, fitting, window);
        fitted = received;
    }

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
    window = 0;
    conn = nullptr;
}

