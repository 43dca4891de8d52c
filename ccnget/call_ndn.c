/* SPDX-License-Identifier: BSD-2-Clause */
#include "call_ndn.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_error.h"

enum { TRIES_LEAST = 8, TRIES_MOST = 100, LIFETIME_MS = 4000 };

void call_ndn_tries(uint64_t timeout, uint64_t *lifetime_ms, uint64_t *tries) {
    uint64_t ms = timeout * 1000;

    *tries = (ms + LIFETIME_MS - 1) / LIFETIME_MS;
    if (*tries < TRIES_LEAST) *tries = TRIES_LEAST;
    if (*tries > TRIES_MOST) *tries = TRIES_MOST;
    *lifetime_ms = (ms + *tries - 1) / *tries;
}

enum get_exit call_ndn(const struct call_settings *s, const char *uri, const struct get_besides *besides,
                       const volatile sig_atomic_t *stop, struct get_figures *f, char **error) {
    static char no_cache[] = "Cache-Control: no-cache";
    /* Texts stay those of the call's settings. */
    struct get_settings g = { .forwarder = s->forwarder,
                              .output = s->output,
                              .verify = s->verify,
                              .verify_name = s->verify_name,
                              .window = s->window,
                              .window_max = s->window_max,
                              .header = s->header,
                              .quiet = s->quiet };
    enum get_exit rv;

    if (besides->parameters.n && (s->fresh || s->header.n)) {
        base_fail(error, "--fresh and --header: have no room where parameters are too long for a name; use --http");
        return GET_EXIT_MISUSED;
    }
    if (s->fresh && g.header.n == BASE_LIST_MAX) {
        base_fail(error, "--header: more than %d with --fresh", BASE_LIST_MAX - 1);
        return GET_EXIT_MISUSED;
    }
    if (s->fresh) g.header.item[g.header.n++] = no_cache;
    call_ndn_tries(s->timeout, &g.lifetime, &g.tries);
    rv = get_run(&g, uri, besides, stop, f, error);
    /* get_run would say how to go there. */
    if (rv == GET_EXIT_WRONG && f->status >= 300 && f->status < 400)
        base_fail(error, "status %" PRIu64 ", it leads elsewhere, where no result is looked for", f->status);
    if (rv != GET_EXIT_STATUS) return rv;
    free(*error);
    *error = NULL;
    return rv;
}
