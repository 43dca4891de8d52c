/* SPDX-License-Identifier: BSD-2-Clause */
/* test_base.c - what all programs have of base/: sentences, numbers, settings, the frame of a command. */
#include "base/base_command.h"
#include "base/base_error.h"
#include "base/base_identity.h"
#include "base/base_log.h"
#include "base/base_number.h"
#include "base/base_secret.h"
#include "base/base_settings.h"
#include "run_suite.h"

#include <check.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- sentences --------------------------------------------------------------------------------------------------- */

START_TEST(sentences) {
    char *error = NULL, long_one[300];

    ck_assert_int_eq(base_fail(NULL, "nobody asked"), -1);
    base_place(NULL, "f", 1);
    ck_assert_int_eq(base_fail(&error, "%s is wrong", "this"), -1);
    ck_assert_int_eq(base_fail(&error, "because %s", error), -1); /* made of the one before */
    base_place(&error, "f", 7);
    ck_assert_str_eq(error, "f:7: because this is wrong");
    base_place(&error, "all", 0);
    ck_assert_str_eq(error, "all: f:7: because this is wrong");
    free(error);
    error = NULL;
    base_place(&error, "f", 0);
    ck_assert_str_eq(error, "f: out of memory; give the process more");
    free(error);

    memset(long_one, 'x', sizeof long_one);
    ck_assert_str_eq(base_quote("a\x1b[2J\xff", 6).s, "a\\x1b[2J\\xff");
    ck_assert_str_eq(base_quote("", 0).s, "");
    ck_assert_uint_lt(strlen(base_quote(long_one, sizeof long_one).s), sizeof(struct base_quoted));
    ck_assert_str_eq(base_quote(long_one, sizeof long_one).s + 90, "xxx...");
    memset(long_one, 1, sizeof long_one); /* each is four in a sentence */
    ck_assert_uint_lt(strlen(base_quote(long_one, sizeof long_one).s), sizeof(struct base_quoted));
}
END_TEST

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text, *unit;
    uint64_t least, most, n;
    const char *sentence;
} numbers[] = {
    { "0", "", 0, 9, 0, NULL },
    { "9", "", 0, 9, 9, NULL },
    { "007", "URLs", 0, 9, 7, NULL },
    { "18446744073709551615", "", 0, UINT64_MAX, UINT64_MAX, NULL },
    { "10", "URLs", 0, 9, 0, "x 10: must be a number of URLs from 0 to 9" },
    { "0", "", 1, 9, 0, "x 0: must be a number from 1 to 9" },
    { "", "", 0, 9, 0, "x : must be a number from 0 to 9" },
    { " 1", "", 0, 9, 0, "x  1: must" },
    { "1 ", "", 0, 9, 0, "must" },
    { "-1", "", 0, UINT64_MAX, 0, "x -1: must" },
    { "+1", "", 0, 9, 0, "must" },
    { "1.5", "seconds", 0, 9, 0, "must" },
    { "0x1", "", 0, 9, 0, "must" },
    { "1e3", "", 0, 9999, 0, "must" },
    { "five", "", 0, 9, 0, "must" },
    { "18446744073709551616", "", 0, UINT64_MAX, 0, "must" },
    { "99999999999999999999999999999999999999", "", 0, UINT64_MAX, 0, "must" },
    /* units */
    { "1K", "bytes", 0, UINT64_MAX, 1024, NULL },
    { "2m", "bytes", 0, UINT64_MAX, 2 << 20, NULL },
    { "3G", "bytes", 0, UINT64_MAX, UINT64_C(3) << 30, NULL },
    { "1T", "bytes", 0, 9, 0, "x 1T: must be a number of bytes from 0 to 9; K, M or G may stand behind it" },
    { "1KK", "bytes", 0, UINT64_MAX, 0, "must" },
    { "1K", "URLs", 0, 9999, 0, "must be a number of URLs from 0 to 9999" },
    { "K", "bytes", 0, 9999, 0, "must" },
    { "1 K", "bytes", 0, 9999, 0, "must" },
    { "17179869183G", "bytes", 0, UINT64_MAX, UINT64_C(17179869183) << 30, NULL },
    { "17179869184G", "bytes", 0, UINT64_MAX, 0, "must" },
    { "1023K", "bytes", 1 << 20, 1 << 30, 0, "must" },
    { "1025M", "bytes", 1 << 20, 1 << 30, 0, "must" },
    { "90", "seconds", 0, 9999, 90, NULL },
    { "90s", "seconds", 0, 9999, 90, NULL },
    { "2min", "seconds", 0, 9999, 120, NULL },
    { "1h", "seconds", 0, 9999, 3600, NULL },
    { "1d", "seconds", 0, 99999, 86400, NULL },
    { "3m", "seconds", 0, 9999, 180, NULL },
    { "1mo", "seconds", 0, 9999, 0, "s, min, h or d may stand behind it" },
    { "1ms", "seconds", 0, 9, 0, "must" },
    { "3ms", "microseconds", 0, 9999, 3000, NULL },
    { "5us", "microseconds", 0, 9999, 5, NULL },
};

