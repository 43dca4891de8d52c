/* SPDX-License-Identifier: BSD-2-Clause */
#include "call_http.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <curl/curl.h>

#include "base/base_command.h"
#include "base/base_error.h"
#include "base/base_report.h"
#include "config.h"
#include "get_link.h"
#include "get_output.h"
#include "service/service_text.h"

#define A_SECOND UINT64_C(1000000)

enum { LOOK_SECONDS = 2, LOOK_SECONDS_MAX = 60, SLICE_MS = 100 };

/* What becomes of the body of the answer that comes now. */
enum http_body { HTTP_BODY_UNKNOWN, HTTP_BODY_OUTPUT, HTTP_BODY_ASIDE, HTTP_BODY_DROPPED };

struct http_call {
    const struct call_settings *settings;
    const volatile sig_atomic_t *stop;
    struct get_aside *aside;
    struct call_figures *figures;
    char **error;
    bool to_output, in_work; /* in_work: 202 came */
    CURL *easy;
    struct curl_slist *fields;
    uint64_t began, until;
    enum http_body body;
    char *url; /* that is asked now */
    struct get_progress progress;
    struct get_output output;
    char why[CURL_ERROR_SIZE];
};

static uint64_t http_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * A_SECOND + (uint64_t)t.tv_nsec / 1000;
}

/* ---- URLs -------------------------------------------------------------------------------------------------------- */

struct http_part {
    char s[256];
};

/* "": that part is not there, or no memory; which no URL gets by with. */
static struct http_part http_part_of(CURLU *u, CURLUPart part) {
    struct http_part p = { "" };
    char *text = NULL;

    if (!curl_url_get(u, part, &text, CURLU_DEFAULT_PORT) && strlen(text) < sizeof p.s) strcpy(p.s, text);
    curl_free(text);
    return p;
}

static bool http_has(CURLU *u, CURLUPart part) {
    char *text = NULL;
    bool has = !curl_url_get(u, part, &text, 0);

    curl_free(text);
    return has;
}

const char *call_http_url_wrong(const char *url) {
    CURLU *u = curl_url();
    const char *wrong = NULL;

    if (!u) return "out of memory";
    if ((strncasecmp(url, "http://", 7) && strncasecmp(url, "https://", 8)) || curl_url_set(u, CURLUPART_URL, url, 0) ||
        !*http_part_of(u, CURLUPART_HOST).s || http_has(u, CURLUPART_QUERY) || http_has(u, CURLUPART_FRAGMENT) ||
        http_has(u, CURLUPART_USER))
        wrong = "must be a URL of a server and of what its CcnServices names, as http://www.example.org/ccn";
    curl_url_cleanup(u);
    return wrong;
}

char *call_http_path(const char *service) {
    struct service_text t = { 0 };

    for (const char *at = service, *end; *at; at = end) {
        end = strchrnul(at + 1, '/');
        service_text_put(&t, "/", 1);
        service_text_put_escaped(&t, at + 1, (size_t)(end - at - 1));
    }
    return service_text_take(&t, NULL);
}

static char *http_join(const char *base, const char *path) {
    size_t n = strlen(base);
    char *url;

    while (n && base[n - 1] == '/') n--;
    return asprintf(&url, "%.*s%s", (int)n, base, path) < 0 ? NULL : url;
}

/* Where its result will be, on the same server; NULL: it is nowhere that may be asked. */
static char *http_beside(const char *url, const char *location) {
    static const CURLUPart same[] = { CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT };
    CURLU *u = curl_url(), *v = curl_url();
    char *text = NULL, *copy = NULL;

    if (!u || !v || curl_url_set(u, CURLUPART_URL, url, 0) || curl_url_set(v, CURLUPART_URL, url, 0) ||
        curl_url_set(v, CURLUPART_URL, location, 0))
        goto out;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (!*http_part_of(u, same[i]).s || strcasecmp(http_part_of(u, same[i]).s, http_part_of(v, same[i]).s))
            goto out;
    if (curl_url_get(v, CURLUPART_URL, &text, 0)) goto out;
    /* As it is printed, too. */
    for (const char *p = text; *p; p++)
        if (*p <= ' ' || *p > '~') goto out;
    copy = strdup(text);
out:
    curl_free(text);
    curl_url_cleanup(u);
    curl_url_cleanup(v);
    return copy;
}

