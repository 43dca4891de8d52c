/* SPDX-License-Identifier: BSD-2-Clause */
#include "bots_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_error.h"
#include "base/base_file.h"

#define LINE_ROOM 16384

static const char config_blanks[] = " \t\r\n";

static char *config_lower(char *text) {
    for (char *c = text; *c; c++)
        if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
    return text;
}

static int config_add(char **list, uint32_t *n, uint32_t most, const char *word, const char *what, char **error) {
    if (*n == most) return base_fail(error, "more than %u %s; leave some out", most, what);
    list[*n] = strdup(word);
    if (!list[*n]) return base_fail(error, "out of memory");
    ++*n;
    return 0;
}

static int config_add_names(struct crawlers_crawler *c, char *list, char **error) {
    char *save, *name = strtok_r(config_lower(list), ",", &save);

    if (!name) return base_fail(error, "names= has no name; write one like googlebot.com behind it");
    for (; name; name = strtok_r(NULL, ",", &save)) {
        if (*name == '.') name++;
        if (!crawlers_suffix_fits(name))
            return base_fail(error, "names=%s is no domain of somebody's; write one like googlebot.com",
                             base_quote(name, strlen(name)).s);
        if (config_add(c->suffix, &c->nsuffixes, CRAWLERS_SUFFIXES_MAX, name, "names", error)) return -1;
    }
    return 0;
}

static int config_add_source(struct crawlers_crawler *c, const char *url, char **error) {
    struct crawlers_source *s = &c->source[c->nsources];

    if (c->nsources == CRAWLERS_SOURCES_MAX)
        return base_fail(error, "more than %u lists; leave some out", CRAWLERS_SOURCES_MAX);
    if (!crawlers_url_fits(url))
        return base_fail(error, "%s is too long, or has letters that a URL has not; write it with %% and two digits",
                         base_quote(url, strlen(url)).s);
    for (uint32_t i = 0; i < c->nsources; i++)
        if (!strcmp(c->source[i].url, url))
            return base_fail(error, "%s stands there twice; write it once", base_quote(url, strlen(url)).s);
    s->url = strdup(url);
    if (!s->url) return base_fail(error, "out of memory");
    c->nsources++;
    return 0;
}

static int config_word(struct crawlers_crawler *c, struct bots_bounds *b, char *word, char **error) {
    if (*word == '/' || !strncmp(word, "https://", 8) || !strncmp(word, "http://", 7))
        return config_add_source(c, word, error);
    if (!strncmp(word, "names=", 6)) return config_add_names(c, word + 6, error);
    if (!strncmp(word, "agent=", 6)) {
        if (!crawlers_agent_fits(word + 6))
            return base_fail(error, "%s must have %u to %u printable characters behind the =",
                             base_quote(word, strlen(word)).s, CRAWLERS_AGENT_LEAST, CRAWLERS_AGENT_MAX);
        return config_add(c->agent, &c->nagents, CRAWLERS_AGENTS_MAX, word + 6, "agents", error);
    }
    if (!strcmp(word, "wide")) b->wide = true;
    else if (!strcmp(word, "private")) b->private = true;
    else
        return base_fail(error,
                         "%s is no list and no option; write https://..., /FILE, names=A,B, agent=TEXT, wide "
                         "or private",
                         base_quote(word, strlen(word)).s);
    return 0;
}

static int config_line(struct bots_config *f, char *line, char **error) {
    struct crawlers_table *t = f->table;
    struct crawlers_crawler *c;
    struct bots_bounds *b;
    char *save, *word;

    for (char *at = line; *at; at++)
        if (*at == '#' && (at == line || strchr(config_blanks, at[-1]))) *at = 0;
    word = strtok_r(line, config_blanks, &save);
    if (!word) return 0;
    if (t->n == CRAWLERS_MAX) return base_fail(error, "more than %u crawlers; leave some out", CRAWLERS_MAX);
    c = &t->crawler[t->n];
    b = &f->bounds[t->n];
    if (!crawlers_name_fits(config_lower(word)))
        return base_fail(error, "%s is no name for a crawler; write 1 to %u letters, digits, -, _ and .",
                         base_quote(word, strlen(word)).s, CRAWLERS_NAME_ROOM - 1);
    for (uint32_t i = 0; i < t->n; i++)
        if (!strcmp(t->crawler[i].name, word))
            return base_fail(error, "%s has a line already; write all of it into one", word);
    strcpy(c->name, word);
    t->n++;
    while ((word = strtok_r(NULL, config_blanks, &save)) != NULL)
        if (config_word(c, b, word, error)) return -1;
    if (!c->nsources && !c->nsuffixes)
        return base_fail(error, "%s has neither a list nor names; write https://..., /FILE or names=A,B", c->name);
    if (c->nagents) return 0;
    if (crawlers_agent_fits(c->name))
        return config_add(c->agent, &c->nagents, CRAWLERS_AGENTS_MAX, c->name, "agents", error);
    if (!c->nsuffixes) return 0;
    return base_fail(error, "%s is too short to be looked for in user agents; write agent=TEXT, too", c->name);
}

int bots_config_read_stream(struct bots_config *c, FILE *stream, const char *name, char **error) {
    char line[LINE_ROOM];
    uint64_t number = 0;
    int failed = 0;

    memset(c, 0, sizeof *c);
    c->table = crawlers_table_new();
    if (!c->table) failed = base_fail(error, "out of memory");
    while (!failed && fgets(line, sizeof line, stream)) {
        size_t n = strlen(line);

        number++;
        if (n + 1 == sizeof line || (line[n ? n - 1 : 0] != '\n' && !feof(stream)))
            failed = base_fail(error, "a line that is too long or has a NUL; write a crawler a line");
        else failed = config_line(c, line, error);
    }
    if (!failed && ferror(stream)) failed = base_fail(error, "%s", strerror(errno));
    if (!failed && !c->table->n)
        failed = base_fail(error, "names no crawler; write one a line, as in bots-example.conf");
    fclose(stream);
    if (!failed) return 0;
    base_place(error, name, number);
    bots_config_free(c);
    return -1;
}

int bots_config_read(struct bots_config *c, const char *path, char **error) {
    const char *why;
    FILE *f = base_file_open(path, &why);

    if (f) return bots_config_read_stream(c, f, path, error);
    memset(c, 0, sizeof *c);
    return base_fail(error, "%s: %s", path, why);
}

void bots_config_free(struct bots_config *c) { crawlers_table_free(&c->table); }
