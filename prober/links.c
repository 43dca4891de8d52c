/* SPDX-License-Identifier: BSD-2-Clause */
#include "links.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <libxml/HTMLparser.h>
#include <libxml/parser.h>

#define LOC_MAX        2048u
#define ATTRIBUTES_MAX 512u   /* of a tag; libxml2 2.9 compares each with all before it */
#define SILENT_MAX     65536u /* bytes of a sitemap in which nothing happens */
#define EVENTS         256u   /* elements, pieces of text, bytes of CSS between two looks at the clock */

struct text {
    char *p;
    size_t n, room;
};

struct links {
    enum links_type type;
    links_found *found;
    links_over *over;
    void *context;
    const char *wrong;
    xmlParserCtxtPtr xml; /* HTML and sitemaps */
    unsigned depth;
    unsigned count;  /* links given */
    size_t silent;   /* bytes of a sitemap since anything happened */
    unsigned events; /* since `over` was asked */
    int nofollow, in_style, in_loc, ended;
    struct text text; /* the document, or a <style> or <loc> of it */
};

static int add_text(struct text *t, const char *p, size_t n, size_t most) {
    if (n > most - t->n) return 0;
    if (t->n + n > t->room) {
        size_t room = t->room ? t->room : 1024;
        char *grown;
        while (room < t->n + n) room *= 2;
        grown = realloc(t->p, room);
        if (!grown) return 0;
        t->p = grown;
        t->room = room;
    }
    memcpy(t->p + t->n, p, n);
    t->n += n;
    return 1;
}

/*
 * Every so many events: what happens between two takes next to no time.  A link may take long, so that there it is
 * asked each time.
 */
static int links_is_over(struct links *l, unsigned every) {
    if (l->ended || !l->over || ++l->events < every) return l->ended;
    l->events = 0;
    l->ended = l->over(l->context);
    if (l->ended && l->xml) xmlStopParser(l->xml);
    return l->ended;
}

static void give(struct links *l, const char *ref, size_t n, enum links_kind kind) {
    if (links_is_over(l, 1)) return;
    if (n > 5 && !strncasecmp(ref, "data:", 5)) return;
    if (n && l->count++ >= LINKS_MAX) l->wrong = "more than 50,000 links: the rest was not followed";
    else if (n && n <= LINKS_REF_MAX) l->found(l->context, ref, n, kind);
    else if (n) l->wrong = "a link longer than 8192 bytes was left out";
}

static void links_stop(struct links *l, const char *why) {
    l->wrong = why;
    if (l->xml) xmlStopParser(l->xml);
}

/* ---- CSS --------------------------------------------------------------------------------------------------------- */

static int links_is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

static size_t links_skip_space(const char *p, size_t at, size_t n) {
    while (at < n && links_is_space(p[at])) at++;
    return at;
}

/* One escape of CSS (CSS Syntax 3, 4.3.7) at p[at] == '\\'; code points beyond ASCII become UTF-8. */
static size_t unescape(const char *p, size_t at, size_t n, char *out, size_t *used) {
    unsigned code = 0;
    int digits = 0;

    for (at++; at < n && digits < 6 && isxdigit((unsigned char)p[at]); at++, digits++)
        code = code * 16 + (unsigned)(isdigit((unsigned char)p[at]) ? p[at] - '0' : (p[at] | 0x20) - 'a' + 10);
    if (!digits) {
        if (at < n && p[at] != '\n') out[(*used)++] = p[at];
        return at < n ? at + 1 : n;
    }
    if (at < n && links_is_space(p[at])) at++;
    if (code < 0x80) {
        out[(*used)++] = (char)code;
    } else if (code < 0x800) {
        out[(*used)++] = (char)(0xc0 | code >> 6);
        out[(*used)++] = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        out[(*used)++] = (char)(0xe0 | code >> 12);
        out[(*used)++] = (char)(0x80 | (code >> 6 & 0x3f));
        out[(*used)++] = (char)(0x80 | (code & 0x3f));
    }
    return at;
}

