/* SPDX-License-Identifier: BSD-2-Clause */
#include "service_types.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_error.h"
#include "service_json.h"

static json_t *wrong_type(const struct service_param *p, const json_t *value, struct service_problem *problem) {
    size_t n = 0;
    char *text = service_json_canonical(value, &n);

    service_fail(problem, SERVICE_WRONG_TYPE, "it must be %s%s, and is %s",
                 p->type == SERVICE_INT                                  ? "an "
                 : p->type == SERVICE_JSON || p->type == SERVICE_CONTENT ? ""
                                                                         : "a ",
                 p->type == SERVICE_CONTENT ? "a text: content, or where it is" : service_type_word(p->type),
                 base_quote(text ? text : "", n).s);
    free(text);
    service_fail_in(problem, NULL, p->name);
    return NULL;
}

static json_t *out_of_bounds(const struct service_param *p, struct service_problem *problem) {
    char least[32], most[32];

    if (p->bounded) {
        service_json_number(p->least, least);
        service_json_number(p->most, most);
        service_fail(problem, SERVICE_OUT_OF_BOUNDS, "it must be from %s to %s", least, most);
    } else if (p->choices) {
        char *all = service_json_canonical(p->choices, NULL);
        service_fail(problem, SERVICE_OUT_OF_BOUNDS, "it must be one of %s", all ? all : "its choices");
        free(all);
    } else {
        service_fail(problem, SERVICE_OUT_OF_BOUNDS, "it must have at most %llu bytes", (unsigned long long)p->bytes);
    }
    service_fail_in(problem, NULL, p->name);
    return NULL;
}

/* A number that is written as a text: what JSON calls one, and nothing else.  NULL: it is none. */
static json_t *number_in(const json_t *text) {
    const char *s = json_string_value(text);
    char *error = NULL;
    json_t *n = NULL;

    if (*s == '-' || (*s >= '0' && *s <= '9')) n = service_json_read(s, json_string_length(text), &error);
    free(error);
    if (n && !json_is_number(n)) {
        json_decref(n);
        n = NULL;
    }
    return n;
}

/* Of an int, 3.0 and 3e2 are whole numbers, too. */
static json_t *number_as(const struct service_param *p, const json_t *value, struct service_problem *problem) {
    json_t *n = json_is_string(value) ? number_in(value) : json_is_number(value) ? json_deep_copy(value) : NULL;
    double number = json_number_value(n);
    bool whole = n && number == floor(number) && fabs(number) <= (double)SERVICE_JSON_WHOLE, given = n != NULL;

    json_decref(n);
    if (!given || (p->type == SERVICE_INT && !whole)) return wrong_type(p, value, problem);
    if (p->bounded && (number < p->least || number > p->most)) return out_of_bounds(p, problem);
    return whole ? json_integer((json_int_t)number) : json_real(number);
}

static json_t *truth_as(const struct service_param *p, const json_t *value, struct service_problem *problem) {
    const char *s = json_is_string(value) ? json_string_value(value) : "";

    if (json_is_boolean(value)) return json_deep_copy(value);
    if (!strcmp(s, "true")) return json_true();
    return strcmp(s, "false") ? wrong_type(p, value, problem) : json_false();
}

static bool is_chosen(const json_t *choices, const json_t *value) {
    json_t *choice;
    size_t i;

    json_array_foreach(choices, i, choice) if (json_equal(choice, value)) return true;
    return false;
}

static json_t *text_as(const struct service_param *p, const json_t *value, struct service_problem *problem) {
    if (!json_is_string(value)) return wrong_type(p, value, problem);
    if (p->choices ? !is_chosen(p->choices, value) : json_string_length(value) > p->bytes)
        return out_of_bounds(p, problem);
    return json_deep_copy(value);
}

static json_t *json_as(const struct service_param *p, const json_t *value, struct service_problem *problem) {
    size_t n;
    char *text = service_json_canonical(value, &n);

    free(text);
    if (text && n > p->bytes) return out_of_bounds(p, problem);
    return text ? json_deep_copy(value) : NULL;
}

json_t *service_literal(const struct service_param *p, const json_t *value, struct service_problem *problem) {
    json_t *as = NULL;

    switch (p->type) {
    case SERVICE_INT:
    case SERVICE_NUMBER: as = number_as(p, value, problem); break;
    case SERVICE_BOOL: as = truth_as(p, value, problem); break;
    case SERVICE_TEXT:
    case SERVICE_CONTENT: as = text_as(p, value, problem); break;
    case SERVICE_JSON: as = json_as(p, value, problem); break;
    }
    if (!as && !problem->kind) service_fail(problem, SERVICE_NO_MEMORY, "no memory for a parameter");
    return as;
}

json_t *service_literal_of(const struct service_param *p, const char *bytes, size_t n,
                           struct service_problem *problem) {
    static const char blanks[] = " \t\r\n";
    json_t *text, *as;

    if (p->type != SERVICE_TEXT) {
        while (n && bytes[n - 1] && strchr(blanks, bytes[n - 1])) n--;
        while (n && *bytes && strchr(blanks, *bytes)) bytes++, n--;
    }
    text = json_stringn(bytes, n);
    if (!text) {
        service_fail(problem, SERVICE_WRONG_TYPE, "what came for it is no text in UTF-8");
        service_fail_in(problem, NULL, p->name);
        return NULL;
    }
    as = service_literal(p, text, problem);
    json_decref(text);
    return as;
}
