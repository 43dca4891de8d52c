/* SPDX-License-Identifier: BSD-2-Clause */
#include "service_name.h"

#include <stdlib.h>
#include <string.h>

#include "base/base_error.h"
#include "service_text.h"

static const char *component_wrong(const char *p, size_t n) {
    if (!n) return "two slashes, or one at the end, leave a component empty";
    if ((n == 1 && *p == '.') || (n == 2 && !memcmp(p, "..", 2))) return "a component is . or ..";
    if (*p == '!') return "a component begins with !, which is where parameters begin";
    for (size_t i = 0, step; i < n; i += step)
        if (!(step = service_text_character(p + i, n - i)))
            return "a component holds a control character, or is no UTF-8";
    return NULL;
}

const char *service_name_wrong(const char *name, size_t n) {
    const char *wrong = NULL;

    if (!n || *name != '/') return "a service's name begins with a slash";
    if (n > SERVICE_NAME_MAX) return "a service's name is longer than 1,024 bytes";
    for (size_t at = 1, end; at <= n && !wrong; at = end + 1) {
        const char *slash = memchr(name + at, '/', n - at);
        end = slash ? (size_t)(slash - name) : n;
        wrong = component_wrong(name + at, end - at);
    }
    return wrong;
}

/* Where parameters begin: "!" behind a slash.  n: nowhere. */
static size_t name_mark(const char *text, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (text[i] == '!' && text[i - 1] == '/') return i;
    return n;
}

bool service_is_call(const char *text, size_t n) { return n && *text == '/' && name_mark(text, n) < n; }

static int call_finish(struct service_call *call, struct service_problem *problem) {
    struct service_text t = { 0 };
    size_t n;
    char *arguments = service_json_canonical(call->arguments, &n);

    service_text_put(&t, call->service, strlen(call->service));
    service_text_put(&t, "/!", 2);
    if (arguments) service_text_put(&t, arguments, n);
    else t.failed = true;
    free(arguments);
    call->text = service_text_take(&t, &n);
    if (call->text && n <= SERVICE_CALL_MAX) return 0;
    if (call->text)
        service_fail(problem, SERVICE_TOO_MUCH, "the call has %zu bytes, and may have %u", n, SERVICE_CALL_MAX);
    else service_fail(problem, SERVICE_NO_MEMORY, "no memory for the call's name");
    service_fail_in(problem, call->service, NULL);
    service_call_free(call);
    return -1;
}

int service_call_of(const char *service, size_t n, const json_t *arguments, struct service_call *call,
                    struct service_problem *problem) {
    const char *wrong = service_name_wrong(service, n);

    memset(call, 0, sizeof *call);
    if (wrong) return service_fail(problem, SERVICE_NOT_A_CALL, "%s", wrong);
    if (!json_is_object(arguments))
        return service_fail(problem, SERVICE_NOT_JSON, "the parameters must be an object: {\"name\":value}");
    call->service = strndup(service, n);
    call->arguments = json_incref((json_t *)(uintptr_t)arguments);
    if (call->service) return call_finish(call, problem);
    service_call_free(call);
    return service_fail(problem, SERVICE_NO_MEMORY, "no memory for the call");
}

int service_call_read(const char *text, size_t n, struct service_call *call, struct service_problem *problem) {
    size_t mark = name_mark(text, n);
    char *error = NULL;
    json_t *arguments;
    int rv;

    memset(call, 0, sizeof *call);
    if (n > SERVICE_CALL_MAX)
        return service_fail(problem, SERVICE_TOO_MUCH, "the call has %zu bytes, and may have %u", n, SERVICE_CALL_MAX);
    if (mark == n)
        return service_fail(problem, SERVICE_NOT_A_CALL,
                            "a call is a service's name and its parameters: /name/!{\"parameter\":value}");
    arguments = service_json_read(text + mark + 1, n - mark - 1, &error);
    if (!arguments) {
        service_fail_with(problem, SERVICE_NOT_JSON, &error);
        problem->corrected = service_paper_corrected(text, n);
        if (!service_name_wrong(text, mark - 1)) {
            problem->service = strndup(text, mark - 1);
        }
        return -1;
    }
    rv = service_call_of(text, mark - 1, arguments, call, problem);
    json_decref(arguments);
    return rv;
}

void service_call_free(struct service_call *call) {
    free(call->service);
    free(call->text);
    json_decref(call->arguments);
    memset(call, 0, sizeof *call);
}
