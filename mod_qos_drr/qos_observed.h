/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_observed.h - what the status page says of requests that are observed: what would have happened.
 */
#ifndef FAIRGATE_QOS_OBSERVED_H
#define FAIRGATE_QOS_OBSERVED_H

#include "base/base_report.h"
#include "qos_paper.h"

/* A member "observed" of the object that is open; `look`: a struct qos_paper_look, for struct rs_figures. */
void qos_observed_json(struct base_json *j, const void *look);
void qos_observed_prometheus(struct base_sink sink, const struct qos_paper_look *look);
void qos_observed_page(request_rec *r, const struct qos_paper_look *look);

#endif
