/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A transfer waits, runs, and ends:
 *
 *     waits    in the list `first`, in the order of web_start, under `lock`; any thread puts one in, the running thread
 *              takes it out
 *     runs     in `running` and in libcurl's multi handle, the running thread's alone; a redirect takes it out of the
 *              multi handle and puts it back in
 *     ends     is in neither; `done` is called without the lock, then it is freed
 *
 * Deadlines are set under the lock, so what starts to run has an earlier one than what still waits.
 */
#include "web_fetch.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#include <curl/curl.h>

#include "config.h"

#include "base/base_error.h"
#include "web_fresh.h"
#include "web_header.h"

#define HEADERS_MAX    65536
#define LOCATION_MAX   WEB_URI_MAX
#define MEDIA_TYPE_MAX 255
#define VALIDATOR_MAX  255

_Static_assert(WEB_ERROR_MAX >= CURL_ERROR_SIZE, "libcurl writes its sentence there");

/* Why we broke it off, which libcurl calls an error of writing. */
enum web_broken { NOT_BROKEN, BY_REDIRECT, BY_SIZE, BY_HEADERS, BY_PACKING, BY_MEMORY, BY_ROOM };

struct web_transfer {
    struct web_fetch *fetch;
    struct web_transfer *next; /* while it waits */
    unsigned slot;             /* in running */
    CURL *easy;
    char *url;      /* as it was given while it waits; then the one that is asked for */
    uint64_t bytes; /* of a body, at most */
    int64_t deadline_ms;
    unsigned redirects;
    web_done *done;
    void *of;
    uint64_t fresh_s; /* no more than the way to here allows */
    char *validator;  /* of the caller's */
    struct curl_slist *field;

    /* Of the answer that comes. */
    enum web_broken broken;
    bool ftp, header_ended, refused;
    size_t header_bytes, room;
    struct web_header header;
    struct web_fresh fresh;
    char *location;
    struct web_answer answer;
};

struct web_fetch {
    struct web_allowed *allowed;
    uint64_t bytes;
    unsigned seconds, redirects, at_once;
    bool (*take)(uint64_t bytes);
    void (*give)(uint64_t bytes);
    CURLM *multi;
    struct web_transfer **running;
    unsigned nrunning;

    pthread_mutex_t lock; /* covers what follows */
    struct web_transfer *first, **last;
    unsigned nwaiting;
    bool ending;
};

static int64_t web_now_ms(void) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- what comes -------------------------------------------------------------------------------------------------- */

/* A copy of what is printable ASCII and no longer than that, or NULL. */
static char *web_word(const char *value, size_t n, size_t most) {
    if (!n || n > most) return NULL;
    for (size_t i = 0; i < n; i++)
        if (value[i] < ' ' || value[i] > '~') return NULL;
    return strndup(value, n);
}

static void web_give_room(struct web_transfer *t) {
    if (t->room && t->fetch->give) t->fetch->give(t->room);
    t->room = 0;
}

static void web_forget_answer(struct web_transfer *t) {
    web_give_room(t);
    free(t->answer.validator);
    free(t->answer.media_type);
    free(t->answer.body);
    free(t->location);
    memset(&t->answer, 0, sizeof t->answer);
    memset(&t->fresh, 0, sizeof t->fresh);
    t->location = NULL;
    t->header.n = 0;
    t->header_ended = false;
    t->broken = NOT_BROKEN;
}

static void web_take_line(void *of, const char *line, size_t n) {
    struct web_transfer *t = of;
    const char *v;
    size_t k;

    if ((v = web_header_value(line, n, "content-type", &k))) {
        free(t->answer.media_type);
        t->answer.media_type = web_word(v, k, MEDIA_TYPE_MAX);
    } else if ((v = web_header_value(line, n, "etag", &k)) ||
               (!t->answer.validator && (v = web_header_value(line, n, "last-modified", &k)))) {
        free(t->answer.validator);
        t->answer.validator = web_word(v, k, VALIDATOR_MAX);
    } else if ((v = web_header_value(line, n, "location", &k))) {
        /* Its letters are judged with the URL; one that is too long leads nowhere. */
        free(t->location);
        t->location = strndup(v, k <= LOCATION_MAX ? k : LOCATION_MAX + 1);
    } else if ((v = web_header_value(line, n, "content-encoding", &k))) {
        if (k && (k != 8 || strncasecmp(v, "identity", 8))) t->broken = BY_PACKING;
    } else if ((v = web_header_value(line, n, "cache-control", &k))) web_fresh_control(&t->fresh, v, k);
    else if ((v = web_header_value(line, n, "age", &k))) web_fresh_age(&t->fresh, v, k);
    else if ((v = web_header_value(line, n, "vary", &k))) web_fresh_vary(&t->fresh, v, k);
}

