/* SPDX-License-Identifier: BSD-2-Clause */
/* policy_explain.c - which class does this request get, by which rule, and who else would have taken it? */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "policy_command.h"
#include "policy_impl.h"
#include "policy_url.h"

struct question {
    const char           *file;
    int                   json;
    unsigned char         src[16], dst[16];
    const char           *written;      /* the URL as it was asked for */
    char                 *url;          /* as r.url has it */
    struct policy_request r;
};

static struct policy_text text_of(const char *s)
{
    return (struct policy_text){ s, strlen(s) };
}

static int read_address(const char *option, const char *value, unsigned char *raw, const void **addr, unsigned *len)
{
    *addr = raw;
    *len = inet_pton(AF_INET, value, raw) == 1 ? 4 : inet_pton(AF_INET6, value, raw) == 1 ? 16 : 0;
    if (*len == 0)
        return command_usage("%s %s: no IP address; write one like 192.0.2.1 or 2001:db8::1", option, value);
    return 0;
}

static int read_port(const char *option, const char *value, uint16_t *port)
{
    char *end;
    unsigned long n = strtoul(value, &end, 10);

    if (value[0] < '0' || value[0] > '9' || *end != '\0' || n < 1 || n > 65535)
        return command_usage("%s %s: no port; write a number from 1 to 65535", option, value);
    *port = (uint16_t)n;
    return 0;
}

static int read_header(const char *value, struct policy_request *r)
{
    const char *colon = strchr(value, ':');
    size_t n = colon != NULL ? (size_t)(colon - value) : 0;
    const char *content;

    if (n == 0)
        return command_usage("--header \"%s\": no header; write 'User-Agent: ...' or 'Cookie: ...'", value);
    content = colon + 1 + strspn(colon + 1, " \t");
    if (n == 10 && strncasecmp(value, "User-Agent", n) == 0)
        r->user_agent = text_of(content);
    else if (n == 6 && strncasecmp(value, "Cookie", n) == 0)
        r->cookie = text_of(content);
    else if (n == 4 && strncasecmp(value, "Host", n) == 0)
        r->dst_dn = (struct policy_text){ content, strcspn(content, ":") };
    return 0;
}

static int read_option(struct question *q, const char *option, const char *value)
{
    struct policy_request *r = &q->r;

    if (strcmp(option, "--src") == 0)
        return read_address(option, value, q->src, &r->src_addr, &r->src_addr_len);
    if (strcmp(option, "--dst") == 0)
        return read_address(option, value, q->dst, &r->dst_addr, &r->dst_addr_len);
    if (strcmp(option, "--src-port") == 0)
        return read_port(option, value, &r->src_port);
    if (strcmp(option, "--dst-port") == 0)
        return read_port(option, value, &r->dst_port);
    if (strcmp(option, "--header") == 0)
        return read_header(value, r);
    if (strcmp(option, "--protocol") == 0)
        r->prot_type = text_of(value);
    else if (strcmp(option, "--src-name") == 0)
        r->src_dn = text_of(value);
    else if (strcmp(option, "--host-name") == 0)
        r->dst_dn = text_of(value);
    else if (strcmp(option, "--url") == 0)
        r->url = text_of(value);
    else if (strcmp(option, "--ssl-id") == 0)
        r->ssl_id = text_of(value);
    else
        return command_usage("explain has no option %s; see fairgate-policy --help", option);
    return 0;
}

/* The URL in its one spelling; and a server knows these two when it knows the URL. */
static int complete(struct question *q)
{
    struct policy_request *r = &q->r;
    struct policy_url u;
    size_t room;

    if (r->url.p == NULL)
        return 0;
    q->written = r->url.p;
    u = policy_url_parse(r->url);
    room = policy_url_room(&u);
    q->url = malloc(room);
    if (q->url == NULL)
        return command_usage("out of memory");
    r->url = policy_url_text(&u, q->url, room);
    if (r->dst_dn.p == NULL && u.host.p != NULL)
        r->dst_dn = u.host;
    if (r->prot_type.p == NULL && u.scheme.p != NULL)
        r->prot_type = u.scheme;
    return 0;
}

