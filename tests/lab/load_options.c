/* SPDX-License-Identifier: BSD-2-Clause */
/* load_options.c - the command line of fairgate-load, its URL lists, and the requests made of them. */
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX    1000000 /* URLs of one list */
#define CLIENTS_MAX 100000
#define BODY_MOST   (64u << 20)

/* The words of a class, each with its kind, the field it sets, and its sentence in --help. */
enum kind { COUNT, MILLISECONDS, SECONDS, TEXT, FLAG, HEADER, URL, URLS, SOURCE, RATE };

static const struct word {
    const char *name;
    enum kind kind;
    size_t field;
    uint64_t most;
    const char *says;
} words[] = {
#define AT(f) offsetof(struct load_class, f)
    { "clients", COUNT, AT(clients), CLIENTS_MAX, "clients at work at the same time (1)" },
    { "url", URL, 0, 0,
      "a path, or http(s)://HOST:PORT/path, once or often; " LOAD_TAG " in it is a new number each time" },
    { "urls", URLS, 0, 0, "a file of them, one a line; one is picked at random" },
    { "header", HEADER, 0, 0, "a header field, e.g. header='User-Agent: x'; may be given often" },
    { "think", MILLISECONDS, AT(think_us), 86400000, "ms between a response and the next request (0)" },
    { "every", MILLISECONDS, AT(every_us), 86400000, "ms from one request of a client to its next, at the least (0)" },
    { "rate", COUNT, AT(rate), 1u << 30, "bytes/s that each client reads (0 = full speed)" },
    { "rcvbuf", COUNT, AT(rcvbuf), 1u << 30,
      "bytes of the socket's receive buffer (0 = the system's; 4096 with rate)" },
    { "retry", MILLISECONDS, AT(retry_us), 86400000,
      "ms to wait at most after a 503, whatever its Retry-After says (100)" },
    { "abort", MILLISECONDS, AT(abort_us), 86400000,
      "ms after which a client gives up a request and closes (0 = never)" },
    { "requests", COUNT, AT(per_client), 1ull << 60, "requests of each client (0 = no end)" },
    { "from", SECONDS, AT(from_s), 86400, "second of the measurement at which the class begins (0: with the warm-up)" },
    { "until", SECONDS, AT(until_s), 86400, "second of the measurement at which it ends (0 = with the run)" },
    { "proxy", TEXT, AT(proxy), 0,
      "HOST:PORT of a proxy: http:// URLs are asked of it, https:// go through by CONNECT" },
    { "tunnel", FLAG, AT(tunnel), 0, "http:// URLs go through the proxy by CONNECT, too" },
    { "method", TEXT, AT(method), 0, "GET, HEAD, POST, ... (GET)" },
    { "body", COUNT, AT(body), BODY_MOST, "bytes of the request's body (0)" },
    { "send", COUNT, AT(send), 1u << 30, "bytes/s of its body that each client sends (0 = full speed)" },
    { "deck", FLAG, AT(deck), 0, "URLs in a random order, each once before any comes again" },
    { "arrivals", RATE, AT(arrivals), 100000, "open loop: requests/s that come at random, for clients that are free" },
    { "close", FLAG, AT(close), 0, "a connection for every request" },
    { "refusals", FLAG, AT(refusals), 0, "latency is that of answers of 400 and more, not of the others" },
    { "source", SOURCE, 0, 0,
      "the address to connect from, e.g. 127.0.0.2; of a network 127.64.0.0/10 another one for each connection" },
#undef AT
};
#define WORDS (sizeof words / sizeof words[0])

static void __attribute__((noreturn, format(printf, 1, 2))) wrong(const char *format, ...) {
    va_list v;
    va_start(v, format);
    fputs("fairgate-load: ", stderr);
    vfprintf(stderr, format, v);
    fputs("\n(--help lists what there is)\n", stderr);
    va_end(v);
    exit(2);
}

static void *need(void *p) {
    if (!p) wrong("out of memory");
    return p;
}

static void help(void) {
    printf("fairgate-load [options] --class NAME,WORD=VALUE,... [--class ...] HOST:PORT\n"
           "HTTP/1.1 clients in classes; one line of JSON per interval and one at the end, on standard output.\n\n"
           "  --seconds S    length of the measurement (10)\n"
           "  --warmup S     time before it, not counted (0)\n"
           "  --interval S   a line every S seconds (0 = only the last one)\n"
           "  --timeout S    a request that takes longer is an error (60)\n"
           "  --ramp S       clients start spread over S seconds (0)\n"
           "  --seed N       of the random choice of URLs (1)\n"
           "  --host NAME    value of the Host header (HOST:PORT)\n"
           "  --realtime     before all else on this CPU, as if the clients had machines of their own (if allowed)\n"
           "  --table        a table for people on standard error, every interval\n\n"
           "Words of a class; commas in a value stand in '...' or behind a backslash:\n");
    for (size_t i = 0; i < WORDS; i++) printf("  %-10s %s\n", words[i].name, words[i].says);
    exit(0);
}

