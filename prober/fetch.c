/* SPDX-License-Identifier: BSD-2-Clause */
#include "fetch.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <curl/curl.h>

#include "config.h"

#include "base/base_error.h"
#include "web/web_header.h"

struct transfer {
    struct fetch *fetch;
    CURL *easy;
    struct curl_slist *validators; /* of this request */
    void *context;
    uint16_t origin;
    int busy, refused, cut;
    struct web_header header;
    struct fetch_answer answer;
};

struct fetch {
    const struct settings *settings;
    const struct scope *scope;
    struct fetch_calls calls;
    CURLM *multi;
    struct curl_slist *backend;
    struct transfer *transfer;
    unsigned n, running;
    uint64_t bytes, requests;
    char agent[512];
};

/* ---- header ------------------------------------------------------------------------------------------------------ */

static int fetch_begins(const char *value, size_t n, const char *word) {
    size_t k = strlen(word);
    return n >= k && !strncasecmp(value, word, k) && (n == k || strchr("; \t,", value[k]));
}

static int holds(const char *value, size_t n, const char *word) {
    size_t k = strlen(word);
    for (size_t i = 0; i + k <= n; i++)
        if (!strncasecmp(value + i, word, k)) return 1;
    return 0;
}

static uint32_t date_of(const char *value, size_t n) {
    char text[64];
    time_t t;

    if (n >= sizeof text) return 0;
    memcpy(text, value, n);
    text[n] = 0;
    t = curl_getdate(text, NULL);
    return t > 0 && t < UINT32_MAX ? (uint32_t)t : 0;
}

static uint64_t decimal(const char *value, size_t n) {
    uint64_t total = 0;

    if (!n) return FETCH_UNKNOWN;
    for (; n; value++, n--) {
        if (*value < '0' || *value > '9' || total > PAGES_SIZE_MAX) return FETCH_UNKNOWN;
        total = total * 10 + (uint64_t)(*value - '0');
    }
    return total <= PAGES_SIZE_MAX ? total : FETCH_UNKNOWN;
}

static void take_retry(struct fetch_answer *a, const char *value, size_t n) {
    uint64_t seconds = decimal(value, n);
    uint32_t date;

    if (seconds == FETCH_UNKNOWN) {
        date = date_of(value, n);
        seconds = date > time(NULL) ? date - (uint64_t)time(NULL) : 0;
    }
    a->retry_after = seconds < 86400 ? (uint32_t)seconds : 86400;
}

static void take_type(struct fetch_answer *a, const char *value, size_t n) {
    if (fetch_begins(value, n, "text/html") || fetch_begins(value, n, "application/xhtml+xml")) a->type = FETCH_HTML;
    else if (fetch_begins(value, n, "text/css")) a->type = FETCH_CSS;
    else if (fetch_begins(value, n, "text/xml") || fetch_begins(value, n, "application/xml")) a->type = FETCH_XML;
    else a->type = FETCH_OTHER;
    a->packable = fetch_begins(value, n, "image/svg+xml") || (n > 5 && !strncasecmp(value, "text/", 5)) ||
                  holds(value, n, "javascript") || holds(value, n, "json") || holds(value, n, "+xml");
}

static void take_coding(struct fetch_answer *a, const char *value, size_t n) {
    if (fetch_begins(value, n, "identity")) return;
    a->coded = 1;
    if (fetch_begins(value, n, "br")) a->coding = PAGES_BR;
    else if (fetch_begins(value, n, "gzip") || fetch_begins(value, n, "x-gzip")) a->coding = PAGES_GZIP;
}

static void fetch_take_line(void *of, const char *line, size_t n) {
    struct fetch_answer *a = of;
    const char *v;
    size_t k;

    if ((v = web_header_value(line, n, "content-length", &k))) a->length = decimal(v, k);
    else if ((v = web_header_value(line, n, "content-type", &k))) take_type(a, v, k);
    else if ((v = web_header_value(line, n, "content-encoding", &k))) take_coding(a, v, k);
    else if ((v = web_header_value(line, n, "set-cookie", &k))) a->cookie = 1;
    else if ((v = web_header_value(line, n, "x-robots-tag", &k)))
        a->nofollow |= holds(v, k, "nofollow") || holds(v, k, "none");
    else if ((v = web_header_value(line, n, "last-modified", &k))) a->modified = date_of(v, k);
    else if ((v = web_header_value(line, n, "retry-after", &k))) take_retry(a, v, k);
    else if ((v = web_header_value(line, n, "etag", &k)) && k && k <= PAGES_ETAG_MAX) {
        memcpy(a->etag, v, k);
        a->etag[k] = 0;
        for (size_t i = 0; i < k; i++)
            if ((unsigned char)v[i] <= ' ' || v[i] == 127) a->etag[0] = 0;
    } else if ((v = web_header_value(line, n, "location", &k)) && k <= PAGES_TARGET_MAX) {
        memcpy(a->location, v, k);
        a->location[k] = 0;
    }
}