/* A string, or what stands in url(...) without quotes, that begins at p[at]; gives it and returns where it ends. */
static size_t css_value(struct links *l, const char *p, size_t at, size_t n, char end, enum links_kind kind) {
    char out[LINKS_REF_MAX + 8];
    size_t used = 0;

    while (at < n && p[at] != end && (end == ')' ? !links_is_space(p[at]) : p[at] != '\n')) {
        size_t kept = used;
        if (p[at] == '\\') at = unescape(p, at, n, out, &used);
        else out[used++] = p[at++];
        if (used > LINKS_REF_MAX + 1) used = kept; /* too long: only its end matters now */
    }
    /* What does not end as it should is no URL. */
    if (end == ')') at = links_skip_space(p, at, n);
    if (at < n && p[at] == end) give(l, out, used, kind);
    return at;
}

static int is_name(char c) { return isalnum((unsigned char)c) || c == '-' || c == '_' || (unsigned char)c >= 0x80; }

static size_t css_string_end(const char *p, size_t at, size_t n) {
    char quote = p[at++];
    while (at < n && p[at] != quote && p[at] != '\n') at += p[at] == '\\' ? 2 : 1;
    return at < n ? at + 1 : n;
}

static void css(struct links *l, const char *p, size_t n) {
    enum links_kind kind = LINKS_OBJECT; /* of an @import: a style sheet */

    for (size_t at = 0; at < n && !links_is_over(l, EVENTS);) {
        if (p[at] == '/' && at + 1 < n && p[at + 1] == '*') {
            const char *end = memmem(p + at + 2, n - at - 2, "*/", 2);
            at = end ? (size_t)(end - p) + 2 : n;
        } else if (n - at > 4 && !strncasecmp(p + at, "url(", 4) && (!at || !is_name(p[at - 1]))) {
            at = links_skip_space(p, at + 4, n);
            if (at < n && (p[at] == '"' || p[at] == '\'')) at = css_value(l, p, at + 1, n, p[at], kind);
            else at = css_value(l, p, at, n, ')', kind);
            kind = LINKS_OBJECT;
            at += at < n;
        } else if (n - at > 7 && !strncasecmp(p + at, "@import", 7) && !is_name(p[at + 7])) {
            at = links_skip_space(p, at + 7, n);
            if (at < n && (p[at] == '"' || p[at] == '\'')) {
                at = css_value(l, p, at + 1, n, p[at], LINKS_DOCUMENT);
                at += at < n;
            } else {
                kind = LINKS_DOCUMENT;
            }
        } else if (p[at] == '"' || p[at] == '\'') {
            at = css_string_end(p, at, n);
        } else {
            if (p[at] == ';') kind = LINKS_OBJECT;
            at++;
        }
    }
}

/* ---- HTML -------------------------------------------------------------------------------------------------------- */

/* Which attribute of which element is a link to what (HTML, "attributes index", and what was once in use). */
static const struct link {
    const char *element, *attribute;
    enum links_kind kind;
} link_table[] = {
    { "a", "href", LINKS_DOCUMENT },         { "area", "href", LINKS_DOCUMENT },
    { "iframe", "src", LINKS_DOCUMENT },     { "frame", "src", LINKS_DOCUMENT },
    { "img", "src", LINKS_OBJECT },          { "img", "longdesc", LINKS_DOCUMENT },
    { "script", "src", LINKS_OBJECT },       { "source", "src", LINKS_OBJECT },
    { "video", "src", LINKS_OBJECT },        { "video", "poster", LINKS_OBJECT },
    { "audio", "src", LINKS_OBJECT },        { "track", "src", LINKS_OBJECT },
    { "embed", "src", LINKS_OBJECT },        { "object", "data", LINKS_OBJECT },
    { "input", "src", LINKS_OBJECT },        { "body", "background", LINKS_OBJECT },
    { "table", "background", LINKS_OBJECT }, { "td", "background", LINKS_OBJECT },
    { "th", "background", LINKS_OBJECT },    { "image", "href", LINKS_OBJECT },
    { "image", "xlink:href", LINKS_OBJECT }, { "use", "href", LINKS_OBJECT },
    { "use", "xlink:href", LINKS_OBJECT },   { "blockquote", "cite", LINKS_DOCUMENT },
    { "q", "cite", LINKS_DOCUMENT },         { "ins", "cite", LINKS_DOCUMENT },
    { "del", "cite", LINKS_DOCUMENT },
};