static double number(const char *what, const char *text, double most) {
    char *end;
    errno = 0;
    double v = strtod(text, &end);
    if (end == text || *end || errno || !(v >= 0) || v > most)
        wrong("%s: \"%s\" is not a number from 0 to %.0f", what, text, most);
    return v;
}

/* Length of a URL's scheme with what ends it; 0 = none that we know. */
static size_t scheme(const char *url) {
    return strncmp(url, "http://", 7) == 0 ? 7 : strncmp(url, "https://", 8) == 0 ? 8 : 0;
}

static void add_url(struct load_class *k, const char *path) {
    if ((path[0] != '/' && !scheme(path)) || strpbrk(path, " \t\r\n"))
        wrong("class %s: \"%s\" is not a path that begins with /, nor a URL that begins with http:// or https://, "
              "without blanks",
              k->name, path);
    if (k->request_count >= LIST_MAX) wrong("class %s: more than %d URLs", k->name, LIST_MAX);
    if ((k->request_count & (k->request_count - 1)) == 0) {
        size_t room = k->request_count ? 2 * (size_t)k->request_count : 1;
        k->requests = need(realloc(k->requests, room * sizeof k->requests[0]));
    }
    /* The path alone for now: headers may still follow. */
    k->requests[k->request_count++] = (struct load_request){ .bytes = need(strdup(path)) };
}

static void add_urls(struct load_class *k, const char *file) {
    FILE *f = fopen(file, "r");
    if (!f) wrong("class %s: urls=%s: %s", k->name, file, strerror(errno));
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    while ((n = getline(&line, &room, f)) >= 0) {
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r')) line[--n] = '\0';
        if (n > 0 && line[0] != '#') add_url(k, line);
    }
    free(line);
    fclose(f);
}

static void set_source(struct load_class *k, char *text) {
    char *slash = strchr(text, '/');
    struct sockaddr_in *v4 = (struct sockaddr_in *)&k->source;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&k->source;
    if (slash) {
        k->source_bits = (uint32_t)number("the bits of source=", slash + 1, 30);
        *slash = '\0';
        if (!k->source_bits) wrong("class %s: source=%s/0 is no network", k->name, text);
    }
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) v4->sin_family = AF_INET;
    else if (slash) wrong("class %s: source=%s is not an address of IPv4 in front of its /", k->name, text);
    else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) v6->sin6_family = AF_INET6;
    else wrong("class %s: source=%s is not an address", k->name, text);
    k->source_set = true;
}

static void set_word(struct load_class *k, const char *name, char *value) {
    const struct word *w = words;
    while (w < words + WORDS && strcmp(w->name, name) != 0) w++;
    if (w == words + WORDS) wrong("class %s: there is no word \"%s\"", k->name, name);
    if (!value && w->kind != FLAG) wrong("class %s: %s needs a value, as in %s=VALUE", k->name, name, name);
    char *field = (char *)k + w->field;
    switch (w->kind) {
    case COUNT: {
        uint64_t v = (uint64_t)number(name, value, (double)w->most);
        if (w->field == offsetof(struct load_class, clients)) k->clients = (uint32_t)v;
        else *(uint64_t *)(void *)field = v;
        return;
    }
    case MILLISECONDS: *(uint64_t *)(void *)field = (uint64_t)(number(name, value, (double)w->most) * 1000); return;
    case SECONDS:
    case RATE: *(double *)(void *)field = number(name, value, (double)w->most); return;
    case TEXT: *(const char **)(void *)field = value; return;
    case FLAG: *(bool *)field = !value || strcmp(value, "0") != 0; return;
    case URL: add_url(k, value); return;
    case URLS: add_urls(k, value); return;
    case SOURCE: set_source(k, value); return;
    case HEADER:
        if (!strchr(value, ':') || strpbrk(value, "\r\n"))
            wrong("class %s: header=%s is not of the form Name: value", k->name, value);
        k->headers = need(realloc(k->headers, (k->header_count + 1) * sizeof k->headers[0]));
        k->headers[k->header_count++] = value;
        return;
    }
}

