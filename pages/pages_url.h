/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pages_url.h - one spelling for all the ways in which a page's path and query can be written (RFC 3986, 6.2.2).
 *
 * Whoever looks pages up, or writes down how large they are, goes by it, byte by byte:
 *
 *     %7Euser, %7euser, ~user             ~user       what needs no escape is written without one
 *     a%c3%a9, aé                         a%C3%A9     what needs one has it, in upper case; so have bytes that may not stand in a URL
 *     100%                                100%25      a % that escapes nothing is itself escaped
 *     /a/./b/../c, /a/%2e%2E/c            /a/c, /c    dot segments of the path are resolved; above the root there is nothing
 *     (nothing), ?q                       /, /?q      a path begins with a slash
 *     /a#b                                /a          a fragment never reaches a server
 *
 * Not touched, because a server may tell the difference: double slashes, letter case, the order of parameters, an empty query, escaped
 * reserved characters.
 *
 * The spelling of a spelling is itself; it is never longer than three times what came, plus one.
 */
#ifndef FAIRGATE_PAGES_URL_H
#define FAIRGATE_PAGES_URL_H

#include <stddef.h>

#define PAGES_URL_ROOM(n) (3 * (n) + 2)     /* room for the spelling of n bytes, with the NUL */

/*
 * target: path and query of a URL, n bytes, as they were written; may hold any byte.  Writes the spelling and a NUL to out and returns its
 * length, or 0 if room is too small: PAGES_URL_ROOM(n) never is.
 */
size_t pages_url_spell(const char *target, size_t n, char *out, size_t room);

#endif
