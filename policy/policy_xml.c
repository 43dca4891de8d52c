/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_xml.c - the XML form of a policy.
 *
 * Three looks, each bounded, the cheap ones first: policy_scan() at the bytes; a SAX pass of libxml2 that builds the
 * policy, knows every rule of the format and words every error (no tree is built, and the first error stops it); the
 * RELAX NG schema over a tree, which by then is known to be small and flat.  A file is three levels deep, so nesting is
 * an error at its second step and needs no limit of its own.
 *
 * No DTD is read, entities other than the five of XML do not exist, nothing is included and no address is opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <libxml/xmlerror.h>

#include "policy_exempt.h"
#include "policy_impl.h"

#define RULE_NAMES                                                                                                     \
    "src_ip_addr, dst_ip_addr, src_port, dst_port, prot_type, src_dn, dst_dn, url, user_agent, cookie, ssl_id, "       \
    "visitor, crawler"

enum { AT_ROOT, IN_CLASSIFICATION, IN_CLASS, IN_RULE };

struct reader {
    policy_t *p;
    xmlParserCtxtPtr ctxt;
    char **error;
    int failed;
    unsigned line;           /* of the error, or of the last tag */
    unsigned depth;          /* AT_ROOT ... IN_RULE */
    enum policy_field field; /* of the open rule */
    enum policy_match match;
    bool exempt;                  /* IN_CLASS and IN_RULE are of <exempt> */
    enum policy_exempt_word word; /* of the open rule there */
    unsigned rule_line;
    size_t text_len;
    char text[POLICY_PATTERN_MAX];
};

#define refuse(r, ...) (base_fail((r)->error, __VA_ARGS__), xml_stop(r))

