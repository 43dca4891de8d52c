/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_config.h"

#include "pk_store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>

enum kind { A_NUMBER, A_TEXT, A_CHOICE, A_LIST };

static const struct setting {
    enum kind   kind;
    const char *word;
    size_t      at;
    const char *what, *sentence;        /* what: a number's unit, a choice's words */
    uint64_t    usual, least, most;
    const char *text;                   /* a text's or list's default */
} settings[] = {
#define NUMBER(name, word, usual, least, most, unit, sentence) { A_NUMBER, word, offsetof(struct pk_config, name), unit, sentence, usual, least, most, NULL },
#define TEXT(name, word, usual, what, sentence) { A_TEXT, word, offsetof(struct pk_config, name), what, sentence, 0, 0, 0, usual },
#define CHOICE(name, word, usual, choices, sentence) { A_CHOICE, word, offsetof(struct pk_config, name), choices, sentence, usual, 0, 0, NULL },
#define LIST(name, word, usual, what, sentence) { A_LIST, word, offsetof(struct pk_config, name), what, sentence, 0, 0, 0, usual },
#include "pk_settings.def"
};
#define SETTINGS (sizeof settings / sizeof *settings)

struct reading {
    struct pk_config *c;
    const char       *path;
    unsigned          line;
    bool              given[SETTINGS];
    char            **error;
};

static int wrong(struct reading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int wrong(struct reading *r, const char *format, ...) {
    char *what = NULL;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&what, format, arguments) < 0) what = NULL;
    va_end(arguments);
    if (what && (r->line ? asprintf(r->error, "%s:%u: %s", r->path, r->line, what) : asprintf(r->error, "%s: %s", r->path, what)) < 0) *r->error = NULL;
    free(what);
    return -1;
}

/* ---- values ------------------------------------------------------------------------------------------------------------------ */

static int set_number(struct reading *r, const struct setting *s, const char *value) {
    char *end;
    bool bytes = !strcmp(s->what, "bytes");
    unsigned long long n = strtoull(value, &end, 10), shift = 0;

    if (bytes && *end && !end[1]) shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (end == value || value[0] == '-' || (*end && !shift) || n > s->most >> shift || n << shift < s->least)
        return wrong(r, "%s %s: must be a number%s%s from %" PRIu64 " to %" PRIu64, s->word, value, *s->what ? " of " : "", s->what, s->least, s->most);
    *(uint64_t *)((char *)r->c + s->at) = n << shift;
    return 0;
}

static int set_choice(struct reading *r, const struct setting *s, const char *value) {
    int n = 0;
    size_t length;
    for (const char *p = s->what; *p; p += length + (p[length] == ' '), n++) {
        length = strcspn(p, " ");
        if (strlen(value) != length || memcmp(p, value, length)) continue;
        *(int *)((char *)r->c + s->at) = n;
        return 0;
    }
    return wrong(r, "%s %s: must be one of: %s", s->word, value, s->what);
}

static int set_text(struct reading *r, const struct setting *s, const char *value) {
    char **at = (char **)((char *)r->c + s->at);
    free(*at);
    *at = strdup(value);
    return *at ? 0 : wrong(r, "no memory");
}

