/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * web_fresh.h - for how long an answer of HTTP may be given again without asking (RFC 9111, 4.2), by one who keeps it
 * for many.
 *
 * Departures: nothing is guessed where the server said nothing, Expires counts as nothing, and so does what is private,
 * or may be kept only if it is asked for again (no-cache, and the forms of both that name fields).  What is said twice
 * counts at its least; a number that is none is 0.
 */
#ifndef FAIRGATE_WEB_FRESH_H
#define FAIRGATE_WEB_FRESH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct web_fresh {
    bool     never;                     /* no-store, no-cache, private, Vary: * */
    bool     has_max_age, has_s_maxage;
    uint64_t max_age, s_maxage, age;    /* seconds */
};

/* Values of header fields, each as often as it came; a struct of zeros has seen none. */
void     web_fresh_control(struct web_fresh *f, const char *value, size_t n);      /* Cache-Control */
void     web_fresh_age(struct web_fresh *f, const char *value, size_t n);          /* Age */
void     web_fresh_vary(struct web_fresh *f, const char *value, size_t n);         /* Vary */
bool     web_fresh_was_said(const struct web_fresh *f);
uint64_t web_fresh_seconds(const struct web_fresh *f);                             /* from when it came; 0: none */

#endif
