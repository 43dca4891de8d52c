/* SPDX-License-Identifier: BSD-2-Clause */
#include "get_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/base_error.h"
#include "get_link.h"
#include "get_name.h"
#include "get_output.h"
#include "get_part.h"

enum { REDIRECTS_MAX = 10, ANEW_MAX = 3, TICK_MS = 100, CHECKPOINT_EVERY = 1000000, RECONNECT_MS = 200 };
#define RECONNECT_FOR (GET_CONNECT_SECONDS * UINT64_C(1000000))

/* What the next step is when a page is done with. */
enum run_next { RUN_DONE, RUN_REDIRECTED, RUN_ANEW };

struct run {
    const struct get_settings *settings;
    const volatile sig_atomic_t *stop;
    struct get_figures *figures;
    char **error;
    uint64_t began, kept; /* kept: when FILE.ccnget was written */
    struct get_uri uri;
    struct get_link *link;
    struct get_progress progress;
    struct get_output output;
    struct get_besides besides;
    struct get_part part; /* of the page that is under way */
    struct ndn_page_ask ask;
    struct ndn_seal_pair pair; /* of the private request that is under way */
    struct ndn_page *page;
    bool redirected, aside, failed; /* the head's wish; what comes goes aside; a write's end */
    unsigned redirects, anew;
    uint8_t name[NDN_PACKET_MAX], next_name[NDN_PACKET_MAX], gone[NDN_PACKET_MAX];
    char parameters[GET_PARAMETERS_MAX], location[NDN_LOCATION_MAX + 1];
};

static uint64_t run_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* ---- what a page says -------------------------------------------------------------------------------------------- */

static bool run_is_redirect(const struct ndn_page_head *h) {
    return h->status >= 300 && h->status < 400 && h->location.n && h->location.n <= NDN_LOCATION_MAX;
}

/* As far as a zero byte, which no text of HTTP has. */
static void run_take_text(char *to, size_t room, struct ndn_span text) {
    size_t n = text.n < room ? text.n : room - 1;

    if (n) memcpy(to, text.at, n);
    to[n] = 0;
}

static bool run_on_head(void *to, const struct ndn_page_head *h) {
    struct run *r = to;
    bool kept = h->first != 0;

    r->figures->first = run_now() - r->began;
    r->figures->status = h->status;
    r->figures->version = h->version;
    r->figures->hint = h->window;
    run_take_text(r->figures->media_type, sizeof r->figures->media_type, h->media_type);
    run_take_text(r->figures->encoding, sizeof r->figures->encoding, h->encoding);
    r->location[0] = 0;
    if (run_is_redirect(h)) {
        memcpy(r->location, h->location.at, h->location.n);
        r->location[h->location.n] = 0;
        r->redirected = r->settings->location;
        if (r->redirected) return false;
    }
    r->aside = r->besides.aside && (h->status >= 400 || r->besides.all_aside);
    if (r->aside) {
        r->besides.aside->n = 0;
        return true;
    }
    if (!kept && r->settings->resume) get_part_remove(r->output.file);
    r->failed = get_output_begin(&r->output, kept ? r->part.bytes : 0, r->error);
    if (!kept) {
        r->part.n = h->object.n;
        if (h->object.n) memcpy(r->part.object, h->object.at, h->object.n);
    }
    return !r->failed;
}

static bool run_on_content(void *to, struct ndn_span bytes) {
    struct run *r = to;
    if (r->aside) {
        get_aside_put(r->besides.aside, bytes.at, bytes.n);
        return true;
    }
    r->failed = get_output_put(&r->output, bytes.at, bytes.n, r->error);
    return !r->failed;
}

/* ---- FILE.ccnget ------------------------------------------------------------------------------------------------- */

