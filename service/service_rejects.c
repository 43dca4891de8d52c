/* SPDX-License-Identifier: BSD-2-Clause */
/* service_rejects.c - the sentence of a service that rejects what it was given (RFC 9110, 15.5; RFC 9457, 3.1.4). */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "service_json.h"
#include "service_problem.h"
#include "service_text.h"

#define OBJECT_MAX 65536u /* of a problem that is read for one member */

/* The others are for who sent the request, which is this server, and for what stands between. */
static bool is_about_the_call(int status) {
    static const int others[] = { 401, 403, 407, 408, 429 };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (status == others[i]) return false;
    return status >= 400 && status <= 499;
}

static bool is_media_type(const char *type, const char *word) {
    size_t n = strlen(word);
    return !strncasecmp(type, word, n) && (!type[n] || strchr("; \t", type[n]));
}

/* One line of it, cut between characters; "": there is nothing to read in it.  NULL: no memory. */
static char *said_clean(const char *text, size_t n) {
    struct service_text t = { 0 };
    bool apart = false;

    for (size_t i = 0, step; i < n; i += step) {
        size_t character = service_text_character(text + i, n - i);
        bool foreign = !character && (text[i] & 0x80); /* no UTF-8, or a control character beyond ASCII */

        step = character ? character : 1;
        if (text[i] == ' ' || (!character && !foreign)) {
            apart = t.n > 0;
            continue;
        }
        if (t.n + apart + step > SERVICE_SAID_MAX) break;
        if (apart) service_text_put(&t, " ", 1);
        apart = false;
        service_text_put(&t, foreign ? "?" : text + i, step);
    }
    return service_text_take(&t, NULL);
}

/* The `detail` of a problem; NULL: there is none. */
static char *said_detail(const char *content, size_t n) {
    json_t *object = n <= OBJECT_MAX ? service_json_read(content, n, NULL) : NULL;
    const json_t *detail = json_object_get(object, "detail");
    char *said = json_is_string(detail) ? said_clean(json_string_value(detail), json_string_length(detail)) : NULL;

    json_decref(object);
    return said;
}

bool service_rejects(struct service_problem *p, int status, const char *media_type, const char *content, size_t n) {
    char *said = NULL;

    if (!is_about_the_call(status) || !n) return false;
    if (is_media_type(media_type, SERVICE_PROBLEM_TYPE)) said = said_detail(content, n);
    else if (is_media_type(media_type, "text/plain")) said = said_clean(content, n);
    if (said && *said) service_fail(p, SERVICE_REJECTED, "its status is %d: %s", status, said);
    free(said);
    return p->kind != SERVICE_FINE;
}