/*
 * Cuts the next word off *spec, in place: up to a comma that is neither quoted nor behind a backslash.  NULL at the
 * end.
 */
static char *cut_word(char **spec) {
    char *in = *spec, *out = *spec, *word = *spec;
    if (!in) return NULL;
    char quote = 0;
    for (; *in && (quote || *in != ','); in++) {
        if (*in == quote) quote = 0;
        else if (!quote && (*in == '\'' || *in == '"')) quote = *in;
        else if (*in == '\\' && in[1]) *out++ = *++in;
        else *out++ = *in;
    }
    *spec = *in ? in + 1 : NULL;
    *out = '\0';
    return word;
}

static void add_class(struct load *l, const char *text) {
    char *spec = need(strdup(text));
    l->classes = need(realloc(l->classes, (l->class_count + 1) * sizeof l->classes[0]));
    struct load_class *k = &l->classes[l->class_count++];
    memset(k, 0, sizeof *k);
    k->clients = 1;
    k->method = "GET";
    k->retry_us = 100000;
    /* not a step of random_next, or one class would follow another */
    k->rng = 0xd1342543de82ef95ull * (l->class_count + 1);
    k->name = cut_word(&spec);
    if (!k->name[0] || strpbrk(k->name, "=\"\\"))
        wrong("--class %s: it must begin with a name, as in --class people,clients=30,url=/", text);
    for (char *w; (w = cut_word(&spec));) {
        char *value = strchr(w, '=');
        if (value) *value++ = '\0';
        set_word(k, w, value);
    }
    if (k->request_count == 0) add_url(k, "/");
    if (k->rate && !k->rcvbuf) k->rcvbuf = 4096;
    if (k->tunnel && !k->proxy) wrong("class %s: tunnel needs proxy=HOST:PORT", k->name);
}

/* The target of that HOST:PORT, the same each time. */
static const struct load_target *target(struct load *l, const char *text) {
    for (uint32_t i = 0; i < l->target_count; i++)
        if (strcmp(l->targets[i]->text, text) == 0) return l->targets[i];
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text) wrong("\"%s\" is not HOST:PORT", text);
    char *host = need(strndup(text, (size_t)(colon - text)));
    size_t n = strlen(host);
    if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
        memmove(host, host + 1, n - 2);
        host[n - 2] = '\0';
    }
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;
    int failed = getaddrinfo(host, colon + 1, &hints, &found);
    if (failed) wrong("%s: %s", text, gai_strerror(failed));
    struct load_target *t = need(malloc(sizeof *t));
    t->text = need(strdup(text));
    memcpy(&t->address, found->ai_addr, found->ai_addrlen);
    t->length = found->ai_addrlen;
    freeaddrinfo(found);
    free(host);
    l->targets = need(realloc(l->targets, (l->target_count + 1) * sizeof l->targets[0]));
    return l->targets[l->target_count++] = t;
}

/* Splits http(s)://HOST:PORT/path; without :PORT it is the scheme's.  Returns the path within url. */
static const char *whole_url(const char *url, char *authority, size_t room) {
    const char *host = url + scheme(url), *path = strchr(host, '/'), *bracket;
    size_t n = path ? (size_t)(path - host) : 0;
    if (n == 0 || n >= room - 4) wrong("\"%s\" is not http(s)://HOST:PORT/path", url);
    memcpy(authority, host, n);
    authority[n] = '\0';
    bracket = strchr(authority, ']');
    if (!strchr(bracket ? bracket : authority, ':')) strcpy(authority + n, url[4] == 's' ? ":443" : ":80");
    return path;
}

static void write_headers(FILE *out, const struct load_class *k) {
    for (uint32_t h = 0; h < k->header_count; h++) fprintf(out, "%s\r\n", k->headers[h]);
}

/* What opens a way through the proxy. */
static char *connect_to(const struct load_class *k, const char *authority) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = need(open_memstream(&text, &size));
    fprintf(out, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", authority, authority);
    write_headers(out, k);
    fputs("\r\n", out);
    fclose(out);
    return need(text);
}

/* Whom the request goes to, and how. */
static void find_way(struct load *l, const struct load_class *k, struct load_request *r, const char *authority) {
    if (k->proxy) {
        r->to = target(l, k->proxy);
        if (r->tls || k->tunnel) r->ask = connect_to(k, authority);
    } else {
        r->to = authority == l->host ? l->targets[0] : target(l, authority);
    }
    if (r->tls && !l->tls) l->tls = lab_tls_client();
}