static bool web_is_redirect(unsigned status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/*
 * A redirect is broken off where its header ends.  Its body is of no use, and libcurl 7.88 would take its Location
 * apart, which it loses memory over if the host is wrong.
 */
static size_t web_on_header(char *line, size_t size, size_t n, void *context) {
    struct web_transfer *t = context;

    (void)size;
    t->header_bytes += n;
    if (t->header_bytes > HEADERS_MAX) {
        t->broken = BY_HEADERS;
        return 0;
    }
    if (t->ftp) {
        /* 221 is what servers say to our leaving. */
        if (n > 3 && line[0] >= '1' && line[0] <= '5' && isdigit((unsigned char)line[1]) &&
            isdigit((unsigned char)line[2]) && memcmp(line, "221", 3))
            t->answer.status = (unsigned)(100 * (line[0] - '0') + 10 * (line[1] - '0') + line[2] - '0');
        return n;
    }
    if (t->header_ended) return n; /* what follows a body is no header of ours */
    if (n > 5 && !memcmp(line, "HTTP/", 5)) {
        long status = 0;
        web_forget_answer(t);
        curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
        t->answer.status = (unsigned)status;
        return n;
    }
    if (n > 2) {
        if (web_header_add(&t->header, line, n, web_take_line, t)) return n;
        t->broken = BY_MEMORY;
        return 0;
    }
    web_header_end(&t->header, web_take_line, t);
    if (t->answer.status < 200) return n; /* another header follows */
    t->header_ended = true;
    if (web_is_redirect(t->answer.status) && t->location && *t->location) t->broken = BY_REDIRECT;
    return t->broken ? 0 : n;
}

static size_t web_on_body(char *data, size_t size, size_t n, void *context) {
    struct web_transfer *t = context;
    struct web_answer *a = &t->answer;

    (void)size;
    if (n > t->bytes || a->n > t->bytes - n) {
        t->broken = BY_SIZE;
        return n + 1;
    }
    if (a->n + n >= t->room) {
        size_t room = 2 * (a->n + n) + 4096;
        uint8_t *more;

        if (room > t->bytes + 1) room = t->bytes + 1;
        if (t->fetch->take && !t->fetch->take(room - t->room)) {
            t->broken = BY_ROOM;
            return n + 1;
        }
        more = realloc(a->body, room);
        if (!more) {
            if (t->fetch->give) t->fetch->give(room - t->room);
            t->broken = BY_MEMORY;
            return n + 1;
        }
        a->body = more;
        t->room = room;
    }
    memcpy(a->body + a->n, data, n);
    a->n += n;
    return n;
}

/* Bytes that a coding makes nothing of count too. */
static int web_on_progress(void *context, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up) {
    struct web_transfer *t = context;

    (void)total;
    (void)up_total;
    (void)up;
    if (now <= 0 || (uint64_t)now <= t->bytes) return 0;
    t->broken = BY_SIZE;
    return 1;
}

static curl_socket_t web_on_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
    struct web_transfer *t = context;

    if (purpose != CURLSOCKTYPE_IPCXN || !web_allowed_address(t->fetch->allowed, &address->addr)) {
        t->refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* ---- transfers --------------------------------------------------------------------------------------------------- */

static void web_say(struct web_transfer *t, const char *text) {
    snprintf(t->answer.error, sizeof t->answer.error, "%s", text);
}

/* It is out of all lists. */
static void web_finish(struct web_transfer *t, enum web_end end) {
    struct web_answer *a = &t->answer;

    a->end = end;
    web_give_room(t);
    if (end == WEB_WHOLE && !a->body) a->body = calloc(1, 1);
    if (end == WEB_WHOLE && !a->body) {
        a->end = WEB_FAILED;
        web_say(t, "no memory");
    }
    if (a->end == WEB_WHOLE) {
        uint64_t fresh_s = web_fresh_seconds(&t->fresh);
        uint8_t *exact = realloc(a->body, a->n + 1);
        if (exact) a->body = exact;
        a->body[a->n] = 0;
        a->fresh_s = fresh_s < t->fresh_s ? fresh_s : t->fresh_s;
        a->error[0] = 0;
    } else {
        free(a->body);
        a->body = NULL;
        a->n = 0;
    }
    for (char *c = a->error; *c; c++)
        if (*c < ' ' || *c > '~') *c = '?';
    t->done(t->of, a);
    web_forget_answer(t);
    curl_easy_cleanup(t->easy);
    curl_slist_free_all(t->field);
    free(t->header.line);
    free(t->validator);
    free(t->url);
    free(t);
}

/* Takes it out of those that run. */
static void web_finish_running(struct web_fetch *f, struct web_transfer *t, enum web_end end) {
    f->nrunning--;
    f->running[t->slot] = f->running[f->nrunning];
    f->running[t->slot]->slot = t->slot;
    web_finish(t, end);
}

#define SET(option, value) (failed |= curl_easy_setopt(t->easy, option, value) != CURLE_OK)

/* An entity tag begins with a quote, a date does not. */
static int web_condition(struct web_transfer *t) {
    const char *name = strchr(t->validator, '"') ? "If-None-Match" : "If-Modified-Since";
    char text[VALIDATOR_MAX + 32];

    snprintf(text, sizeof text, "%s: %s", name, t->validator);
    t->field = curl_slist_append(NULL, text);
    return t->field ? 0 : -1;
}

/* Whatever of this libcurl does not take would be a hole. */
static int web_prepare(struct web_transfer *t) {
    bool failed = false;

    t->easy = curl_easy_init();
    if (!t->easy) return -1;
    SET(CURLOPT_PRIVATE, t);
    SET(CURLOPT_PROTOCOLS_STR, "http,https,ftp");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_NOSIGNAL, 1L);
    /* What is over does not wait for a name's look-up. */
    SET(CURLOPT_QUICK_EXIT, 1L);
    SET(CURLOPT_USERAGENT, "fairgate/" PACKAGE_VERSION);
    /* One parser less between strangers and us than with HTTP/2, and a transfer alone on its connection. */
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_HEADERFUNCTION, web_on_header);
    SET(CURLOPT_HEADERDATA, t);
    SET(CURLOPT_WRITEFUNCTION, web_on_body);
    SET(CURLOPT_WRITEDATA, t);
    SET(CURLOPT_XFERINFOFUNCTION, web_on_progress);
    SET(CURLOPT_XFERINFODATA, t);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_OPENSOCKETFUNCTION, web_on_socket);
    SET(CURLOPT_OPENSOCKETDATA, t);
    SET(CURLOPT_ERRORBUFFER, t->answer.error);
    if (t->bytes <= INT64_MAX) SET(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)t->bytes);
    SET(CURLOPT_FTP_SKIP_PASV_IP, 1L);
    if (t->validator) {
        failed |= web_condition(t) != 0;
        SET(CURLOPT_HTTPHEADER, t->field);
    }
    return failed ? -1 : 0;
}

