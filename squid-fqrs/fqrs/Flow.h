/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_FLOW_H
#define SQUID_SRC_FQRS_FLOW_H

#include "comm/Connection.h"
#include "fqrs/Engine.h"

namespace Fqrs
{

/**
 * How a response's bytes come through its server connection.
 *
 * The receive window is fitted to what the scheduler lets be on its way (rs_allowance) and to the server's round trip
 * (rs_link.h): many responses do not fill the far router's queue, and one that is large takes no more of the link than
 * its class is due. What the connection says of its round trips is told to the scheduler in turn.
 *
 * A window that was offered can't be taken back, and a handshake offers 64 KB: so a connection begins with a small
 * buffer, which offers less, and has its usual one as soon as it is open.
 *
 * Of a response whose length is known several segments are read at a time (SO_RCVLOWAT), since on a thin link each
 * would otherwise cost a turn of the main loop; what has lain unread for a moment is read all the same, when the
 * scheduler's clock calls hasten().
 *
 * A tunnel is not read between its turns. So that its server does not send then what the kernel has room for, its
 * receive buffer follows its window, as far as that is small: what is not read is not sent. The buffer is made smaller
 * only when all that the server has been offered fits into it: else the kernel would have to drop what has crossed the
 * link. Where windows are no longer fitted it has the one that it had.
 */
class Flow
{
public:
    Flow() = default;
    Flow(Flow &&) = delete;
    ~Flow() { end(); }

    /// Squid opens connections with a small first window from now on, or as the kernel likes.
    static void OpenSmall(bool);

    /// bytes: no response that comes has less on its way
    static uint64_t LeastWindow();

    /// The response will come through this connection. `bounded`: it is a tunnel.
    void begin(const Comm::ConnectionPointer &, bool bounded);

    /// So many bytes were read.
    void came(uint64_t bytes);

    /// The response may have such a window, and so many bytes are still to come; RS_UNLIMITED: any, and not known.
    /// Cheap enough for every read.
    void fit(uint64_t allowed, uint64_t rest);

    uint64_t server() const { return server_; } ///< its number with rs_link.h
    /// microseconds: the shortest round trip that the connection knows of; 0 = none
    uint32_t leastTrip() const { return leastTrip_; }

    /// Bytes that have come and were not read.
    uint64_t unread() const;

    /// Whatever has come is to be read now.
    void hasten();

    /// Window and buffer are as we found them.
    void release();

    /// Whether it would bring more if its window were larger.
    bool heldBack(rs_time_t now) const { return window && now < fullUntil; }

    /// Leaves the connection, released, to whoever has it next; a bounded one to nobody.
    void end();

private:
    struct Known;
    static Known &KnownOf(int fd);
    static void Opens(int fd);
    static void Opened(int fd);

    void set(int level, int option, int value, int &is);
    void measure(bool first);
    void measureAgain(uint64_t rest);
    void keepRoom();
    void giveRoom();
    uint64_t room() const;

    Comm::ConnectionPointer conn;
    bool bounded = false; ///< the buffer follows the window
    uint64_t server_ = 0;
    uint32_t leastTrip_ = 0;
    rs_time_t measured = 0; ///< when round trips were asked for last
    uint64_t measuredAt = 0; ///< what had been received then
    rs_time_t fullUntil = 0; ///< for so long it is thought of as one that fills its window
    uint64_t received = 0; ///< through this connection
    uint64_t fitted = 0; ///< what had been received when the window was last set
    uint64_t offers = 0; ///< bytes that the kernel offered at most when the response began; RS_UNLIMITED: not known
    uint64_t offered = 0; ///< so far may the server send
    int buffer = 0; ///< bytes; 0 = as the kernel likes
    int usual = 0; ///< what the buffer was, as the kernel reports it; 0 = it was never set
    int locks = 0; ///< then: SO_BUF_LOCK, negative if the kernel does not know it
    int segment = 0; ///< bytes
    int window = 0; ///< bytes; 0 = as the kernel likes
    int gather = 0; ///< bytes that wake us; 0 = any
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_FLOW_H */