START_TEST(a_number) {
    uint64_t n = 4711;
    char *error = NULL;
    int rv = base_number("x", numbers[_i].text, numbers[_i].unit, numbers[_i].least, numbers[_i].most, &n, &error);

    ck_assert_msg(rv == (numbers[_i].sentence ? -1 : 0), "%s: %d: %s", numbers[_i].text, rv, error);
    ck_assert_msg(n == (rv ? 4711 : numbers[_i].n), "%s: %" PRIu64, numbers[_i].text, n);
    if (rv) ck_assert_msg(strstr(error, numbers[_i].sentence), "%s", error);
    else ck_assert_ptr_null(error);
    free(error);
}
END_TEST

START_TEST(a_number_that_is_too_long_for_a_sentence) {
    char text[5000], *error = NULL;
    uint64_t n;

    memset(text, '1', sizeof text);
    text[sizeof text - 1] = 0;
    ck_assert_int_eq(base_number("x", text, "bytes", 0, UINT64_MAX, &n, &error), -1);
    ck_assert(strlen(error) < 300 && strstr(error, "111...: must be"));
    free(error);
}
END_TEST

/* ---- settings ---------------------------------------------------------------------------------------------------- */

struct all {
    uint64_t size, wait;
    char *name;
    struct base_pair marks;
    int mode;
    struct base_list hosts;
    bool quiet;
};

static const struct base_setting rows[] = {
    BASE_ROW(struct all, NUMBER, size, "size", "1K", 1, 1 << 20, "bytes", "how large"),
    BASE_ROW(struct all, NUMBER, wait, "wait", "3", 0, 60, "seconds", "how long"),
    BASE_ROW(struct all, TEXT, name, "name", NULL, "NAME", "who"),
    BASE_ROW(struct all, PAIR, marks, "marks", "[[ ]]", "OPEN CLOSE", "marks"),
    BASE_ROW(struct all, CHOICE, mode, "mode", "fast", "slow fast faster", "how"),
    BASE_ROW(struct all, LIST, hosts, "hosts", "a b", "HOST ...", "where"),
    BASE_ROW(struct all, SWITCH, quiet, "quiet", "says nothing"),
};
static const struct base_settings options = { "--", rows, sizeof rows / sizeof *rows, "sq" },
                                  lines = { "", rows, sizeof rows / sizeof *rows, NULL };

/* All that was read, in one text. */
static const char *told(const struct all *a) {
    static char text[8192];
    int n = snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 " %s %s%s %d", a->size, a->wait, a->name ? a->name : "-",
                     a->marks.first, a->marks.second, a->mode);

    for (unsigned i = 0; i < a->hosts.n; i++) n += snprintf(text + n, sizeof text - (size_t)n, " %s", a->hosts.item[i]);
    snprintf(text + n, sizeof text - (size_t)n, "%s", a->quiet ? " quiet" : "");
    return text;
}

/*
 * words: of the command line, a blank between them; result: as told() has it and the words that are left, or a part of
 * the sentence.
 */
