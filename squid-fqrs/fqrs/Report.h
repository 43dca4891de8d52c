/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_REPORT_H
#define SQUID_SRC_FQRS_REPORT_H

namespace Fqrs
{

/// makes mgr:fqrs, mgr:fqrs_json and mgr:fqrs_prometheus
void RegisterReports();

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_REPORT_H */

