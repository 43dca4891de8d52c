/* SPDX-License-Identifier: BSD-2-Clause */
/* policy_explain.c - which class does this request get, by which rule, and who else would have taken it? */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base_command.h"
#include "base/base_settings.h"
#include "policy_bots.h"
#include "policy_command.h"
#include "policy_impl.h"
#include "policy_url.h"

struct options {
    char *src, *dst, *protocol, *src_name, *host_name, *url, *ssl_id, *visitor, *crawler, *bots;
    uint64_t src_port, dst_port;
    struct base_list header;
    bool json;
};

static const struct base_setting rows[] = {
    BASE_ROW(struct options, TEXT, src, "src", NULL, "ADDRESS",
             "address of the client, IPv4 or IPv6          (src_ip_addr)"),
    BASE_ROW(struct options, TEXT, dst, "dst", NULL, "ADDRESS",
             "address of the server                        (dst_ip_addr)"),
    BASE_ROW(struct options, NUMBER, src_port, "src-port", NULL, 1, 65535, "",
             "port of the client                           (src_port)"),
    BASE_ROW(struct options, NUMBER, dst_port, "dst-port", NULL, 1, 65535, "",
             "port of the server                           (dst_port)"),
    BASE_ROW(struct options, TEXT, protocol, "protocol", NULL, "NAME",
             "http, https, h2, ...                         (prot_type)"),
    BASE_ROW(struct options, TEXT, src_name, "src-name", NULL, "NAME",
             "domain name of the client                    (src_dn)"),
    BASE_ROW(struct options, TEXT, host_name, "host-name", NULL, "NAME",
             "domain name of the server                    (dst_dn; default: the host of --url)"),
    BASE_ROW(struct options, TEXT, url, "url", NULL, "URL", "scheme://host[:port]/path?query              (url)"),
    BASE_ROW(struct options, LIST, header, "header", NULL, "'NAME: V'",
             "User-Agent and Cookie are looked at          (user_agent, cookie)"),
    BASE_ROW(struct options, TEXT, ssl_id, "ssl-id", NULL, "HEX",
             "TLS session id                               (ssl_id)"),
    BASE_ROW(struct options, TEXT, visitor, "visitor", NULL, "WHO",
             "class=member,age=15m: known to the server    (visitor)"),
    BASE_ROW(struct options, TEXT, crawler, "crawler", NULL, "NAME",
             "the crawler that it is, verified             (crawler)"),
    BASE_ROW(struct options, TEXT, bots, "bots", NULL, "TABLE",
             "fairgate-bots's, which knows by --src        (crawler)"),
    BASE_ROW(struct options, SWITCH, json, "json", "the answer as JSON"),
};
static const struct base_settings options_table = { "--", rows, sizeof rows / sizeof *rows, NULL };

struct question {
    const char *file;
    struct options o;
    unsigned char src[16], dst[16];
    char *url; /* as r.url has it */
    struct crawlers_known *bots;
    struct policy_request r;
};

/* NULL: not known. */
static struct policy_text text_of(const char *s) { return (struct policy_text){ s, s != NULL ? strlen(s) : 0 }; }

static int read_address(const char *option, const char *value, unsigned char *raw, const void **addr, unsigned *len) {
    if (!value) return 0;
    *addr = raw;
    *len = inet_pton(AF_INET, value, raw) == 1 ? 4 : inet_pton(AF_INET6, value, raw) == 1 ? 16 : 0;
    if (*len == 0) return base_misused("%s %s: no IP address; write one like 192.0.2.1 or 2001:db8::1", option, value);
    return 0;
}

static int read_header(const char *value, struct policy_request *r) {
    const char *colon = strchr(value, ':');
    size_t n = colon ? (size_t)(colon - value) : 0;
    struct policy_text content;

    if (n == 0) return base_misused("--header \"%s\": no header; write 'User-Agent: ...' or 'Cookie: ...'", value);
    /* A server takes no blanks around it. */
    content = text_of(colon + 1 + strspn(colon + 1, " \t"));
    while (content.n > 0 && (content.p[content.n - 1] == ' ' || content.p[content.n - 1] == '\t')) content.n--;
    if (n == 10 && strncasecmp(value, "User-Agent", n) == 0) r->user_agent = content;
    else if (n == 6 && strncasecmp(value, "Cookie", n) == 0) r->cookie = content;
    else if (n == 4 && strncasecmp(value, "Host", n) == 0) r->dst_dn = policy_url_parse(content).host;
    return 0;
}

