/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "fde.h"
#include "fqrs/Clock.h"
#include "fqrs/Flow.h"
#include "fqrs/Host.h"
#include "fqrs/Opening.h"
#include "fqrs/Scheduler.h"
#include "fqrs/Secret.h"
#include "SquidConfig.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <linux/tcp.h> // the C library's struct tcp_info is older
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unordered_map>
#include <vector>

/// Of fewer segments TCP would wait for its timers: each second one is acknowledged at once.
static const int FewestSegments = 2;
/// what an Ethernet segment carries, when the connection does not tell
static const int UsualSegment = 1460;
/// beyond this a window is nobody's trouble
static const uint64_t LargestWindow = 16 << 20;
/// A larger window needs no buffer of its size: the kernel's own measure is not much more, and it may grow.
static const int LargestBuffer = 64 << 10;
/// Of what came since, twice as much at the most is added to what the kernel offers.
static const uint64_t OffersGrow = 2;
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
/// a handshake offers so much at the most
static const uint64_t LargestFirstWindow = 65535;
/// Round trips of a connection are asked for no more often, and when a window's worth came in between.
static const rs_time_t MeasureTime = 100000;
/// How long a window's worth counts as a sign that the next one comes, too: longer than it takes on its way.
static const rs_time_t FullTime = 1000000;

/* ---- before the first byte --------------------------------------------------------------------------------------- */

/// what connections that are being opened with a small buffer would have had, by descriptor
static std::unordered_map<int, int> &
UsualBuffers()
{
    static std::unordered_map<int, int> buffers;
    return buffers;
}

#if defined(SO_BUF_LOCK)

/// The kernel does not take that for a bound that somebody chose: it would never enlarge the buffer again.
static bool
SetBuffer(const int fd, const int bytes)
{
    static const int nobody = 0;
    return setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &nobody, sizeof(nobody)) == 0;
}

#endif

void
Fqrs::Flow::Opens(const int fd)
{
    UsualBuffers().erase(fd); // of one that failed
#if defined(SO_BUF_LOCK)
    const auto first = Scheduler::Instance().firstWindow();
    if (first >= LargestFirstWindow || ::Config.tcpRcvBufsz > 0) // which is for the administrator to say
        return;
    int lock = 0, usual = 0;
    socklen_t lockSize = sizeof(lock), usualSize = sizeof(usual);
    // a kernel before 5.15 does not know it, and a buffer could not grow again
    if (getsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &lock, &lockSize) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &usual, &usualSize) != 0)
        return;
    if (SetBuffer(fd, std::max(static_cast<int>(first), FewestSegments * UsualSegment)))
        UsualBuffers()[fd] = usual;
#endif
}

void
Fqrs::Flow::Opened(const int fd)
{
#if defined(SO_BUF_LOCK)
    const auto found = UsualBuffers().find(fd);
    if (found == UsualBuffers().end())
        return;
    const auto usual = found->second;
    UsualBuffers().erase(found);
    // The kernel reports twice what it is told. The small buffer has become the window's bound, too.
    static const int unbounded = INT_MAX;
    if (!SetBuffer(fd, usual / 2) ||
        setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &unbounded, sizeof(unbounded)) != 0)
        debugs(96, DBG_IMPORTANT, "ERROR: fqrs: a connection keeps a small buffer: " << xstrerr(errno));
#else
    (void)fd;
#endif
}

uint64_t
Fqrs::Flow::LeastWindow()
{
    return FewestSegments * UsualSegment;
}

void
Fqrs::Flow::OpenSmall(const bool wanted)
{
    Opening::Use(wanted ? &Opens : nullptr, &Opened); // those that are being opened now get theirs back in any case
}

/* ---- round trips ------------------------------------------------------------------------------------------------- */

