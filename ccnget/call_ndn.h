/* SPDX-License-Identifier: BSD-2-Clause */
/* call_ndn.h - a call by its name on a named-data network: fetched as fairgate-ccnget fetches pages. */
#ifndef FAIRGATE_CALL_NDN_H
#define FAIRGATE_CALL_NDN_H

#include "call_settings.h"
#include "get_run.h"

/* As get_run has it; with GET_EXIT_STATUS there is no sentence, and what was said is aside. */
enum get_exit call_ndn(const struct call_settings *s, const char *uri, const struct get_besides *besides,
                       const volatile sig_atomic_t *stop, struct get_figures *f, char **error);

/*
 * How long an Interest is kept, and how often it is sent, so that `timeout` seconds go by in all: as few as forwarders
 * bear, which hold one for 4 s as a rule, but as many as a lost packet asks for.
 */
void call_ndn_tries(uint64_t timeout, uint64_t *lifetime_ms, uint64_t *tries);

#endif
