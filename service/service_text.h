/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_text.h - a text that grows.  Where memory lacks it has failed, and stays so.
 */
#ifndef FAIRGATE_SERVICE_TEXT_H
#define FAIRGATE_SERVICE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct service_text {           /* zeroed: empty */
    char  *bytes;
    size_t n, room;
    bool   failed;
};

/* Bytes of the well-formed character (UTF-8) at s, which is no control character; 0: there is none. */
size_t service_text_character(const char *s, size_t n);

void  service_text_put(struct service_text *t, const char *bytes, size_t n);
void  service_text_print(struct service_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* All but RFC 3986's unreserved characters as %XX. */
void  service_text_put_escaped(struct service_text *t, const char *bytes, size_t n);
/* Its bytes and a NUL, which are the caller's now; *n (or NULL): how many.  NULL: it has failed. */
char *service_text_take(struct service_text *t, size_t *n);
void  service_text_free(struct service_text *t);

#endif