static const struct {
    const char *words, *result;
    bool wrong;
} command_lines[] = {
    { "", "1024 3 - [[]] 1 a b;", false },
    { "x --size 2K y --wait=1min --quiet z", "2048 60 - [[]] 1 a b quiet; x y z", false },
    { "--name n --hosts c --hosts=d=e --mode faster --marks ( )", "1024 3 n () 2 c d=e;", false },
    { "--size 1 --size 2", "2 3 - [[]] 1 a b;", false },
    { "--name a --name b", "1024 3 b [[]] 1 a b;", false },
    { "--name=", "1024 3  [[]] 1 a b;", false },
    { "--name --quiet", "1024 3 --quiet [[]] 1 a b;", false },
    { "- -- --quiet -x", "1024 3 - [[]] 1 a b; - --quiet -x", false },
    { "--size", "--size: needs a value: N", true },
    { "--marks a", "--marks: needs two values: OPEN CLOSE", true },
    { "--marks=a b", "without =", true },
    { "--size 0", "--size 0: must be a number of bytes from 1 to 1048576; K, M or G may stand behind it", true },
    { "--size=", "--size : must", true },
    { "--mode fas", "--mode fas: must be one of: slow fast faster", true },
    { "--mode slow_fast", "must be one of", true },
    { "--mode=", "must be one of", true },
    { "--quiet=1", "--quiet: takes no value", true },
    { "--colour red", "--colour: no such option", true },
    { "-s 2K -q x", "2048 3 - [[]] 1 a b quiet; x", false },
    { "-s", "--size: needs a value: N", true },
    { "-n x", "-n: no such option", true },
    { "-ss 1", "-ss: no such option", true },
    { "-s=1", "-s=1: no such option", true },
    { "--siz 1", "no such option", true },
    { "--sizes 1", "no such option", true },
    { "--=1", "no such option", true },
    { "---size 1", "no such option", true },
};

START_TEST(a_command_line) {
    struct all a = { .size = 0 };
    char words[200], *argv[40] = { "it" }, *error = NULL, got[8192] = "";
    int argc = 1, kept;

    snprintf(words, sizeof words, "%s", command_lines[_i].words);
    for (char *w = strtok(words, " "); w; w = strtok(NULL, " ")) argv[argc++] = w;
    kept = base_settings_options(&options, &a, argc, argv, &error);
    if (command_lines[_i].wrong) {
        ck_assert_int_eq(kept, -1);
        ck_assert_msg(error && strstr(error, command_lines[_i].result), "%s: %s", command_lines[_i].words, error);
    } else {
        ck_assert_msg(kept > 0 && !error, "%s", error);
        size_t n = (size_t)snprintf(got, sizeof got, "%s;", told(&a));
        for (int i = 1; i < kept; i++) n += (size_t)snprintf(got + n, sizeof got - n, " %s", argv[i]);
        ck_assert_str_eq(got, command_lines[_i].result);
    }
    free(error);
    base_settings_free(&options, &a);
    base_settings_free(&options, &a); /* again does nothing */
}
END_TEST

#define SIXTEEN " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"
static const struct {
    const char *text, *result;
    bool wrong;
} files[] = {
    { "name n\n", "1024 3 n [[]] 1 a b", false },
    { "# a comment\n\n  \t\n\tname\tn  m \r\nsize 2K\nmarks ( )\nmode slow\nquiet", "2048 3 n  m () 0 a b quiet",
      false },
    { "name n\nhosts c\nhosts d  e\n", "1024 3 n [[]] 1 c d e", false },
    { "", "FILE: name is missing: name NAME: who", true },
    { "size 1\nsize 1\n", "FILE:2: size: given twice", true },
    { "name a\nname a\n", "FILE:2: name: given twice", true },
    { "\n\nsize\n", "FILE:3: size: needs a value: N", true },
    { "mode \n", "FILE:1: mode: needs a value: slow fast faster", true },
    { "quiet yes\n", "quiet: takes no value", true },
    { "size 1T\n", "FILE:1: size 1T: must be", true },
    { "size -1\n", "must be", true },
    { "size 1 2\n", "must be", true },
    { "marks a\n", "marks: must be two words, OPEN CLOSE", true },
    { "marks a b c\n", "must be two words", true },
    { "colour red\n", "FILE:1: colour: no such setting; --help lists them", true },
    { "--size 1\n", "no such setting", true },
    { "hosts" SIXTEEN SIXTEEN SIXTEEN SIXTEEN " 65\n", "hosts: more than 64", true },
    { "hosts" SIXTEEN SIXTEEN "\nhosts" SIXTEEN SIXTEEN "\nhosts x\n", "FILE:3: hosts: more than 64", true },
    { "name a\xff\n\x01 b\n", "FILE:2: \\x01: no such setting", true },
};

static int read_bytes(struct all *a, const char *text, size_t n, char **error, char path[32]) {
    strcpy(path, "/tmp/fairgate-test-XXXXXX");
    int fd = mkstemp(path), rv;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, n), (ssize_t)n);
    close(fd);
    rv = base_settings_file(&lines, a, path, error);
    unlink(path);
    return rv;
}