static int add_words(struct reading *r, const struct setting *s, char *words) {
    struct pk_list *list = (struct pk_list *)((char *)r->c + s->at);
    char *save;
    for (char *w = strtok_r(words, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
        if (list->n == PK_LIST_MAX) return wrong(r, "%s: more than %u", s->word, PK_LIST_MAX);
        if (!(list->item[list->n] = strdup(w))) return wrong(r, "no memory");
        list->n++;
    }
    return 0;
}

static int take_line(struct reading *r, char *line) {
    char *word = line + strspn(line, " \t"), *value, *end;
    const struct setting *s = settings;

    for (end = word + strlen(word); end > word && strchr(" \t\r\n", end[-1]); end--) end[-1] = 0;
    if (!*word || *word == '#') return 0;
    value = word + strcspn(word, " \t");
    if (*value) *value++ = 0;
    value += strspn(value, " \t");
    while (s < settings + SETTINGS && strcmp(s->word, word)) s++;
    if (s == settings + SETTINGS) return wrong(r, "%s: no such setting; fairgate-pktcache --help lists them", word);
    if (!*value) return wrong(r, "%s: needs a value: %s", word, s->what);
    if (r->given[s - settings] && s->kind != A_LIST) return wrong(r, "%s: given twice", word);
    r->given[s - settings] = true;
    switch (s->kind) {
    case A_NUMBER: return set_number(r, s, value);
    case A_CHOICE: return set_choice(r, s, value);
    case A_TEXT:   return set_text(r, s, value);
    default:       return add_words(r, s, value);
    }
}

/* ---- what is made of them ------------------------------------------------------------------------------------------------------ */

static int read_network(struct reading *r, const char *word, const char *text, struct pk_network *n) {
    char address[64], *end;
    const char *slash = strchr(text, '/');
    struct in_addr four;
    unsigned long bits;
    bool is_four;

    if (!slash || (size_t)(slash - text) >= sizeof address) return wrong(r, "%s %s: must be ADDRESS/BITS, as 192.0.2.0/24 or 2001:db8::/32", word, text);
    memcpy(address, text, (size_t)(slash - text));
    address[slash - text] = 0;
    is_four = inet_pton(AF_INET, address, &four) == 1;
    bits = strtoul(slash + 1, &end, 10);
    if (end == slash + 1 || *end || bits > (is_four ? 32u : 128u)) return wrong(r, "%s %s: BITS must be 0 to %d", word, text, is_four ? 32 : 128);
    if (is_four) {
        memset(n->address, 0, 10);
        n->address[10] = n->address[11] = 0xff;
        memcpy(n->address + 12, &four, 4);
        bits += 96;
    } else if (inet_pton(AF_INET6, address, n->address) != 1) {
        return wrong(r, "%s %s: no address of IPv4 or IPv6 stands before the /", word, text);
    }
    n->bits = (unsigned)bits;
    for (unsigned i = n->bits; i < 128; i++)
        if (n->address[i / 8] & 0x80u >> i % 8) return wrong(r, "%s %s: has bits set behind the first %s", word, text, slash + 1);
    return 0;
}

static int read_networks(struct reading *r, const char *word, const struct pk_list *list, struct pk_networks *to) {
    for (; to->n < list->n; to->n++)
        if (read_network(r, word, list->item[to->n], to->item + to->n)) return -1;
    return 0;
}

/* Whether each server has a client that it can speak to. */
static int match_families(struct reading *r, const struct pk_networks *servers, const struct pk_networks *clients) {
    for (unsigned i = 0, k; i < servers->n; i++) {
        bool four = pk_network_is_four(servers->item + i);
        for (k = 0; k < clients->n && pk_network_is_four(clients->item + k) != four; k++) { }
        if (k == clients->n) return wrong(r, "clients: none of %s, as servers %s", four ? "IPv4" : "IPv6", r->c->servers.item[i]);
    }
    return 0;
}

static int read_port(struct reading *r, const char *word, const char *text, unsigned most, uint16_t *port) {
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (end == text || *end || !n || n > most) return wrong(r, "%s %s: must be a port from 1 to %u", word, text, most);
    *port = htons((uint16_t)n);
    return 0;
}

static int read_endpoint(struct reading *r, const char *word, const char *text, struct sockaddr_storage *to) {
    struct sockaddr_in *four = (struct sockaddr_in *)to;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)to;
    const char *colon = strrchr(text, ':');
    char address[64];
    bool brackets = *text == '[' && colon && colon > text + 1 && colon[-1] == ']';
    size_t n = colon ? (size_t)(colon - text) - (brackets ? 2 : 0) : 0;
    uint16_t port;

    memset(to, 0, sizeof *to);
    if (!n || n >= sizeof address) return wrong(r, "%s %s: must be ADDRESS:PORT, as 192.0.2.1:4754 or [2001:db8::1]:4754", word, text);
    memcpy(address, text + (brackets ? 1 : 0), n);
    address[n] = 0;
    if (read_port(r, word, colon + 1, 65536 - (unsigned)r->c->queues, &port)) return -1;
    if (!brackets && inet_pton(AF_INET, address, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = port;
        return 0;
    }
    if (brackets && inet_pton(AF_INET6, address, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = port;
        return 0;
    }
    return wrong(r, "%s %s: must be ADDRESS:PORT, as 192.0.2.1:4754 or [2001:db8::1]:4754; names are not looked up", word, text);
}

static int complete(struct reading *r) {
    struct pk_config *c = r->c;
    const char *why;

    r->line = 0;
    for (size_t i = 0; i < SETTINGS; i++) {
        const struct setting *s = settings + i;
        char *copy = NULL;
        int rv;
        if (r->given[i] || s->kind == A_NUMBER || s->kind == A_CHOICE) continue;
        if (!s->text) return wrong(r, "%s is missing: %s %s: %s", s->word, s->word, s->what, s->sentence);
        if (!(copy = strdup(s->text))) return wrong(r, "no memory");
        rv = s->kind == A_TEXT ? set_text(r, s, copy) : add_words(r, s, copy);
        free(copy);
        if (rv) return rv;
    }
    if (read_networks(r, "servers", &c->servers, &c->server) || read_networks(r, "clients", &c->clients, &c->client)) return -1;
    if (match_families(r, &c->server, &c->client)) return -1;
    c->any_port = c->ports.n == 1 && !strcmp(c->ports.item[0], "any");
    if (c->any_port && c->keep != PK_KEEP_ALL) return wrong(r, "ports any: only with `keep all`; what else TCP carries is not HTTP");
    for (unsigned i = 0; !c->any_port && i < c->ports.n; i++)
        if (read_port(r, "ports", c->ports.item[i], UINT16_MAX, c->port + i)) return -1;
    if (read_endpoint(r, "local", c->local, &c->here) || read_endpoint(r, "peer", c->peer, &c->there)) return -1;
    if (c->here.ss_family != c->there.ss_family) return wrong(r, "local and peer: one is of IPv4, the other of IPv6");
    if (c->marks.n != 2) return wrong(r, "marks: must be two words, OPEN CLOSE");
    if ((why = eeod_marks_set(&c->mark, c->marks.item[0], c->marks.item[1]))) return wrong(r, "marks: %s", why);
    if (strlen(c->device) > 15 || strpbrk(c->device, "/ %")) return wrong(r, "device %s: must be 1 to 15 characters without / and %%", c->device);
    return 0;
}

int pk_config_read(struct pk_config *c, const char *path, bool all, char **error) {
    struct reading r = { .c = c, .path = path, .error = error };
    char *line = NULL;
    size_t room = 0;
    int rv = 0;
    FILE *f;

    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < SETTINGS; i++) {
        if (settings[i].kind == A_NUMBER) *(uint64_t *)((char *)c + settings[i].at) = settings[i].usual;
        if (settings[i].kind == A_CHOICE) *(int *)((char *)c + settings[i].at) = (int)settings[i].usual;
    }
    if (!(f = fopen(path, "re"))) return wrong(&r, "%s", strerror(errno));
    while (!rv && getline(&line, &room, f) >= 0) {
        r.line++;
        rv = take_line(&r, line);
    }
    if (!rv && ferror(f)) rv = wrong(&r, "%s", strerror(errno));
    free(line);
    fclose(f);
    if (all) c->keep = PK_KEEP_ALL;
    return rv ? rv : complete(&r);
}

void pk_config_free(struct pk_config *c) {
    for (size_t i = 0; i < SETTINGS; i++) {
        void *at = (char *)c + settings[i].at;
        if (settings[i].kind == A_TEXT) free(*(char **)at);
        if (settings[i].kind == A_LIST)
            for (unsigned k = 0; k < ((struct pk_list *)at)->n; k++) free(((struct pk_list *)at)->item[k]);
    }
    memset(c, 0, sizeof *c);
}

void pk_config_help(FILE *out) {
    for (size_t i = 0; i < SETTINGS; i++) {
        const struct setting *s = settings + i;
        char head[64];
        snprintf(head, sizeof head, "%s %s", s->word, s->kind == A_NUMBER ? "N" : s->what);
        fprintf(out, "  %-32s %s", head, s->sentence);
        if (s->kind == A_NUMBER) fprintf(out, " (%" PRIu64 "%s%s)", s->usual, *s->what ? " " : "", s->what);
        else if (s->kind == A_CHOICE) fprintf(out, " (the %s is usual)", s->usual == 0 ? "first" : s->usual == 1 ? "second" : "third");
        else if (s->text) fprintf(out, " (%s)", s->text);
        fputc('\n', out);
    }
}

/* ---- whose packets ------------------------------------------------------------------------------------------------------------- */

static bool is_four(const uint8_t address[16]) {
    static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };
    return !memcmp(address, prefix, sizeof prefix);
}

bool pk_network_is_four(const struct pk_network *n) { return n->bits >= 96 && is_four(n->address); }

static bool network_has(const struct pk_network *n, const uint8_t address[16]) {
    unsigned whole = n->bits / 8, rest = n->bits % 8;
    if (memcmp(n->address, address, whole) || pk_network_is_four(n) != is_four(address)) return false;
    return !rest || !((n->address[whole] ^ address[whole]) & 0xff00u >> rest);
}

static bool networks_have(const struct pk_networks *n, const uint8_t address[16]) {
    for (unsigned i = 0; i < n->n; i++)
        if (network_has(n->item + i, address)) return true;
    return false;
}

bool pk_config_serves(const struct pk_config *c, const struct pk_tuple *t) {
    bool port = c->any_port;
    for (unsigned i = 0; i < c->ports.n && !port; i++) port = c->port[i] == t->from_port;
    return port && networks_have(&c->server, t->from) && networks_have(&c->client, t->to);
}
