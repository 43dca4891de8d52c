/* SPDX-License-Identifier: BSD-2-Clause */
#include "service_bind.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base_error.h"
#include "service_types.h"

/* ---- which service ----------------------------------------------------------------------------------------------- */

/*
 * How far it is from what is given, 0: it fits.  Who gives a parameter means one that has it: that counts more than one
 * that is missing.  The first of either.
 */
static unsigned bind_misfits(const struct service *s, const json_t *arguments, const char **unknown,
                             const char **missing) {
    json_t *all = (json_t *)(uintptr_t)arguments;
    unsigned n = 0;

    *unknown = *missing = NULL;
    for (void *i = json_object_iter(all); i; i = json_object_iter_next(all, i)) {
        if (service_param_of(s, json_object_iter_key(i)) < s->nparams) continue;
        if (!*unknown) *unknown = json_object_iter_key(i);
        n += 2;
    }
    for (unsigned i = 0; i < s->nparams; i++) {
        if (s->params[i].otherwise || json_object_get(arguments, s->params[i].name)) continue;
        if (!*missing) *missing = s->params[i].name;
        n++;
    }
    return n;
}

/* The one that fits; NULL, and what is wrong with the one that nearly does. */
static const struct service *bind_overload(const struct service_table *t, enum service_over over,
                                           const struct service_call *call, struct service_problem *problem) {
    const char *unknown, *missing, *least_unknown = NULL, *least_missing = NULL;
    unsigned first, n = service_table_find(t, call->service, &first), least = UINT32_MAX, there = 0;

    for (unsigned i = first; i < first + n; i++) {
        if (!(t->all[i]->over & over)) continue;
        there++;
        unsigned misfits = bind_misfits(t->all[i], call->arguments, &unknown, &missing);
        if (!misfits) return t->all[i];
        if (misfits >= least) continue;
        least = misfits;
        least_unknown = unknown;
        least_missing = missing;
    }
    if (!there)
        service_fail(problem, SERVICE_NO_SERVICE, "%s: no service of that name is published here",
                     base_quote(call->service, strlen(call->service)).s);
    else if (least_unknown)
        service_fail(problem, SERVICE_UNKNOWN_NAME, "%s: the service has no parameter of that name",
                     base_quote(least_unknown, strlen(least_unknown)).s);
    else service_fail(problem, SERVICE_MISSING, "%s: it must be given", least_missing);
    service_fail_in(problem, call->service, least_unknown ? least_unknown : least_missing);
    return NULL;
}

/* ---- where a value comes from ------------------------------------------------------------------------------------ */

/* Bytes of the scheme with which a text begins, without the colon; 0: with none. */
static size_t value_scheme(const char *s) {
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    return n > 1 && s[n] == ':' && ((*s | 32) >= 'a' && (*s | 32) <= 'z') ? n : 0;
}

static bool is_scheme(const char *s, size_t n, const char *scheme) {
    return strlen(scheme) == n && !strncasecmp(s, scheme, n);
}

static int bind_source(const struct service_param *p, const char *s, size_t n, struct service_value *v,
                       struct service_problem *problem) {
    size_t scheme = value_scheme(s);
    bool name = is_scheme(s, scheme, "ccnx") || is_scheme(s, scheme, "ndn");

    if (service_is_call(s, n)) v->from = SERVICE_OF_CALL;
    else if (p->type != SERVICE_CONTENT) v->from = SERVICE_GIVEN;
    else if (*s == '/' || name) v->from = SERVICE_OF_NAME;
    else if (is_scheme(s, scheme, "data")) v->from = SERVICE_OF_DATA;
    else if (is_scheme(s, scheme, "http") || is_scheme(s, scheme, "https") || is_scheme(s, scheme, "ftp"))
        v->from = SERVICE_OF_URI;
    else if (scheme) {
        service_fail(problem, SERVICE_NOT_ALLOWED,
                     "%s: content comes from a call, ccnx:, ndn:, http:, https:, ftp: or data:; a text with a colon in "
                     "its first word is written as data:,TEXT",
                     base_quote(s, scheme + 1).s);
        service_fail_in(problem, NULL, p->name);
        return -1;
    }
    if (v->from == SERVICE_GIVEN) return 0;
    if (v->from == SERVICE_OF_NAME) {
        const char *path = name ? s + scheme + 1 : s;
        v->text = malloc(strlen(path) + sizeof "ndn:");
        if (v->text) strcpy(stpcpy(v->text, "ndn:"), path);
    } else {
        v->text = strdup(s);
    }
    return v->text ? 0 : service_fail(problem, SERVICE_NO_MEMORY, "no memory for a parameter");
}

/* What holds for all calls that stand in one. */
struct bind_inside {
    const struct service_table *t;
    enum service_over over;
    unsigned calls;
};

/*
 * The call that is its value, in its one form; and what stands in that, which nobody here may know, has bounds.  Of
 * what is known here `over` is asked now: when the result of the whole is kept, or in work, nobody asks any more.  `t`
 * NULL: it is run elsewhere, or nowhere.
 */
static int bind_inner(struct service_value *v, const struct service_table *t, unsigned deep, struct bind_inside *in,
                      struct service_problem *problem);