START_TEST(a_file) {
    struct all a = { .size = 0 };
    char *error = NULL, path[32];
    int rv = read_bytes(&a, files[_i].text, strlen(files[_i].text), &error, path);

    ck_assert_int_eq(rv, files[_i].wrong ? -1 : 0);
    if (!rv) {
        ck_assert_str_eq(told(&a), files[_i].result);
    } else if (!strncmp(files[_i].result, "FILE", 4)) {
        ck_assert_msg(!strncmp(error, path, strlen(path)) &&
                          !strncmp(error + strlen(path), files[_i].result + 4, strlen(files[_i].result + 4)),
                      "%s", error);
    } else {
        ck_assert_msg(strstr(error, files[_i].result), "%s", error);
    }
    free(error);
    base_settings_free(&lines, &a);
}
END_TEST

START_TEST(files_that_are_none) {
    struct all a = { .size = 0 };
    char *error = NULL, path[32], *large;

    ck_assert_int_eq(read_bytes(&a, "name a\0b\n", 9, &error, path), -1);
    ck_assert(strstr(error, ":1: a NUL byte"));
    base_settings_free(&lines, &a);
    ck_assert_int_eq(base_settings_file(&lines, &a, "/nowhere/at all", &error), -1);
    ck_assert_str_eq(error, "/nowhere/at all: No such file or directory");
    base_settings_free(&lines, &a);
    ck_assert_int_eq(base_settings_file(&lines, &a, "/tmp", &error), -1);
    ck_assert(strstr(error, "/tmp: "));
    base_settings_free(&lines, &a);

    large = malloc(1 << 20);
    memset(large, 'x', 1 << 20);
    ck_assert_int_eq(read_bytes(&a, large, 1 << 20, &error, path), -1);
    ck_assert(strlen(error) < 300 && strstr(error, "xxx...: no such setting"));
    base_settings_free(&lines, &a);
    memcpy(large, "name ", 5);
    ck_assert_int_eq(read_bytes(&a, large, 1 << 20, &error, path), 0);
    ck_assert_uint_eq(strlen(a.name), (1 << 20) - 5);
    base_settings_free(&lines, &a);
    free(large);
    /* A file without an end is refused before it is read. */
    ck_assert_int_eq(base_settings_file(&lines, &a, "/dev/zero", &error), -1);
    ck_assert(strstr(error, "/dev/zero: is not a regular file"));
    base_settings_free(&lines, &a);
    free(error);
}
END_TEST

START_TEST(help_of_settings) {
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);

    base_settings_help(&options, f);
    fclose(f);
    ck_assert_str_eq(text, "  --size N                 how large (1K)\n"
                           "  --wait N                 how long (3 seconds)\n"
                           "  --name NAME              who\n"
                           "  --marks OPEN CLOSE       marks ([[ ]])\n"
                           "  --mode slow fast faster  how (fast)\n"
                           "  --hosts HOST ...         where (a b)\n"
                           "  --quiet                  says nothing\n"
                           "  Behind a number of bytes may stand K, M or G.\n"
                           "  Behind a number of seconds may stand s, min, h or d.\n");
    free(text);
}
END_TEST

/* ---- commands ---------------------------------------------------------------------------------------------------- */

static int seen; /* arguments of the last that ran, its word among them */

static int go(int argc, char **argv) {
    seen = argc;
    return argc > 1 && !strcmp(argv[1], "amiss") ? base_failed(strdup("it broke")) : BASE_RIGHT;
}

/* Files whose name begins with r are right. */
static int look(const char *file, FILE *found, char **error) {
    if (*file != 'r') return base_fail(error, "%s:3: \"this\" is wrong", file);
    if (file[1]) fputs("a page\n  of two lines\n", found);
    return 0;
}

static int check(int argc, char **argv) { return base_check(argc, argv, look); }
static void more(FILE *out) { fputs("more to say\n", out); }

static const struct base_command commands[] = {
    { "go", "WHERE [HOW]", "goes there", 1, 2, go },
    { "--go", "WHERE", NULL, 0, BASE_ANY_NUMBER, go },
    { "check", "[--json] FILE...", "whether files are right", 0, BASE_ANY_NUMBER, check },
};
static const struct base_program program = { "thing", "1.2", commands, 3, more };

