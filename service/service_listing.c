/* SPDX-License-Identifier: BSD-2-Clause */
#include "service_listing.h"

#include <stdlib.h>
#include <string.h>

#include "service_json.h"
#include "service_problem.h"
#include "service_text.h"

/*
 * Whatever fails is no memory, and then the whole is: json_pack and the setters take NULL for what could not be made.
 * They own what they are given.
 */
static json_t *bound_as(const struct service_param *p, double bound) {
    return p->type == SERVICE_INT ? json_integer((json_int_t)bound) : json_real(bound);
}

/* JSON Schema's words. */
static json_t *schema_of(const struct service_param *p) {
    static const char *const types[] = { "integer", "number", "string", "boolean", "string", NULL };
    json_t *s = json_object();
    int rv = s ? 0 : -1;

    if (types[p->type]) rv |= json_object_set_new(s, "type", json_string(types[p->type]));
    if (p->bounded) rv |= json_object_set_new(s, "minimum", bound_as(p, p->least));
    if (p->bounded) rv |= json_object_set_new(s, "maximum", bound_as(p, p->most));
    if (p->choices) rv |= json_object_set(s, "enum", p->choices);
    else if (p->type == SERVICE_TEXT) rv |= json_object_set_new(s, "maxLength", json_integer((json_int_t)p->bytes));
    if (p->otherwise) rv |= json_object_set(s, "default", p->otherwise);
    if (p->type == SERVICE_CONTENT)
        rv |= json_object_set_new(s, "description",
                                  json_sprintf("content of at most %llu bytes, or where it is: /name/!{...}, ccnx:, "
                                               "ndn:, http:, https:, ftp: or data:",
                                               (unsigned long long)p->bytes));
    if (!rv) return s;
    json_decref(s);
    return NULL;
}

/* As a caller writes it, with types in the places of values. */
static json_t *example_of(const struct service *s) {
    struct service_text t = { 0 };
    json_t *as = NULL;
    char *text;
    size_t n;

    service_text_put(&t, s->name, strlen(s->name));
    service_text_put(&t, "/!{", 3);
    for (unsigned i = 0; i < s->nparams; i++)
        service_text_print(&t, "%s\"%s\":%s", i ? "," : "", s->params[i].name, service_type_word(s->params[i].type));
    service_text_put(&t, "}", 1);
    text = service_text_take(&t, &n);
    if (text) as = json_stringn(text, n);
    free(text);
    return as;
}

static json_t *entry_of(const struct service *s) {
    json_t *params = json_array(), *entry;
    int rv = params ? 0 : -1;

    for (unsigned i = 0; i < s->nparams && !rv; i++) {
        const struct service_param *p = s->params + i;
        json_t *row = schema_of(p);

        rv = row ? json_object_set_new(row, "name", json_string(p->name)) : -1;
        if (!rv) rv = json_object_set_new(row, "type", json_string(service_type_word(p->type)));
        if (!rv) rv = json_object_set_new(row, "required", json_boolean(!p->otherwise));
        if (!rv && p->type == SERVICE_CONTENT)
            rv = json_object_set_new(row, "maxLength", json_integer((json_int_t)p->bytes));
        if (!rv) json_object_del(row, "description");
        rv |= json_array_append_new(params, row);
    }
    entry = rv ? NULL
               : json_pack("{s:s, s:o, s:s*, s:O}", "name", s->name, "call", example_of(s), "doc", s->doc, "parameters",
                           params);
    json_decref(params);
    if (entry && s->fresh_s != UINT64_MAX &&
        json_object_set_new(entry, "fresh_seconds", json_integer((json_int_t)s->fresh_s))) {
        json_decref(entry);
        return NULL;
    }
    return entry;
}

static char *listing_text(json_t *all, size_t *n) {
    char *text = all ? service_json_canonical(all, n) : NULL;

    json_decref(all);
    return text;
}

char *service_listing(const struct service_table *t, enum service_over over, size_t *n) {
    json_t *all = json_array();

    for (unsigned i = 0; i < t->n && all; i++)
        if (t->all[i]->over & over && json_array_append_new(all, entry_of(t->all[i]))) {
            json_decref(all);
            return NULL;
        }
    return listing_text(all ? json_pack("{s:o}", "services", all) : NULL, n);
}

