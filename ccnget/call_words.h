/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call_words.h - the call that words of a command line mean.
 *
 *     /unibe/cds/scaleImage width=300 file=ccnx:/dir/imgs/profile.bmp
 *     '/unibe/cds/scaleImage/!{"width":300}'              a whole call, and no parameter behind it
 *
 *     PARAMETER=VALUE     a number, true, false, an object or an array of JSON; else a text
 *     PARAMETER=:TEXT     a text, whatever it looks like
 *     PARAMETER=@FILE     the file's bytes, as a data: URI; @- is standard input
 *
 * "ndn:" or "ccnx:" may stand before the first slash.  What stands behind it is a URI, as --show-name prints it, unless
 * its parameters stand there unescaped.
 *
 * A call as the nextserve paper prints it is corrected (service_paper_corrected).
 */
#ifndef FAIRGATE_CALL_WORDS_H
#define FAIRGATE_CALL_WORDS_H

#include "service/service_name.h"

/*
 * `word`: n of them, one at least.  0, and *corrected: the call's text, malloc'ed, if it was written otherwise than it
 * must be, or NULL; or -1 and *error (base_error.h).
 */
int call_words(char *const *word, int n, struct service_call *call, char **corrected, char **error);

/*
 * The name of NDN: the service's components, and one with "!" and the parameters; as text (ndn/ndn_name.h), malloc'ed.
 * NULL and *error: it is longer than servers take, or no memory.
 */
char *call_words_ndn(const struct service_call *call, char **error);
/*
 * Of such a one: the service's name alone, and *beside: the parameters, a view of the call, which Interests are to
 * carry beside it.  NULL and *error: these are too long, too.
 */
char *call_words_beside(const struct service_call *call, const char **beside, char **error);
/* The name of the list of what is published by whoever publishes the service (mod_ccn/ccn_map.h); else as above. */
char *call_words_list(const struct service_call *call, char **error);

#endif