#define USAGE                                                                                                          \
    "usage: thing go WHERE [HOW]          goes there\n       thing check [--json] FILE...  whether files are right\n " \
    "      thing --help | --version\n"
#define HELP                                                                                                           \
    USAGE "\nmore to say\n\nExit status: 0 all is right, 1 what was looked at is wrong or something failed, 2 wrong "  \
          "usage; unless another is named above.\n"

static const struct {
    const char *words;
    int status, seen;
    const char *out, *err;
} calls[] = {
    { "", 2, 0, "", USAGE },
    { "--help", 0, 0, HELP, "" },
    { "-h", 0, 0, HELP, "" },
    { "help", 0, 0, HELP, "" },
    { "go --help", 0, 0, HELP, "" },
    { "check -h", 0, 0, HELP, "" },
    { "--version", 0, 0, "thing 1.2\n", "" },
    { "went x", 2, 0, "", "thing: there is no command \"went\"\n" USAGE },
    { "--frob", 2, 0, "", "thing: there is no command \"--frob\"\n" USAGE },
    { "went --help", 2, 0, "", "thing: there is no command \"went\"\n" USAGE },
    { "go", 2, 0, "", "thing: go: write thing go WHERE [HOW]; thing --help says more\n" },
    { "go a b c", 2, 0, "", "thing: go: write thing go WHERE [HOW]; thing --help says more\n" },
    { "go a", 0, 2, "", "" },
    { "go a b", 0, 3, "", "" },
    { "--go", 0, 1, "", "" },
    { "go amiss", 1, 2, "", "thing: it broke\n" },
    { "check", 2, 0, "", "thing: check needs a file; write thing check FILE...; thing --help says more\n" },
    { "check --json", 2, 0, "", "thing: check needs a file; write thing check FILE...; thing --help says more\n" },
    { "check --xml r", 2, 0, "", "thing: check has no option --xml; thing --help says more\n" },
    { "check r", 0, 0, "r: right\n", "" },
    { "check r2", 0, 0, "r2: right; a page\n  of two lines\n", "" },
    { "check r w r2", 1, 0, "r: right\nr2: right; a page\n  of two lines\n", "w:3: \"this\" is wrong\n" },
    { "check r2 --json w", 1, 0,
      "{\"file\":\"r2\",\"right\":true,\"error\":null}\n{\"file\":\"w\",\"right\":false,\"error\":\"w:3: \\\"this\\\" "
      "is wrong\"}\n",
      "" },
};

/* A program that does one thing. */
static const struct base_command one_command[] = { { "", "[OPTION]... WHERE", "goes there", 0, BASE_ANY_NUMBER, go } };
static const struct base_program one_program = { "go", "1.2", one_command, 1, NULL };

#define ONE_USAGE "usage: go [OPTION]... WHERE  goes there\n       go --help | --version\n"
#define ONE_HELP                                                                                                       \
    ONE_USAGE "\nExit status: 0 all is right, 1 what was looked at is wrong or something failed, 2 wrong usage; "      \
              "unless another is named above.\n"

static const struct {
    const char *words;
    int status, seen;
    const char *out, *err;
} one_calls[] = {
    { "", 2, 0, "", ONE_USAGE },           { "--help", 0, 0, ONE_HELP, "" },        { "help", 0, 0, ONE_HELP, "" },
    { "--fast x -h", 0, 0, ONE_HELP, "" }, { "--version", 0, 0, "go 1.2\n", "" },   { "x", 0, 2, "", "" },
    { "--fast x help", 0, 4, "", "" },     { "amiss", 1, 2, "", "go: it broke\n" },
};

static FILE *caught(FILE *stream, int *kept) {
    FILE *f = tmpfile();

    fflush(stream);
    *kept = dup(fileno(stream));
    dup2(fileno(f), fileno(stream));
    return f;
}

static void let_go(FILE *stream, int kept, FILE *f, char *text, size_t room) {
    fflush(stream);
    dup2(kept, fileno(stream));
    close(kept);
    rewind(f);
    text[fread(text, 1, room - 1, f)] = 0;
    fclose(f);
}