/* Has libcurl ask for t->url.  0; or -1 and the reason why that is its end. */
static int web_ask(struct web_fetch *f, struct web_transfer *t, enum web_end *end) {
    int64_t left = t->deadline_ms - web_now_ms();
    bool failed = false;

    *end = WEB_TOO_SLOW;
    if (left <= 0) {
        web_say(t, "no time is left");
        return -1;
    }
    t->ftp = !strncmp(t->url, "ftp:", 4);
    t->header_bytes = 0;
    t->refused = false;
    SET(CURLOPT_URL, t->url);
    SET(CURLOPT_TIMEOUT_MS, (long)left);
    SET(CURLOPT_SERVER_RESPONSE_TIMEOUT, t->ftp ? (long)WEB_FTP_WAIT : 0L);
    /* A kept connection of ftp would be closed when nobody's bounds hold any more. */
    SET(CURLOPT_FORBID_REUSE, t->ftp ? 1L : 0L);
    if (!failed && !curl_multi_add_handle(f->multi, t->easy)) return 0;
    *end = WEB_FAILED;
    web_say(t, "no memory");
    return -1;
}

/* 0: it goes on at the Location.  -1: this is the end. */
static int web_follow(struct web_fetch *f, struct web_transfer *t, enum web_end *end) {
    unsigned status = t->answer.status;
    char error[WEB_ERROR_MAX], *url;
    struct web_fresh *fresh = &t->fresh;

    if (t->redirects++ >= f->redirects) {
        *end = WEB_FAILED;
        snprintf(t->answer.error, sizeof t->answer.error, "more than %u redirects", f->redirects);
        return -1;
    }
    /* One that is permanent may be kept without a word. */
    if (web_fresh_was_said(fresh) || (status != 301 && status != 308)) {
        uint64_t fresh_s = web_fresh_seconds(fresh);
        if (fresh_s < t->fresh_s) t->fresh_s = fresh_s;
    }
    url = web_allowed_url(f->allowed, t->url, t->location, error);
    web_forget_answer(t);
    if (!url) {
        *end = WEB_NOT_ALLOWED;
        t->answer.status = status;
        web_say(t, error);
        return -1;
    }
    free(t->url);
    t->url = url;
    return web_ask(f, t, end);
}