static const char *links_attribute(const xmlChar **attributes, const char *name) {
    for (; attributes && attributes[0]; attributes += 2)
        if (!strcasecmp((const char *)attributes[0], name)) return (const char *)attributes[1];
    return NULL;
}

/* Is `word` one of the words of `list`? */
static int has_word(const char *list, const char *word) {
    size_t n = strlen(word);

    while (list && *list) {
        size_t length;
        list += strspn(list, " \t\r\n\f,");
        length = strcspn(list, " \t\r\n\f,");
        if (length == n && !strncasecmp(list, word, n)) return 1;
        list += length;
    }
    return 0;
}

/*
 * Candidates of a srcset (HTML, "parse a srcset attribute"): URL, then perhaps descriptors, up to a comma outside of
 * parentheses.
 */
static void srcset(struct links *l, const char *p) {
    while (p && *p && !links_is_over(l, EVENTS)) {
        size_t n;
        int inside = 0;

        p += strspn(p, " \t\r\n\f,");
        n = strcspn(p, " \t\r\n\f");
        if (n && p[n - 1] == ',') {
            size_t commas = n;
            while (commas && p[commas - 1] == ',') commas--;
            give(l, p, commas, LINKS_OBJECT);
            p += n;
            continue;
        }
        give(l, p, n, LINKS_OBJECT);
        for (p += n; *p && (inside || *p != ','); p++) inside = *p == '(' ? 1 : *p == ')' ? 0 : inside;
    }
}

/* "5; url=next.html", in its many spellings. */
static void refresh(struct links *l, const char *content) {
    const char *p = content + strspn(content, " \t\r\n\f");
    size_t n;

    p += strspn(p, "0123456789.");
    p += strspn(p, " \t\r\n\f;,");
    if (!strncasecmp(p, "url", 3)) {
        const char *equals = p + 3 + strspn(p + 3, " \t\r\n\f");
        if (*equals == '=') p = equals + 1 + strspn(equals + 1, " \t\r\n\f");
    }
    n = strlen(p);
    if (*p == '"' || *p == '\'') {
        const char *end = strchr(p + 1, *p);
        p++;
        n = end ? (size_t)(end - p) : strlen(p);
    }
    give(l, p, n, LINKS_DOCUMENT);
}

static void link_element(struct links *l, const xmlChar **attributes) {
    const char *rel = links_attribute(attributes, "rel"), *href = links_attribute(attributes, "href");

    if (!href || !rel || has_word(rel, "preconnect") || has_word(rel, "dns-prefetch")) return;
    if (has_word(rel, "stylesheet") ||
        (links_attribute(attributes, "as") && !strcasecmp(links_attribute(attributes, "as"), "style")))
        give(l, href, strlen(href), LINKS_DOCUMENT);
    else if (has_word(rel, "icon") || has_word(rel, "apple-touch-icon") || has_word(rel, "preload") ||
             has_word(rel, "modulepreload") || has_word(rel, "manifest") || has_word(rel, "mask-icon"))
        give(l, href, strlen(href), LINKS_OBJECT);
    else give(l, href, strlen(href), LINKS_DOCUMENT);
    srcset(l, links_attribute(attributes, "imagesrcset"));
}

static void meta_element(struct links *l, const xmlChar **attributes) {
    const char *content = links_attribute(attributes, "content"), *name = links_attribute(attributes, "name"),
               *equiv = links_attribute(attributes, "http-equiv");

    if (!content) return;
    if (equiv && !strcasecmp(equiv, "refresh")) refresh(l, content);
    if (name && !strcasecmp(name, "robots") && (has_word(content, "nofollow") || has_word(content, "none")))
        l->nofollow = 1;
}

