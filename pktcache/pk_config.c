/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_config.h"

#include "pk_store.h"

#include "base/base_error.h"
#include "base/base_number.h"

#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

static const struct base_setting rows[] = {
#define SETTING(...) BASE_ROW(struct pk_config, __VA_ARGS__),
#include "pk_settings.def"
#undef SETTING
};
static const struct base_settings settings = { "", rows, sizeof rows / sizeof *rows, NULL };

static int read_network(const char *word, const char *text, struct pk_network *n, char **error) {
    char address[64];
    const char *slash = strchr(text, '/');
    struct in_addr four;
    uint64_t bits;
    bool is_four;

    if (!slash || (size_t)(slash - text) >= sizeof address)
        return base_fail(error, "%s %s: must be ADDRESS/BITS, as 192.0.2.0/24 or 2001:db8::/32", word, text);
    memcpy(address, text, (size_t)(slash - text));
    address[slash - text] = 0;
    is_four = inet_pton(AF_INET, address, &four) == 1;
    if (base_number(word, slash + 1, "", 0, is_four ? 32 : 128, &bits, NULL))
        return base_fail(error, "%s %s: BITS must be 0 to %d", word, text, is_four ? 32 : 128);
    if (is_four) {
        memset(n->address, 0, 10);
        n->address[10] = n->address[11] = 0xff;
        memcpy(n->address + 12, &four, 4);
        bits += 96;
    } else if (inet_pton(AF_INET6, address, n->address) != 1) {
        return base_fail(error, "%s %s: no address of IPv4 or IPv6 stands before the /", word, text);
    }
    n->bits = (unsigned)bits;
    for (unsigned i = n->bits; i < 128; i++)
        if (n->address[i / 8] & 0x80u >> i % 8)
            return base_fail(error, "%s %s: has bits set behind the first %s", word, text, slash + 1);
    return 0;
}

static int read_networks(const char *word, const struct base_list *list, struct pk_networks *to, char **error) {
    for (; to->n < list->n; to->n++)
        if (read_network(word, list->item[to->n], to->item + to->n, error)) return -1;
    return 0;
}

/* Whether each server has a client that it can speak to. */
static int match_families(const struct pk_config *c, char **error) {
    const struct pk_networks *servers = &c->server, *clients = &c->client;

    for (unsigned i = 0, k; i < servers->n; i++) {
        bool four = pk_network_is_four(servers->item + i);
        for (k = 0; k < clients->n && pk_network_is_four(clients->item + k) != four; k++) {}
        if (k == clients->n)
            return base_fail(error, "clients: none of %s, as servers %s", four ? "IPv4" : "IPv6", c->servers.item[i]);
    }
    return 0;
}

static int read_port(const char *word, const char *text, unsigned most, uint16_t *port, char **error) {
    uint64_t n;

    if (base_number(word, text, "", 1, most, &n, NULL))
        return base_fail(error, "%s %s: must be a port from 1 to %u", word, text, most);
    *port = htons((uint16_t)n);
    return 0;
}

/* Labels of letters, digits and hyphens (RFC 1123, 2.1); the last one is no number, or it would be a wrong address. */
static bool is_name(const char *text) {
    const char *label = text;

    for (const char *p = text;; p++) {
        bool last = !*p, hyphen = *p == '-' && p > label;
        if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || *p == '_' || hyphen)
            continue;
        if ((!last && *p != '.') || p == label || p - label > 63 || p[-1] == '-') return false;
        if (last) return label[strspn(label, "0123456789")] != 0;
        label = p + 1;
    }
}