static void web_ended(struct web_fetch *f, struct web_transfer *t, CURLcode code) {
    enum web_end end = WEB_FAILED;

    curl_multi_remove_handle(f->multi, t->easy);
    if (t->broken == BY_REDIRECT) {
        if (!web_follow(f, t, &end)) return;
    } else {
        if (t->broken == BY_SIZE || code == CURLE_FILESIZE_EXCEEDED) {
            end = WEB_TOO_LARGE;
            snprintf(t->answer.error, sizeof t->answer.error, "more than %llu bytes", (unsigned long long)t->bytes);
        } else if (t->broken == BY_HEADERS) {
            end = WEB_TOO_LARGE;
            snprintf(t->answer.error, sizeof t->answer.error, "more than %d bytes of headers", HEADERS_MAX);
        } else if (t->broken == BY_PACKING) web_say(t, "the answer is packed, which was not asked for");
        else if (t->broken == BY_MEMORY) web_say(t, "no memory");
        else if (t->broken == BY_ROOM) {
            end = WEB_NO_ROOM;
            web_say(t, "there is no room for its body now");
        } else if (code == CURLE_OK) end = WEB_WHOLE;
        else if (code == CURLE_OPERATION_TIMEDOUT) end = WEB_TOO_SLOW;
        else if (t->refused && code == CURLE_COULDNT_CONNECT) {
            end = WEB_NOT_ALLOWED;
            web_say(t, "leads to an address that is not asked");
        }
        if (code != CURLE_OK && !t->answer.error[0]) web_say(t, curl_easy_strerror(code));
    }
    web_finish_running(f, t, end);
}

/* ---- those that wait --------------------------------------------------------------------------------------------- */

static struct web_transfer *web_next(struct web_fetch *f) {
    struct web_transfer *t;

    pthread_mutex_lock(&f->lock);
    t = f->first;
    if (t) {
        f->first = t->next;
        if (!f->first) f->last = &f->first;
        f->nwaiting--;
    }
    pthread_mutex_unlock(&f->lock);
    return t;
}

static void web_begin(struct web_fetch *f, struct web_transfer *t) {
    char *url = web_allowed_url(f->allowed, NULL, t->url, t->answer.error);
    enum web_end end;

    if (!url) {
        web_finish(t, WEB_NOT_ALLOWED);
        return;
    }
    free(t->url);
    t->url = url;
    if (web_prepare(t)) {
        web_say(t, "no memory, or libcurl lacks what keeps it in bounds");
        web_finish(t, WEB_FAILED);
        return;
    }
    if (web_ask(f, t, &end)) {
        web_finish(t, end);
        return;
    }
    t->slot = f->nrunning++;
    f->running[t->slot] = t;
}

/*
 * As many as there is room for.  No more than wait now: what `done` starts anew has its turn later.  One that waited
 * too long ends as it begins, and that is in time, since the deadlines of all that run are before its own.
 */
static void web_begin_waiting(struct web_fetch *f) {
    struct web_transfer *t;
    unsigned n;

    pthread_mutex_lock(&f->lock);
    n = f->nwaiting;
    pthread_mutex_unlock(&f->lock);
    for (; n && f->nrunning < f->at_once && (t = web_next(f)); n--) web_begin(f, t);
}