static int read_question(struct question *q, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int status;

        if (strcmp(argv[i], "--json") == 0) {
            q->json = 1;
        } else if (argv[i][0] != '-' && q->file == NULL) {
            q->file = argv[i];
        } else if (argv[i][0] != '-') {
            return command_usage("explain takes one file, and %s is a second one", argv[i]);
        } else if (i + 1 == argc) {
            return command_usage("%s needs a value behind it; see fairgate-policy --help", argv[i]);
        } else {
            status = read_option(q, argv[i], argv[i + 1]);
            if (status != 0)
                return status;
            i++;
        }
    }
    if (q->file == NULL)
        return command_usage("explain needs a file; write fairgate-policy explain FILE --url http://www.example.org/");
    return complete(q);
}

/* ---- answers ------------------------------------------------------------------------------------------------------------------------- */

static void print_json_string(const char *s)
{
    putchar('"');
    for (; *s != '\0'; s++) {
        unsigned char c = (unsigned char)*s;

        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static void print_json_choice(const policy_t *p, uint32_t class, uint32_t rule)
{
    char text[256];

    if (class == POLICY_NONE) {
        printf("{\"class\": null, \"rule\": null, \"default\": false}");
        return;
    }
    printf("{\"class\": {\"position\": %u, \"id\": %u, \"name\": ", class, p->classes[class].id);
    print_json_string(p->classes[class].name);
    printf(", \"quantum\": %u}, \"rule\": ", p->classes[class].quantum);
    if (rule == POLICY_NONE) {
        printf("null, \"default\": true}");
        return;
    }
    policy_rule_text(p, rule, text, sizeof text);
    printf("{\"number\": %u, \"line\": %u, \"text\": ", rule, p->rules[rule].line);
    print_json_string(text);
    printf("}, \"default\": false}");
}

static void print_choice(const policy_t *p, const char *lead, uint32_t class, uint32_t rule)
{
    char text[256];

    if (class == POLICY_NONE) {
        printf("%sno class: no rule matches and there is no default\n", lead);
        return;
    }
    policy_rule_text(p, rule, text, sizeof text);
    printf("%sclass %u \"%s\" by %s\n", lead, p->classes[class].id, p->classes[class].name,
           rule == POLICY_NONE ? "default: no rule matches" : text);
}

/* The first matching rule of each class behind `class`, by the plain meaning of the rules. */
static uint32_t next_choice(const policy_t *p, const struct policy_request *r, uint32_t class, uint32_t *rank)
{
    for (; *rank < p->rule_count; (*rank)++) {
        uint32_t rule = p->by_rank[*rank];

        if ((class == POLICY_NONE || p->rules[rule].class > class) && policy_rule_matches(p, rule, r))
            return rule;
    }
    return POLICY_NONE;
}

static void answer(const struct question *q, const policy_t *p)
{
    struct policy_answer a = policy_match_request(p, &q->r);
    uint32_t rank = 0, class = a.position, later = 0, rule;

    if (q->json) {
        printf("{\"file\": ");
        print_json_string(q->file);
        printf(", \"answer\": ");
        print_json_choice(p, a.position, a.rule);
        printf(", \"later\": [");
    } else {
        print_choice(p, "", a.position, a.rule);
    }
    while (a.rule != POLICY_NONE && (rule = next_choice(p, &q->r, class, &rank)) != POLICY_NONE) {
        class = p->rules[rule].class;
        if (q->json) {
            fputs(later > 0 ? ", " : "", stdout);
            print_json_choice(p, class, rule);
        } else {
            print_choice(p, later > 0 ? "      " : "later ", class, rule);
        }
        later++;
    }
    if (q->json) {
        printf("], \"url\": ");
        if (q->url != NULL)
            print_json_string(q->url);
        puts(q->url != NULL ? "}" : "null}");
        return;
    }
    if (a.rule != POLICY_NONE && later == 0)
        puts("no later class matches");
    if (q->url != NULL && strcmp(q->url, q->written) != 0)
        printf("rules see the URL as %s\n", q->url);
}

int command_explain(int argc, char **argv)
{
    struct question q = { .json = 0 };
    char *error = NULL;
    policy_t *p;
    int status = read_question(&q, argc, argv);

    if (status != 0)
        return status;
    p = policy_load(q.file, &error);
    if (p == NULL)
        fprintf(stderr, "%s\n", error != NULL ? error : "out of memory");
    else
        answer(&q, p);
    status = p != NULL ? COMMAND_OK : COMMAND_BAD_POLICY;
    free(error);
    free(q.url);
    policy_free(&p);
    return status;
}