static int run_keep(struct run *r) {
    r->kept = run_now();
    if (!r->settings->resume || !r->part.n || r->output.fd < 0) return 0;
    r->part.segments = ndn_page_segments(r->page);
    r->part.bytes = r->output.bytes;
    if (!r->part.segments) return 0;
    if (get_output_flush(&r->output, true, r->error)) return -1;
    return get_part_write(r->output.file, &r->part, r->error);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

/* A forwarder that starts anew is back in a moment; what was under way is asked for again when its time is up. */
static bool run_connect_again(struct run *r) {
    uint64_t until = run_now() + RECONNECT_FOR;
    struct timespec moment = { .tv_nsec = RECONNECT_MS * 1000000L };

    get_link_close(&r->link);
    do {
        nanosleep(&moment, NULL);
        r->link = get_link_open(&r->uri, r->error);
    } while (!r->link && !*r->stop && run_now() < until);
    if (!r->link) return false;
    free(*r->error); /* of tries before */
    *r->error = NULL;
    return true;
}

/* What came.  0; or -1: the connection is of no use. */
static int run_take(struct run *r) {
    struct ndn_span packet;

    for (;;) {
        switch (get_link_packet(r->link, &packet)) {
        case GET_LINK_PACKET: ndn_page_packet(r->page, run_now(), packet); break;
        case GET_LINK_NOTHING: return 0;
        case GET_LINK_CLOSED: return run_connect_again(r) ? 0 : -1;
        case GET_LINK_GARBAGE: return base_fail(r->error, "%s: what comes from there is no NDN", r->uri.host);
        }
        if (ndn_page_state(r->page) != NDN_PAGE_GOING) return 0;
    }
}

/* All that may be asked for now; *again: when to ask again. */
static int run_ask(struct run *r, uint64_t *again) {
    uint8_t interest[NDN_PACKET_MAX];
    size_t n;

    *again = UINT64_MAX;
    while (get_link_has_room(r->link) && (n = ndn_page_next(r->page, run_now(), interest, again)))
        get_link_put(r->link, interest, n);
    if (!get_link_flush(r->link) && !run_connect_again(r)) return -1;
    return 0;
}

/* Until something comes, or it is time to look again; a minute at most. */
static int run_wait_ms(const struct run *r, uint64_t again) {
    uint64_t now = run_now(), ms = again <= now ? 0 : (again - now) / 1000 + 1;

    if (r->progress.terminal && ms > TICK_MS) ms = TICK_MS;
    return (int)(ms < 60000 ? ms : 60000);
}

/* False: the connection is of no use, or the disk is full; *error says it. */
static bool run_page(struct run *r) {
    uint64_t again;

    while (!*r->stop) {
        if (run_take(r) || run_ask(r, &again)) return false;
        if (ndn_page_state(r->page) != NDN_PAGE_GOING) return true;
        get_progress_draw(&r->progress, run_now(), ndn_page_segments(r->page), ndn_page_fetch(r->page)->last,
                          r->output.bytes);
        if (!r->output.file && get_output_flush(&r->output, false, r->error)) return false;
        if (run_now() - r->kept >= CHECKPOINT_EVERY && run_keep(r)) return false;
        get_link_wait(r->link, run_wait_ms(r, again));
    }
    return true;
}

/* ---- pages ------------------------------------------------------------------------------------------------------- */

static void run_count(struct run *r) {
    struct ndn_page_counts *sum = &r->figures->counts, c = ndn_page_counts(r->page);

    sum->interests += c.interests;
    sum->retransmissions += c.retransmissions;
    sum->losses += c.losses;
    sum->marks += c.marks;
    sum->strange += c.strange;
    sum->forged += c.forged;
    r->figures->window = ndn_fetch_window(ndn_page_fetch(r->page));
    r->figures->segments = ndn_page_segments(r->page);
    r->figures->bytes = r->output.bytes;
}

/* "NAME: SENTENCE", and the exit status. */
static enum get_exit run_fail(struct run *r, enum get_exit status, const char *sentence) {
    char text[256];
    struct ndn_name name = r->ask.name;

    ndn_name_print(&name, text, sizeof text);
    base_fail(r->error, "%s: %s", text, sentence);
    return status;
}

/*
 * The name that a redirect leads to.  Fields that were sent with a private request were meant for whoever serves the
 * first component.
 */
static enum get_exit run_redirect(struct run *r) {
    struct ndn_name name, first = ndn_name_first(&r->ask.name, 1);
    char *wrong = NULL;

    if (++r->redirects > REDIRECTS_MAX) return run_fail(r, GET_EXIT_REDIRECTS, "more than 10 redirects");
    if (get_name_read(r->location, r->next_name, &name, &wrong)) {
        base_fail(&wrong, "status %" PRIu64 ", it leads to what is no name: %s", r->figures->status,
                  wrong ? wrong : "out of memory");
        run_fail(r, GET_EXIT_WRONG, wrong ? wrong : "out of memory");
        free(wrong);
        return GET_EXIT_WRONG;
    }
    if (r->ask.parameters.n && !ndn_name_begins(&name, &first))
        return run_fail(r, GET_EXIT_WRONG,
                        "a private request is redirected to a name with another beginning; ask for that yourself, if "
                        "those who serve it may see what --header says");
    memcpy(r->name, r->next_name, name.bytes.n);
    r->ask.name = (struct ndn_name){ { r->name, name.bytes.n }, name.n };
    return GET_EXIT_RIGHT;
}

/* What a page that is whole makes of the exit status. */
static enum get_exit run_judge(struct run *r) {
    uint64_t status = r->figures->status;
    char sentence[NDN_LOCATION_MAX];

    if (status == NDN_NO_NUMBER) return run_fail(r, GET_EXIT_WRONG, "the producer says that there is no such thing");
    if (status >= 200 && status < 300) return r->settings->status_exit ? (enum get_exit)2 : GET_EXIT_RIGHT;
    if (*r->location)
        snprintf(sentence, sizeof sentence, "status %" PRIu64 ", it leads to %s; --location goes there", status,
                 base_quote(r->location, strlen(r->location)).s);
    else
        snprintf(sentence, sizeof sentence, "status %" PRIu64 "%s", status,
                 status == 403 && !r->ask.parameters.n ? "; a page for one visitor needs a --header, as 'Accept: */*'"
                                                       : "");
    run_fail(r, GET_EXIT_WRONG, sentence);
    if (r->settings->status_exit) return status / 100 < 10 ? (enum get_exit)(status / 100) : GET_EXIT_WRONG;
    return status >= 400 ? GET_EXIT_STATUS : GET_EXIT_WRONG;
}

/* One page, as far as it goes. */
static enum run_next run_one(struct run *r, enum get_exit *status) {
    const struct ndn_page_calls calls = { r, run_on_head, run_on_content };
    bool went_on;

    *status = GET_EXIT_WRONG;
    r->redirected = r->aside = r->failed = false;
    r->ask.have = (struct ndn_span){ r->part.object, r->part.n };
    r->ask.have_segments = r->part.segments;
    r->page = ndn_page_new(&r->ask, &calls, run_now(), r->error);
    if (!r->page) return RUN_DONE;
    went_on = run_page(r);
    get_progress_clear(&r->progress);
    run_count(r);
    if (!went_on) {
        if (!r->link) *status = GET_EXIT_NO_CONNECTION;
        run_keep(r);
        return RUN_DONE;
    }
    switch (ndn_page_state(r->page)) {
    case NDN_PAGE_GOING:
        run_fail(r, GET_EXIT_WRONG, "interrupted");
        run_keep(r);
        return RUN_DONE;
    case NDN_PAGE_WHOLE:
        if (get_output_end(&r->output, r->error)) return RUN_DONE;
        if (r->settings->resume) get_part_remove(r->output.file);
        *status = run_judge(r);
        return RUN_DONE;
    case NDN_PAGE_SILENT:
        *status = run_fail(r, GET_EXIT_TIME, ndn_page_why(r->page));
        run_keep(r);
        return RUN_DONE;
    case NDN_PAGE_GONE:
        if (r->output.went) {
            run_fail(r, GET_EXIT_WRONG, "the producer made it anew while it was being fetched; ask again");
        } else if (++r->anew > ANEW_MAX) {
            run_fail(r, GET_EXIT_WRONG, "the producer makes it anew faster than it can be fetched");
        } else {
            struct ndn_span gone = ndn_page_object(r->page);
            memcpy(r->gone, gone.at, gone.n);
            r->ask.gone = (struct ndn_span){ r->gone, gone.n };
            r->part.n = 0;
            return RUN_ANEW;
        }
        return RUN_DONE;
    case NDN_PAGE_STOPPED:
        if (r->redirected) return RUN_REDIRECTED;
        if (!r->failed) base_fail(r->error, "out of memory");
        return RUN_DONE;
    case NDN_PAGE_WRONG: run_fail(r, GET_EXIT_WRONG, ndn_page_why(r->page)); return RUN_DONE;
    }
    return RUN_DONE;
}

/* The next private request's nonce and key: no two have one in common, nor do those that a redirect leads to. */
static enum get_exit run_draw(struct run *r) {
    uint8_t random[16];
    size_t n;

    r->ask.parameters = r->besides.parameters;
    if (r->ask.parameters.n) return GET_EXIT_RIGHT;
    if (getrandom(random, sizeof random, 0) != sizeof random || !ndn_seal_draw(&r->pair)) {
        base_fail(r->error, "the system gives no random numbers");
        return GET_EXIT_WRONG;
    }
    if (get_settings_parameters(r->settings, random, r->pair.open, r->parameters, &n, r->error))
        return GET_EXIT_MISUSED;
    r->ask.parameters = (struct ndn_span){ (const uint8_t *)r->parameters, n };
    r->ask.pair = n ? &r->pair : NULL;
    return GET_EXIT_RIGHT;
}

static enum get_exit run_pages(struct run *r) {
    enum get_exit status;

    for (;;) {
        enum run_next next = run_one(r, &status);
        ndn_page_free(&r->page);
        if (next == RUN_DONE) return status;
        if (next == RUN_REDIRECTED && (status = run_redirect(r))) return status;
        if ((status = run_draw(r))) return status;
    }
}

/* ---- beginning and end ------------------------------------------------------------------------------------------- */

static const char *run_whom(const struct get_settings *s) {
    const char *environment = getenv("NDN_CLIENT_TRANSPORT");
    return s->forwarder ? s->forwarder : environment && *environment ? environment : "tcp://127.0.0.1:6363";
}

static enum get_exit run_prepare(struct run *r, struct ndn_key **key, struct ndn_key **verify) {
    const struct get_settings *s = r->settings;
    enum get_exit status;

    if (s->resume && !r->output.file) {
        base_fail(r->error, "--resume: needs --output FILE");
        return GET_EXIT_MISUSED;
    }
    if (!s->key != !s->key_name || (s->verify_name && !s->verify)) {
        base_fail(r->error, "--key and --key-name belong together, and --verify-name needs --verify");
        return GET_EXIT_MISUSED;
    }
    if (get_uri_read(run_whom(s), &r->uri, r->error) || get_settings_fetch(s, &r->ask.fetch, r->error))
        return GET_EXIT_MISUSED;
    if ((status = run_draw(r))) return status;
    if (s->key && !(*key = ndn_key_read(s->key, s->key_name, r->error))) return GET_EXIT_MISUSED;
    if (*key && !ndn_key_can_sign(*key)) {
        base_fail(r->error, "%s: is a public key; --key needs the private one", s->key);
        return GET_EXIT_MISUSED;
    }
    if (s->verify && !(*verify = ndn_key_read(s->verify, s->verify_name ? s->verify_name : "/verify", r->error)))
        return GET_EXIT_MISUSED;
    r->ask.fresh = !s->no_fresh;
    r->ask.lifetime_ms = s->lifetime;
    r->ask.key = *key;
    r->ask.verify = *verify;
    r->ask.how_to_verify = "--verify FILE, with the public key or shared secret, says which is right";
    if (s->verify_name) r->ask.signer = ndn_key_name(*verify);
    if (s->resume) get_part_read(r->output.file, &r->part);
    return GET_EXIT_RIGHT;
}

enum get_exit get_run(const struct get_settings *s, const char *name, const struct get_besides *besides,
                      const volatile sig_atomic_t *stop, struct get_figures *f, char **error) {
    struct run *r = calloc(1, sizeof *r);
    struct ndn_key *key = NULL, *verify = NULL;
    enum get_exit status;

    *f = (struct get_figures){ .status = NDN_NO_NUMBER, .version = NDN_NO_NUMBER, .hint = NDN_NO_NUMBER };
    if (!r) return GET_EXIT_WRONG;
    r->settings = s;
    r->stop = stop;
    if (besides) r->besides = *besides;
    r->figures = f;
    r->error = error;
    r->began = run_now();
    get_progress_init(&r->progress, s->quiet);
    get_output_init(&r->output, strcmp(s->output, "-") ? s->output : NULL);
    status = get_name_read(name, r->name, &r->ask.name, error) ? GET_EXIT_MISUSED : run_prepare(r, &key, &verify);
    if (!status && !(r->link = get_link_open(&r->uri, error))) status = GET_EXIT_NO_CONNECTION;
    if (!status) {
        f->connected = run_now() - r->began;
        status = run_pages(r);
        f->whole = run_now() - r->began;
    }
    get_output_end(&r->output, *error ? NULL : error);
    get_link_close(&r->link);
    ndn_key_free(&key);
    ndn_key_free(&verify);
    explicit_bzero(&r->pair, sizeof r->pair);
    free(r);
    return status;
}