/* ---- what comes -------------------------------------------------------------------------------------------------- */

static void http_draw(struct http_call *c) {
    uint64_t now = http_now();

    if (!c->progress.terminal || (c->progress.drawn && now - c->progress.shown < A_SECOND / 5)) return;
    c->progress.shown = now;
    c->progress.drawn = true;
    fprintf(stderr, "\r\033[K%s, %.0f s", c->in_work ? "in work" : "asked", (double)(now - c->began) / A_SECOND);
    if (c->output.bytes) fprintf(stderr, ", %.1f MB", (double)c->output.bytes / 1e6);
    fflush(stderr);
}

/* Where the body goes; its first byte has come, or there is none.  False: *error. */
static bool http_head(struct http_call *c) {
    struct call_figures *f = c->figures;
    struct curl_header *h;
    const char *type = NULL;
    long status = 0;

    if (c->body != HTTP_BODY_UNKNOWN) return true;
    curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(c->easy, CURLINFO_CONTENT_TYPE, &type);
    f->status = (uint64_t)status;
    f->first = http_now() - c->began;
    snprintf(f->media_type, sizeof f->media_type, "%s", type ? type : "");
    *f->encoding = 0;
    if (!curl_easy_header(c->easy, "Content-Encoding", 0, CURLH_HEADER, -1, &h))
        snprintf(f->encoding, sizeof f->encoding, "%s", h->value);
    c->aside->n = 0;
    c->aside->cut = false;
    if (status == 202 || (status >= 300 && status < 400)) {
        c->body = HTTP_BODY_DROPPED;
    } else if (status >= 400 || !c->to_output) {
        c->body = HTTP_BODY_ASIDE;
    } else {
        c->body = HTTP_BODY_OUTPUT;
        get_progress_clear(&c->progress);
        return !get_output_begin(&c->output, 0, c->error);
    }
    return true;
}

static size_t http_on_body(char *bytes, size_t size, size_t n, void *of) {
    struct http_call *c = of;

    (void)size;
    if (!http_head(c)) return 0;
    if (c->body == HTTP_BODY_ASIDE) get_aside_put(c->aside, bytes, n);
    if (c->aside->cut) return base_fail(c->error, "%s: answers more than can be looked at", c->settings->http), 0;
    if (c->body == HTTP_BODY_OUTPUT) {
        if (get_output_put(&c->output, bytes, n, c->error)) return 0;
        if (!c->output.file && get_output_flush(&c->output, false, c->error)) return 0;
    }
    return n;
}

static int http_on_progress(void *of, curl_off_t to, curl_off_t came, curl_off_t from, curl_off_t went) {
    struct http_call *c = of;

    (void)to, (void)came, (void)from, (void)went;
    /* Where the result goes to the terminal, too, a line that is drawn anew would go through it. */
    if (c->body != HTTP_BODY_OUTPUT || c->output.file) http_draw(c);
    return *c->stop != 0;
}

/* ---- one request ------------------------------------------------------------------------------------------------- */

static bool http_field(struct http_call *c, const char *line) {
    struct curl_slist *more = curl_slist_append(c->fields, line);

    if (more) c->fields = more;
    return more != NULL;
}

