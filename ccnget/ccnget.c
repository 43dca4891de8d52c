/* SPDX-License-Identifier: BSD-2-Clause */
/* fairgate-ccnget: fetches a page from a named-data network. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

#include "base/base_command.h"
#include "get_run.h"

static volatile sig_atomic_t get_stop;

static void get_on_signal(int signal) { get_stop = signal; }

static void get_more_help(FILE *out) {
    fputs("NAME is written as ndn:/example/site/index.html, ccnx:/example/site/index.html or /example/site/index.html; "
          "what is special in it as %20; what stands behind a ? as in a URL.\n\nOptions (in brackets what holds "
          "without the option):\n",
          out);
    base_settings_help(&get_settings_table, out);
    fputs(
        "\nIt ends with 0 if the status of HTTP is 200 to 299 or the producer knows of none, 22 if it is 400 or more "
        "(what comes with it is the output), 7 if it\ncan't connect, 28 if no answer comes in time, 47 after too many "
        "redirects.\n",
        out);
}

static int get_fetch(const struct get_settings *s, const char *name) {
    struct get_figures f;
    char *error = NULL;
    enum get_exit status = get_run(s, name, NULL, &get_stop, &f, &error);

    if (error) {
        if (status == GET_EXIT_MISUSED) base_misused("%s", error);
        else fprintf(stderr, "fairgate-ccnget: %s\n", error);
    } else if (status == GET_EXIT_WRONG) {
        base_failed(NULL);
    }
    free(error);
    if (s->timings) get_report_timings(&f, stderr);
    if (s->json) get_report_json(&f, strcmp(s->output, "-") ? stdout : stderr);
    return (int)status;
}

static int get(int argc, char **argv) {
    struct get_settings s = { .output = NULL };
    struct sigaction act = { .sa_handler = get_on_signal };
    char *error = NULL;
    int words = base_settings_options(&get_settings_table, &s, argc, argv, &error), status;

    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGHUP, &act, NULL);
    signal(SIGPIPE, SIG_IGN);
    if (words < 0) status = base_misused("%s", error ? error : "out of memory");
    else if (words != 2) status = base_misused("needs one name, as ndn:/example/site/index.html");
    else status = get_fetch(&s, argv[1]);
    free(error);
    base_settings_free(&get_settings_table, &s);
    if (get_stop) {
        signal(get_stop, SIG_DFL);
        raise(get_stop);
    }
    return status;
}

static const struct base_command get_commands[] = {
    { "", "[OPTION]... NAME", "fetch a page from a named-data network", 0, BASE_ANY_NUMBER, get },
};

int main(int argc, char **argv) {
    static const struct base_program me = { "fairgate-ccnget", PACKAGE_VERSION, get_commands, 1, get_more_help };
    return base_program_main(&me, argc, argv);
}