/* Of the first of so many queues, which have ports one after the other.  name: room for one, or NULL, it must be none. */
static int read_endpoint(const char *word, const char *text, unsigned queues, struct sockaddr_storage *to, char *name,
                         char **error) {
    struct sockaddr_in *four = (struct sockaddr_in *)to;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)to;
    const char *colon = strrchr(text, ':');
    char address[PK_NAME_MAX + 1];
    bool brackets = *text == '[' && colon && colon > text + 1 && colon[-1] == ']';
    size_t n = colon ? (size_t)(colon - text) - (brackets ? 2 : 0) : 0;
    uint16_t port = 0;

    memset(to, 0, sizeof *to);
    if (!n || n >= sizeof address)
        return base_fail(error, "%s %s: must be ADDRESS:PORT, as 192.0.2.1:4754 or [2001:db8::1]:4754", word, text);
    memcpy(address, text + (brackets ? 1 : 0), n);
    address[n] = 0;
    if (read_port(word, colon + 1, 65536 - queues, &port, error)) return -1;
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
    if (name && !brackets && is_name(address)) {
        strcpy(name, address);
        four->sin_port = port;
        return 0;
    }
    return base_fail(error, "%s %s: must be ADDRESS:PORT, as 192.0.2.1:4754 or [2001:db8::1]:4754%s", word, text,
                     name ? ", or NAME:PORT" : "; names are not looked up");
}

void pk_endpoint_write(const struct sockaddr_storage *a, char text[PK_ENDPOINT_TEXT]) {
    const struct sockaddr_in *four = (const struct sockaddr_in *)a;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)a;
    char address[INET6_ADDRSTRLEN] = "";
    bool is_four = a->ss_family == AF_INET;

    inet_ntop(a->ss_family, is_four ? (const void *)&four->sin_addr : (const void *)&six->sin6_addr, address,
              sizeof address);
    snprintf(text, PK_ENDPOINT_TEXT, is_four ? "%s:%u" : "[%s]:%u", address, ntohs(four->sin_port));
}

static int read_peer(struct pk_config *c, unsigned queues, char **error) {
    sa_family_t family = c->here.ss_family;

    if (!strcmp(c->peer, "any")) {
        c->peer_is = PK_PEER_ANY;
    } else {
        if (read_endpoint("peer", c->peer, queues, &c->there, c->peer_name, error)) return -1;
        if (!c->there.ss_family) c->peer_is = PK_PEER_NAME;
    }
    /* The port has the same place in both families. */
    static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port), "one port");
    if (c->peer_is != PK_PEER_ADDRESS) c->there.ss_family = family;
    return family == c->there.ss_family ? 0 : base_fail(error, "local and peer: one is of IPv4, the other of IPv6");
}

/* What is made of the settings, and what one of them says of another. */
static int config_complete(struct pk_config *c, char **error) {
    unsigned queues = (unsigned)c->queues;
    const char *why;

    if (read_networks("servers", &c->servers, &c->server, error) ||
        read_networks("clients", &c->clients, &c->client, error))
        return -1;
    if (match_families(c, error)) return -1;
    c->any_port = c->ports.n == 1 && !strcmp(c->ports.item[0], "any");
    if (c->any_port && c->keep != PK_KEEP_ALL)
        return base_fail(error, "ports any: only with `keep all`; what else TCP carries is not HTTP");
    for (unsigned i = 0; !c->any_port && i < c->ports.n; i++)
        if (read_port("ports", c->ports.item[i], UINT16_MAX, c->port + i, error)) return -1;
    if (read_endpoint("local", c->local, queues, &c->here, NULL, error) || read_peer(c, queues, error)) return -1;
    if ((why = eeod_marks_set(&c->mark, c->marks.first, c->marks.second))) return base_fail(error, "marks: %s", why);
    if (strlen(c->control) >= sizeof((struct sockaddr_un *)0)->sun_path)
        return base_fail(error, "control %s: too long for a socket", c->control);
    if (strlen(c->device) > 15 || strpbrk(c->device, "/ %"))
        return base_fail(error, "device %s: must be 1 to 15 characters without / and %%", c->device);
    if (strlen(c->link) > 15) return base_fail(error, "link %s: no device has more than 15 characters", c->link);
    return 0;
}

int pk_config_read(struct pk_config *c, const char *path, bool all, char **error) {
    memset(c, 0, sizeof *c);
    if (base_settings_file(&settings, c, path, error)) return -1;
    if (all) c->keep = PK_KEEP_ALL;
    if (!config_complete(c, error)) return 0;
    base_place(error, path, 0);
    return -1;
}

void pk_config_free(struct pk_config *c) {
    base_settings_free(&settings, c);
    memset(c, 0, sizeof *c);
}

void pk_config_help(FILE *out) { base_settings_help(&settings, out); }

/* ---- whose packets ----------------------------------------------------------------------------------------------- */

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
