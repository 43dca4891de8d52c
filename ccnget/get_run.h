/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * get_run.h - fetches what a command line asks for: connects, follows redirects, begins anew what is gone, goes on with
 * what is there in part; the loop.
 */
#ifndef FAIRGATE_GET_RUN_H
#define FAIRGATE_GET_RUN_H

#include <signal.h>

#include "get_aside.h"
#include "get_report.h"
#include "get_settings.h"

/* Exit statuses: curl's, where it has one that fits. */
enum get_exit {
    GET_EXIT_RIGHT = 0,
    GET_EXIT_WRONG = 1,
    GET_EXIT_MISUSED = 2,
    GET_EXIT_NO_CONNECTION = 7,
    GET_EXIT_STATUS = 22,               /* of HTTP: 400 or more */
    GET_EXIT_TIME = 28,
    GET_EXIT_REDIRECTS = 47
};

struct get_besides {
    struct get_aside *aside;        /* where what comes with a status of 400 or more goes; NULL: to the output, too */
    bool              all_aside;    /* so does whatever else comes */
    /* what Interests carry beside the name, and all who ask for the same may see; n = 0: nothing.  Then no --header. */
    struct ndn_span   parameters;
};

/*
 * The fetch of `name`.  *error: a sentence, unless it ends right; *stop: becomes true when it is to be broken off;
 * `besides`: or NULL.
 */
enum get_exit get_run(const struct get_settings *s, const char *name, const struct get_besides *besides,
                      const volatile sig_atomic_t *stop, struct get_figures *f, char **error);

#endif