static void start_element(void *context, const xmlChar *xml_name, const xmlChar **attributes) {
    struct links *l = context;
    const char *name = (const char *)xml_name, *value;

    if (links_is_over(l, EVENTS)) return;
    if (++l->depth > LINKS_DEPTH_MAX) {
        links_stop(l, "elements nest deeper than 512: read no further");
        return;
    }
    if (!strcmp(name, "style")) {
        l->in_style = 1;
        l->text.n = 0;
    }
    if (!attributes) return;
    if (!strcmp(name, "base") && (value = links_attribute(attributes, "href")) != NULL) {
        if (*value && strlen(value) <= LINKS_REF_MAX) l->found(l->context, value, strlen(value), LINKS_BASE);
    } else if (!strcmp(name, "link")) {
        link_element(l, attributes);
    } else if (!strcmp(name, "meta")) {
        meta_element(l, attributes);
    } else {
        for (size_t i = 0; i < sizeof link_table / sizeof *link_table; i++)
            if (!strcmp(name, link_table[i].element) &&
                (value = links_attribute(attributes, link_table[i].attribute)) != NULL)
                give(l, value, strlen(value), link_table[i].kind);
        if (!strcmp(name, "img") || !strcmp(name, "source")) srcset(l, links_attribute(attributes, "srcset"));
    }
    value = links_attribute(attributes, "style");
    if (value) css(l, value, strlen(value));
}

static void end_element(void *context, const xmlChar *name) {
    struct links *l = context;

    if (l->depth) l->depth--;
    if (l->in_style && !strcmp((const char *)name, "style")) {
        l->in_style = 0;
        css(l, l->text.p, l->text.n);
    }
}

static void text_of_style(void *context, const xmlChar *text, int n) {
    struct links *l = context;

    if (links_is_over(l, EVENTS)) return;
    if (l->in_style && !add_text(&l->text, (const char *)text, (size_t)n, LINKS_TEXT_MAX)) l->in_style = 0;
}

/* ---- sitemaps (sitemaps.org, protocol 0.9) ----------------------------------------------------------------------- */

static const char *local(const xmlChar *name) {
    const char *colon = strrchr((const char *)name, ':');
    return colon ? colon + 1 : (const char *)name;
}

static void start_of_map(void *context, const xmlChar *name, const xmlChar **attributes) {
    struct links *l = context;

    l->silent = 0;
    (void)attributes;
    if (links_is_over(l, EVENTS)) return;
    if (++l->depth > LINKS_DEPTH_MAX) {
        links_stop(l, "elements nest deeper than 512: read no further");
        return;
    }
    if (!strcmp(local(name), "loc")) {
        l->in_loc = 1;
        l->text.n = 0;
    }
}

static void end_of_map(void *context, const xmlChar *name) {
    struct links *l = context;

    l->silent = 0;
    if (l->depth) l->depth--;
    if (!l->in_loc || strcmp(local(name), "loc")) return;
    l->in_loc = 0;
    give(l, l->text.p, l->text.n, LINKS_DOCUMENT);
}

static void text_of_loc(void *context, const xmlChar *text, int n) {
    struct links *l = context;

    l->silent = 0;
    if (l->in_loc && !add_text(&l->text, (const char *)text, (size_t)n, LOC_MAX)) {
        l->in_loc = 0;
        l->wrong = "a <loc> longer than 2048 bytes was left out";
    }
}

