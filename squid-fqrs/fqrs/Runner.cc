/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "base/RunnersRegistry.h"
#include "fqrs/Config.h"
#include "fqrs/Host.h"
#include "fqrs/Report.h"
#include "fqrs/Runner.h"
#include "fqrs/Scheduler.h"
#include "fqrs/Segment.h"
#include "tools.h"

namespace Fqrs
{

class Runner: public RegisteredRunner
{
public:
    /* RegisteredRunner API */
    void useConfig() override {
        if (IamMasterProcess() && InDaemonMode()) {
            Segment::Instance().make(TheConfig);
            return;
        }
        Segment::Instance().attach();
        RegisterReports();
        if (IamWorkerProcess())
            Scheduler::Instance().configure(TheConfig);
    }

    void syncConfig() override {
        if (IamWorkerProcess())
            Scheduler::Instance().configure(TheConfig);
    }

    void startShutdown() override { Scheduler::Instance().shutdown(); }
};

} // namespace Fqrs

void
Fqrs::Run()
{
    static const bool registered = RegisterRunner(new Runner);
    assert(registered);
}

void
Fqrs::KidEnded(const pid_t kid)
{
    Segment::Instance().ended(kid);
}
