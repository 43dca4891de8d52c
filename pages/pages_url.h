/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pages_url.h - one spelling for all the ways in which a page's path and query can be written (RFC 3986, 6.2.2).
 *
 * Whoever looks pages up, or writes down how large they are, goes by it, byte by byte:
 *
 *     %7Euser, %7euser, ~user             ~user       what needs no escape is written without one
 *     a%c3%a9, aé                         a%C3%A9     what needs one has it, in upper case; so have bytes that may not
 *                                         stand in a URL
 *     100%                                100%25      a % that escapes nothing is itself escaped
 *     /a/./b/../c, /a/%2e%2E/c            /a/c, /c    dot segments of the path are resolved; above the root there is
 *                                         nothing
 *     (nothing), ?q                       /, /?q      a path begins with a slash
 *     /a#b                                /a          a fragment never reaches a server
 *
 * Not touched, because a server may tell the difference: double slashes, letter case, the order of parameters, an empty
 * query, escaped reserved characters.
 *
 * The spelling of a spelling is itself; it is never longer than three times what came, plus one.
 *
 * PLAIN.  Who asks whether a page is one that somebody described (policy/) wants all ways to the same page to read
 * alike, and rather takes two pages for one than to be led around the description.  The plain spelling is the above,
 * and besides:
 *
 *     /a//b, /a//../b             /a/b, /b        a run of slashes is one, before dots are resolved: httpd's
 *                                 MergeSlashes, which is on unless
 *                                                 it is switched off
 *     /a%3Ab, /a%21               /a:b, /a!       of the reserved characters only / and ? keep their escapes in a path;
 *                                 with `slashes` (httpd's
 *                                                 AllowEncodedSlashes On) the / does not either
 *     /a?b%2Fc, /a?b?c            /a?b/c, /a?b%3Fc    in a query & = + ; # and ? do: so the only ? is the one in front
 *                                 of the query
 */
#ifndef FAIRGATE_PAGES_URL_H
#define FAIRGATE_PAGES_URL_H

#include <stddef.h>

#define PAGES_URL_ROOM(n) (3 * (n) + 2)     /* room for the spelling of n bytes, with the NUL */

/*
 * target: path and query of a URL, n bytes, as they were written; may hold any byte.  Writes the spelling and a NUL to
 * out and returns its length, or 0 if room is too small:  PAGES_URL_ROOM(n) never is.
 */
size_t pages_url_spell(const char *target, size_t n, char *out, size_t room);
/* The plain spelling. */
size_t pages_url_plain(const char *target, size_t n, int slashes, char *out, size_t room);
/*
 * A piece out of such a URL, as somebody writes it who looks for it: characters and runs of slashes are spelt, nothing
 * is added or resolved.
 */
size_t pages_url_plain_piece(const char *piece, size_t n, char *out, size_t room);

#endif