/* No sitemap has a document type; who sends one wants entities expanded. */
static void refuse_doctype(void *context, const xmlChar *name, const xmlChar *external, const xmlChar *system) {
    (void)name;
    (void)external;
    (void)system;
    links_stop(context, "a sitemap with a document type: not read");
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static void quiet(void *context, const char *format, ...) {
    (void)context;
    (void)format;
}

/*
 * Sitemaps are parsed as they come, the rest when it is whole: pieces that end inside a </script> derail the HTML
 * parser (libxml2 2.9).
 */
static void make_map_parser(struct links *l) {
    xmlSAXHandler sax = { .initialized = 1, .error = quiet, .warning = quiet, .fatalError = quiet };

    sax.internalSubset = refuse_doctype;
    sax.startElement = start_of_map;
    sax.endElement = end_of_map;
    sax.characters = text_of_loc;
    sax.cdataBlock = text_of_loc;
    l->xml = xmlCreatePushParserCtxt(&sax, l, NULL, 0, NULL);
    if (l->xml) xmlCtxtUseOptions(l->xml, XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
}

static void free_parser(struct links *l) {
    if (!l->xml) return;
    if (l->xml->myDoc) xmlFreeDoc(l->xml->myDoc);
    l->xml->myDoc = NULL;
    xmlFreeParserCtxt(l->xml);
    l->xml = NULL;
}

/* Takes what is behind the first ATTRIBUTES_MAX words of a tag out of it.  A tag ends where the next begins, too. */
static void thin_tags(char *p, size_t n) {
    for (size_t at = 0; at + 1 < n; at++) {
        unsigned words = 0;
        char quote = 0;

        if (p[at] != '<' || !isalpha((unsigned char)p[at + 1])) continue;
        for (at++; at < n && (quote || (p[at] != '>' && p[at] != '<')); at++) {
            if (quote && p[at] == quote) quote = 0;
            else if (!quote && (p[at] == '"' || p[at] == '\'') && p[at - 1] == '=') quote = p[at];
            else if (!quote && !links_is_space(p[at]) && p[at] != '/' &&
                     (links_is_space(p[at - 1]) || p[at - 1] == '/' || p[at - 1] == '"' || p[at - 1] == '\''))
                words++;
            if (words > ATTRIBUTES_MAX) p[at] = ' ';
        }
        at--;
    }
}

static void html(struct links *l) {
    xmlSAXHandler sax = { .initialized = 1, .error = quiet, .warning = quiet, .fatalError = quiet };
    struct text page = l->text;

    l->text = (struct text){ NULL, 0, 0 }; /* from here on that of a <style> */
    thin_tags(page.p, page.n);
    l->xml = htmlNewParserCtxt();
    if (l->xml) {
        sax.startElement = start_element;
        sax.endElement = end_element;
        sax.cdataBlock = text_of_style;
        sax.characters = text_of_style;
        *l->xml->sax = sax;
        l->xml->userData = l;
        htmlCtxtReadMemory(l->xml, page.p, (int)page.n, NULL, NULL,
                           HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_NONET);
    }
    free(page.p);
}

struct links *links_new(enum links_type type, links_found *found, links_over *over, void *context) {
    struct links *l = calloc(1, sizeof *l);

    if (!l) return NULL;
    l->type = type;
    l->found = found;
    l->over = over;
    l->context = context;
    if (type != LINKS_SITEMAP) return l;
    make_map_parser(l);
    if (!l->xml) links_free(&l);
    return l;
}

static void feed_map(struct links *l, const char *data, size_t n) {
    while (n && !l->xml->disableSAX) {
        int piece = n < 16384 ? (int)n : 16384;

        l->silent += (size_t)piece;
        if (l->silent > SILENT_MAX) {
            links_stop(l, "a sitemap with 64 KiB in which nothing happens: read no further");
            return;
        }
        if (xmlParseChunk(l->xml, data, piece, 0) && !l->wrong)
            l->wrong = "a sitemap that is not well-formed: read up to there";
        data += piece;
        n -= (size_t)piece;
    }
}

void links_feed(struct links *l, const char *data, size_t n) {
    size_t room = LINKS_TEXT_MAX - l->text.n;

    if (l->type == LINKS_SITEMAP) {
        feed_map(l, data, n);
        return;
    }
    if (n > room) l->wrong = "a document of more than 4 MiB: its rest was not read";
    if (!add_text(&l->text, data, n < room ? n : room, LINKS_TEXT_MAX)) l->wrong = "out of memory";
}

void links_end(struct links *l) {
    if (l->type == LINKS_CSS) {
        if (l->text.n) css(l, l->text.p, l->text.n);
    } else if (l->type == LINKS_HTML) {
        if (l->text.n) html(l);
    } else if (!l->xml->disableSAX && xmlParseChunk(l->xml, "", 0, 1) && !l->wrong) {
        l->wrong = "a sitemap that is not well-formed: read up to there";
    }
}

bool links_ended(const struct links *l) { return l->ended; }
const char *links_wrong(const struct links *l) { return l->wrong; }
bool links_nofollow(const struct links *l) { return l->nofollow; }

void links_free(struct links **l) {
    if (!*l) return;
    free_parser(*l);
    free((*l)->text.p);
    free(*l);
    *l = NULL;
}
