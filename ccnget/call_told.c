/* SPDX-License-Identifier: BSD-2-Clause */
#include "call_told.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base_error.h"
#include "base/base_clean.h"
#include "ndn/ndn_packet.h"
#include "service/service_bind.h"
#include "service/service_text.h"

enum { NAME_WIDTH_MAX = 40, PARAMETERS_WIDTH_MAX = 80 };

/* ---- problems ---------------------------------------------------------------------------------------------------- */

static bool told_text(const json_t *object, const char *key, const char *before, FILE *out) {
    const json_t *text = json_object_get(object, key);

    if (!json_is_string(text)) return false;
    fputs(before, out);
    base_clean_line(json_string_value(text), json_string_length(text), out);
    return true;
}

static void told_object(const json_t *problem, FILE *out) {
    bool said = told_text(problem, "title", "", out), where;

    if (!told_text(problem, "detail", said ? ": " : "", out) && !said) fputs("it does not say what is wrong", out);
    where = told_text(problem, "service", " (service ", out);
    where |= told_text(problem, "parameter", where ? ", parameter " : " (parameter ", out);
    fputs(where ? ")\n" : "\n", out);
}

static void told_all(const char *program, const json_t *problem, FILE *out) {
    const json_t *within;
    unsigned deep = 0;

    fprintf(out, "%s: ", program);
    told_object(problem, out);
    for (within = json_object_get(problem, "within"); json_is_object(within) && deep < SERVICE_CALLS_DEEP; deep++) {
        fprintf(out, "%*swithin it: ", (int)(2 * (deep + 1)), "");
        told_object(within, out);
        within = json_object_get(within, "within");
    }
    if (told_text(problem, "corrected", "  write: ", out)) fputc('\n', out);
}

void call_told_problem(const char *program, uint64_t status, const char *media_type, const struct get_aside *said,
                       FILE *out) {
    const size_t n = strlen(SERVICE_PROBLEM_TYPE);
    json_t *problem = NULL;

    if (!strncasecmp(media_type, SERVICE_PROBLEM_TYPE, n) && (!media_type[n] || strchr("; \t", media_type[n])))
        problem = service_json_read(said->bytes, said->n, NULL);
    if (json_is_object(problem)) {
        told_all(program, problem, out);
    } else {
        const char *end = said->n ? memchr(said->bytes, '\n', said->n) : NULL;
        fprintf(out, "%s: ", program);
        if (status == NDN_NO_NUMBER) fputs("the producer says that there is no such thing", out);
        else fprintf(out, "status %" PRIu64, status);
        if (status == 404) fputs(", and no problem of a service: look whether services are called there", out);
        if (status == 401) fputs(", who calls must sign in (--header 'Authorization: ...')", out);
        if (!strncasecmp(media_type, "text/plain", 10) && said->n)
            fprintf(out, ": %s", base_quote(said->bytes, end ? (size_t)(end - said->bytes) : said->n).s);
        fputc('\n', out);
    }
    json_decref(problem);
}

/* ---- what is published ------------------------------------------------------------------------------------------- */

/* Columns of a UTF-8 text, near enough. */
static size_t told_columns(const char *text) {
    size_t n = 0;

    for (; *text; text++) n += (*text & 0xc0) != 0x80;
    return n;
}

/* What it holds, as it is fit for a terminal; malloc'ed. */
static char *told_clean(const json_t *text) {
    char *line = NULL;
    size_t n;
    FILE *f = open_memstream(&line, &n);

    if (!f) return NULL;
    if (json_is_string(text)) base_clean_line(json_string_value(text), json_string_length(text), f);
    fclose(f);
    return line;
}

static void told_json(struct service_text *t, const json_t *value) {
    size_t n = 0;
    char *text = json_is_string(value) ? NULL : service_json_canonical(value, &n);

    if (json_is_string(value)) service_text_put(t, json_string_value(value), json_string_length(value));
    else if (text) service_text_put(t, text, n);
    free(text);
}

