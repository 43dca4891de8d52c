/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_schema.c - the RELAX NG schema that is shipped, applied.
 *
 * The schema is the format's definition for editors and other tools; the reader in policy_xml.c knows more (ids,
 * addresses, expressions) and words its errors better, so it goes first.  What is left for the schema is to catch the
 * reader accepting what the definition does not: both are held together here, at every load.
 */
#include <string.h>

#include <libxml/parser.h>
#include <libxml/relaxng.h>

#include "policy_impl.h"

#define CLASS_PIECE 256

struct complaint {
    unsigned line;
    char text[160];
};

static void remember(void *data, xmlErrorPtr e) {
    struct complaint *c = data;

    if (c->text[0] == '\0') {
        strncpy(c->text, e->message && e->message[0] != '\0' ? e->message : "error", sizeof c->text - 1);
        c->text[strcspn(c->text, "\n")] = '\0';
        c->line = e->line > 0 ? (unsigned)e->line : 1;
    }
}

static xmlRelaxNGPtr built_in_schema(struct complaint *c) {
    xmlRelaxNGParserCtxtPtr parser = xmlRelaxNGNewMemParserCtxt(policy_schema_text, (int)strlen(policy_schema_text));
    xmlRelaxNGPtr schema = NULL;

    if (parser) {
        xmlRelaxNGSetParserStructuredErrors(parser, remember, c);
        schema = xmlRelaxNGParse(parser);
        xmlRelaxNGFreeParserCtxt(parser);
    }
    return schema;
}

/*
 * A tree without comments and instructions, of which there may be millions: what is left is as many nodes as the reader
 * has allowed.
 */
static xmlDocPtr small_tree(const char *xml, size_t len) {
    xmlParserCtxtPtr parser = xmlNewParserCtxt();
    xmlDocPtr doc = NULL;

    if (parser) {
        parser->sax->comment = NULL;
        parser->sax->processingInstruction = NULL;
        doc = xmlCtxtReadMemory(parser, xml, (int)len, NULL, "UTF-8",
                                XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_BIG_LINES);
        xmlFreeParserCtxt(parser);
    }
    return doc;
}

static bool is_class(const xmlNode *n) {
    return n->type == XML_ELEMENT_NODE && strcmp((const char *)n->name, "class") == 0;
}

/*
 * libxml2 compares the states of a repetition with each other, so a class of n rules costs it n squared: 6 seconds for
 * 100,000.  The schema says `class = attributes, rule*`; so a class may be cut into several with the same attributes,
 * and the whole is valid if and only if it was.
 */
static int cut_long_classes(xmlDocPtr doc) {
    xmlNodePtr root = xmlDocGetRootElement(doc), class = root ? root->children : NULL, piece, last;

    while (class) {
        int n = 1;

        for (last = class->children; last && n < CLASS_PIECE; last = last->next) n++;
        if (!is_class(class) || !last || !last->next) {
            class = class->next;
            continue;
        }
        /*
         * The children up to `last` move to a class of their own before this one.  2: a copy of the attributes, not of
         * the children.
         */
        piece = xmlDocCopyNode(class, doc, 2);
        if (!piece) return -1;
        piece->line = class->line;
        piece->children = class->children;
        piece->last = last;
        class->children = last->next;
        class->children->prev = NULL;
        last->next = NULL;
        for (xmlNodePtr child = piece->children; child; child = child->next) child->parent = piece;
        xmlAddPrevSibling(class, piece);
    }
    return 0;
}

int policy_schema_check(const char *xml, size_t len, unsigned *line, char **error) {
    struct complaint c = { 0, "" };
    xmlDocPtr doc = small_tree(xml, len);
    xmlRelaxNGPtr schema = built_in_schema(&c);
    xmlRelaxNGValidCtxtPtr valid = doc && schema && cut_long_classes(doc) == 0 ? xmlRelaxNGNewValidCtxt(schema) : NULL;
    int result = -1;

    if (valid) {
        xmlRelaxNGSetValidStructuredErrors(valid, remember, &c);
        result = xmlRelaxNGValidateDoc(valid, doc);
        xmlRelaxNGFreeValidCtxt(valid);
    }
    xmlRelaxNGFree(schema);
    xmlFreeDoc(doc);
    if (result == 0) return 0;
    if (result > 0) *line = c.line;
    return base_fail(error, "does not follow the schema (%s); compare with fairgate-policy.rng",
                     c.text[0] != '\0' ? base_quote(c.text, strlen(c.text)).s : "it could not be applied");
}
