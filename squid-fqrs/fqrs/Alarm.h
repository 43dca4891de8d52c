/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_ALARM_H
#define SQUID_SRC_FQRS_ALARM_H

#include "fqrs/Engine.h"

namespace Fqrs
{

/**
 * Calls back at a time of Fqrs::Now(). Squid's own events follow the wall clock: after a step backwards they would come
 * an hour late. This is a timerfd among the descriptors of the main loop.
 */
class Alarm
{
public:
    typedef void Callback();

    explicit Alarm(Callback *aCallback): callback(aCallback) {}
    Alarm(Alarm &&) = delete;

    /// Rings at `when`, or earlier if it was set to an earlier time before. RS_NEVER changes nothing.
    void set(rs_time_t when);

private:
    static void Rang(int fd, void *alarm);
    void open();
    void watch();

    Callback *callback;
    int fd = -1;
    rs_time_t armed = RS_NEVER; ///< when it will ring
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_ALARM_H */

