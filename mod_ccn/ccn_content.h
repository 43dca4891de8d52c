/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_content.h - what a parameter says where it is: another call's result, a page by name, a file of the web.
 */
#ifndef FAIRGATE_CCN_CONTENT_H
#define FAIRGATE_CCN_CONTENT_H

#include "ccn_call.h"

/* `done` gets the content, or a problem; at most `most` bytes. */
void ccn_content(const struct ccn_caller *who, const struct service_value *v, size_t most, ccn_call_done *done,
                 void *of);

#endif
