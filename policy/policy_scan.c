/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_scan.c - a first look at the bytes of a policy file, before an XML parser sees them.
 *
 * It refuses what would cost a parser too much (a document type with its entities, a tag of megabytes), other character
 * sets than UTF-8, and what it can explain better: the notation of the website-gateway paper (fig. 4 and 5), where an
 * element's name has a value (<url=".jpg"/>), is no XML at all.  One pass; it never refuses a well-formed file that
 * keeps to the limits.
 */
#include <string.h>
#include <strings.h>

#include "policy_impl.h"

struct scan {
    const char *p, *end;
    unsigned line;
    char **error;
};

static int starts(const struct scan *s, const char *word) {
    size_t n = strlen(word);

    return (size_t)(s->end - s->p) >= n && memcmp(s->p, word, n) == 0;
}

static void go_to(struct scan *s, const char *to) {
    for (; s->p < to; s->p++) s->line += *s->p == '\n';
}

/* From an `open` behind the next `stop`, or to the end, where the parser will find what is missing. */
static void go_behind(struct scan *s, const char *open, const char *stop) {
    size_t n = strlen(stop);

    s->p += strlen(open); /* <!--> does not end itself */
    while (s->p < s->end && !starts(s, stop)) {
        const char *next = memchr(s->p + 1, stop[0], (size_t)(s->end - s->p - 1));

        go_to(s, next ? next : s->end);
    }
    go_to(s, (size_t)(s->end - s->p) > n ? s->p + n : s->end);
}

static int scan_is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static const char *scan_skip_space(const char *p, const char *end) {
    while (p < end && scan_is_space(*p)) p++;
    return p;
}

/* <name="value" rest/>: what the paper writes, and how it is right.  `p` stands behind the =. */
static int refuse_paper_form(struct scan *s, const char *name, size_t name_len, const char *p, const char *end) {
    struct base_quoted tag = base_quote(s->p, (size_t)(end + 1 - s->p)), element = base_quote(name, name_len), value,
                       rest;
    const char *stop;
    char quote;

    p = scan_skip_space(p, end);
    quote = p < end ? *p : '\0';
    if ((quote != '"' && quote != '\'') || (stop = memchr(p + 1, quote, (size_t)(end - p - 1))) == NULL)
        return base_fail(
            s->error,
            "%s is not well-formed XML: an element's name has no value; write <url>PATTERN</url> for a rule, "
            "<class id=\"1\" quantum=\"600\"> for a class",
            tag.s);
    value = base_quote(p + 1, (size_t)(stop - p - 1));
    p = scan_skip_space(stop + 1, end);
    while (end > p && (end[-1] == '/' || scan_is_space(end[-1]))) end--;
    rest = base_quote(p, (size_t)(end - p));
    if (strcmp(element.s, "class_id") == 0 || strcmp(element.s, "class") == 0)
        return base_fail(s->error,
                         "%s is not well-formed XML: an element's name has no value; write <class id=\"%s\"%s%s> here, "
                         "rules as <url>PATTERN</url>, and </class> at the end of the class",
                         tag.s, value.s, rest.s[0] ? " " : "", rest.s);
    return base_fail(s->error, "%s is not well-formed XML: an element's name has no value; write <%s>%s</%s>", tag.s,
                     element.s, value.s, element.s);
}

/* At a < that begins a start or end tag. */
static int scan_tag(struct scan *s) {
    const char *p = s->p + 1, *name, *name_end;
    char quote = '\0';

    for (; p < s->end && (quote != '\0' || *p != '>'); p++) {
        if (p - s->p >= POLICY_TAG_MAX)
            return base_fail(s->error, "a tag of more than %d bytes; close it with > (is a quote missing?)",
                             POLICY_TAG_MAX);
        if (quote != '\0') quote = *p == quote ? '\0' : quote;
        else if (*p == '"' || *p == '\'') quote = *p;
    }
    name = name_end = s->p + 1;
    while (name_end < p && !scan_is_space(*name_end) && *name_end != '=' && *name_end != '/' && *name_end != '"')
        name_end++;
    if (name_end > name && p < s->end) {
        const char *next = scan_skip_space(name_end, p);

        if (next < p && *next == '=') return refuse_paper_form(s, name, (size_t)(name_end - name), next + 1, p);
    }
    go_to(s, p < s->end ? p + 1 : p);
    return 0;
}

/* The encoding that the XML declaration names, if there is one. */
static int check_encoding(struct scan *s) {
    const char *close, *p, *stop;

    if (starts(s, "\xef\xbb\xbf")) s->p += 3;
    if (!starts(s, "<?xml") || s->end - s->p < 6 || !scan_is_space(s->p[5])) return 0;
    close = memmem(s->p, (size_t)(s->end - s->p), "?>", 2);
    if (!close || (p = memmem(s->p, (size_t)(close - s->p), "encoding", 8)) == NULL) return 0;
    p = scan_skip_space(p + 8, close);
    if (p < close && *p == '=') p = scan_skip_space(p + 1, close);
    if (p >= close || (*p != '"' && *p != '\'') || (stop = memchr(p + 1, *p, (size_t)(close - p - 1))) == NULL)
        return 0;
    if ((stop - p == 6 && strncasecmp(p + 1, "UTF-8", 5) == 0) ||
        (stop - p == 9 && strncasecmp(p + 1, "US-ASCII", 8) == 0))
        return 0;
    return base_fail(s->error,
                     "encoding \"%s\" is not read here; save the file as UTF-8 and write encoding=\"UTF-8\" or nothing",
                     base_quote(p + 1, (size_t)(stop - p - 1)).s);
}

static int scan_all(struct scan *s) {
    const char *nul = memchr(s->p, '\0', (size_t)(s->end - s->p));

    if (nul) {
        go_to(s, nul);
        return base_fail(s->error, "a NUL byte; save the file as text in UTF-8 (not UTF-16)");
    }
    if (check_encoding(s) != 0) return -1;
    for (;;) {
        const char *open = memchr(s->p, '<', (size_t)(s->end - s->p));

        if (!open) return 0;
        go_to(s, open);
        if (starts(s, "<!--")) go_behind(s, "<!--", "-->");
        else if (starts(s, "<![CDATA[")) go_behind(s, "<![CDATA[", "]]>");
        else if (starts(s, "<?")) go_behind(s, "<?", "?>");
        else if (starts(s, "<!"))
            return base_fail(
                s->error,
                "\"%s...\" declares a document type or an entity, which are not read here; leave it out and "
                "begin with <classification>",
                base_quote(s->p, s->end - s->p < 9 ? (size_t)(s->end - s->p) : 9).s);
        else if (scan_tag(s) != 0) return -1;
    }
}

int policy_scan(const char *xml, size_t len, unsigned *line, char **error) {
    struct scan s = { xml, xml + len, 1, error };
    int result = scan_all(&s);

    *line = s.line;
    return result;
}