/* ---- OpenAPI ----------------------------------------------------------------------------------------------------- */

/* The object that is posted. */
static json_t *arguments_schema(const struct service *s) {
    json_t *properties = json_object(), *required = json_array();
    int rv = properties && required ? 0 : -1;

    for (unsigned i = 0; i < s->nparams && !rv; i++) {
        rv = json_object_set_new(properties, s->params[i].name, schema_of(&s->params[i]));
        if (!rv && !s->params[i].otherwise) rv = json_array_append_new(required, json_string(s->params[i].name));
    }
    if (rv) {
        json_decref(properties);
        json_decref(required);
        return NULL;
    }
    return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required", required,
                     "additionalProperties", 0);
}

/* One of n overloads, or the only one. */
static json_t *request_schema(const struct service_table *t, unsigned first, unsigned n) {
    json_t *all;

    if (n == 1) return arguments_schema(t->all[first]);
    all = json_array();
    for (unsigned i = first; i < first + n && all; i++)
        if (t->all[i]->over & SERVICE_HTTP && json_array_append_new(all, arguments_schema(t->all[i]))) {
            json_decref(all);
            return NULL;
        }
    return all ? json_pack("{s:o}", "oneOf", all) : NULL;
}

/* A header has a schema in OpenAPI: tools that check the document refuse it without. */
static json_t *responses(void) {
    return json_pack(
        "{s:{s:s, s:{s:{}}}, s:{s:s, s:{s:{s:s, s:{s:s}}, s:{s:s, s:{s:s}}}}, s:{s:s, s:{s:{s:{s:s}}}}}", "200",
        "description", "the result, under the media type that the service gives it", "content", "*/*", "202",
        "description", "it goes on: Location says where its result will be, Retry-After when to look", "headers",
        "Location", "description", "of the result", "schema", "type", "string", "Retry-After", "description", "seconds",
        "schema", "type", "integer", "default", "description", "a problem (RFC 9457)", "content", SERVICE_PROBLEM_TYPE,
        "schema", "$ref", "#/components/schemas/problem");
}

static json_t *problem_schema(void) {
    return json_pack("{s:s, s:{s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}}}", "type",
                     "object", "properties", "type", "type", "string", "title", "type", "string", "status", "type",
                     "integer", "detail", "type", "string", "service", "type", "string", "parameter", "type", "string",
                     "corrected", "type", "string", "within", "$ref", "#/components/schemas/problem");
}

/* The first of these that is called over HTTP; NULL: none is. */
static const struct service *first_over_http(const struct service_table *t, unsigned first, unsigned n) {
    for (; n; first++, n--)
        if (t->all[first]->over & SERVICE_HTTP) return t->all[first];
    return NULL;
}

static json_t *path_of(const struct service_table *t, unsigned first, unsigned n) {
    const struct service *s = first_over_http(t, first, n);

    return json_pack("{s:{s:s*, s:s, s:{s:b, s:{s:{s:o}}}, s:o}}", "post", "summary", s->doc, "operationId",
                     s->name + 1, "requestBody", "required", 1, "content", "application/json", "schema",
                     request_schema(t, first, n), "responses", responses());
}

char *service_openapi(const struct service_table *t, const char *root, const char *title, size_t *n) {
    json_t *paths = json_object();
    unsigned same;

    for (unsigned i = 0; i < t->n && paths; i += same) {
        json_t *path;
        unsigned first;

        same = service_table_find(t, t->all[i]->name, &first);
        if (!first_over_http(t, first, same)) continue;
        path = json_sprintf("%s%s", root, t->all[i]->name);
        if (!path || json_object_set_new(paths, json_string_value(path), path_of(t, first, same))) {
            json_decref(paths);
            paths = NULL;
        }
        json_decref(path);
    }
    return listing_text(paths ? json_pack("{s:s, s:{s:s, s:s}, s:o, s:{s:{s:o}}}", "openapi", "3.1.0", "info", "title",
                                          title, "version", "1", "paths", paths, "components", "schemas", "problem",
                                          problem_schema())
                              : NULL,
                        n);
}
