/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_whole.h - will httpd read this head of a request without waiting for more of it?  Knows no httpd.
 *
 * It will where the head is whole, and nearly certainly where what has come of it is enough to be refused or answered:
 * a request line that asks for no path or has no protocol, a line that is too long, a field that can be none.  Such a
 * client may wait for its answer and send nothing more, and has it as soon as httpd alone would give it.  Where nobody
 * can tell, more must come: who waits in vain then is one whose request is wrong.
 *
 * Trust boundary: all bytes are a stranger's.  They are read in place, within their bounds, and nothing is kept.
 */
#ifndef FAIRGATE_QOS_WHOLE_H
#define FAIRGATE_QOS_WHOLE_H

#include <stdbool.h>
#include <stddef.h>

struct qos_whole_limits {
    size_t   line, field;       /* bytes: LimitRequestLine, LimitRequestFieldSize */
    unsigned fields;            /* LimitRequestFields; 0: any number */
    bool     strict;            /* HttpProtocolOptions Strict */
    bool     proxied;           /* a header of the PROXY protocol stands before it */
};

enum qos_whole {
    QOS_NOT_WHOLE,              /* more must come */
    QOS_ANSWERED,               /* httpd answers it as it is: another version might wait for more */
    QOS_WHOLE                   /* no version waits */
};

/* With more of it, it is as much, or more. */
enum qos_whole qos_whole(const struct qos_whole_limits *limits, const char *p, size_t n);

#endif
