/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_schema.c - the RELAX NG schema that is shipped, applied.
 *
 * The schema is the format's definition for editors and other tools; the reader in policy_xml.c knows more (ids, addresses, expressions) and words
 * its errors better, so it goes first.  What is left for the schema is to catch the reader accepting what the definition does not: both are
 * held together here, at every load.
 */
#include <string.h>

#include <libxml/parser.h>
#include <libxml/relaxng.h>

#include "policy_impl.h"

struct complaint {
    unsigned line;
    char     text[160];
};

static void remember(void *data, xmlErrorPtr e)
{
    struct complaint *c = data;

    if (c->text[0] == '\0') {
        strncpy(c->text, e->message != NULL && e->message[0] != '\0' ? e->message : "error", sizeof c->text - 1);
        c->text[strcspn(c->text, "\n")] = '\0';
        c->line = e->line > 0 ? (unsigned)e->line : 1;
    }
}

static xmlRelaxNGPtr built_in_schema(struct complaint *c)
{
    xmlRelaxNGParserCtxtPtr parser = xmlRelaxNGNewMemParserCtxt(policy_schema_text, (int)strlen(policy_schema_text));
    xmlRelaxNGPtr schema = NULL;

    if (parser != NULL) {
        xmlRelaxNGSetParserStructuredErrors(parser, remember, c);
        schema = xmlRelaxNGParse(parser);
        xmlRelaxNGFreeParserCtxt(parser);
    }
    return schema;
}

int policy_schema_check(const char *xml, size_t len, unsigned *line, char **error)
{
    struct complaint c = { 0, "" };
    xmlDocPtr doc = xmlReadMemory(xml, (int)len, NULL, "UTF-8", XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_COMPACT);
    xmlRelaxNGPtr schema = built_in_schema(&c);
    xmlRelaxNGValidCtxtPtr valid = doc != NULL && schema != NULL ? xmlRelaxNGNewValidCtxt(schema) : NULL;
    int result = -1;

    if (valid != NULL) {
        xmlRelaxNGSetValidStructuredErrors(valid, remember, &c);
        result = xmlRelaxNGValidateDoc(valid, doc);
        xmlRelaxNGFreeValidCtxt(valid);
    }
    xmlRelaxNGFree(schema);
    xmlFreeDoc(doc);
    if (result == 0)
        return 0;
    if (result > 0)
        *line = c.line;
    return policy_fail(error, "does not follow the schema (%s); compare with fairgate-policy.rng",
                       c.text[0] != '\0' ? policy_quote(c.text, strlen(c.text)).s : "it could not be applied");
}