static int read_visitor(const char *value, struct policy_request *r) {
    char *error = NULL;
    int status = 0;

    if (value && policy_visitor_read(text_of(value), &r->visitor, &error) != 0)
        status = base_misused("--visitor: %s", error ? error : "out of memory");
    free(error);
    return status;
}

static int read_options(struct question *q) {
    const struct options *o = &q->o;
    struct policy_request *r = &q->r;
    int status = read_address("--src", o->src, q->src, &r->src_addr, &r->src_addr_len);

    if (status == 0) status = read_address("--dst", o->dst, q->dst, &r->dst_addr, &r->dst_addr_len);
    r->src_port = (uint16_t)o->src_port;
    r->dst_port = (uint16_t)o->dst_port;
    r->prot_type = text_of(o->protocol);
    r->src_dn = text_of(o->src_name);
    r->url = text_of(o->url);
    r->ssl_id = text_of(o->ssl_id);
    r->crawler = text_of(o->crawler);
    for (unsigned i = 0; i < o->header.n && status == 0; i++) status = read_header(o->header.item[i], r);
    if (o->host_name) r->dst_dn = text_of(o->host_name);
    return status != 0 ? status : read_visitor(o->visitor, r);
}

static int explain_crawler(struct question *q) {
    char *error = NULL;

    if (!q->o.bots) return 0;
    if (q->o.crawler || !q->r.src_addr)
        return base_misused("explain: --bots needs --src, and --crawler says it already");
    q->bots = policy_bots_load(q->o.bots, &error);
    if (q->bots) {
        q->r.crawler = policy_bots_of(q->bots, &q->r);
        return 0;
    }
    fprintf(stderr, "%s\n", error ? error : "out of memory");
    free(error);
    return BASE_WRONG;
}

/* A server knows the whole URL of each request but CONNECT, which has no path. */
static int explain_site(const struct question *q, struct policy_url *u) {
    if (u->scheme.p || !u->target.p) return 0;
    if (u->target.p[0] != '/')
        return base_misused("--url %s: begins with neither a scheme nor a path; write http://%s", q->o.url, q->o.url);
    u->scheme = q->r.prot_type.p && !strncasecmp(q->r.prot_type.p, "https", 5) ? text_of("https") : text_of("http");
    u->host = q->r.dst_dn.p ? q->r.dst_dn : text_of("localhost");
    return 0;
}

/* The URL in its one spelling; and a server knows these two when it knows the URL. */
static int explain_complete(struct question *q) {
    struct policy_request *r = &q->r;
    struct policy_url u;
    size_t room;

    if (!r->url.p) return 0;
    u = policy_url_parse(r->url);
    if (explain_site(q, &u) != 0) return BASE_MISUSED;
    room = policy_url_room(&u);
    q->url = malloc(room);
    if (!q->url) return base_failed(NULL);
    r->url = policy_url_text(&u, q->url, room);
    if (!r->dst_dn.p && u.host.p) r->dst_dn = u.host;
    if (!r->prot_type.p && u.scheme.p) r->prot_type = u.scheme;
    return 0;
}

