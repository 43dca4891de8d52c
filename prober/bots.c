/* SPDX-License-Identifier: BSD-2-Clause */
/* fairgate-bots: fetches the lists of addresses from which crawlers come, for the website gateway. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config.h"

#include "base/base_command.h"
#include "base/base_file.h"
#include "become.h"
#include "bots_config.h"
#include "bots_fetch.h"
#include "bots_settings.h"
#include "crawlers/crawlers_known.h"
#include "lock.h"

enum { BOTS_LOCKED = 5 };

static void bots_more_help(FILE *out) {
    fputs("Options of fetch (in brackets what holds without the option):\n", out);
    base_settings_help(&bots_settings_table, out);
    fputs(
        "\nfetch ends with 3 if some list could not be had or was not taken: the networks of before stay in the table, "
        "5 if another run writes it now.\n",
        out);
}

/* ---- fetch ------------------------------------------------------------------------------------------------------- */

/* Nothing there yet is an empty table; what is damaged is said, and left behind. */
static struct crawlers_table *bots_before(const char *path, struct report *report) {
    struct crawlers_table *t;
    char *error = NULL;

    if (access(path, F_OK) && errno == ENOENT) return NULL;
    t = crawlers_table_read(path, &error);
    if (!t) report_line(report, BASE_LOG_WARNING, "%s; nothing of it stays", error ? error : "out of memory");
    free(error);
    return t;
}

static int bots_write(const struct bots_settings *s, const struct crawlers_table *t, struct report *report) {
    char *error = NULL;

    if (s->dry_run || !crawlers_table_write(t, s->table, &error)) return 0;
    report_line(report, BASE_LOG_ERROR, "not written: %s", error ? error : "out of memory");
    free(error);
    return -1;
}

static int bots_locked_fetch(const struct bots_settings *s, struct bots_config *c, struct report *report) {
    struct crawlers_table *before = bots_before(s->table, report);
    enum bots_end end = bots_fetch(c, before, s, (int64_t)time(NULL), report);

    crawlers_table_free(&before);
    return end != BOTS_FAILED && bots_write(s, c->table, report) ? BOTS_FAILED : end;
}

static int bots_run(const struct bots_settings *s) {
    struct bots_config c;
    struct report *report;
    char *error = NULL;
    const char *wrong = become(s->user);
    int status, lock;

    if (wrong) return base_misused("fetch: %s", wrong);
    if (bots_config_read(&c, s->config, &error)) return base_failed(error);
    report = report_new(s->log, 1);
    if (!report) {
        bots_config_free(&c);
        return base_misused("%s: %s", s->log ? s->log : "log",
                            errno == EINVAL ? "not a plain file with one name; name one that is, or leave --log out"
                                            : strerror(errno));
    }
    lock = s->dry_run ? 0 : lock_table(s->table, "run", report);
    status = lock < 0 ? errno == EWOULDBLOCK ? BOTS_LOCKED : BASE_WRONG : bots_locked_fetch(s, &c, report);
    report_free(&report);
    bots_config_free(&c);
    return status;
}

static int bots_fetch_command(int argc, char **argv) {
    struct bots_settings s = { .table = NULL };
    char *error = NULL;
    int words = base_settings_options(&bots_settings_table, &s, argc, argv, &error), status;

    if (words < 0) status = base_misused("fetch: %s", error ? error : "out of memory");
    else if (words > 1) status = base_misused("fetch takes options only, and %s is none", argv[1]);
    else status = bots_run(&s);
    free(error);
    base_settings_free(&bots_settings_table, &s);
    return status;
}

/* ---- check, show ------------------------------------------------------------------------------------------------- */

static bool bots_is_table(const char *path) {
    char head[14] = "";
    const char *why;
    FILE *f = base_file_open(path, &why);
    size_t n = f ? fread(head, 1, sizeof head, f) : 0;

    if (f) fclose(f);
    return n == sizeof head && !memcmp(head, "fairgate-bots\t", sizeof head);
}

