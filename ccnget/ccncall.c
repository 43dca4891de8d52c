/* SPDX-License-Identifier: BSD-2-Clause */
/* fairgate-ccncall: calls a named service with parameters, over HTTP or on a named-data network. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

#include "base/base_command.h"
#include "base/base_error.h"
#include "call_http.h"
#include "call_ndn.h"
#include "call_told.h"
#include "call_words.h"
#include "get_output.h"

#define PROGRAM "fairgate-ccncall"

enum { ASIDE_MOST = 16 << 20 };

static volatile sig_atomic_t call_stop;

static void call_on_signal(int signal) { call_stop = signal; }

static void call_more_help(FILE *out) {
    fputs(
        "NAME is a service's, as /unibe/cds/scaleImage, and each word behind it a parameter: width=300, "
        "file=ccnx:/dir/imgs/profile.bmp.\nA value is a number, true, false, an object or an array as JSON has them, "
        "else a text; PARAMETER=:TEXT is a text whatever it looks\nlike, PARAMETER=@FILE what the file holds. "
        "A whole call, as '/unibe/cds/scaleImage/!{\"width\":300}', needs no words behind it.\n\nOptions (in brackets "
        "what holds without the option):\n",
        out);
    base_settings_help(&call_settings_table, out);
    fputs("\nIt ends with 1 if the server says that something is wrong, which is told on standard error, 7 if it can't "
          "connect, 28 if there is no\nresult in time.\n",
          out);
}

/* How it ended, and the sentence if there is one. */
static int call_ended(enum get_exit status, char *error) {
    if (error && status == GET_EXIT_MISUSED) base_misused("%s", error);
    else if (error) fprintf(stderr, PROGRAM ": %s\n", error);
    else if (status == GET_EXIT_WRONG) base_failed(NULL);
    free(error);
    return status == GET_EXIT_STATUS ? BASE_WRONG : (int)status;
}

static FILE *call_figures_to(const struct call_settings *s) { return strcmp(s->output, "-") ? stdout : stderr; }

static int call_over_http(const struct call_settings *s, const struct service_call *call, struct get_aside *aside) {
    const char *body = call->text + strlen(call->service) + strlen("/!");
    char *path = call_http_path(call->service), *error = NULL;
    const struct call_asked asked = { .path = path, .body = body };
    struct call_figures f;
    enum get_exit status;

    if (!path) return base_failed(NULL);
    status = call_http(s, &asked, true, &call_stop, aside, &f, &error);
    if (status == GET_EXIT_STATUS) call_told_problem(PROGRAM, f.status, f.media_type, aside, stderr);
    if (s->json) call_http_report(&f, call_figures_to(s));
    free(path);
    return call_ended(status, error);
}

static int call_by_name(const struct call_settings *s, const struct service_call *call, struct get_aside *aside) {
    char *error = NULL, *uri = call_words_ndn(call, &error);
    struct get_besides besides = { .aside = aside };
    const char *beside = "";
    struct get_figures f;
    enum get_exit status;

    if (!uri) uri = call_words_beside(call, &beside, &error);
    if (!uri) return call_ended(GET_EXIT_WRONG, error);
    free(error);
    error = NULL;
    besides.parameters = (struct ndn_span){ (const uint8_t *)beside, strlen(beside) };
    status = call_ndn(s, uri, &besides, &call_stop, &f, &error);
    if (status == GET_EXIT_STATUS) call_told_problem(PROGRAM, f.status, f.media_type, aside, stderr);
    if (s->json) get_report_json(&f, call_figures_to(s));
    free(uri);
    return call_ended(status, error);
}

/* One that is too long for a name has none, and may be asked for all the same. */
static int call_show(const struct service_call *call) {
    char *error = NULL, *uri = call_words_ndn(call, &error);

    printf("%s\n", call->text);
    if (uri) printf("%s\n", uri);
    free(uri);
    return error ? base_failed(error) : BASE_RIGHT;
}

static enum get_exit call_list_http(const struct call_settings *s, struct get_aside *aside, char **error) {
    const struct call_asked asked = { .path = "/", .body = NULL };
    struct call_figures f;
    enum get_exit status = call_http(s, &asked, false, &call_stop, aside, &f, error);

    if (status == GET_EXIT_STATUS) call_told_problem(PROGRAM, f.status, f.media_type, aside, stderr);
    return status;
}