static void xml_stop(struct reader *r) {
    r->failed = 1;
    xmlStopParser(r->ctxt);
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

struct attribute {
    const char *name;
    const char *value;
    size_t n;
};

static struct attribute attribute_at(const xmlChar **list, int i) {
    const xmlChar **a = list + (size_t)i * 5;

    return (struct attribute){ (const char *)a[0], (const char *)a[3], (size_t)(a[4] - a[3]) };
}

static int value_is(struct attribute a, const char *word) {
    return a.n == strlen(word) && memcmp(a.value, word, a.n) == 0;
}

static int xml_read_number(struct reader *r, void *into, const struct policy_number *row, struct attribute a) {
    uint64_t x = 0;
    size_t i = 0;
    uint32_t value;

    for (; i < a.n && a.value[i] >= '0' && a.value[i] <= '9' && x <= row->most; i++)
        x = x * 10 + (uint64_t)(a.value[i] - '0');
    if (a.n == 0 || i < a.n || x < row->least || x > row->most) {
        refuse(r, "%s=\"%s\" is not right; write a whole number from %u to %u%s", row->name, base_quote(a.value, a.n).s,
               row->least, row->most, row->unit);
        return -1;
    }
    value = (uint32_t)x;
    memcpy((char *)into + row->offset, &value, sizeof value);
    return 0;
}

/* A value out of a list of words, which is also the error's cure. */
static int read_word(struct reader *r, struct attribute a, const char *one, const char *two) {
    if (value_is(a, one)) return 0;
    if (value_is(a, two)) return 1;
    refuse(r, "%s=\"%s\" is not right; write %s=\"%s\" or %s=\"%s\"", a.name, base_quote(a.value, a.n).s, a.name, one,
           a.name, two);
    return -1;
}

static int read_class_attribute(struct reader *r, struct policy_class *c, struct attribute a) {
    int word;

    for (const struct policy_number *row = policy_numbers; row < policy_numbers + POLICY_NUMBERS; row++)
        if (strcmp(a.name, row->name) == 0) {
            c->has_delay |= row->offset == offsetof(struct policy_class, delay_ms);
            return xml_read_number(r, c, row, a);
        }
    if (strcmp(a.name, "name") == 0) {
        if (a.n == 0 || a.n >= sizeof c->name) {
            refuse(r, "name=\"%s\" has %zu characters; use 1 to %zu letters, digits, - _ and . (or leave name out)",
                   base_quote(a.value, a.n).s, a.n, sizeof c->name - 1);
            return -1;
        }
        memcpy(c->name, a.value, a.n);
    } else if (strcmp(a.name, "order") == 0) {
        if ((word = read_word(r, a, "fifo", "shortest")) < 0) return -1;
        c->order = word ? POLICY_SHORTEST : POLICY_FIFO;
    } else if (strcmp(a.name, "within") == 0) {
        if (policy_within_read(a.value, a.n, &c->within, r->error) != 0) {
            xml_stop(r);
            return -1;
        }
    } else if (strcmp(a.name, "default") == 0) {
        if ((word = read_word(r, a, "no", "yes")) < 0) return -1;
        c->is_default = word;
    } else {
        refuse(
            r,
            "<class> has no attribute \"%s\"; it has id, name, quantum, queue, wait, delay, slots, order, within and "
            "default",
            base_quote(a.name, strlen(a.name)).s);
        return -1;
    }
    return 0;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

/* What is exempt stands first, so that nobody overlooks it, and once. */
static void start_exempt(struct reader *r, int n, const xmlChar **list) {
    static const struct policy_number limit = { "limit", 0, 1, POLICY_EXEMPT_LIMIT_MAX, "" };

    if (r->p->exempt || policy_class_count(r->p) > 0) {
        refuse(r, "<exempt> stands once, before the first class; put all of it there");
        return;
    }
    for (int i = 0; i < n; i++) {
        struct attribute a = attribute_at(list, i);

        if (strcmp(a.name, limit.name) != 0) {
            refuse(r, "<exempt> has no attribute \"%s\"; it has limit, how many may be at the server at one time",
                   base_quote(a.name, strlen(a.name)).s);
            return;
        }
        if (xml_read_number(r, &r->p->exempt_limit, &limit, a) != 0) return;
    }
    r->exempt = true;
    r->p->exempt = policy_exempt_new();
    if (!r->p->exempt) refuse(r, "out of memory; give the process more");
}

static void start_exempt_rule(struct reader *r, const char *name, int n) {
    int word = policy_exempt_by_name(name);

    r->rule_line = r->line;
    r->text_len = 0;
    if (word < 0)
        refuse(r, "<exempt> holds no <%s>; it holds <path>, <method> and <address>", base_quote(name, strlen(name)).s);
    else if (n > 0) refuse(r, "<%s> of <exempt> has no attributes; write what is exempt between the tags", name);
    else r->word = (enum policy_exempt_word)word;
}

static void start_class(struct reader *r, const char *name, int n, const xmlChar **list) {
    struct policy_class c = { .id = 0 };

    if (strcmp(name, "class") != 0) {
        struct base_quoted q = base_quote(name, strlen(name));

        if (strcmp(name, "class_id") == 0)
            refuse(r, "there is no element <class_id>; write <class id=\"1\" quantum=\"600\">");
        else if (policy_field_by_name(name) >= 0)
            refuse(r, "<%s> stands outside of a class; put it between <class ...> and </class>", q.s);
        else refuse(r, "<classification> holds no <%s>; it holds <class id=\"1\" quantum=\"600\"> ... </class>", q.s);
        return;
    }
    for (int i = 0; i < n; i++)
        if (read_class_attribute(r, &c, attribute_at(list, i)) != 0) return;
    if (c.id == 0)
        refuse(r, "<class> has no id; write a number of its own, as in id=\"%u\"", policy_class_count(r->p) + 1);
    else if (c.quantum == 0)
        refuse(r, "<class id=\"%u\"> has no quantum; write its part of the whole, as in quantum=\"100\"", c.id);
    else if (policy_add_class(r->p, &c, r->error) != 0) xml_stop(r);
}

/* Its pattern is made of its attributes. */
static void start_visitor(struct reader *r, int n, const xmlChar **list) {
    for (int i = 0; i < n; i++) {
        struct attribute a = attribute_at(list, i);
        struct policy_visitor v = { .known = true };

        if (policy_visitor_part((struct policy_text){ a.name, strlen(a.name) }, (struct policy_text){ a.value, a.n },
                                &v, r->error) != 0) {
            xml_stop(r);
            return;
        }
        r->text_len += (size_t)snprintf(r->text + r->text_len, sizeof r->text - r->text_len, "%s%s=%.*s",
                                        i > 0 ? "," : "", a.name, (int)a.n, a.value);
    }
    if (n == 0)
        refuse(r, "<visitor> asks for nothing; write <visitor class=\"member\"/>, <visitor age=\"10m\"/> or both in "
                  "one");
}

static void start_rule(struct reader *r, const char *name, int n, const xmlChar **list) {
    int field = policy_field_by_name(name), match = POLICY_DEFAULT_MATCH;

    if (field < 0) {
        const char *near = policy_nearest_field(name);
        struct base_quoted q = base_quote(name, strlen(name));

        if (strcmp(name, "class") == 0) refuse(r, "<class> inside a class; write </class> before it");
        else if (near) refuse(r, "there is no rule <%s>; write <%s> (the rules are " RULE_NAMES ")", q.s, near);
        else refuse(r, "there is no rule <%s>; the rules are " RULE_NAMES, q.s);
        return;
    }
    r->field = (enum policy_field)field;
    r->match = POLICY_DEFAULT_MATCH;
    r->rule_line = r->line;
    r->text_len = 0;
    if (field == POLICY_VISITOR) {
        start_visitor(r, n, list);
        return;
    }
    for (int i = 0; i < n; i++) {
        struct attribute a = attribute_at(list, i);
        char word[16] = "";

        if (strcmp(a.name, "match") != 0) {
            refuse(r, "<%s> has no attribute \"%s\"; %s", name, base_quote(a.name, strlen(a.name)).s,
                   policy_takes_match(field) ? "it has match only, and its pattern stands between the tags"
                                             : "it has none");
            return;
        }
        if (!policy_takes_match(field)) {
            refuse(r, "match is not allowed on <%s>; leave it out: %s", name, policy_no_match_reason(field));
            return;
        }
        if (a.n < sizeof word) memcpy(word, a.value, a.n);
        match = policy_match_by_name(word);
        if (match < 0) {
            refuse(r, "match=\"%s\" is not right; write substring, prefix, suffix, exact or regex",
                   base_quote(a.value, a.n).s);
            return;
        }
    }
    r->match = (enum policy_match)match;
}

static const char *xml_open_rule(const struct reader *r) {
    return r->exempt ? policy_exempt_name(r->word) : policy_field_rows[r->field].name;
}

static void on_start(void *data, const xmlChar *local, const xmlChar *prefix, const xmlChar *uri, int namespaces,
                     const xmlChar **spaces, int attributes, int defaulted, const xmlChar **list) {
    struct reader *r = data;
    const char *name = (const char *)local;
    int foreign = prefix || uri || namespaces > 0;

    (void)spaces;
    (void)defaulted;
    if (r->failed) return;
    r->line = (unsigned)xmlSAX2GetLineNumber(r->ctxt);
    for (int i = 0; i < attributes; i++) foreign |= list[(size_t)i * 5 + 1] != NULL;
    if (foreign)
        refuse(r,
               "<%s> uses an XML namespace, which a policy does not have; leave out xmlns and prefixes (nothing is "
               "included from elsewhere)",
               base_quote(name, strlen(name)).s);
    else if (r->depth == IN_RULE)
        refuse(r, "<%s> inside <%s>; a rule holds only its pattern, so close it before, and write &lt; for a <",
               base_quote(name, strlen(name)).s, xml_open_rule(r));
    else if (r->depth == IN_CLASS && r->exempt) start_exempt_rule(r, name, attributes);
    else if (r->depth == IN_CLASS) start_rule(r, name, attributes, list);
    else if (r->depth == IN_CLASSIFICATION && strcmp(name, "exempt") == 0) start_exempt(r, attributes, list);
    else if (r->depth == IN_CLASSIFICATION) start_class(r, name, attributes, list);
    else if (strcmp(name, "classification") != 0)
        refuse(r, "the first element is <%s>; write <classification>", base_quote(name, strlen(name)).s);
    else if (attributes > 0) refuse(r, "<classification> has no attributes; leave them out");
    r->depth++;
}

static int xml_is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static void on_end(void *data, const xmlChar *local, const xmlChar *prefix, const xmlChar *uri) {
    struct reader *r = data;

    (void)local;
    (void)prefix;
    (void)uri;
    if (r->failed) return;
    r->line = (unsigned)xmlSAX2GetLineNumber(r->ctxt);
    if (r->depth == IN_RULE) {
        while (r->text_len > 0 && xml_is_space(r->text[r->text_len - 1])) r->text_len--;
        if ((r->exempt ? policy_exempt_add(r->p->exempt, r->word, r->text, r->text_len, r->error)
                       : policy_add_rule_at(r->p, policy_class_count(r->p) - 1, r->field, r->match, r->text,
                                            r->text_len, r->rule_line, r->error)) != 0) {
            r->line = r->rule_line;
            xml_stop(r);
        }
    } else if (r->depth == IN_CLASS && r->exempt) {
        r->exempt = false;
        if (policy_exempt_count(r->p->exempt) == 0)
            refuse(r, "<exempt> names nothing; write <path>/healthz</path> in it, or leave it out");
    }
    r->depth--;
}

static void on_text(void *data, const xmlChar *text, int len) {
    struct reader *r = data;

    for (int i = 0; i < len && !r->failed; i++) {
        char c = (char)text[i];
        bool whole = r->depth == IN_RULE && !r->exempt && r->field == POLICY_VISITOR;

        if (xml_is_space(c) && (r->depth < IN_RULE || whole || r->text_len == 0)) continue;
        if (r->depth < IN_RULE || whole || r->text_len == sizeof r->text) {
            r->line = (unsigned)xmlSAX2GetLineNumber(r->ctxt);
            if (r->depth < IN_RULE)
                refuse(r, "text outside of a rule; write it as <url>PATTERN</url> or as <!-- comment -->");
            else if (whole)
                refuse(r, "<visitor> holds no text; its class and age are attributes, as in <visitor "
                          "class=\"member\"/>");
            else
                refuse(r, "the pattern of %s has more than %zu bytes; use at most that", xml_open_rule(r),
                       sizeof r->text);
            return;
        }
        r->text[r->text_len++] = c;
    }
}

static void on_doctype(void *data, const xmlChar *name, const xmlChar *external, const xmlChar *system) {
    struct reader *r = data;

    (void)name;
    (void)external;
    (void)system;
    if (!r->failed) refuse(r, "a document type is not read here; leave out <!DOCTYPE ...>");
}

/* ---- what the parser itself refuses ------------------------------------------------------------------------------ */

static const struct {
    int code;
    const char *cure;
} cures[] = {
    { XML_ERR_TAG_NAME_MISMATCH, "close each element with its own name, the innermost first" },
    { XML_ERR_TAG_NOT_FINISHED, "close each element with its own name, the innermost first" },
    { XML_ERR_GT_REQUIRED, "end the tag with >" },
    { XML_ERR_ATTRIBUTE_REDEFINED, "give each attribute once" },
    { XML_ERR_ATTRIBUTE_NOT_STARTED, "write attributes as name=\"value\"" },
    { XML_ERR_ATTRIBUTE_NOT_FINISHED, "end the value with the quote that it begins with" },
    { XML_ERR_ATTRIBUTE_WITHOUT_VALUE, "write attributes as name=\"value\"" },
    { XML_ERR_LT_IN_ATTRIBUTE, "write &lt; for a < in a value" },
    { XML_ERR_UNDECLARED_ENTITY, "only &amp; &lt; &gt; &quot; &apos; and numbers like &#65; exist here" },
    { XML_WAR_UNDECLARED_ENTITY, "only &amp; &lt; &gt; &quot; &apos; and numbers like &#65; exist here" },
    { XML_ERR_ENTITYREF_SEMICOL_MISSING, "write &amp; for a & that is meant as it is" },
    { XML_ERR_NAME_REQUIRED, "write &amp; for a & and &lt; for a < that are meant as they are" },
    { XML_ERR_INVALID_CHAR, "leave out control characters" },
    { XML_ERR_INVALID_CHARREF, "leave out control characters" },
    { XML_ERR_INVALID_ENCODING, "save the file as UTF-8" },
    { XML_ERR_DOCUMENT_EMPTY, "begin with <classification>" },
    { XML_ERR_DOCUMENT_END, "end with </classification>, and write nothing but comments behind it" },
    { XML_ERR_COMMENT_NOT_FINISHED, "end the comment with -->" },
    { XML_ERR_INTERNAL_ERROR, "take out long runs of blanks or text (the parser bears 10 MB of them)" },
    { XML_ERR_CDATA_NOT_FINISHED, "end the CDATA section with ]]>" },
    { XML_NS_ERR_UNDEFINED_NAMESPACE, "leave out prefixes: a policy has no namespaces" },
};

static void on_error(void *data, xmlErrorPtr e) {
    struct reader *r = data;
    const char *message = e->message ? e->message : "error", *cure = "correct it there";
    size_t n = strlen(message);

    if (r->failed || e->level < XML_ERR_ERROR || e->code == XML_ERR_USER_STOP) return;
    while (n > 0 && xml_is_space(message[n - 1])) n--;
    for (size_t i = 0; i < sizeof cures / sizeof *cures; i++)
        if (cures[i].code == e->code) cure = cures[i].cure;
    r->line = e->line > 0 ? (unsigned)e->line : 1;
    refuse(r, "this is not well-formed XML (%s); %s", base_quote(message, n).s, cure);
}

/* ---- the whole file ---------------------------------------------------------------------------------------------- */

static int xml_build(struct reader *r, const char *xml, size_t len) {
    r->ctxt = xmlNewParserCtxt();
    if (!r->ctxt) return base_fail(r->error, "out of memory; give the process more");
    memset(r->ctxt->sax, 0, sizeof *r->ctxt->sax);
    r->ctxt->sax->initialized = XML_SAX2_MAGIC;
    r->ctxt->sax->startElementNs = on_start;
    r->ctxt->sax->endElementNs = on_end;
    r->ctxt->sax->characters = on_text;
    r->ctxt->sax->ignorableWhitespace = on_text;
    r->ctxt->sax->cdataBlock = on_text;
    r->ctxt->sax->internalSubset = on_doctype;
    r->ctxt->sax->serror = on_error;
    r->ctxt->userData = r;
    /* Without XML_PARSE_HUGE and XML_PARSE_NOENT: libxml2 keeps its own limits. */
    (void)xmlCtxtReadMemory(r->ctxt, xml, (int)len, NULL, "UTF-8", XML_PARSE_NONET);
    if (!r->failed && !r->ctxt->wellFormed) {
        base_fail(r->error, "this is not well-formed XML; correct it there");
        r->failed = 1;
    }
    xmlFreeParserCtxt(r->ctxt);
    return r->failed ? -1 : 0;
}

policy_t *policy_parse(const char *xml, size_t len, const char *name, char **error) {
    struct reader *r = calloc(1, sizeof *r);
    policy_t *p = policy_new();
    unsigned line = 0;
    int failed = -1;

    if (error) *error = NULL;
    if (!r || !p) {
        base_fail(error, "out of memory; give the process more");
    } else if (len > POLICY_FILE_MAX) {
        base_fail(error, "more than %u bytes; split the rules or join some", POLICY_FILE_MAX);
    } else if (policy_scan(xml, len, &line, error) == 0) {
        r->p = p;
        r->error = error;
        r->line = 1;
        failed = xml_build(r, xml, len);
        line = r->line;
        if (!failed && policy_class_count(p) > 0) failed = policy_schema_check(xml, len, &line, error);
        if (!failed) failed = policy_freeze(p, error);
    }
    free(r);
    if (failed) {
        base_place(error, name, line);
        policy_free(&p);
    }
    return p;
}

/* The whole file, or NULL; never more than POLICY_FILE_MAX + 1 bytes, whatever the file is. */
static char *read_all(int fd, size_t *len) {
    size_t room = 1u << 16, n = 0;
    char *buf = malloc(room);

    while (buf) {
        ssize_t got = read(fd, buf + n, room - n);

        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            free(buf);
            return NULL;
        }
        n += (size_t)got;
        if (got == 0 || n > POLICY_FILE_MAX) break;
        if (n == room) {
            char *bigger = realloc(buf, room *= 2);

            if (!bigger) free(buf);
            buf = bigger;
        }
    }
    *len = n;
    return buf;
}

policy_t *policy_load(const char *path, char **error) {
    policy_t *p = NULL;
    char *xml = NULL;
    size_t len;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a FIFO would wait for its writer */

    if (error) *error = NULL;
    if (fd >= 0) xml = read_all(fd, &len);
    if (!xml) {
        base_fail(error, "cannot be read (%s); give the path of a policy file that this process may read",
                  strerror(errno));
        base_place(error, path, 0);
    } else {
        p = policy_parse(xml, len, path, error);
    }
    free(xml);
    if (fd >= 0) close(fd);
    return p;
}