static uint32_t bots_networks(const struct crawlers_crawler *c) {
    uint32_t n = 0;

    for (uint32_t s = 0; s < c->nsources; s++) n += c->source[s].n;
    return n;
}

static int bots_look_at_table(const char *file, FILE *found, char **error) {
    struct crawlers_table *t = crawlers_table_read(file, error);
    uint32_t networks = 0;

    if (!t) return -1;
    for (uint32_t i = 0; i < t->n; i++) networks += bots_networks(&t->crawler[i]);
    fprintf(found, "%" PRIu32 " crawlers, %" PRIu32 " networks\n", t->n, networks);
    crawlers_table_free(&t);
    return 0;
}

static int bots_look(const char *file, FILE *found, char **error) {
    struct bots_config c;
    uint32_t lists = 0;

    if (bots_is_table(file)) return bots_look_at_table(file, found, error);
    if (bots_config_read(&c, file, error)) return -1;
    for (uint32_t i = 0; i < c.table->n; i++) lists += c.table->crawler[i].nsources;
    fprintf(found, "%" PRIu32 " crawlers, %" PRIu32 " lists\n", c.table->n, lists);
    bots_config_free(&c);
    return 0;
}

static int bots_check(int argc, char **argv) { return base_check(argc, argv, bots_look); }

static void show_source(const struct crawlers_source *s, int64_t now) {
    if (!s->checked) printf("    %s: never had\n", s->url);
    else
        printf("    %s: %" PRIu32 " networks, %.1f days ago\n", s->url, s->n,
               (double)(now - s->checked) / (24.0 * 3600.0));
}

static void show_all(const struct crawlers_table *t) {
    int64_t now = (int64_t)time(NULL);

    for (uint32_t i = 0; i < t->n; i++) {
        const struct crawlers_crawler *c = &t->crawler[i];

        printf("%s: %" PRIu32 " networks", c->name, bots_networks(c));
        for (uint32_t k = 0; k < c->nsuffixes; k++) printf("%s%s", k ? ", " : "; names of ", c->suffix[k]);
        putchar('\n');
        for (uint32_t k = 0; k < c->nsources; k++) show_source(&c->source[k], now);
    }
}

static int show_address(const struct crawlers_table *t, const char *text) {
    struct crawlers_prefix p;
    struct crawlers_known *k;
    uint64_t crawlers;

    if (crawlers_prefix_read(text, &p) || p.bits != 128)
        return base_misused("show: %s is no address; write one like 192.0.2.1 or 2001:db8::1", text);
    k = crawlers_known_new(t);
    if (!k) return base_failed(NULL);
    crawlers = crawlers_known_of(k, p.address, sizeof p.address);
    if (!crawlers) puts("in nobody's list");
    for (; crawlers; crawlers &= crawlers - 1) puts(crawlers_known_name(k, (uint32_t)__builtin_ctzll(crawlers)));
    crawlers_known_free(&k);
    return BASE_RIGHT;
}

static int bots_show(int argc, char **argv) {
    char *error = NULL;
    struct crawlers_table *t = crawlers_table_read(argv[1], &error);
    int status = BASE_RIGHT;

    if (!t) return base_failed(error);
    if (argc == 3) status = show_address(t, argv[2]);
    else show_all(t);
    crawlers_table_free(&t);
    return status;
}

static const struct base_command commands[] = {
    { "fetch", "[OPTION]...", "fetch the lists that a configuration names, and write a table", 0, BASE_ANY_NUMBER,
      bots_fetch_command },
    { "check", "[--json] FILE...", "whether tables and configurations are right", 0, BASE_ANY_NUMBER, bots_check },
    { "show", "TABLE [ADDRESS]", "a table for people, or whose this address is", 1, 2, bots_show },
};

int main(int argc, char **argv) {
    static const struct base_program me = { "fairgate-bots", PACKAGE_VERSION, commands,
                                            sizeof commands / sizeof *commands, bots_more_help };

    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a full quota is an error to report, like a full disk */
    return base_program_main(&me, argc, argv);
}