static void call(const struct base_program *p, const char *given, int status, const char *out, const char *err) {
    char words[100], *argv[20] = { "./thing" }, said[2][2000];
    int argc = 1, got, kept[2];
    FILE *f[2];

    snprintf(words, sizeof words, "%s", given);
    for (char *w = strtok(words, " "); w; w = strtok(NULL, " ")) argv[argc++] = w;
    f[0] = caught(stdout, kept);
    f[1] = caught(stderr, kept + 1);
    got = base_program_main(p, argc, argv);
    let_go(stdout, kept[0], f[0], said[0], sizeof *said);
    let_go(stderr, kept[1], f[1], said[1], sizeof *said);
    ck_assert_int_eq(got, status);
    ck_assert_str_eq(said[0], out);
    ck_assert_str_eq(said[1], err);
}

START_TEST(a_call) {
    call(&program, calls[_i].words, calls[_i].status, calls[_i].out, calls[_i].err);
    ck_assert_int_eq(seen, calls[_i].seen);
}
END_TEST

START_TEST(a_call_of_one_thing) {
    call(&one_program, one_calls[_i].words, one_calls[_i].status, one_calls[_i].out, one_calls[_i].err);
    ck_assert_int_eq(seen, one_calls[_i].seen);
}
END_TEST

START_TEST(an_output_that_is_full) {
    char *argv[] = { "thing", "--help" };
    int kept = dup(1);

    fflush(stdout);
    ck_assert_ptr_nonnull(freopen("/dev/full", "w", stdout));
    ck_assert_int_eq(base_program_main(&program, 2, argv), 1);
    dup2(kept, 1);
}
END_TEST

/* ---- logs -------------------------------------------------------------------------------------------------------- */

/* What a sentence becomes where JOURNAL_STREAM is as this says of standard error; NULL: it is not there. */
static void logged(const char *stream, const char *sentence, const char *line) {
    char said[BASE_LOG_MAX + 10], value[100];
    struct stat s;
    int kept;
    FILE *f = caught(stderr, &kept);

    ck_assert_int_eq(fstat(2, &s), 0);
    snprintf(value, sizeof value, stream ? stream : "", (uintmax_t)s.st_dev, (uintmax_t)s.st_ino);
    if (stream) setenv("JOURNAL_STREAM", value, 1);
    else unsetenv("JOURNAL_STREAM");
    base_log_begin("thing");
    base_log(BASE_LOG_WARNING, "%s", sentence);
    let_go(stderr, kept, f, said, sizeof said);
    unsetenv("JOURNAL_STREAM");
    base_log_begin("thing");
    ck_assert_msg(!strcmp(said, line), "%.100s", said);
}

START_TEST(a_line_of_the_log) {
    static char much[2 * BASE_LOG_MAX], line[BASE_LOG_MAX + 1];

    logged(NULL, "a 5% chance", "thing: a 5% chance\n");
    logged("%ju:%ju", "a 5% chance", "<4>a 5% chance\n");
    /* Else what somebody else's text says on a line of its own would have a priority of its own. */
    logged("%ju:%ju", "no file\n<0>a\r\x1b[2J", "<4>no file?<0>a??[2J\n");
    logged("%ju:1%ju", "elsewhere", "thing: elsewhere\n");
    logged("1%ju:%ju", "elsewhere", "thing: elsewhere\n");
    logged("", "nowhere", "thing: nowhere\n");
    logged("%ju", "half", "thing: half\n");
    logged("%ju:%ju ", "more", "thing: more\n");
    memset(much, 'x', sizeof much - 1);
    memset(line, 'x', sizeof line - 1);
    memcpy(line, "<4>", 3);
    strcpy(line + BASE_LOG_MAX - 1, "\n");
    logged("%ju:%ju", much, line);
}
END_TEST

/* ---- secrets ----------------------------------------------------------------------------------------------------- */

static void secret_refused(const char *path, const char *why) {
    struct base_secret s;
    char *error = NULL;
    int rv = base_secret_read(&s, path, &error);

    if (!rv) rv = base_secret_ours(&s, &error);
    base_secret_wipe(&s);
    ck_assert_int_eq(rv, -1);
    ck_assert_msg(strstr(error, why) != NULL, "%s", error);
    free(error);
}

