/* SPDX-License-Identifier: BSD-2-Clause */
/* fairgate-prober: fills the page-size table of the website gateway. */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

#include "base/base_command.h"
#include "base/base_number.h"
#include "become.h"
#include "lock.h"
#include "tables.h"
#include "walk.h"

enum { LOCKED = 5, STARTS_MAX = 64 };

/* ---- settings ---------------------------------------------------------------------------------------------------- */

struct transfer {
    int format;
    bool json;
};

static const struct base_setting transfer_rows[] = {
    BASE_ROW(struct transfer, CHOICE, format, "format", "tsv", "tsv json",
             "of what is written or read: tab-separated columns with a head line, or an object a line"),
    BASE_ROW(struct transfer, SWITCH, json, "json", "the latter"),
};
static const struct base_settings transfer_table = { "--", transfer_rows, sizeof transfer_rows / sizeof *transfer_rows,
                                                     NULL };

static volatile sig_atomic_t stop;

static void on_signal(int signal) { stop = signal; }

static void prober_more_help(FILE *out) {
    fputs("Options of crawl (in brackets what holds without the option):\n", out);
    base_settings_help(&settings_table, out);
    fputs("\nOptions of export and import:\n", out);
    base_settings_help(&transfer_table, out);
    fputs("\ncrawl ends with 3 if it is done but not whole (--max-pages, --max-time, or a site out of reach), 4 if it "
          "was interrupted: what is known stands in\n"
          "TABLE.part and the next walk goes on from there, 5 if another walk writes this table now.  diff ends with 1 "
          "if the tables differ, 2 on trouble.\n",
          out);
}

/* As in "127.0.0.1:8080" or "[::1]:8080". */
static bool has_port(const char *address) {
    const char *colon = strrchr(address, ':'), *bracket = strrchr(address, ']');
    uint64_t port;

    return colon && colon > bracket && !base_number("port", colon + 1, "", 1, 65535, &port, NULL);
}

/* The walk that these settings ask for, from `words` URLs on. */
static int walk_from(const struct settings *s, int words, char **word) {
    static struct scope scope;
    static struct scope_place start[STARTS_MAX];
    struct sigaction act = { .sa_handler = on_signal };
    struct report *report;
    enum walk_end end;
    const char *wrong;

    if (!words) return base_misused("crawl needs a URL to begin with, as http://www.example.org/");
    if (words > STARTS_MAX) return base_misused("crawl: more than %d URLs to begin with", STARTS_MAX);
    scope.allow_private = s->allow_private;
    for (int i = 0; i < words; i++)
        if ((wrong = scope_add(&scope, word[i], &start[i]))) return base_misused("%s: %s", word[i], wrong);
    if (s->backend && (!has_port(s->backend) || scope_give(&scope, s->backend)))
        return base_misused("%s: --backend needs an address and a port, as 127.0.0.1:8080 or [::1]:8080", s->backend);
    if (!s->table || !*s->table) return base_misused("crawl needs --table FILE");
    for (const char *c = s->contact; c && *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return base_misused("--contact: has control characters; write a URL or an address");
    if ((wrong = become(s->user))) return base_misused("crawl: %s", wrong);
    report = report_new(s->log, s->quiet);
    if (!report)
        return base_misused("%s: %s", s->log ? s->log : "log",
                            errno == EINVAL ? "not a plain file with one name; name one that is, or leave --log out"
                                            : strerror(errno));
    if (lock_table(s->table, "walk", report) < 0) {
        int busy = errno == EWOULDBLOCK;
        report_free(&report);
        return busy ? LOCKED : WALK_FAILED;
    }
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGHUP, &act, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a full quota is an error to report, like a full disk */
    end = walk(s, &scope, start, (unsigned)words, report, &stop);
    report_free(&report);
    return (int)end;
}

static int crawl(int argc, char **argv) {
    struct settings s = { .table = NULL };
    char *error = NULL;
    int words = base_settings_options(&settings_table, &s, argc, argv, &error), status;

    status =
        words < 0 ? base_misused("crawl: %s", error ? error : "out of memory") : walk_from(&s, words - 1, argv + 1);
    free(error);
    base_settings_free(&settings_table, &s);
    return status;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static int prober_check(int argc, char **argv) { return base_check(argc, argv, tables_look); }
static int prober_show(int argc, char **argv) { return tables_show(argv[1], argc == 3 ? argv[2] : NULL); }
static int diff(int argc, char **argv) {
    (void)argc;
    return tables_diff(argv[1], argv[2]);
}

static int transfer(int argc, char **argv, int (*run)(const char *, enum tables_format)) {
    struct transfer t = { .json = false };
    char *error = NULL;
    int words = base_settings_options(&transfer_table, &t, argc, argv, &error);

    if (words == 2) return run(argv[1], t.json ? TABLES_JSON : (enum tables_format)t.format);
    base_misused("%s: %s", argv[0], words < 0 && error ? error : "needs one table");
    free(error);
    return BASE_MISUSED;
}

static int export(int argc, char **argv) { return transfer(argc, argv, tables_export); }
static int import(int argc, char **argv) { return transfer(argc, argv, tables_import); }

static const struct base_command commands[] = {
    { "crawl", "[OPTION]... --table FILE URL...",
      "walk the sites of these URLs and write down the sizes of what they hold", 0, BASE_ANY_NUMBER, crawl },
    { "check", "[--json] TABLE...", "whether tables are right", 0, BASE_ANY_NUMBER, prober_check },
    { "show", "TABLE [URL-PREFIX]", "a table for people", 1, 2, prober_show },
    { "diff", "TABLE TABLE", "what is new, gone, and of another size", 2, 2, diff },
    { "export", "[--format tsv|json] TABLE", "to standard output", 0, BASE_ANY_NUMBER, export },
    { "import", "[--format tsv|json] TABLE", "from standard input", 0, BASE_ANY_NUMBER, import },
};

int main(int argc, char **argv) {
    static const struct base_program me = { "fairgate-prober", PACKAGE_VERSION, commands,
                                            sizeof commands / sizeof *commands, prober_more_help };

    setlocale(LC_CTYPE, "C.UTF-8"); /* what libidn2 takes names in other letters to be in */
    return base_program_main(&me, argc, argv);
}