static void told_bounds(struct service_text *t, const json_t *p) {
    const json_t *least = json_object_get(p, "minimum"), *most = json_object_get(p, "maximum"),
                 *choices = json_object_get(p, "enum"), *bytes = json_object_get(p, "maxLength"), *choice;
    size_t i;

    if (json_is_number(least) && json_is_number(most)) {
        service_text_put(t, "(", 1);
        told_json(t, least);
        service_text_put(t, "..", 2);
        told_json(t, most);
        service_text_put(t, ")", 1);
    } else if (json_array_size(choices)) {
        json_array_foreach(choices, i, choice) {
            service_text_put(t, i ? "|" : "(", 1);
            told_json(t, choice);
        }
        service_text_put(t, ")", 1);
    } else if (json_is_integer(bytes)) {
        service_text_print(t, "(%" JSON_INTEGER_FORMAT ")", json_integer_value(bytes));
    }
}

/* width=int(1..4096):300 */
static char *told_parameters(const json_t *parameters) {
    struct service_text t = { 0 };
    json_t *whole, *p;
    char *text;
    size_t i, n;

    json_array_foreach((json_t *)(uintptr_t)parameters, i, p) {
        const json_t *otherwise = json_object_get(p, "default");

        if (!json_is_string(json_object_get(p, "name"))) continue;
        if (t.n) service_text_put(&t, " ", 1);
        told_json(&t, json_object_get(p, "name"));
        service_text_put(&t, "=", 1);
        if (json_is_string(json_object_get(p, "type"))) told_json(&t, json_object_get(p, "type"));
        told_bounds(&t, p);
        if (!otherwise) continue;
        service_text_put(&t, ":", 1);
        told_json(&t, otherwise);
    }
    text = service_text_take(&t, &n);
    whole = text ? json_stringn(text, n) : NULL;
    free(text);
    text = told_clean(whole);
    json_decref(whole);
    return text;
}

static size_t told_widest(json_t *services, char *(*column)(const json_t *), const char *key, size_t most) {
    size_t widest = 0, i;
    json_t *service;

    json_array_foreach(services, i, service) {
        char *text = column(json_object_get(service, key));
        size_t n = text ? told_columns(text) : 0;

        if (n > widest && n <= most) widest = n;
        free(text);
    }
    return widest;
}

static void told_column(char *text, size_t width, FILE *out) {
    size_t n = text ? told_columns(text) : 0;

    fprintf(out, "%s%*s", text ? text : "", (int)(n < width ? width - n + 2 : 2), "");
    free(text);
}

int call_told_list(const struct get_aside *said, FILE *out, char **error) {
    json_t *list = service_json_read(said->bytes, said->n, NULL), *services = json_object_get(list, "services"), *s;
    size_t names, parameters, i;

    if (!json_is_array(services)) {
        json_decref(list);
        return base_fail(error, "what comes from there is no list of services; is that the path that CcnServices "
                                "names?");
    }
    names = told_widest(services, told_clean, "name", NAME_WIDTH_MAX);
    parameters = told_widest(services, told_parameters, "parameters", PARAMETERS_WIDTH_MAX);
    json_array_foreach(services, i, s) {
        const json_t *doc = json_object_get(s, "doc");
        char *sentence = told_clean(doc);

        if (!json_is_string(json_object_get(s, "name"))) {
            free(sentence);
            continue;
        }
        told_column(told_clean(json_object_get(s, "name")), names, out);
        if (sentence && *sentence) {
            told_column(told_parameters(json_object_get(s, "parameters")), parameters, out);
            fprintf(out, "%s\n", sentence);
        } else {
            char *last = told_parameters(json_object_get(s, "parameters"));
            fprintf(out, "%s\n", last ? last : "");
            free(last);
        }
        free(sentence);
    }
    json_decref(list);
    return 0;
}