static bool http_prepare(struct http_call *c, const struct call_asked *a) {
    const struct call_settings *s = c->settings;
    bool good = true;

    curl_slist_free_all(c->fields);
    c->fields = NULL;
    if (a->body) good = http_field(c, "Content-Type: application/json") && http_field(c, "Expect:");
    if (good && s->fresh && a->body) good = http_field(c, "Cache-Control: no-cache");
    for (unsigned i = 0; i < s->header.n && good; i++) good = http_field(c, s->header.item[i]);
    if (!good) return false;
    curl_easy_reset(c->easy);
    curl_easy_setopt(c->easy, CURLOPT_URL, c->url);
    curl_easy_setopt(c->easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(c->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c->easy, CURLOPT_USERAGENT, "fairgate-ccncall/" PACKAGE_VERSION);
    curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->fields);
    curl_easy_setopt(c->easy, CURLOPT_ERRORBUFFER, c->why);
    curl_easy_setopt(c->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c->easy, CURLOPT_CONNECTTIMEOUT, (long)GET_CONNECT_SECONDS);
    curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, http_on_body);
    curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(c->easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c->easy, CURLOPT_XFERINFOFUNCTION, http_on_progress);
    curl_easy_setopt(c->easy, CURLOPT_XFERINFODATA, c);
    if (s->cacert) curl_easy_setopt(c->easy, CURLOPT_CAINFO, s->cacert);
    if (a->body) curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, a->body);
    return true;
}

static enum get_exit http_fail(struct http_call *c, enum get_exit status, const char *sentence) {
    base_fail(c->error, "%s: %s", c->settings->http, sentence);
    return status;
}

static enum get_exit http_late(struct http_call *c) {
    if (c->in_work)
        base_fail(c->error, "no result within %" PRIu64 " s; the call goes on, and its result will be %s",
                  c->settings->timeout, c->url);
    else base_fail(c->error, "%s: no answer within %" PRIu64 " s", c->settings->http, c->settings->timeout);
    return GET_EXIT_TIME;
}

static enum get_exit http_judge(struct http_call *c, CURLcode rv) {
    switch (rv) {
    case CURLE_OK: return GET_EXIT_RIGHT;
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY: return http_fail(c, GET_EXIT_NO_CONNECTION, base_quote(c->why, strlen(c->why)).s);
    case CURLE_OPERATION_TIMEDOUT:
        return http_now() < c->until ? http_fail(c, GET_EXIT_NO_CONNECTION, "it can't be reached") : http_late(c);
    case CURLE_ABORTED_BY_CALLBACK: return http_fail(c, GET_EXIT_WRONG, "interrupted");
    default: break;
    }
    if (*c->error) return GET_EXIT_WRONG; /* of what was written */
    return http_fail(c, GET_EXIT_WRONG, *c->why ? base_quote(c->why, strlen(c->why)).s : curl_easy_strerror(rv));
}

static enum get_exit http_one(struct http_call *c, const struct call_asked *a) {
    uint64_t now = http_now();
    curl_off_t connected = 0;
    CURLcode rv;

    if (now >= c->until) return http_late(c);
    if (!http_prepare(c, a)) return base_fail(c->error, "out of memory"), GET_EXIT_WRONG;
    curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, (long)((c->until - now) / 1000 + 1));
    *c->why = 0;
    c->body = HTTP_BODY_UNKNOWN;
    rv = curl_easy_perform(c->easy);
    if (!rv && !http_head(c)) rv = CURLE_WRITE_ERROR;
    curl_easy_getinfo(c->easy, CURLINFO_CONNECT_TIME_T, &connected);
    if (connected && !c->figures->connected) c->figures->connected = now - c->began + (uint64_t)connected;
    return http_judge(c, rv);
}

/* ---- a call ------------------------------------------------------------------------------------------------------ */

/* Until it is time to look, or to stop. */
static void http_wait(struct http_call *c) {
    struct timespec slice = { .tv_nsec = SLICE_MS * 1000000L };
    curl_off_t said = 0;
    uint64_t until;

    curl_easy_getinfo(c->easy, CURLINFO_RETRY_AFTER, &said);
    if (said <= 0) said = LOOK_SECONDS;
    if (said > LOOK_SECONDS_MAX) said = LOOK_SECONDS_MAX;
    until = http_now() + (uint64_t)said * A_SECOND;
    if (until > c->until) until = c->until;
    while (!*c->stop && http_now() < until) {
        http_draw(c);
        nanosleep(&slice, NULL);
    }
}

/* It was answered 202: from now on the URL is that of its result. */
static enum get_exit http_accepted(struct http_call *c) {
    struct curl_header *h;
    char *next = NULL;