static enum get_exit call_list_by_name(const struct call_settings *s, const struct service_call *call,
                                       struct get_aside *aside, char **error) {
    const struct get_besides besides = { .aside = aside, .all_aside = true };
    char *uri = call_words_list(call, error);
    struct get_figures f;
    enum get_exit status;

    if (!uri) return GET_EXIT_WRONG;
    status = call_ndn(s, uri, &besides, &call_stop, &f, error);
    if (status == GET_EXIT_STATUS) call_told_problem(PROGRAM, f.status, f.media_type, aside, stderr);
    free(uri);
    return status;
}

/* `call`: of the service behind whose name the list stands; NULL: over HTTP. */
static int call_list(const struct call_settings *s, const struct service_call *call, struct get_aside *aside) {
    struct get_output out;
    char *error = NULL;
    enum get_exit status = call ? call_list_by_name(s, call, aside, &error) : call_list_http(s, aside, &error);

    if (status) return call_ended(status, error);
    if (!s->json) return call_told_list(aside, stdout, &error) ? base_failed(error) : BASE_RIGHT;
    get_output_init(&out, NULL);
    if (get_output_begin(&out, 0, &error) || get_output_put(&out, aside->bytes, aside->n, &error) ||
        get_output_put(&out, "\n", 1, &error) || get_output_end(&out, &error))
        return base_failed(error);
    return BASE_RIGHT;
}

static int call_service(const struct call_settings *s, char **word, int n, struct get_aside *aside) {
    char *corrected, *error = NULL;
    struct service_call call;
    int status;

    if (call_words(word, n, &call, &corrected, &error)) {
        status = base_misused("%s", error ? error : "out of memory");
        free(error);
        return status;
    }
    if (corrected) {
        fputs(PROGRAM ": read as ", stderr);
        base_clean_line(corrected, strlen(corrected), stderr);
        fputc('\n', stderr);
    }
    free(corrected);
    if (s->list) status = call_list(s, &call, aside);
    else if (s->show_name) status = call_show(&call);
    else status = s->http ? call_over_http(s, &call, aside) : call_by_name(s, &call, aside);
    service_call_free(&call);
    return status;
}

static int call_asked_for(const struct call_settings *s, char **word, int n) {
    struct get_aside aside = { .bytes = malloc(ASIDE_MOST), .most = ASIDE_MOST };
    const char *wrong = s->http ? call_http_url_wrong(s->http) : NULL;
    char *error = NULL;
    int status;

    if (!aside.bytes) return base_failed(NULL);
    if (wrong) status = base_misused("--http %s: %s", base_quote(s->http, strlen(s->http)).s, wrong);
    else if (call_settings_check(s, &error)) status = base_misused("%s", error ? error : "out of memory");
    else if (s->list && s->show_name) status = base_misused("--list and --show-name: must be one of them");
    else if (s->list && s->http && n) status = base_misused("--list: goes without a name where it goes with --http");
    else if (s->list && !s->http && n != 1) status = base_misused("--list: needs --http, or the name of one service");
    else if (s->list && s->http) status = call_list(s, NULL, &aside);
    else if (!n) status = base_misused("needs the name of a service, as /unibe/cds/scaleImage");
    else status = call_service(s, word, n, &aside);
    free(error);
    free(aside.bytes);
    return status;
}

static int call_run(int argc, char **argv) {
    struct call_settings s = { .output = NULL };
    struct sigaction act = { .sa_handler = call_on_signal };
    char *error = NULL;
    int words = base_settings_options(&call_settings_table, &s, argc, argv, &error), status;

    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGHUP, &act, NULL);
    signal(SIGPIPE, SIG_IGN);
    if (words < 0) status = base_misused("%s", error ? error : "out of memory");
    else status = call_asked_for(&s, argv + 1, words - 1);
    free(error);
    base_settings_free(&call_settings_table, &s);
    if (call_stop) {
        signal(call_stop, SIG_DFL);
        raise(call_stop);
    }
    return status;
}

static const struct base_command call_commands[] = {
    { "", "[OPTION]... NAME [PARAMETER=VALUE]...", "call a named service", 0, BASE_ANY_NUMBER, call_run },
};

int main(int argc, char **argv) {
    static const struct base_program me = { PROGRAM, PACKAGE_VERSION, call_commands, 1, call_more_help };
    return base_program_main(&me, argc, argv);
}
