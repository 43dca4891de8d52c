/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_service.c - calls of services as anybody may write them, and declarations.
 *
 * Bytes: as a call, and as a declaration.  What is read has one form, which is read as the same; what it means has a
 * key that is a call itself and means the same; what is refused has a sentence, and is an object; what is corrected is
 * right.  And as what a service says of a call that it rejects: a line.
 */
#include <stdlib.h>
#include <string.h>

#include "service/service_bind.h"
#include "service/service_listing.h"
#include "service/service_url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct service_table table;

static void declare_all(void) {
    static const char *const texts[] = {
        "/s file=content(1K) width=int(1..9) height=int:3 => /x/{width}?h={height}",
        "/s n=number(-1..1):0.5 is=bool:true => /x?n={n}&is={is}",
        "/t say=text(20) => /x/{say}",
        "/t one=text(a|b) two=json(64) three=content:x => /x?y={one}",
    };
    char *error = NULL;

    for (size_t i = 0; i < sizeof texts / sizeof *texts && table.n <= i; i++) {
        struct service *s = service_declare(texts[i], &error);
        if (!s || service_table_add(&table, s, &error)) abort();
    }
}

static void look_at_problem(struct service_problem *problem) {
    char *text = service_problem_text(problem, NULL);

    if (!problem->kind || !problem->detail || !text) abort();
    free(text);
    if (problem->corrected) {
        struct service_problem none = { 0 };
        struct service_call call;
        if (service_call_read(problem->corrected, strlen(problem->corrected), &call, &none) ||
            strcmp(call.text, problem->corrected))
            abort();
        service_call_free(&call);
    }
    service_problem_free(problem);
}

static void look_at_url(const struct service_bound *b) {
    struct service_problem problem = { 0 };
    json_t *values[SERVICE_PARAMS_MAX], *other = json_string("x");
    char *url;

    for (unsigned i = 0; i < b->service->nparams; i++) values[i] = b->values[i].literal ? b->values[i].literal : other;
    url = service_url_of(b->service, values, &problem);
    if (!url) {
        look_at_problem(&problem);
    } else {
        if (strncmp(url, "/x", 2) || strstr(url, "/.") || strstr(url, "//")) abort();
        for (const char *p = url; *p; p++)
            if (*p <= ' ' || *p > '~' || strchr("\"'`$;|<>\\", *p)) abort();
    }
    free(url);
    json_decref(other);
}

/* The key means the same, and so has the same key. */
static void look_at_bound(const struct service_bound *b) {
    struct service_problem problem = { 0 };
    struct service_bound again;
    struct service_call call;

    look_at_url(b);
    if (service_call_read(b->key, strlen(b->key), &call, &problem)) abort();
    if (service_bind(&table, SERVICE_NDN, &call, &again, &problem)) abort();
    if (again.service != b->service || strcmp(again.key, b->key)) abort();
    service_bound_free(&again);
    service_call_free(&call);
}

static void as_call(const char *text, size_t n) {
    struct service_problem problem = { 0 };
    struct service_call call, again;
    struct service_bound bound;

    if (service_call_read(text, n, &call, &problem)) {
        look_at_problem(&problem);
        return;
    }
    if (service_call_read(call.text, strlen(call.text), &again, &problem) || strcmp(call.text, again.text)) abort();
    service_call_free(&again);
    if (service_bind(&table, SERVICE_NDN, &call, &bound, &problem)) {
        look_at_problem(&problem);
    } else {
        look_at_bound(&bound);
        service_bound_free(&bound);
    }
    service_call_free(&call);
}

static void as_declaration(const char *text) {
    struct service_table one = { 0 };
    char *error = NULL, *list;
    struct service *s = service_declare(text, &error);

    if (!s != (error != NULL)) abort();
    free(error);
    error = NULL;
    if (!s) return;
    if (service_table_add(&one, s, &error)) abort();
    list = service_listing(&one, SERVICE_NDN, NULL);
    if (!list) abort();
    free(list);
    list = service_openapi(&one, "/ccn", "x", NULL);
    if (!list) abort();
    free(list);
    service_table_free(&one);
}

static void as_data(const char *text) {
    struct service_problem problem = { 0 };
    char *bytes, *type;
    size_t n;

    if (strncmp(text, "data:", 5)) return;
    if (service_data_read(text, &bytes, &n, &type, &problem)) look_at_problem(&problem);
    free(bytes);
    free(type);
}

static void as_rejection(const char *content, size_t n) {
    static const char *const types[] = { "text/plain;charset=utf-8", SERVICE_PROBLEM_TYPE };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct service_problem problem = { 0 };
        if (!service_rejects(&problem, 422, types[i], content, n)) continue;
        if (strlen(problem.detail) > sizeof "its status is 422: " - 1 + SERVICE_SAID_MAX) abort();
        for (const char *p = problem.detail; *p; p++)
            if ((unsigned char)*p < ' ' || *p == 0x7f) abort();
        look_at_problem(&problem);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *exact = malloc(size ? size : 1), *text = malloc(size + 1);

    if (!exact || !text) abort();
    declare_all();
    if (size) memcpy(exact, data, size), memcpy(text, data, size);
    text[size] = '\0';
    as_call(exact, size);
    as_declaration(text);
    as_data(text);
    as_rejection(exact, size);
    free(exact);
    free(text);
    return 0;
}