static void begin_answer(struct fetch_answer *a) {
    memset(a, 0, offsetof(struct fetch_answer, etag));
    a->length = FETCH_UNKNOWN;
    a->etag[0] = a->location[0] = a->error[0] = 0;
}

static size_t fetch_on_header(char *line, size_t size, size_t n, void *context) {
    struct transfer *t = context;
    struct fetch_answer *a = &t->answer;
    long status = 0;

    (void)size;
    if (n > 5 && !memcmp(line, "HTTP/", 5)) {
        begin_answer(a);
        t->header.n = 0;
        curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
        a->status = (unsigned)status;
        return n;
    }
    if (n > 2) return web_header_add(&t->header, line, n, fetch_take_line, a) ? n : 0;
    web_header_end(&t->header, fetch_take_line, a);
    if (a->status < 200 || !t->fetch->calls.header(t->context, a)) return n;
    t->cut = 1;
    return 0;
}

static size_t fetch_on_body(char *data, size_t size, size_t n, void *context) {
    struct transfer *t = context;

    (void)size;
    t->answer.plain += n;
    if (t->answer.plain > t->fetch->settings->max_bytes || t->fetch->calls.body(t->context, &t->answer, data, n)) {
        t->cut = 1;
        return n + 1;
    }
    return n;
}

/* Packed bytes that unpack to nothing count too. */
static int on_progress(void *context, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up) {
    struct transfer *t = context;

    (void)total;
    (void)up_total;
    (void)up;
    if (now <= (curl_off_t)t->fetch->settings->max_bytes) return 0;
    t->cut = 1;
    return 1;
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

static curl_socket_t on_open(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
    struct transfer *t = context;

    if (purpose != CURLSOCKTYPE_IPCXN || !scope_allows(t->fetch->scope, t->origin, &address->addr)) {
        t->refused = 1;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

#define SET(option, value) curl_easy_setopt(t->easy, option, value)

static int fetch_prepare(struct transfer *t) {
    const struct settings *s = t->fetch->settings;

    t->easy = curl_easy_init();
    if (!t->easy) return 0;
    SET(CURLOPT_PRIVATE, t);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PATH_AS_IS, 1L);
    SET(CURLOPT_USERAGENT, t->fetch->agent);
    SET(CURLOPT_CONNECT_TO, t->fetch->backend);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    SET(CURLOPT_TIMEOUT, (long)s->timeout);
    SET(CURLOPT_CONNECTTIMEOUT, (long)(s->timeout < 10 ? s->timeout : 10));
    SET(CURLOPT_BUFFERSIZE, 65536L);
    SET(CURLOPT_HEADERFUNCTION, fetch_on_header);
    SET(CURLOPT_HEADERDATA, t);
    SET(CURLOPT_WRITEFUNCTION, fetch_on_body);
    SET(CURLOPT_WRITEDATA, t);
    SET(CURLOPT_XFERINFOFUNCTION, on_progress);
    SET(CURLOPT_XFERINFODATA, t);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_OPENSOCKETFUNCTION, on_open);
    SET(CURLOPT_OPENSOCKETDATA, t);
    SET(CURLOPT_ERRORBUFFER, t->answer.error);
    if (s->cacert) SET(CURLOPT_CAINFO, s->cacert);
    return 1;
}

struct fetch *fetch_new(const struct settings *s, const struct scope *scope, const struct fetch_calls *calls,
                        char **error) {
    struct fetch *f = calloc(1, sizeof *f);
    char to[512];
    int ok;

    *error = NULL;
    ok = f && !curl_global_init(CURL_GLOBAL_DEFAULT);
    if (ok) {
        f->settings = s;
        f->scope = scope;
        f->calls = *calls;
        f->n = s->connections;
        snprintf(f->agent, sizeof f->agent, "fairgate-prober/%s%s%s%s", PACKAGE_VERSION, s->contact ? " (+" : "",
                 s->contact ? s->contact : "", s->contact ? ")" : "");
        if (s->backend) {
            snprintf(to, sizeof to, "::%s", s->backend);
            f->backend = curl_slist_append(NULL, to);
        }
        f->multi = curl_multi_init();
        f->transfer = calloc(f->n, sizeof *f->transfer);
        ok = f->multi && f->transfer && (!s->backend || f->backend);
    }
    for (unsigned i = 0; ok && i < f->n; i++) {
        f->transfer[i].fetch = f;
        ok = fetch_prepare(&f->transfer[i]);
    }
    if (ok) {
        curl_multi_setopt(f->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)f->n);
        return f;
    }
    if (f) fetch_free(&f);
    base_fail(error, "out of memory");
    return NULL;
}

/*
 * httpd names a packed answer's validator after the plain one's, and does not know it again when it is asked: name
 * both.
 */
