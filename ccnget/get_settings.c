/* SPDX-License-Identifier: BSD-2-Clause */
#include "get_settings.h"

#include <stdio.h>
#include <string.h>

#include "base/base_error.h"
#include "base/base_number.h"

static const struct base_setting get_rows[] = {
#define SETTING(...) BASE_ROW(struct get_settings, __VA_ARGS__),
#include "get_settings.def"
#undef SETTING
};

const struct base_settings get_settings_table = { "--", get_rows, sizeof get_rows / sizeof *get_rows, "o" };

int get_settings_fetch(const struct get_settings *s, struct ndn_fetch_settings *fetch, char **error) {
    static const struct {
        const char *word;
        enum ndn_window_kind kind;
    } kinds[] = { { "hint", NDN_WINDOW_HINT }, { "cubic", NDN_WINDOW_CUBIC }, { "aimd", NDN_WINDOW_AIMD } };
    uint64_t window = s->window_max;

    fetch->kind = NDN_WINDOW_FIXED;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(s->window, kinds[i].word)) fetch->kind = kinds[i].kind;
    if (fetch->kind == NDN_WINDOW_FIXED &&
        base_number("--window", s->window, "segments", 1, NDN_WINDOW_MAX, &window, error)) {
        struct base_quoted given = base_quote(s->window, strlen(s->window));
        return base_fail(error, "--window %s: must be hint, cubic, aimd or a number of segments from 1 to %u", given.s,
                         NDN_WINDOW_MAX);
    }
    fetch->window = (uint32_t)(window < s->window_max ? window : s->window_max);
    fetch->tries = (uint32_t)s->tries;
    fetch->first_wait = s->lifetime * 1000;
    return 0;
}

bool get_settings_is_field(const char *line) {
    size_t name = strspn(line, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

    if (!name || line[name] != ':') return false;
    for (const char *c = line + name + 1; *c; c++)
        if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f) return false;
    return true;
}

#define NONCE_LINE "Ccn-Nonce: "
#define KEY_LINE   "Ccn-Key: "
enum { NONCE_BYTES = 16, OWN_LINES = sizeof NONCE_LINE + 2 * NONCE_BYTES + sizeof KEY_LINE + 2 * NDN_SEAL_KEY };

static void put_line(char *out, size_t *n, const char *name, const uint8_t *bytes, size_t count) {
    *n += (size_t)sprintf(out + *n, "%s", name);
    for (size_t i = 0; i < count; i++, *n += 2) snprintf(out + *n, 3, "%02x", bytes[i]);
    out[(*n)++] = '\n';
}

int get_settings_parameters(const struct get_settings *s, const uint8_t random[16], const uint8_t key[NDN_SEAL_KEY],
                            char out[GET_PARAMETERS_MAX], size_t *n, char **error) {
    *n = 0;
    if (!s->header.n && !s->key) return 0;
    for (unsigned i = 0; i < s->header.n; i++) {
        const char *line = s->header.item[i];

        if (!get_settings_is_field(line))
            return base_fail(error, "--header %s: must be a field of HTTP, as in 'Accept-Language: de'",
                             base_quote(line, strlen(line)).s);
        if (!strncasecmp(line, "ccn-nonce:", strlen("ccn-nonce:")) ||
            !strncasecmp(line, "ccn-key:", strlen("ccn-key:")))
            return base_fail(error, "--header: Ccn-Nonce and Ccn-Key are set by this program; leave them out");
        /* A line's end, and the lines of our own, come behind it. */
        if (*n + strlen(line) + 1 + OWN_LINES > GET_PARAMETERS_MAX)
            return base_fail(error, "--header: more than %d bytes in all; servers take no more", GET_PARAMETERS_MAX);
        *n += (size_t)sprintf(out + *n, "%s\n", line);
    }
    put_line(out, n, NONCE_LINE, random, NONCE_BYTES);
    put_line(out, n, KEY_LINE, key, NDN_SEAL_KEY);
    return 0;
}
