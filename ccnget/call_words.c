/* SPDX-License-Identifier: BSD-2-Clause */
#include "call_words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/base_error.h"
#include "ndn/ndn_name.h"

#define DATA_HEAD "data:application/octet-stream;base64,"

enum {
    FILE_MOST = (SERVICE_CALL_MAX - sizeof DATA_HEAD) / 4 * 3, /* bytes whose URI a call has room for */
    NDN_NAME_MOST = 2304,                                      /* bytes of a name that mod_ccn serves */
    INTEREST_REST = 400 /* of an Interest, but its name and parameters; and what forwarders put before it */
};

static int words_out_of_memory(char **error) { return base_fail(error, "out of memory"); }

static int words_problem(struct service_problem *problem, char **error) {
    int rv = problem->detail ? base_fail(error, "%s", problem->detail) : words_out_of_memory(error);
    service_problem_free(problem);
    return rv;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static json_t *words_text(const char *word, const char *text, char **error) {
    json_t *value = json_string(text);

    if (!value)
        base_fail(error, "%s: must be UTF-8; bytes that are none can be given as a file, PARAMETER=@FILE",
                  base_quote(word, strlen(word)).s);
    return value;
}

static json_t *words_value(const char *word, const char *text, char **error) {
    char *wrong = NULL;
    json_t *value;

    if (*text == ':') return words_text(word, text + 1, error);
    value = service_json_read(text, strlen(text), &wrong);
    free(wrong);
    if (value && !json_is_string(value) && !json_is_null(value)) return value;
    json_decref(value);
    return words_text(word, text, error);
}

static json_t *words_file(const char *path, char **error) {
    FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
    unsigned char *bytes = malloc(FILE_MOST + 1);
    char *uri = malloc(SERVICE_CALL_MAX + 1);
    json_t *value = NULL;
    size_t n = 0;

    if (!f || !bytes || !uri) {
        base_fail(error, "%s: %s", path, f ? "out of memory" : strerror(errno));
    } else if (n = fread(bytes, 1, FILE_MOST + 1, f), ferror(f)) {
        base_fail(error, "%s: %s", path, strerror(errno));
    } else if (n > FILE_MOST) {
        base_fail(error, "%s: has more than %d bytes, which is what a call has room for; publish it, and give its name",
                  path, FILE_MOST);
    } else {
        strcpy(uri, DATA_HEAD);
        EVP_EncodeBlock((unsigned char *)uri + strlen(DATA_HEAD), bytes, (int)n);
        value = json_string(uri);
        if (!value) words_out_of_memory(error);
    }
    if (f && f != stdin) fclose(f);
    free(bytes);
    free(uri);
    return value;
}

static int words_parameter(json_t *arguments, const char *word, char **error) {
    struct base_quoted quoted = base_quote(word, strlen(word));
    const char *equals = strchr(word, '=');
    json_t *value;
    size_t n;

    if (!equals || equals == word) return base_fail(error, "%s: must be a parameter, as width=300 is one", quoted.s);
    n = (size_t)(equals - word);
    if (json_object_getn(arguments, word, n))
        return base_fail(error, "%s: the same parameter stands before it; leave one of them out", quoted.s);
    value = equals[1] == '@' ? words_file(equals + 2, error) : words_value(word, equals + 1, error);
    if (!value) return -1;
    /* It checks that the key is UTF-8. */
    if (json_object_setn_new(arguments, word, n, value))
        return base_fail(error, "%s: a parameter's name must be UTF-8", quoted.s);
    return 0;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* What stands behind "ndn:" or "ccnx:"; NULL: neither is there. */
static const char *words_behind_scheme(const char *word) {
    if (!strncmp(word, "ndn:/", 5)) return word + 4;
    return strncmp(word, "ccnx:/", 6) ? NULL : word + 5;
}

/* A URI's components with slashes between them; malloc'ed. */
static char *words_of_uri(const char *word, char **error) {
    struct base_quoted quoted = base_quote(word, strlen(word));
    size_t room = strlen(word) + 1, n = 0;
    uint8_t bytes[NDN_PACKET_MAX];
    struct ndn_out o = ndn_out_into(bytes, sizeof bytes);
    struct ndn_element c;
    struct ndn_name name;
    char *text = malloc(room);

    if (!text) words_out_of_memory(error);
    if (!text || ndn_name_parse(word, &o, &name, error)) goto failed;
    for (unsigned i = 0; ndn_name_at(&name, i, &c); i++) {
        bool in_service = i + 1 < name.n || !c.value.n || *c.value.at != '!';
        if (c.type != NDN_GENERIC_COMPONENT || memchr(c.value.at, 0, c.value.n) ||
            (in_service && memchr(c.value.at, '/', c.value.n))) {
            base_fail(error, "%s: no service has such a name", quoted.s);
            goto failed;
        }
        text[n++] = '/';
        if (c.value.n) memcpy(text + n, c.value.at, c.value.n);
        n += c.value.n;
    }
    text[n] = 0;
    return text;
failed:
    free(text);
    return NULL;
}

static char *words_name(const char *word, char **error) {
    const char *behind = words_behind_scheme(word);
    char *text;

    if (behind && !service_is_call(behind, strlen(behind))) return words_of_uri(word, error);
    text = strdup(behind ? behind : word);
    if (!text) words_out_of_memory(error);
    return text;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static int words_whole(const char *text, struct service_call *call, char **corrected, char **error) {
    struct service_problem problem = { 0 };

    if (!service_call_read(text, strlen(text), call, &problem)) return 0;
    *corrected = problem.corrected;
    problem.corrected = NULL;
    if (!*corrected) return words_problem(&problem, error);
    service_problem_free(&problem);
    if (!service_call_read(*corrected, strlen(*corrected), call, &problem)) return 0;
    free(*corrected);
    *corrected = NULL;
    return words_problem(&problem, error);
}

static int words_parts(const char *name, char *const *word, int n, struct service_call *call, char **error) {
    struct service_problem problem = { 0 };
    const char *wrong = service_name_wrong(name, strlen(name));
    json_t *arguments;
    int rv = 0;

    if (wrong)
        return base_fail(error, "%s: %s; a service is called as /unibe/cds/scaleImage width=300",
                         base_quote(name, strlen(name)).s, wrong);
    arguments = json_object();
    if (!arguments) return words_out_of_memory(error);
    for (int i = 0; i < n && !rv; i++) rv = words_parameter(arguments, word[i], error);
    if (!rv && service_call_of(name, strlen(name), arguments, call, &problem)) rv = words_problem(&problem, error);
    json_decref(arguments);
    return rv;
}

int call_words(char *const *word, int n, struct service_call *call, char **corrected, char **error) {
    char *name = words_name(word[0], error);
    int rv = -1;

    memset(call, 0, sizeof *call);
    *corrected = NULL;
    if (!name) return -1;
    if (!service_is_call(name, strlen(name))) rv = words_parts(name, word + 1, n - 1, call, error);
    else if (n == 1) rv = words_whole(name, call, corrected, error);
    else
        base_fail(error, "%s: the call has its parameters already; leave the others out, or what stands behind /!",
                  base_quote(word[1], strlen(word[1])).s);
    free(name);
    return rv;
}

static void words_put_service(struct ndn_out *o, const struct service_call *call) {
    const char *at = call->service;

    for (const char *end; *at; at = end) {
        end = strchrnul(at + 1, '/');
        ndn_put_component(o, NDN_GENERIC_COMPONENT, at + 1, (size_t)(end - at - 1));
    }
}

static char *words_printed(const struct ndn_name *name, char **error) {
    size_t n = ndn_name_print(name, NULL, 0);
    char *uri = malloc(sizeof "ndn:" + n);

    if (!uri) {
        words_out_of_memory(error);
        return NULL;
    }
    strcpy(uri, "ndn:");
    ndn_name_print(name, uri + strlen(uri), n + 1);
    return uri;
}

char *call_words_ndn(const struct service_call *call, char **error) {
    const char *parameters = call->text + strlen(call->service) + 1;
    uint8_t bytes[NDN_NAME_MOST];
    struct ndn_out o = ndn_out_into(bytes, sizeof bytes);
    struct ndn_name name;

    words_put_service(&o, call);
    ndn_put_component(&o, NDN_GENERIC_COMPONENT, parameters, strlen(parameters));
    if (!o.full && ndn_name_read((struct ndn_span){ bytes, o.n }, &name)) return words_printed(&name, error);
    base_fail(error, "the call is too long for a name of %d bytes, which is what servers take", NDN_NAME_MOST);
    return NULL;
}

char *call_words_beside(const struct service_call *call, const char **beside, char **error) {
    uint8_t bytes[NDN_NAME_MOST];
    struct ndn_out o = ndn_out_into(bytes, sizeof bytes);
    struct ndn_name name;

    *beside = call->text + strlen(call->service) + strlen("/!");
    words_put_service(&o, call);
    if (!o.full && ndn_name_read((struct ndn_span){ bytes, o.n }, &name) &&
        name.bytes.n + strlen(*beside) + INTEREST_REST <= NDN_PACKET_MAX)
        return words_printed(&name, error);
    base_fail(error,
              "the call is too long for a packet of %u bytes; ask over HTTP, with --http, or publish what is large in "
              "it, and give its name",
              NDN_PACKET_MAX);
    return NULL;
}

char *call_words_list(const struct service_call *call, char **error) {
    uint8_t bytes[NDN_NAME_MOST];
    struct ndn_out o = ndn_out_into(bytes, sizeof bytes);
    struct ndn_name name;

    words_put_service(&o, call);
    ndn_put_component(&o, NDN_KEYWORD_COMPONENT, "services", strlen("services"));
    if (!o.full && ndn_name_read((struct ndn_span){ bytes, o.n }, &name)) return words_printed(&name, error);
    base_fail(error, "the name of the service is too long for a name of %d bytes", NDN_NAME_MOST);
    return NULL;
}
