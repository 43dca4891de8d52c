/* SPDX-License-Identifier: BSD-2-Clause */
/* fairgate-prober: fills the page-size table of the website gateway. */
#include <errno.h>
#include <grp.h>
#include <locale.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "tables.h"
#include "walk.h"

#define USAGE  2
#define LOCKED 5

static volatile sig_atomic_t stop;

static void on_signal(int signal) { stop = signal; }

static int usage(FILE *out) {
    fputs("usage: fairgate-prober crawl [OPTIONS] URL...             walk the sites of these URLs and write down the sizes of what they hold\n"
          "       fairgate-prober show TABLE [URL-PREFIX]            a table for people\n"
          "       fairgate-prober diff TABLE TABLE                   what is new, gone, and of another size\n"
          "       fairgate-prober export [--format=tsv|json] TABLE   to standard output\n"
          "       fairgate-prober import [--format=tsv|json] TABLE   from standard input\n"
          "       fairgate-prober --help | --version\n", out);
    return out == stdout ? 0 : USAGE;
}

static int help(void) {
    usage(stdout);
    puts("\nOptions of crawl (what a number is without the option stands behind it):");
    settings_help(stdout);
    puts("\nExit status: 0 done, 1 failed, 2 wrong usage, 3 done but not whole (--max-pages, --max-time, or a site out of reach), 4 interrupted: what is\n"
         "known stands in TABLE.part and the next walk goes on from there, 5 another walk writes this table now.");
    return 0;
}

static int complain(const char *what, const char *why) {
    fprintf(stderr, "fairgate-prober: %s: %s\n", what, why);
    return USAGE;
}

/* Of "127.0.0.1:8080" or "[::1]:8080"; 0 if there is none. */
static int port_of(const char *address) {
    const char *colon = strrchr(address, ':'), *bracket = strrchr(address, ']');
    char *end;
    long port = colon && colon > bracket ? strtol(colon + 1, &end, 10) : 0;

    return port > 0 && port < 65536 && !*end ? (int)port : 0;
}

/* What strangers' documents are parsed with is no root.  NULL, or what is wrong. */
static const char *become(const char *name) {
    struct passwd *user;

    if (geteuid()) return NULL;
    if (!name) return "runs as root, and need not; start it as a user of its own, or say --user NAME (a system user that may write the table: see the manual)";
    user = getpwnam(name);
    if (!user) return "--user names nobody on this system; make such a user, as etc/sysusers.d/fairgate-prober.conf does";
    if (!user->pw_uid) return NULL;
    if (initgroups(name, user->pw_gid) || setresgid(user->pw_gid, user->pw_gid, user->pw_gid) || setresuid(user->pw_uid, user->pw_uid, user->pw_uid) ||
        !setuid(0))
        return "can't become the user that --user names; start it as that one";
    return NULL;
}

static int crawl(int argc, char **argv) {
    static struct scope scope;
    static struct scope_place start[SETTINGS_LIST_MAX];
    struct sigaction act = { .sa_handler = on_signal };
    struct settings s;
    struct report *report;
    char *error = NULL;
    int words;
    enum walk_end end;
    const char *wrong;

    settings_default(&s);
    words = settings_take(&s, argc, argv, &error);
    if (words < 0) {
        complain("crawl", error ? error : "out of memory");
        free(error);
        return USAGE;
    }
    if (words < 2) return complain("crawl", "needs a URL to begin with, as http://www.example.org/");
    if (words > SETTINGS_LIST_MAX + 1) return complain("crawl", "more than 64 URLs to begin with");
    scope.allow_private = s.allow_private;
    for (int i = 1; i < words; i++) {
        wrong = scope_add(&scope, argv[i], &start[i - 1]);
        if (wrong) return complain(argv[i], wrong);
    }
    if (s.backend && (!port_of(s.backend) || scope_give(&scope, s.backend))) return complain(s.backend, "--backend needs an address and a port, as 127.0.0.1:8080 or [::1]:8080");
    if (!s.table) return complain("crawl", "needs --table FILE");
    wrong = become(s.user);
    if (wrong) return complain("crawl", wrong);
    report = report_new(s.log, s.quiet);
    if (!report)
        return complain(s.log ? s.log : "log", errno == EINVAL ? "not a plain file with one name; name one that is, or leave --log out" : strerror(errno));
    if (walk_lock(s.table, report) < 0) {
        int busy = errno == EWOULDBLOCK;
        report_free(&report);
        return busy ? LOCKED : WALK_FAILED;
    }
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGHUP, &act, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);       /* a full quota is an error to report, like a full disk */
    end = walk(&s, &scope, start, (unsigned)(words - 1), report, &stop);
    report_free(&report);
    return (int)end;
}

/* --format=X or --format X in front of the table. */
static int transfer(int argc, char **argv, int (*run)(const char *, enum tables_format)) {
    enum tables_format format = TABLES_TSV;
    const char *name = NULL;
    int i = 1;

    if (i < argc && !strncmp(argv[i], "--format=", 9)) name = argv[i++] + 9;
    else if (i + 1 < argc && !strcmp(argv[i], "--format")) { name = argv[i + 1]; i += 2; }
    if (name && strcmp(name, "tsv") && strcmp(name, "json")) return complain(name, "--format must be tsv or json");
    if (name && !strcmp(name, "json")) format = TABLES_JSON;
    return i + 1 == argc ? run(argv[i], format) : usage(stderr);
}

int main(int argc, char **argv) {
    const char *command = argc > 1 ? argv[1] : "";

    setlocale(LC_CTYPE, "C.UTF-8");     /* what libidn2 takes names in other letters to be in */
    if (!strcmp(command, "--help") || !strcmp(command, "-h") || !strcmp(command, "help")) return help();
    if (!strcmp(command, "--version")) {
        puts("fairgate-prober " PACKAGE_VERSION);
        return 0;
    }
    if (argc > 2 && !strcmp(argv[2], "--help")) return help();
    argc--;
    argv++;
    if (!strcmp(command, "crawl")) return crawl(argc, argv);
    if (!strcmp(command, "show") && (argc == 2 || argc == 3)) return tables_show(argv[1], argc == 3 ? argv[2] : NULL);
    if (!strcmp(command, "diff") && argc == 3) return tables_diff(argv[1], argv[2]);
    if (!strcmp(command, "export")) return transfer(argc, argv, tables_export);
    if (!strcmp(command, "import")) return transfer(argc, argv, tables_import);
    return usage(stderr);
}