int web_start(struct web_fetch *f, const char *uri, uint64_t bytes, web_done *done, void *of) {
    return web_start_if(f, uri, bytes, NULL, done, of);
}

int web_start_if(struct web_fetch *f, const char *uri, uint64_t bytes, const char *validator, web_done *done,
                 void *of) {
    struct web_transfer *t = calloc(1, sizeof *t);
    bool ending;

    /* What is longer than any that is asked for is told by one byte too many. */
    if (t) t->url = strndup(uri, WEB_URI_MAX + 1);
    if (t && validator) t->validator = web_word(validator, strlen(validator), VALIDATOR_MAX);
    if (!t || !t->url || (validator && !t->validator)) {
        if (t) free(t->url);
        free(t);
        return -1;
    }
    t->fetch = f;
    t->bytes = bytes < f->bytes ? bytes : f->bytes;
    t->done = done;
    t->of = of;
    t->fresh_s = UINT64_MAX;
    pthread_mutex_lock(&f->lock);
    ending = f->ending;
    if (!ending) {
        t->deadline_ms = web_now_ms() + (int64_t)f->seconds * 1000;
        *f->last = t;
        f->last = &t->next;
        f->nwaiting++;
    }
    pthread_mutex_unlock(&f->lock);
    if (ending) {
        free(t->validator);
        free(t->url);
        free(t);
        return -1;
    }
    curl_multi_wakeup(f->multi);
    return 0;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

struct web_fetch *web_new(const struct web_rules *r, char **error) {
    struct web_fetch *f;

    if (!r->bytes || r->bytes >= SIZE_MAX / 4 || !r->seconds || !r->at_once) {
        base_fail(error, "bytes, seconds and transfers at once must be at least 1");
        return NULL;
    }
    f = calloc(1, sizeof *f);
    if (!f || curl_global_init(CURL_GLOBAL_DEFAULT)) {
        free(f);
        base_fail(error, "no memory");
        return NULL;
    }
    pthread_mutex_init(&f->lock, NULL);
    f->last = &f->first;
    f->bytes = r->bytes;
    f->seconds = r->seconds;
    f->redirects = r->redirects;
    f->at_once = r->at_once;
    f->take = r->take;
    f->give = r->give;
    f->allowed = web_allowed_new(r, error);
    f->running = calloc(r->at_once, sizeof(struct web_transfer *));
    f->multi = curl_multi_init();
    if (f->allowed && f->running && f->multi) return f;
    if (f->allowed) base_fail(error, "no memory");
    web_free(&f);
    return NULL;
}

unsigned web_run(struct web_fetch *f, int timeout_ms) {
    unsigned waiting;
    int running, left;
    CURLMsg *m;

    web_begin_waiting(f);
    curl_multi_poll(f->multi, NULL, 0, timeout_ms, NULL);
    web_begin_waiting(f);
    curl_multi_perform(f->multi, &running);
    while ((m = curl_multi_info_read(f->multi, &left)) != NULL) {
        struct web_transfer *t;
        CURLcode code = m->data.result;

        if (m->msg != CURLMSG_DONE) continue;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        web_ended(f, t, code);
    }
    web_begin_waiting(f);
    pthread_mutex_lock(&f->lock);
    waiting = f->nwaiting;
    pthread_mutex_unlock(&f->lock);
    return f->nrunning + waiting;
}

void web_free(struct web_fetch **fetch) {
    struct web_fetch *f = *fetch;
    struct web_transfer *t;

    if (!f) return;
    pthread_mutex_lock(&f->lock);
    f->ending = true;
    pthread_mutex_unlock(&f->lock);
    while (f->nrunning) {
        t = f->running[f->nrunning - 1];
        curl_multi_remove_handle(f->multi, t->easy);
        web_say(t, "nothing is fetched any more");
        web_finish_running(f, t, WEB_FAILED);
    }
    while ((t = web_next(f))) {
        web_say(t, "nothing is fetched any more");
        web_finish(t, WEB_FAILED);
    }
    curl_multi_cleanup(f->multi);
    pthread_mutex_destroy(&f->lock);
    web_allowed_free(&f->allowed);
    free(f->running);
    free(f);
    *fetch = NULL;
    curl_global_cleanup();
}