/// The same number for the same address, and never 0. Nobody foresees whose place in a table he meets.
static uint64_t
NumberOf(const Ip::Address &address)
{
    struct in6_addr bytes;
    address.getInAddr(bytes);
    return std::max<uint64_t>(Fqrs::Hashed('s', &bytes, sizeof(bytes)), 1);
}

/// What was measured of a connection, for the next response through it.
struct Fqrs::Flow::Known {
    rs_time_t at = 0; ///< when; 0 = never
    Ip::Address remote;
    unsigned short remotePort = 0;
    unsigned short localPort = 0;
    uint64_t server = 0;
    uint64_t offers = 0;
    uint32_t leastTrip = 0;
    int segment = 0;

    bool isOf(const Comm::Connection &c) const {
        return localPort && localPort == c.local.port() && remotePort == c.remote.port() && remote == c.remote;
    }
};

/// by descriptor
Fqrs::Flow::Known &
Fqrs::Flow::KnownOf(const int fd)
{
    static std::vector<Known> all;
    if (all.size() <= static_cast<size_t>(fd))
        all.resize(fd + 1);
    return all[fd];
}

void
Fqrs::Flow::begin(const Comm::ConnectionPointer &aConn, const bool isBounded)
{
    end();
    conn = aConn;
    bounded = isBounded;
    received = fitted = offered = measuredAt = 0;
    fullUntil = 0;
    leastTrip_ = 0;
    server_ = 0;
    segment = UsualSegment;
    offers = RS_UNLIMITED;
    if (!Comm::IsConnOpen(conn))
        return;
    auto &known = KnownOf(conn->fd);
    measured = Now();
    if (known.isOf(*conn) && measured - known.at < MeasureTime) {
        measured = known.at;
        server_ = known.server;
        segment = known.segment;
        offers = known.offers;
        leastTrip_ = known.leastTrip;
        return;
    }
    server_ = NumberOf(conn->remote);
    measure(true);
    known.at = measured;
    known.remote = conn->remote;
    known.remotePort = conn->remote.port();
    known.localPort = conn->local.port();
    known.server = server_;
    known.offers = offers;
    known.segment = segment;
    known.leastTrip = leastTrip_;
}

/**
 * Asks the kernel. As a sender of requests it knows the round trip of the handshake, while it is new; as a receiver it
 * measures how long what it acknowledged takes to have an effect, if both sides put times into their segments: without
 * them that is a least of all times.
 */