    if (!curl_easy_header(c->easy, "Location", 0, CURLH_HEADER, -1, &h)) next = http_beside(c->url, h->value);
    if (!next && c->in_work) return GET_EXIT_RIGHT; /* where it was looked for it will be */
    if (!next) return http_fail(c, GET_EXIT_WRONG, "the call goes on, but where its result will be is not said");
    free(c->url);
    c->url = next;
    c->in_work = true;
    return GET_EXIT_RIGHT;
}

static enum get_exit http_moved(struct http_call *c) {
    struct curl_header *h;
    char sentence[400];

    if (!curl_easy_header(c->easy, "Location", 0, CURLH_HEADER, -1, &h))
        snprintf(sentence, sizeof sentence, "status %" PRIu64 ", it leads to %s; say that to --http, if you trust it",
                 c->figures->status, base_quote(h->value, strlen(h->value)).s);
    else snprintf(sentence, sizeof sentence, "status %" PRIu64, c->figures->status);
    return http_fail(c, GET_EXIT_WRONG, sentence);
}

static enum get_exit http_until_done(struct http_call *c, const struct call_asked *asked) {
    const struct call_asked look = { .body = NULL };
    enum get_exit rv = http_one(c, asked);

    while (rv == GET_EXIT_RIGHT && c->figures->status == 202) {
        if ((rv = http_accepted(c))) return rv;
        http_wait(c);
        if (*c->stop) return http_fail(c, GET_EXIT_WRONG, "interrupted");
        c->figures->looked++;
        rv = http_one(c, &look);
    }
    if (rv) return rv;
    if (c->figures->status >= 400) return GET_EXIT_STATUS;
    return c->figures->status >= 200 && c->figures->status < 300 ? GET_EXIT_RIGHT : http_moved(c);
}

enum get_exit call_http(const struct call_settings *s, const struct call_asked *a, bool to_output,
                        const volatile sig_atomic_t *stop, struct get_aside *aside, struct call_figures *f,
                        char **error) {
    struct http_call *c = calloc(1, sizeof *c);
    enum get_exit rv = GET_EXIT_WRONG;

    *f = (struct call_figures){ .status = NDN_NO_NUMBER };
    if (!c) return base_fail(error, "out of memory"), rv;
    *c = (struct http_call){ .settings = s,
                             .stop = stop,
                             .aside = aside,
                             .figures = f,
                             .error = error,
                             .to_output = to_output,
                             .began = http_now(),
                             .easy = curl_easy_init(),
                             .url = http_join(s->http, a->path) };
    c->until = c->began + s->timeout * A_SECOND;
    get_progress_init(&c->progress, s->quiet);
    get_output_init(&c->output, strcmp(s->output, "-") ? s->output : NULL);
    if (c->easy && c->url) rv = http_until_done(c, a);
    else base_fail(error, "out of memory");
    get_progress_clear(&c->progress);
    if (get_output_end(&c->output, *error ? NULL : error) && !rv) rv = GET_EXIT_WRONG;
    f->bytes = c->output.bytes;
    f->whole = http_now() - c->began;
    curl_easy_cleanup(c->easy);
    curl_slist_free_all(c->fields);
    free(c->url);
    free(c);
    return rv;
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

void call_http_report(const struct call_figures *f, FILE *out) {
    struct base_json j = base_json_into(base_to_file(out));

    base_json_object(&j, NULL);
    if (f->status == NDN_NO_NUMBER) base_json_text(&j, "status", NULL);
    else base_json_whole(&j, "status", f->status);
    base_json_whole(&j, "bytes", f->bytes);
    get_report_time(&j, "seconds", f->whole);
    get_report_time(&j, "first_byte_seconds", f->first);
    get_report_time(&j, "connected_seconds", f->connected);
    base_json_whole(&j, "looked", f->looked);
    get_report_said(&j, "content_type", f->media_type);
    get_report_said(&j, "content_encoding", f->encoding);
    base_json_end_object(&j);
    base_json_done(&j);
    fflush(out);
}