START_TEST(a_secret_is_its_owners) {
    static const char digits[] = "0123456789abcdefABCDEF", others[] = "gG/: `@";
    static const mode_t open_modes[] = { 0640, 0604, 0620, 0602, 0601 };
    char directory[] = "/tmp/fairgate-test-XXXXXX", path[64];
    struct base_secret s;
    FILE *f;

    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/secret", directory);
    secret_refused(path, "No such file");
    secret_refused(directory, "is no regular file");
    f = fopen(path, "w");
    fputs("secret\n", f);
    fclose(f);
    for (size_t i = 0; i < sizeof open_modes / sizeof *open_modes; i++) {
        ck_assert_int_eq(chmod(path, open_modes[i]), 0);
        secret_refused(path, "holds a secret that others may read or change; chmod 600 it");
    }
    ck_assert_int_eq(chmod(path, 0600), 0);
    ck_assert_int_eq(base_secret_read(&s, path, NULL), 0);
    ck_assert_int_eq(base_secret_ours(&s, NULL), 0);
    ck_assert_uint_eq(s.n, 7);
    ck_assert_int_eq(memcmp(s.text, "secret\n", 7), 0);
    base_secret_wipe(&s);
    for (size_t i = 0; i < sizeof s; i++) ck_assert_int_eq(((const char *)&s)[i], 0);
    ck_assert_int_eq(truncate(path, BASE_SECRET_MOST), 0);
    ck_assert_int_eq(base_secret_read(&s, path, NULL), 0);
    ck_assert_int_eq(truncate(path, BASE_SECRET_MOST + 1), 0);
    secret_refused(path, "is larger than 16384 bytes");
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    secret_refused(path, "is no regular file");
    unlink(path);
    rmdir(directory);
    for (int i = 0; i < 22; i++) ck_assert_int_eq(base_secret_digit(digits[i]), i < 16 ? i : i - 6);
    for (size_t i = 0; i < sizeof others; i++) ck_assert_int_eq(base_secret_digit(others[i]), -1);
}
END_TEST

static void identity_of(const char *path, uint64_t out[3]) {
    struct stat st;

    ck_assert_int_eq(stat(path, &st), 0);
    base_identity(&st, out);
}

/* Its times of change and access say nothing: who writes it can set them. */
START_TEST(a_file_that_is_another_is_seen) {
    static const struct timespec long_ago[2] = { { 1, 0 }, { 1, 0 } };
    static const uint64_t none[3];
    uint64_t was[3], is[3];
    char path[] = "/tmp/fairgate-test-XXXXXX", other[] = "/tmp/fairgate-test-XXXXXX";
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "1", 1), 1);
    ck_assert_int_eq(futimens(fd, long_ago), 0);
    identity_of(path, was);
    identity_of(path, is);
    ck_assert_int_eq(memcmp(was, is, sizeof is), 0);
    ck_assert_int_ne(memcmp(was, none, sizeof none), 0);
    /* The same bytes, of the same time by its own account. */
    do {
        ck_assert_int_eq(pwrite(fd, "2", 1, 0), 1);
        ck_assert_int_eq(futimens(fd, long_ago), 0);
        identity_of(path, is);
    } while (!memcmp(was, is, sizeof is)); /* the kernel's clock of files goes in steps; Check's time limit ends it */
    ck_assert_uint_eq(was[0], is[0]);
    close(fd);
    fd = mkstemp(other);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(rename(other, path), 0);
    identity_of(path, was);
    ck_assert_uint_ne(was[0], is[0]);
    unlink(path);
}
END_TEST

int main(void) {
    Suite *s = suite_create("base");
    TCase *c = tcase_create("base");

    tcase_add_test(c, sentences);
    tcase_add_loop_test(c, a_number, 0, sizeof numbers / sizeof *numbers);
    tcase_add_test(c, a_number_that_is_too_long_for_a_sentence);
    tcase_add_loop_test(c, a_command_line, 0, sizeof command_lines / sizeof *command_lines);
    tcase_add_loop_test(c, a_file, 0, sizeof files / sizeof *files);
    tcase_add_test(c, files_that_are_none);
    tcase_add_test(c, help_of_settings);
    tcase_add_loop_test(c, a_call, 0, sizeof calls / sizeof *calls);
    tcase_add_loop_test(c, a_call_of_one_thing, 0, sizeof one_calls / sizeof *one_calls);
    tcase_add_test(c, an_output_that_is_full);
    tcase_add_test(c, a_line_of_the_log);
    tcase_add_test(c, a_secret_is_its_owners);
    tcase_add_test(c, a_file_that_is_another_is_seen);
    suite_add_tcase(s, c);
    return run_suite(s);
}