static void validator(char *out, size_t room, const char *etag) {
    static const char *const suffixes[] = { "-gzip\"", "-br\"", NULL };
    size_t n = strlen(etag);

    for (const char *const *s = suffixes; *s; s++) {
        size_t k = strlen(*s);
        if (n > k + 1 && !strcmp(etag + n - k, *s)) {
            snprintf(out, room, "If-None-Match: %s, %.*s\"", etag, (int)(n - k), etag);
            return;
        }
    }
    snprintf(out, room, "If-None-Match: %s", etag);
}

static void since(char *out, size_t room, time_t modified) {
    struct tm tm;

    gmtime_r(&modified, &tm);
    strftime(out, room, "If-Modified-Since: %a, %d %b %Y %H:%M:%S GMT", &tm);
}

int fetch_start(struct fetch *f, const struct fetch_request *r) {
    static const char *const accept[] = { NULL, "gzip", "gzip, br" };
    char url[PAGES_ORIGIN_MAX + PAGES_TARGET_MAX + 1], line[2 * PAGES_ETAG_MAX + 64];
    struct transfer *t = f->transfer;

    if (f->running == f->n) return -1;
    while (t->busy) t++;
    begin_answer(&t->answer);
    t->context = r->context;
    t->origin = r->origin;
    t->refused = t->cut = 0;
    snprintf(url, sizeof url, "%s%s", f->scope->origin[r->origin].name, r->target);
    if (r->etag) validator(line, sizeof line, r->etag);
    else if (r->modified) since(line, sizeof line, (time_t)r->modified);
    if (r->etag || r->modified) t->validators = curl_slist_append(NULL, line);
    SET(CURLOPT_URL, url);
    SET(CURLOPT_HTTPGET, 1L);
    SET(CURLOPT_NOBODY, r->head ? 1L : 0L);
    SET(CURLOPT_ACCEPT_ENCODING, accept[r->coding]);
    SET(CURLOPT_HTTPHEADER, t->validators);
    if (curl_multi_add_handle(f->multi, t->easy)) return -1;
    t->busy = 1;
    f->running++;
    f->requests++;
    return 0;
}

static void fetch_end(struct fetch *f, struct transfer *t, CURLcode code) {
    struct fetch_answer *a = &t->answer;
    curl_off_t wire = 0, total = 0, asked = 0;
    long header = 0;

    curl_easy_getinfo(t->easy, CURLINFO_SIZE_DOWNLOAD_T, &wire);
    curl_easy_getinfo(t->easy, CURLINFO_HEADER_SIZE, &header);
    curl_easy_getinfo(t->easy, CURLINFO_TOTAL_TIME_T, &total);
    curl_easy_getinfo(t->easy, CURLINFO_PRETRANSFER_TIME_T, &asked);
    curl_multi_remove_handle(f->multi, t->easy);
    curl_slist_free_all(t->validators);
    t->validators = NULL;
    a->wire = (uint64_t)wire;
    a->header = (uint32_t)header;
    a->time = total > asked ? (uint32_t)(total - asked < PAGES_TIME_MAX ? total - asked : PAGES_TIME_MAX) : 0;
    f->bytes += a->wire + a->header;
    a->end = code == CURLE_OK                              ? FETCH_WHOLE
             : t->cut                                      ? FETCH_CUT
             : t->refused && code == CURLE_COULDNT_CONNECT ? FETCH_REFUSED
                                                           : FETCH_FAILED;
    if (a->end == FETCH_FAILED && !a->error[0]) snprintf(a->error, sizeof a->error, "%s", curl_easy_strerror(code));
    t->busy = 0;
    f->running--;
    f->calls.done(t->context, a);
}

void fetch_run(struct fetch *f, int timeout_ms) {
    int running, left;
    CURLMsg *m;

    curl_multi_poll(f->multi, NULL, 0, timeout_ms, NULL);
    curl_multi_perform(f->multi, &running);
    while ((m = curl_multi_info_read(f->multi, &left)) != NULL) {
        struct transfer *t;
        CURLcode code = m->data.result;

        if (m->msg != CURLMSG_DONE) continue;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        fetch_end(f, t, code);
    }
}

unsigned fetch_running(const struct fetch *f) { return f->running; }
uint64_t fetch_bytes(const struct fetch *f) { return f->bytes; }
uint64_t fetch_requests(const struct fetch *f) { return f->requests; }

void fetch_free(struct fetch **fetch) {
    struct fetch *f = *fetch;

    if (!f) return;
    for (unsigned i = 0; f->transfer && i < f->n; i++) {
        if (f->transfer[i].busy) curl_multi_remove_handle(f->multi, f->transfer[i].easy);
        curl_slist_free_all(f->transfer[i].validators);
        curl_easy_cleanup(f->transfer[i].easy);
        free(f->transfer[i].header.line);
    }
    if (f->multi) curl_multi_cleanup(f->multi);
    curl_slist_free_all(f->backend);
    free(f->transfer);
    free(f);
    *fetch = NULL;
    curl_global_cleanup();
}
