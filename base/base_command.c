/* SPDX-License-Identifier: BSD-2-Clause */
#include "base_command.h"

#include "base_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const struct base_program *program;

static void usage(FILE *out) {
    const struct base_command *c, *end = program->command + program->n;
    const char *lead = "usage: ";
    int width = 0, n;

    for (c = program->command; c < end; c++) {
        n = snprintf(NULL, 0, "%s%s%s%s %s", lead, program->name, *c->word ? " " : "", c->word, c->arguments);
        if (c->sentence && n > width) width = n;
    }
    for (c = program->command; c < end; c++) {
        if (!c->sentence) continue;
        n = fprintf(out, "%s%s%s%s %s", lead, program->name, *c->word ? " " : "", c->word, c->arguments);
        fprintf(out, "%*s%s\n", width + 2 - n, "", c->sentence);
        lead = "       ";
    }
    fprintf(out, "%s%s --help | --version\n", lead, program->name);
}

static int help(void) {
    usage(stdout);
    if (program->more) {
        putchar('\n');
        program->more(stdout);
    }
    puts("\nExit status: 0 all is right, 1 what was looked at is wrong or something failed, 2 wrong usage; "
         "unless another is named above.");
    return BASE_RIGHT;
}

static bool asks_for_help(const char *word) { return !strcmp(word, "--help") || !strcmp(word, "-h"); }

static const struct base_command *command_find(const char *word) {
    for (const struct base_command *c = program->command; c < program->command + program->n; c++)
        if (!strcmp(c->word, word)) return c;
    return NULL;
}

static int command_run(int argc, char **argv) {
    const struct base_command *c = argc > 1 ? command_find(argv[1]) : NULL;
    bool one = !*program->command->word;

    if (argc > 1 && (asks_for_help(argv[1]) || !strcmp(argv[1], "help") || (c && argc > 2 && asks_for_help(argv[2]))))
        return help();
    if (argc > 1 && !strcmp(argv[1], "--version")) return printf("%s %s\n", program->name, program->version) < 0;
    if (one && argc > 1) {
        for (int i = 2; i < argc; i++)
            if (asks_for_help(argv[i])) return help();
        return program->command->run(argc, argv);
    }
    if (!c) {
        if (argc > 1) fprintf(stderr, "%s: there is no command \"%s\"\n", program->name, argv[1]);
        usage(stderr);
        return BASE_MISUSED;
    }
    if (argc - 2 < c->least || argc - 2 > c->most)
        return base_misused("%s: write %s %s %s", c->word, program->name, c->word, c->arguments);
    return c->run(argc - 1, argv + 1);
}

int base_program_main(const struct base_program *p, int argc, char **argv) {
    int status;

    program = p;
    base_log_begin(p->name);
    status = command_run(argc, argv);
    if (!fflush(stdout) && !ferror(stdout)) return status;
    base_log(BASE_LOG_ERROR, "standard output: %s", strerror(errno));
    return status ? status : BASE_WRONG;
}

int base_misused(const char *format, ...) {
    char sentence[BASE_LOG_MAX];
    va_list ap;

    va_start(ap, format);
    vsnprintf(sentence, sizeof sentence, format, ap);
    va_end(ap);
    base_log(BASE_LOG_ERROR, "%s; %s --help says more", sentence, program->name);
    return BASE_MISUSED;
}

int base_failed(char *error) {
    base_log(BASE_LOG_ERROR, "%s", error ? error : "out of memory");
    free(error);
    return BASE_WRONG;
}

/* ---- check ------------------------------------------------------------------------------------------------------- */

static void write_to_file(void *to, const char *text, size_t bytes) { fwrite(text, 1, bytes, to); }

struct base_sink base_to_file(FILE *f) {
    return (struct base_sink){ write_to_file, f };
}

static void command_tell_json(const char *file, bool right, const char *error) {
    struct base_json j = base_json_into(base_to_file(stdout));

    base_json_object(&j, NULL);
    base_json_text(&j, "file", file);
    base_json_truth(&j, "right", right);
    base_json_text(&j, "error", right ? NULL : error);
    base_json_end_object(&j);
    base_json_done(&j);
}

static int check_one(const char *file, bool json, base_look *look) {
    char *error = NULL, *text = NULL;
    size_t n = 0;
    FILE *found = open_memstream(&text, &n);
    bool right = found && !look(file, found, &error);

    if (found && fclose(found)) right = false;
    if (json) {
        command_tell_json(file, right, error ? error : "out of memory");
    } else if (right) {
        printf("%s: right%s%s", file, n ? "; " : "\n", text);
    } else {
        fflush(stdout);
        fprintf(stderr, "%s\n", error ? error : "out of memory");
    }
    free(error);
    free(text);
    return right ? BASE_RIGHT : BASE_WRONG;
}

int base_check(int argc, char **argv, base_look *look) {
    int status = BASE_RIGHT, files = 0;
    bool json = false;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json")) json = true;
        else if (argv[i][0] == '-' && argv[i][1]) return base_misused("%s has no option %s", argv[0], argv[i]);
        else argv[++files] = argv[i];
    }
    if (!files) return base_misused("%s needs a file; write %s %s FILE...", argv[0], program->name, argv[0]);
    for (int i = 1; i <= files; i++)
        if (check_one(argv[i], json, look)) status = BASE_WRONG;
    return status;
}
