/* SPDX-License-Identifier: BSD-2-Clause */
#include "call_settings.h"

#include <string.h>

#include "base/base_error.h"
#include "get_settings.h"

static const struct base_setting call_rows[] = {
#define SETTING(...) BASE_ROW(struct call_settings, __VA_ARGS__),
#include "call_settings.def"
#undef SETTING
};

const struct base_settings call_settings_table = { "--", call_rows, sizeof call_rows / sizeof *call_rows, "o" };

int call_settings_check(const struct call_settings *s, char **error) {
    if (s->http && s->forwarder) return base_fail(error, "--http and --forwarder: must be one of them");
    if (s->cacert && !s->http) return base_fail(error, "--cacert: is for --http https://...");
    if (s->http && s->verify)
        return base_fail(error, "--verify: is for a named-data network; over HTTP the URL begins with https:");
    if ((s->list || s->show_name) && strcmp(s->output, "-"))
        return base_fail(error, "--output: is for a result; --list and --show-name print to standard output");
    for (unsigned i = 0; i < s->header.n; i++)
        if (!get_settings_is_field(s->header.item[i]))
            return base_fail(error, "--header %s: must be a field of HTTP, as in 'Accept-Language: de'",
                             base_quote(s->header.item[i], strlen(s->header.item[i])).s);
    return 0;
}