static int read_question(struct question *q, int argc, char **argv) {
    char *error = NULL;
    int words = base_settings_options(&options_table, &q->o, argc, argv, &error), status;

    if (words < 0) status = base_misused("explain: %s", error ? error : "out of memory");
    else if (words == 1)
        status = base_misused("explain needs a file; write fairgate-policy explain FILE --url http://www.example.org/");
    else if (words > 2) status = base_misused("explain takes one file, and %s is a second one", argv[2]);
    else status = read_options(q);
    free(error);
    q->file = argv[1];
    if (status == 0) status = explain_crawler(q);
    return status != 0 ? status : explain_complete(q);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* A class that a server adds has a name alone. */
static void json_choice(struct base_json *j, const char *key, const policy_t *p, uint32_t class, uint32_t rule) {
    char text[256];

    base_json_object(j, key);
    base_json_object(j, "class");
    if (class != POLICY_NONE) {
        base_json_whole(j, "position", class);
        base_json_whole(j, "id", p->classes[class].id);
    }
    base_json_text(j, "name", class == POLICY_NONE ? POLICY_OTHER : p->classes[class].name);
    if (class != POLICY_NONE) base_json_whole(j, "quantum", p->classes[class].quantum);
    base_json_end_object(j);
    if (rule == POLICY_NONE) {
        base_json_text(j, "rule", NULL);
    } else {
        policy_rule_text(p, rule, text, sizeof text);
        base_json_object(j, "rule");
        base_json_whole(j, "number", rule);
        base_json_whole(j, "line", p->rules[rule].line);
        base_json_text(j, "text", text);
        base_json_end_object(j);
    }
    base_json_truth(j, "default", rule == POLICY_NONE);
    base_json_end_object(j);
}

static void print_choice(const policy_t *p, const char *lead, uint32_t class, uint32_t rule) {
    char text[256];

    if (class == POLICY_NONE) {
        printf("%sclass \"" POLICY_OTHER "\", which the server adds: no rule matches, and there is no default\n", lead);
        return;
    }
    policy_rule_text(p, rule, text, sizeof text);
    printf("%sclass %u \"%s\" by %s\n", lead, p->classes[class].id, p->classes[class].name,
           rule == POLICY_NONE ? "default: no rule matches" : text);
}

/* Whose part of its class a request is of: "192.0.2.0/24"; false where no keys share it or the client is not known. */
static bool explain_key(const struct question *q, const policy_t *p, uint32_t class, char *text, size_t room) {
    const struct policy_within *w = class == POLICY_NONE ? NULL : &p->classes[class].within;
    char address[INET6_ADDRSTRLEN];
    unsigned char raw[16];
    unsigned n;

    if (!w || !w->levels || (w->visitor && q->r.visitor.known) || !q->r.src_addr) return false;
    n = policy_within_prefix(w, q->r.src_addr, q->r.src_addr_len, raw);
    inet_ntop(n == 4 ? AF_INET : AF_INET6, raw, address, sizeof address);
    snprintf(text, room, "%s/%u", address, n == 4 ? w->bits_v4 : w->bits_v6);
    return true;
}

/* The first matching rule of each class behind `class`, by the plain meaning of the rules. */
static uint32_t next_choice(const policy_t *p, const struct policy_request *r, uint32_t class, uint32_t *rank) {
    for (; *rank < p->rule_count; (*rank)++) {
        uint32_t rule = p->by_rank[*rank];

        if ((class == POLICY_NONE || p->rules[rule].class > class) && policy_rule_matches(p, rule, r)) return rule;
    }
    return POLICY_NONE;
}

static void answer_json(const struct question *q, const policy_t *p) {
    struct base_json j = base_json_into(base_to_file(stdout));
    struct policy_answer a = policy_match_request(p, &q->r);
    uint32_t rank = 0, class = a.position, rule;
    char key[64];

    base_json_object(&j, NULL);
    base_json_text(&j, "file", q->file);
    json_choice(&j, "answer", p, a.position, a.rule);
    if (explain_key(q, p, a.position, key, sizeof key)) base_json_text(&j, "key", key);
    base_json_array(&j, "later");
    while (a.rule != POLICY_NONE && (rule = next_choice(p, &q->r, class, &rank)) != POLICY_NONE) {
        class = p->rules[rule].class;
        json_choice(&j, NULL, p, class, rule);
    }
    base_json_end_array(&j);
    base_json_text(&j, "url", q->url);
    base_json_end_object(&j);
    base_json_done(&j);
}

static void answer(const struct question *q, const policy_t *p) {
    struct policy_answer a = policy_match_request(p, &q->r);
    uint32_t rank = 0, class = a.position, later = 0, rule;
    char key[64];

    print_choice(p, "", a.position, a.rule);
    if (explain_key(q, p, a.position, key, sizeof key)) printf("its part there is that of %s\n", key);
    while (a.rule != POLICY_NONE && (rule = next_choice(p, &q->r, class, &rank)) != POLICY_NONE) {
        class = p->rules[rule].class;
        print_choice(p, later++ > 0 ? "      " : "later ", class, rule);
    }
    if (a.rule != POLICY_NONE && later == 0) puts("no later class matches");
    if (q->url && strcmp(q->url, q->o.url) != 0) printf("rules see the URL as %s\n", q->url);
}

static int explain(const struct question *q) {
    char *error = NULL;
    policy_t *p = policy_load(q->file, &error);
    int status = p ? BASE_RIGHT : BASE_WRONG;

    if (!p) fprintf(stderr, "%s\n", error ? error : "out of memory");
    else if (q->o.json) answer_json(q, p);
    else answer(q, p);
    free(error);
    policy_free(&p);
    return status;
}

int command_explain(int argc, char **argv) {
    struct question q = { .file = NULL };
    int status = read_question(&q, argc, argv);

    if (status == 0) status = explain(&q);
    free(q.url);
    crawlers_known_free(&q.bots);
    base_settings_free(&options_table, &q.o);
    return status;
}

void command_explain_help(FILE *out) {
    fputs("What is known of a request, for explain:\n", out);
    base_settings_help(&options_table, out);
}