void
Fqrs::Flow::measure(const bool first)
{
    struct tcp_info info = {};
    socklen_t size = sizeof(info);
    if (getsockopt(conn->fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return;
    if (first && info.tcpi_snd_mss)
        segment = static_cast<int>(info.tcpi_snd_mss);
    if (first)
        offers = info.tcpi_rcv_ssthresh;
    uint32_t trip = 0;
    if (!first && (info.tcpi_options & TCPI_OPT_TIMESTAMPS))
        trip = info.tcpi_rcv_rtt;
    else if (first && !info.tcpi_data_segs_out)
        trip = info.tcpi_rtt;
    // what was never measured is all ones there
    leastTrip_ = info.tcpi_min_rtt == UINT32_MAX ? 0 : info.tcpi_min_rtt;
    Scheduler::Instance().tripped(measured, server_, trip, leastTrip_);
}

void
Fqrs::Flow::measureAgain(const uint64_t rest)
{
    if (!window || received - measuredAt < static_cast<uint64_t>(window))
        return;
    const auto now = Now();
    if (now - measured < MeasureTime)
        return;
    measured = now;
    measuredAt = received;
    fullUntil = rest > static_cast<uint64_t>(window) ? now + FullTime : 0;
    measure(false);
}

/* ---- the window -------------------------------------------------------------------------------------------------- */

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
Fqrs::Flow::fit(const uint64_t allowed, const uint64_t rest)
{
    if (!Comm::IsConnOpen(conn))
        return;
    measureAgain(rest);
    if (allowed >= LargestWindow)
        return release();
    // most answers on a fast link are over before the kernel would offer so much
    if (!window && !bounded && offers != RS_UNLIMITED && allowed >= offers + OffersGrow * received)
        return hasten();

    // The kernel enlarges a window that is used well, in each round trip: told again less often than in each, three
    // segments become four and a half, and sixteen twenty.
    const auto fitting = std::max(static_cast<int>(allowed), FewestSegments * segment);
    if (Differ(fitting, window) || 2 * (received - fitted) >= static_cast<uint64_t>(window)) {
        if (bounded && !window)
            offered = std::max(offered, received + room());
        set(IPPROTO_TCP, TCP_WINDOW_CLAMP, fitting, window);
        fitted = received;
    }
    if (bounded && window)
        keepRoom();

    // What lies unread takes nothing from the window, which is much smaller than the buffer.
    // A response that is parked, as it brings next to nothing, is read as it comes.
    auto wanted = rest == RS_UNLIMITED ? 0 : std::min<uint64_t>(MostGathered, static_cast<uint64_t>(window) * 3 / 4);
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
    if (bounded && window)
        offered = std::max(offered, received + window);
}

/// How far beyond what was read the kernel has let the server send: it never offers more than that measure of its own,
/// which grows with what comes. A buffer says nothing of that: it was a small one while the connection was opened.
uint64_t
Fqrs::Flow::room() const
{
    struct tcp_info info = {};
    socklen_t size = sizeof(info);
    if (getsockopt(conn->fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return LargestBuffer;
    return info.tcpi_rcv_ssthresh + unread();
}

/// A socket's receive buffer, as the kernel reports it, and whether somebody has chosen it; negative: this kernel does
/// not tell.
static int
BufferOf(const int fd, int &locks)
{
    int size = 0;
    socklen_t length = sizeof(size);
    locks = -1;
    if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &length) != 0)
        return 0;
#if defined(SO_BUF_LOCK)
    length = sizeof(locks);
    if (getsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &locks, &length) != 0)
        locks = -1;
#endif
    return size;
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
        if (!usual)
            usual = BufferOf(conn->fd, locks);
        set(SOL_SOCKET, SO_RCVBUF, Generous ? wanted * GenerousParts / GenerousPart : wanted, is);
        if (is)
            buffer = wanted;
    }
#if defined(SO_BUF_LOCK)
    if (buffer == LargestBuffer) // it may grow again
        set(SOL_SOCKET, SO_BUF_LOCK, 0, buffer);
#endif
}

void
Fqrs::Flow::giveRoom()
{
    if (!usual)
        return;
    int is = 0;
    // The kernel reports twice what it is told. Where it can't be told to enlarge the buffer again, that is as large as
    // it lets it be.
    set(SOL_SOCKET, SO_RCVBUF, locks < 0 ? static_cast<int>(LargestWindow) : usual / 2, is);
#if defined(SO_BUF_LOCK)
    if (locks >= 0)
        set(SOL_SOCKET, SO_BUF_LOCK, locks, is);
#endif
    usual = buffer = 0;
}

uint64_t
Fqrs::Flow::unread() const
{
    int bytes = 0;
    if (!Comm::IsConnOpen(conn) || ioctl(conn->fd, FIONREAD, &bytes) != 0 || bytes < 0)
        return 0;
    if (!Generous && buffer > 3 * FewestSegments * segment && bytes > buffer * MuchMoreParts / MuchMorePart) {
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
Fqrs::Flow::release()
{
    hasten();
    if (window)
        set(IPPROTO_TCP, TCP_WINDOW_CLAMP, INT_MAX, window);
    window = 0;
    giveRoom();
}

void
Fqrs::Flow::end()
{
    if (bounded)
        window = gather = usual = buffer = 0; // a tunnel's connection ends with it
    else
        release();
    if (Comm::IsConnOpen(conn) && offers != RS_UNLIMITED)
        KnownOf(conn->fd).offers = offers + OffersGrow * received;
    conn = nullptr;
}

