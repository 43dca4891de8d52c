/* SPDX-License-Identifier: BSD-2-Clause */
#include "service_declare.h"

#include <stdlib.h>
#include <string.h>

#include "base/base_error.h"

/* Whether each parameter that must be given to `a` is one of b's. */
static bool table_covers(const struct service *b, const struct service *a) {
    for (unsigned i = 0; i < a->nparams; i++)
        if (!a->params[i].otherwise && service_param_of(b, a->params[i].name) == b->nparams) return false;
    return true;
}

int service_table_add(struct service_table *t, struct service *s, char **error) {
    unsigned first, n = service_table_find(t, s->name, &first);
    struct service **more;

    /* A call fits both if it gives what either must have, and nothing that either has not. */
    for (unsigned i = first; i < first + n; i++)
        if (table_covers(t->all[i], s) && table_covers(s, t->all[i]))
            return base_fail(error,
                             "%s: it is declared already with parameters that the same call can have: overloads "
                             "differ in the names of parameters that must be given",
                             s->name);
    more = realloc(t->all, (t->n + 1) * sizeof *more);
    if (!more) return base_fail(error, "no memory");
    t->all = more;
    memmove(more + first + n + 1, more + first + n, (t->n - first - n) * sizeof *more);
    more[first + n] = s;
    t->n++;
    return 0;
}

unsigned service_table_find(const struct service_table *t, const char *name, unsigned *first) {
    unsigned low = 0, high = t->n, n = 0;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (strcmp(t->all[middle]->name, name) < 0) low = middle + 1;
        else high = middle;
    }
    *first = low;
    while (low + n < t->n && !strcmp(t->all[low + n]->name, name)) n++;
    return n;
}

void service_table_free(struct service_table *t) {
    for (unsigned i = 0; i < t->n; i++) service_free(&t->all[i]);
    free(t->all);
    memset(t, 0, sizeof *t);
}