/* Makes of each path the whole request that is sent for it. */
static void make_requests(struct load *l, struct load_class *k) {
    for (uint32_t i = 0; i < k->request_count; i++) {
        struct load_request *r = &k->requests[i];
        char *text = NULL, authority[300];
        size_t size = 0;
        FILE *out = need(open_memstream(&text, &size));
        const char *path = r->bytes, *host = l->host;
        if (path[0] != '/') {
            r->tls = path[4] == 's';
            path = whole_url(r->bytes, authority, sizeof authority);
            host = authority;
        }
        find_way(l, k, r, host);
        size_t name = strlen(host);
        if (name > 3 && !r->tls && strcmp(host + name - 3, ":80") == 0) name -= 3;
        if (name > 4 && r->tls && strcmp(host + name - 4, ":443") == 0) name -= 4;
        fprintf(out, "%s ", k->method);
        if (k->proxy && !r->ask) fprintf(out, "http://%.*s", (int)name, host);
        const char *tag = strstr(path, LOAD_TAG);
        if (tag) {
            fprintf(out, "%.*s", (int)(tag - path), path);
            fflush(out);
            r->tag_at = size;
            fprintf(out, "%0*d%s HTTP/1.1\r\n", LOAD_TAG_WIDTH, 0, tag + strlen(LOAD_TAG));
        } else {
            fprintf(out, "%s HTTP/1.1\r\n", path);
        }
        fprintf(out, "Host: %.*s\r\n", (int)name, host);
        write_headers(out, k);
        if (k->close) fputs("Connection: close\r\n", out);
        if (k->body) fprintf(out, "Content-Length: %llu\r\n", (unsigned long long)k->body);
        fputs("\r\n", out);
        for (uint64_t b = 0; b < k->body; b++) fputc('x', out);
        fclose(out);
        free(r->bytes);
        r->bytes = need(text);
        r->length = size;
    }
    if (k->deck) {
        k->order = need(malloc(k->request_count * sizeof k->order[0]));
        for (uint32_t i = 0; i < k->request_count; i++) k->order[i] = i;
        k->dealt = k->request_count;
    }
}

static struct load_class *first_of_name(struct load *l, const char *name) {
    struct load_class *k = l->classes;
    while (strcmp(k->name, name) != 0) k++;
    return k;
}

void load_options(struct load *l, int argc, char **argv) {
    static const struct option options[] = {
        { "seconds", required_argument, NULL, 's' },  { "warmup", required_argument, NULL, 'w' },
        { "interval", required_argument, NULL, 'i' }, { "timeout", required_argument, NULL, 't' },
        { "ramp", required_argument, NULL, 'r' },     { "seed", required_argument, NULL, 'S' },
        { "host", required_argument, NULL, 'H' },     { "class", required_argument, NULL, 'c' },
        { "table", no_argument, NULL, 'T' },          { "realtime", no_argument, NULL, 'R' },
        { "help", no_argument, NULL, 'h' },           { 0 },
    };
    l->seconds = 10;
    l->timeout = 60;
    l->seed = 1;
    for (int o; (o = getopt_long(argc, argv, "h", options, NULL)) >= 0;) {
        switch (o) {
        case 's': l->seconds = number("--seconds", optarg, 86400); break;
        case 'w': l->warmup = number("--warmup", optarg, 86400); break;
        case 'i': l->interval = number("--interval", optarg, 86400); break;
        case 't': l->timeout = number("--timeout", optarg, 86400); break;
        case 'r': l->ramp = number("--ramp", optarg, 86400); break;
        case 'S': l->seed = (uint64_t)number("--seed", optarg, 9e15); break;
        case 'H': l->host = optarg; break;
        case 'c': add_class(l, optarg); break;
        case 'T': l->table = true; break;
        case 'R': l->realtime = true; break;
        case 'h': help(); break;
        default: wrong("an option that there is not");
        }
    }
    if (optind != argc - 1) wrong("say where to: one HOST:PORT after the options");
    if (l->class_count == 0) add_class(l, "all");
    const struct load_target *first = target(l, argv[optind]);
    if (!l->host) l->host = first->text;
    uint64_t clients = 0;
    for (uint32_t i = 0; i < l->class_count; i++) {
        l->classes[i].kin = first_of_name(l, l->classes[i].name);
        l->classes[i].rng += l->seed * 0xaf251af3b0f025b5ull;
        make_requests(l, &l->classes[i]);
        clients += l->classes[i].clients;
    }
    if (clients > CLIENTS_MAX) wrong("%llu clients are more than %d", (unsigned long long)clients, CLIENTS_MAX);
    l->client_count = (uint32_t)clients;
}
