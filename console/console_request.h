/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * console_request.h - the head of a request to a console that serves itself (console_serve.h), read: it is what anybody
 * on this machine, or a page of anybody in a browser on it, may send.  Only what a console is asked for is understood.
 */
#ifndef FAIRGATE_CONSOLE_REQUEST_H
#define FAIRGATE_CONSOLE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

enum { CONSOLE_HEAD = 16384 /* a browser sends cookies of every port of a machine */, CONSOLE_WORD = 256 };

struct console_request {
    char what[CONSOLE_WORD];    /* behind the question mark of "/?console-now"; "" of "/"; "/metrics" of that */
    char host[CONSOLE_WORD], origin[CONSOLE_WORD], site[CONSOLE_WORD];      /* "": none; site: Sec-Fetch-Site */
    bool stays;                 /* the connection may go on */
    int  refused;               /* 0, or the status it is refused with */
};

/* Bytes of a whole head at the beginning of n bytes; 0: there is more to come, or there would be too much of it. */
size_t console_request_whole(const char *text, size_t n);
void   console_request_read(const char *head, size_t n, struct console_request *r);
/* By the names that a loopback's clients use, or the address that it listens at: no other site's page is to ask. */
bool   console_request_is_ours(const struct console_request *r, const char *listens);

#endif
