/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_check.h - what is said of a configuration that can't work, or not as it seems to, before anybody waits for it: at
 * the start, and by `apachectl configtest`.
 */
#ifndef FAIRGATE_CCN_CHECK_H
#define FAIRGATE_CCN_CHECK_H

#include "ccn_config.h"

/* OK, or an error that was logged; what is only doubtful is a warning. */
int ccn_check_hosts(server_rec *main_server);

#endif
