/* SPDX-License-Identifier: BSD-2-Clause */
#include "get_name.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base_error.h"

/* What must not stand in a name as it is, and may in a query: the others are wrong in both. */
static char *name_put_query(char *to, const char *query) {
    static const char hex[] = "0123456789ABCDEF";

    for (; *query; query++) {
        if (strchr("?/%=", *query)) {
            *to++ = '%';
            *to++ = hex[*query >> 4];
            *to++ = hex[*query & 15];
        } else {
            *to++ = *query;
        }
    }
    return to;
}

/* As ndn_name_parse takes it; to be freed.  NULL: out of memory. */
static char *name_plain(const char *text) {
    size_t path = strcspn(text, "?");
    char *plain = malloc(path + 3 * strlen(text + path) + sizeof "..."), *end = plain;
    const char *root = strchr(text, '/');

    if (!plain) return NULL;
    memcpy(plain, text, path);
    end += path;
    if (text[path]) end = name_put_query(end, text + path);
    else if (root && root + 1 < text + path && end[-1] == '/') end = stpcpy(end, "...");
    *end = 0;
    return plain;
}

int get_name_read(const char *text, uint8_t out[NDN_PACKET_MAX], struct ndn_name *name, char **error) {
    struct base_quoted quoted = base_quote(text, strlen(text));
    struct ndn_out o = ndn_out_into(out, NDN_PACKET_MAX);
    struct ndn_element c;
    char *plain;
    int rv;

    if (!strncasecmp(text, "http://", 7) || !strncasecmp(text, "https://", 8))
        return base_fail(
            error, "%s: is a URL; a name is ndn:/PREFIX/index.html, where the server's CcnMap says what PREFIX is",
            quoted.s);
    if (!(plain = name_plain(text))) return base_fail(error, "out of memory");
    rv = ndn_name_parse(plain, &o, name, error);
    free(plain);
    if (rv) return -1;
    if (!name->n) return base_fail(error, "%s: must be a name, as ndn:/example/site/index.html", quoted.s);
    for (unsigned i = 0; ndn_name_at(name, i, &c); i++)
        if (c.type == NDN_PARAMETERS_COMPONENT)
            return base_fail(error, "%s: has a digest of parameters that are not here; leave it out, and say --header",
                             quoted.s);
    return 0;
}
