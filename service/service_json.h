/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_json.h - parameters as JSON: what is read, and the one form in which it stands in names.
 *
 * Read is what RFC 8259 calls JSON and RFC 7493 (I-JSON) calls safe: UTF-8, no key twice in one object, no U+0000,
 * whole numbers that a double holds exactly.  Written is the canonical form of RFC 8785: keys sorted by their UTF-16
 * code units, no blanks, numbers as ECMAScript prints them; so equal parameters have equal names.  Text is not
 * normalized: composed and decomposed letters are different letters, as they are in names.
 *
 * Values are Jansson's (json_t); whoever gets one gives it back with json_decref.
 */
#ifndef FAIRGATE_SERVICE_JSON_H
#define FAIRGATE_SERVICE_JSON_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#define SERVICE_JSON_DEEP  32u                  /* levels of arrays and objects */
#define SERVICE_JSON_WHOLE 9007199254740991     /* 2^53 - 1: beyond it doubles have gaps */
#define SERVICE_JSON_EXPONENT 1e21               /* from it on a number is written with an exponent */

/* Any value, and nothing but blanks around it.  NULL, and *error: a sentence (base/base_error.h) and where. */
json_t *service_json_read(const char *text, size_t n, char **error);
/* The canonical form, with a NUL behind it: malloc'ed.  NULL: no memory. */
char *service_json_canonical(const json_t *value, size_t *n);
/* A number as ECMAScript prints it; `n` is finite. */
void service_json_number(double n, char out[32]);

#endif