static int count_inner(const json_t *value, const struct service_table *t, unsigned deep, struct bind_inside *in,
                       struct service_problem *problem) {
    struct service_value v = { 0 };
    int rv = 0;

    if (!json_is_string(value) || !service_is_call(json_string_value(value), json_string_length(value))) return 0;
    v.text = strdup(json_string_value(value));
    rv = v.text ? bind_inner(&v, t, deep, in, problem) : service_fail(problem, SERVICE_NO_MEMORY, "no memory");
    free(v.text);
    return rv;
}

/* A call that stands there is run here: not in a text, nor by a service of another host (s NULL). */
static bool runs_here(const struct service *s, unsigned i) {
    return s && i < s->nparams && s->params[i].type != SERVICE_TEXT && s->params[i].type != SERVICE_JSON;
}

/* Those in what is given to it, and in its defaults. */
static int count_all(const struct service_call *call, const struct service *s, const struct service_table *t,
                     unsigned deep, struct bind_inside *in, struct service_problem *problem) {
    json_t *value;
    const char *key;
    int rv = 0;

    json_object_foreach(call->arguments, key, value) if (!rv) rv =
        count_inner(value, s && runs_here(s, service_param_of(s, key)) ? t : NULL, deep, in, problem);
    for (unsigned i = 0; s && i < s->nparams && !rv; i++)
        if (runs_here(s, i) && !json_object_get(call->arguments, s->params[i].name))
            rv = count_inner(s->params[i].otherwise, t, deep, in, problem);
    return rv;
}

static int bind_not_there(struct service_problem *within, struct service_problem *problem) {
    service_fail(problem, SERVICE_NOT_THERE, "what it is to be could not be had");
    problem->within = service_problem_object(within);
    service_problem_free(within);
    return -1;
}

static int bind_inner(struct service_value *v, const struct service_table *t, unsigned deep, struct bind_inside *in,
                      struct service_problem *problem) {
    struct service_problem within = { 0 };
    const struct service *s = NULL;
    struct service_call call;
    unsigned first;
    int rv = 0;

    if (deep > SERVICE_CALLS_DEEP || ++in->calls > SERVICE_CALLS_MAX)
        return service_fail(problem, SERVICE_TOO_DEEP, "at most %u calls may stand in each other, and %u in one",
                            SERVICE_CALLS_DEEP, SERVICE_CALLS_MAX);
    if (service_call_read(v->text, strlen(v->text), &call, &within)) {
        service_fail(problem, within.kind, "the call in it: %s", within.detail ? within.detail : "");
        problem->within = service_problem_object(&within);
        service_problem_free(&within);
        return -1;
    }
    if (t && service_table_find(t, call.service, &first)) {
        s = bind_overload(t, in->over, &call, &within);
        if (!s) rv = bind_not_there(&within, problem);
    }
    if (!rv) rv = count_all(&call, s, t, deep + 1, in, problem);
    free(v->text);
    v->text = call.text;
    call.text = NULL;
    service_call_free(&call);
    return rv;
}

static int bind_value(const struct service_param *p, const json_t *given, struct service_value *v,
                      struct bind_inside *in, struct service_problem *problem) {
    int rv = 0;

    if (!given) given = p->otherwise;
    if (json_is_string(given) && p->type != SERVICE_TEXT && p->type != SERVICE_JSON)
        rv = bind_source(p, json_string_value(given), json_string_length(given), v, problem);
    if (!rv && v->from == SERVICE_OF_CALL) rv = bind_inner(v, in->t, 2, in, problem);
    if (!rv && v->from == SERVICE_GIVEN) v->literal = service_literal(p, given, problem);
    return rv || (v->from == SERVICE_GIVEN && !v->literal) ? -1 : 0;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static int bind_key(struct service_bound *b, struct service_problem *problem) {
    json_t *all = json_object();
    struct service_call call = { 0 };
    int rv = all ? 0 : -1;

    for (unsigned i = 0; i < b->service->nparams && !rv; i++)
        rv = json_object_set_new(all, b->service->params[i].name,
                                 b->values[i].literal ? json_incref(b->values[i].literal)
                                                      : json_string(b->values[i].text));
    if (!rv) rv = service_call_of(b->service->name, strlen(b->service->name), all, &call, problem);
    b->key = call.text;
    call.text = NULL;
    service_call_free(&call);
    json_decref(all);
    if (rv && !problem->kind) service_fail(problem, SERVICE_NO_MEMORY, "no memory for the call");
    return rv;
}

int service_bind(const struct service_table *t, enum service_over over, const struct service_call *call,
                 struct service_bound *bound, struct service_problem *problem) {
    const struct service *s = bind_overload(t, over, call, problem);
    struct bind_inside in = { t, over, 1 };
    int rv = 0;

    memset(bound, 0, sizeof *bound);
    if (!s) return -1;
    bound->service = s;
    for (unsigned i = 0; i < s->nparams && !rv; i++) {
        rv = bind_value(&s->params[i], json_object_get(call->arguments, s->params[i].name), &bound->values[i], &in,
                        problem);
        if (rv) service_fail_in(problem, s->name, s->params[i].name);
    }
    if (!rv) rv = bind_key(bound, problem);
    if (rv) service_bound_free(bound);
    return rv;
}

void service_bound_free(struct service_bound *bound) {
    for (unsigned i = 0; i < SERVICE_PARAMS_MAX; i++) {
        json_decref(bound->values[i].literal);
        free(bound->values[i].text);
    }
    free(bound->key);
    memset(bound, 0, sizeof *bound);
}
