/* SPDX-License-Identifier: BSD-2-Clause */
/* visit_robots.c - a visit of robots.txt. */
#include <stdlib.h>
#include <string.h>

#include "visit_impl.h"

#define ROBOTS_HOPS 5u /* redirects (RFC 9309, 2.3.1.2) */

int visit_robots_body(struct visit *v, const struct fetch_answer *a, const char *data, size_t n) {
    struct manners *m = &v->w->manners[v->origin];

    if (a->status != 200) return 0;
    if (!m->text) m->text = malloc(ROBOTS_MAX);
    if (!m->text) return 1;
    if (n > ROBOTS_MAX - m->length) n = ROBOTS_MAX - m->length;
    memcpy(m->text + m->length, data, n);
    m->length += n;
    return m->length == ROBOTS_MAX; /* what stands behind does not count */
}

/* To any origin of the scope (2.3.1.2); the request goes there, the rules are ours. */
static int robots_redirected(struct visit *v, const struct fetch_answer *a) {
    struct walk *w = v->w;
    struct manners *m = &w->manners[v->origin];

    if (!a->location[0] || m->redirects++ >= ROBOTS_HOPS ||
        scope_resolve(w->scope, &v->base, a->location, strlen(a->location), &v->found) != SCOPE_IN) {
        report_line(w->report, BASE_LOG_NOTICE,
                    "%s: robots.txt is redirected to where it can't be read: there is none, then",
                    walk_origin(w, v->origin));
        return 0;
    }
    v->base = v->found;
    m->length = 0;
    visit_fetch(v, v->base.target, NULL, 0);
    return 1;
}

/* RFC 9309, 2.3.1: an answer that says "not there" lets everything be fetched, no answer nothing. */
void visit_robots_done(struct visit *v, const struct fetch_answer *a) {
    struct walk *w = v->w;
    struct manners *m = &w->manners[v->origin];
    char why[300];

    if (a->end == FETCH_WHOLE && a->status >= 300 && a->status < 400 && robots_redirected(v, a)) return;
    v->busy = 0;
    if (a->end == FETCH_REFUSED) {
        m->state = ORIGIN_LOST;
        w->bounded = 1;
        visit_refused(
            v, "its name leads to an address outside the scope; --allow-private lets names lead to private ones");
    } else if (a->status == 200 && (a->end == FETCH_WHOLE || (a->end == FETCH_CUT && m->length == ROBOTS_MAX))) {
        m->robots = robots_parse(m->text ? m->text : "", m->length, "fairgate-prober");
        w->out_of_memory |= !m->robots;
        m->state = ROBOTS_READY;
    } else if (a->end != FETCH_FAILED && a->status >= 300 && a->status < 500 && a->status != 429) {
        m->state = ROBOTS_READY;
    } else {
        m->state = ROBOTS_UNKNOWN;
        snprintf(why, sizeof why, "robots.txt: %s", a->error[0] ? a->error : "the server can't answer");
        walk_pause(w, v->origin, a->retry_after, why);
        return;
    }
    m->failures = 0;
}
