/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_signers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <apr_strings.h>
#include <http_log.h>

#include "base/base_error.h"
#include "base/base_hash.h"
#include "base/base_identity.h"
#include "qos_request.h"
#include "shm/shm_patience.h"
#include "web/web_address.h"
#include "web/web_fetch.h"

APLOG_USE_MODULE(qos_drr);

#define SECONDS(n)    ((uint64_t)(n)*1000000u)
#define FRESH_LEAST   60u /* seconds */
#define FRESH_MOST    86400u
#define KEYS_KEPT_US  SECONDS(86400)
#define PAUSE_LEAST   15u /* after a failure; doubled with each that follows */
#define PAUSE_MOST    300u
#define FETCH_TIME    10u
#define AT_ONCE       4u
#define LOOK_MS       200      /* how often who fetches looks whether he is to stop */
#define LOOK_AGAIN_US 1000000u /* and whether there is more to do */
#define MEDIA_TYPE    "application/http-message-signatures-directory+json"

#define P qos_process

struct qos_signers {
    apr_array_header_t *signers;   /* struct qos_signer */
    apr_array_header_t *hosts;     /* HOST or HOST:PORT, as web_rules.h has them */
    apr_array_header_t *addresses; /* that may be connected to though they are private */
};

/* One that is fetched, by the thread that does. */
struct fetching {
    server_rec *server;
    unsigned signer;
};

/* The keeper's alone. */
static struct web_fetch *web;
static unsigned under_way;
static bool fetches[QOS_SIGNERS_MAX];
static bool told[QOS_SIGNERS_MAX]; /* that it does not work */
static bool giving_up;             /* another child is to do it: that nothing comes is nobody's failure */

/* ---- configuration ----------------------------------------------------------------------------------------------- */

unsigned qos_signers_count(const struct qos_signers *all) { return all ? (unsigned)all->signers->nelts : 0; }

const struct qos_signer *qos_signers_at(const struct qos_signers *all, unsigned i) {
    return &APR_ARRAY_IDX(all->signers, i, struct qos_signer);
}

/* Of an agent's URL, host and port. */
static const char *signer_host(const char *agent, apr_pool_t *p) {
    const char *host = agent + strlen("https://");
    return apr_pstrmemdup(p, host, strcspn(host, "/"));
}

static const char *signer_name(const char *name, apr_pool_t *p) {
    size_t n = strlen(name);

    if (n && n < CRAWLERS_NAME_ROOM && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == n) return NULL;
    return apr_psprintf(p, "QosSigned %s: a crawler's name has 1 to %d lower-case letters, digits, '-', '_' and '.'",
                        base_quote(name, n).s, CRAWLERS_NAME_ROOM - 1);
}

static const char *signer_agent(const char *text, struct qos_signer *s, apr_pool_t *p) {
    const char *url = strstr(text, "://") ? text : apr_pstrcat(p, "https://", text, NULL);
    char spelt[BOTS_AGENT_MAX];

    if (strchr(url, '?') || !bots_agent(url, strlen(url), spelt))
        return apr_psprintf(p,
                            "QosSigned %s %s: must be the https URL of a directory of keys, without a query, or the "
                            "host that has one at " BOTS_WELL_KNOWN,
                            s->name, base_quote(text, strlen(text)).s);
    s->agent = apr_pstrdup(p, spelt);
    return NULL;
}

static const char *signer_option(const char *text, struct qos_signers *all, struct qos_signer *s, apr_pool_t *p) {
    struct sockaddr_storage address;

    if (!strncasecmp(text, "keys=", 5) && text[5]) {
        s->file = ap_server_root_relative(p, text + 5);
        return s->file ? NULL : apr_psprintf(p, "QosSigned %s %s: not a valid path", s->name, text);
    }
    if (!strncasecmp(text, "private=", 8)) {
        if (web_address_read(text + 8, &address))
            return apr_psprintf(p, "QosSigned %s %s: must be an address, or ADDRESS:PORT ([ADDRESS]:PORT in IPv6)",
                                s->name, text);
        APR_ARRAY_PUSH(all->addresses, const char *) = apr_pstrdup(p, text + 8);
        return NULL;
    }
    return apr_psprintf(p, "QosSigned %s: %s is not one of keys=FILE, private=ADDRESS[:PORT]", s->name,
                        base_quote(text, strlen(text)).s);
}

const char *qos_signers_add(struct qos_signers **out, int argc, char *const argv[], apr_pool_t *pconf) {
    struct qos_signers *all = *out;
    struct qos_signer s = { .file = NULL };
    const char *bad;

    if (argc < 2) return "QosSigned: needs a crawler's name and its agent: the host, or the URL, of its keys";
    if (!all) {
        all = *out = apr_palloc(pconf, sizeof *all);
        all->signers = apr_array_make(pconf, 4, sizeof(struct qos_signer));
        all->hosts = apr_array_make(pconf, 4, sizeof(const char *));
        all->addresses = apr_array_make(pconf, 4, sizeof(const char *));
    }
    if (qos_signers_count(all) == QOS_SIGNERS_MAX)
        return apr_psprintf(pconf, "QosSigned %s: there may be %u of these", argv[0], QOS_SIGNERS_MAX);
    s.name = apr_pstrdup(pconf, argv[0]);
    bad = signer_name(argv[0], pconf);
    if (!bad) bad = signer_agent(argv[1], &s, pconf);
    for (int i = 2; i < argc && !bad; i++) bad = signer_option(argv[i], all, &s, pconf);
    if (bad) return bad;
    for (unsigned i = 0; i < qos_signers_count(all); i++)
        if (!strcmp(qos_signers_at(all, i)->agent, s.agent))
            return apr_psprintf(pconf, "QosSigned %s %s: the agent stands there already, as %s", s.name, argv[1],
                                qos_signers_at(all, i)->name);
    APR_ARRAY_PUSH(all->signers, struct qos_signer) = s;
    if (!s.file) APR_ARRAY_PUSH(all->hosts, const char *) = signer_host(s.agent, pconf);
    return NULL;
}

/* ---- the segment ------------------------------------------------------------------------------------------------- */

static struct qos_signed_area *signed_area(void) { return &P.sizes.area->signatures; }

static int64_t signers_clock(void) { return (int64_t)apr_time_sec(apr_time_now()); }

bool qos_signers_lock(void) {
    struct qos_signed_area *a = signed_area();

    switch (shm_take(&a->lock, &a->turns)) {
    case BASE_TAKEN: return true;
    case BASE_TAKEN_DIED:
        /* Whatever it was about to change: keys are fetched again. */
        memset(a->signer, 0, sizeof a->signer);
        bots_seen_forget_locked(&a->seen, signers_clock());
        return true;
    default: break;
    }
    shm_area_damaged(&P.view, "the lock of signatures is never given back");
    return false;
}

void qos_signers_unlock(void) { base_mutex_give(&signed_area()->lock); }

void qos_signers_child_init(void) {
    if (!qos_signers_count(qos_config()->signers) || !qos_signers_lock()) return;
    bots_seen_begin_locked(&signed_area()->seen, signers_clock());
    qos_signers_unlock();
}

static void signer_id(const struct qos_signer *s, uint64_t id[2]) {
    struct base_hash h;

    base_hash_begin(&h, P.sizes.hash_key);
    base_hash_add(&h, s->agent, strlen(s->agent) + 1);
    if (s->file) base_hash_add(&h, s->file, strlen(s->file) + 1);
    id[0] = base_hash_end(h);
    base_hash_add(&h, "2", 1);
    id[1] = base_hash_end(h);
}

/* The place of a signer's keys, or NULL. */
static struct qos_signer_keys *signer_keys_locked(unsigned i) {
    struct qos_signer_keys *k = signed_area()->signer;
    uint64_t id[2];

    signer_id(qos_signers_at(qos_config()->signers, i), id);
    for (unsigned j = 0; j < QOS_SIGNERS_MAX; j++, k++)
        if (k->id[0] == id[0] && k->id[1] == id[1]) return k;
    return NULL;
}

const struct qos_signer *qos_signers_key_locked(const char *agent, const uint8_t thumbprint[32], int64_t now,
                                                uint8_t x[32]) {
    const struct qos_signers *all = qos_config()->signers;
    const struct qos_signer_keys *k;
    unsigned i = 0, n = qos_signers_count(all);

    while (i < n && strcmp(qos_signers_at(all, i)->agent, agent)) i++;
    k = i < n ? signer_keys_locked(i) : NULL;
    if (!k || shm_now_coarse() > k->until) return NULL;
    for (unsigned j = 0; j < k->n && j < BOTS_KEYS_MAX; j++) {
        const struct bots_key *key = &k->key[j];
        if (memcmp(key->thumbprint, thumbprint, sizeof key->thumbprint)) continue;
        if (now < key->not_before || now > key->not_after) continue;
        memcpy(x, key->x, sizeof key->x);
        return qos_signers_at(all, i);
    }
    return NULL;
}

/* ---- the keeper's work ------------------------------------------------------------------------------------------- */

/* The signer's place; if he has none, one that is nobody's of this configuration: there are enough. */
static struct qos_signer_keys *signer_place_locked(unsigned i) {
    struct qos_signer_keys *k = signer_keys_locked(i), *all = signed_area()->signer;
    bool taken[QOS_SIGNERS_MAX] = { false };
    unsigned place = 0;

    if (k) return k;
    for (unsigned j = 0; j < qos_signers_count(qos_config()->signers); j++)
        if ((k = signer_keys_locked(j)) != NULL) taken[k - all] = true;
    while (place < QOS_SIGNERS_MAX - 1 && taken[place]) place++;
    k = &all[place];
    memset(k, 0, sizeof *k);
    signer_id(qos_signers_at(qos_config()->signers, i), k->id);
    return k;
}

struct kept_keys {
    struct bots_key key[BOTS_KEYS_MAX];
    unsigned n;
};

/* True if they are others than those of before. */
static bool signer_put_locked(struct qos_signer_keys *k, const struct kept_keys *found, uint64_t until,
                              uint64_t again) {
    bool others = k->n != found->n || memcmp(k->key, found->key, found->n * sizeof *found->key);

    memcpy(k->key, found->key, found->n * sizeof *found->key);
    k->n = found->n;
    k->until = until;
    k->again = again;
    k->failures = 0;
    return others;
}

static void signer_say_keys(server_rec *s, const struct qos_signer *who, unsigned n, const char *error) {
    ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s, "qos: QosSigned %s: %u key%s of %s", who->name, n, n == 1 ? "" : "s",
                 who->file ? who->file : who->agent);
    if (error)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s, "qos: QosSigned %s: %s: %s; it does not count", who->name,
                     who->file ? who->file : who->agent, error);
}

static void signer_say_failure(server_rec *s, unsigned i, const char *error) {
    const struct qos_signer *who = qos_signers_at(qos_config()->signers, i);

    ap_log_error(APLOG_MARK, told[i] ? APLOG_INFO : APLOG_ERR, 0, s,
                 "qos: QosSigned %s: %s: %s; keys of before count for %s", who->name,
                 who->file ? who->file : who->agent, error, who->file ? "now" : "another day at most");
    told[i] = true;
}

/* ---- directories that are fetched */

static uint64_t signer_pause_us(uint32_t failures, uint64_t now) {
    uint64_t pause = PAUSE_LEAST;

    while (failures-- && pause < PAUSE_MOST) pause *= 2;
    if (pause > PAUSE_MOST) pause = PAUSE_MOST;
    /* A little less for some, so that those that failed together do not come together. */
    return SECONDS(pause) - now % (SECONDS(pause) / 8);
}

static void signer_failed(server_rec *s, unsigned i, const char *error) {
    struct qos_signer_keys *k;
    uint64_t now = shm_now();

    atomic_fetch_add(&signed_area()->failed, 1);
    signer_say_failure(s, i, error);
    if (!qos_signers_lock()) return;
    k = signer_place_locked(i);
    k->again = now + signer_pause_us(k->failures, now);
    if (k->failures < 16) k->failures++;
    qos_signers_unlock();
}

/* The reason why it is no directory, or NULL. */
static const char *signer_not_a_directory(const struct web_answer *a, const char *agent, char room[64]) {
    size_t n = strlen(MEDIA_TYPE);

    if (a->end != WEB_WHOLE) return a->error;
    if (a->status != 200) {
        apr_snprintf(room, 64, "its server answered with the status %u", a->status);
        return room;
    }
    /* Other places may be anybody's set of keys. */
    if (bots_agent_is_well_known(agent) &&
        (!a->media_type || strncasecmp(a->media_type, MEDIA_TYPE, n) || !strchr(" \t;", a->media_type[n])))
        return "its media type is not " MEDIA_TYPE;
    return NULL;
}

static void signer_fetched(void *of, struct web_answer *a) {
    struct fetching *f = of;
    const struct qos_signer *who = qos_signers_at(qos_config()->signers, f->signer);
    struct kept_keys found;
    char room[64], *error = NULL;
    const char *why = signer_not_a_directory(a, who->agent, room);
    uint64_t now = shm_now(), fresh = a->fresh_s;
    bool others;

    if (!why && bots_keys_read((const char *)a->body, a->n, found.key, &found.n, &error))
        why = error ? error : "no memory";
    if (fresh < FRESH_LEAST) fresh = FRESH_LEAST;
    if (fresh > FRESH_MOST) fresh = FRESH_MOST;
    if (why) {
        if (!giving_up) signer_failed(f->server, f->signer, why);
    } else if (qos_signers_lock()) {
        others = signer_put_locked(signer_place_locked(f->signer), &found, now + SECONDS(fresh) + KEYS_KEPT_US,
                                   now + SECONDS(fresh));
        qos_signers_unlock();
        atomic_fetch_add(&signed_area()->fetched, 1);
        if (others || told[f->signer]) signer_say_keys(f->server, who, found.n, error);
        told[f->signer] = false;
    }
    fetches[f->signer] = false;
    under_way--;
    free(error);
    free(f);
}

static bool signers_fetcher(server_rec *s) {
    const struct qos_signers *all = qos_config()->signers;
    const struct web_rules rules = {
        .hosts = (const char *const *)(void *)all->hosts->elts,
        .nhosts = (unsigned)all->hosts->nelts,
        .addresses = (const char *const *)(void *)all->addresses->elts,
        .naddresses = (unsigned)all->addresses->nelts,
        .bytes = BOTS_KEYS_FILE,
        .seconds = FETCH_TIME,
        .redirects = 0,
        .secure = true,
        .at_once = AT_ONCE,
    };
    char *error = NULL;

    if (!web) web = web_new(&rules, &error);
    if (error) ap_log_error(APLOG_MARK, APLOG_ERR, 0, s, "qos: QosSigned: %s", error);
    free(error);
    return web != NULL;
}

static void signer_fetch(server_rec *s, unsigned i) {
    const struct qos_signer *who = qos_signers_at(qos_config()->signers, i);
    struct fetching *f;

    if (fetches[i] || !signers_fetcher(s)) return;
    f = malloc(sizeof *f);
    if (!f) return;
    *f = (struct fetching){ s, i };
    fetches[i] = true;
    under_way++;
    if (!web_start(web, who->agent, BOTS_KEYS_FILE, signer_fetched, f)) return;
    fetches[i] = false;
    under_way--;
    free(f);
}

/* ---- files */

/* The bytes, at most BOTS_KEYS_FILE + 1 of them; -1 and errno. */
static ssize_t signer_read_bytes(int fd, char *out) {
    ssize_t n = 0, more;

    while ((more = read(fd, out + n, BOTS_KEYS_FILE + 1 - (size_t)n)) > 0) n += more;
    return more < 0 ? -1 : n;
}

static void signer_read_file(server_rec *s, unsigned i, int fd, const uint64_t source[3]) {
    const struct qos_signer *who = qos_signers_at(qos_config()->signers, i);
    char *text = malloc(BOTS_KEYS_FILE + 1), *error = NULL;
    ssize_t n = text ? signer_read_bytes(fd, text) : -1;
    struct kept_keys found = { .n = 0 };
    struct qos_signer_keys *k;
    bool right, others = false;

    if (n < 0) base_fail(&error, "can't be read: %s", strerror(text ? errno : ENOMEM));
    right = n >= 0 && !bots_keys_read(text, (size_t)n, found.key, &found.n, &error);
    free(text);
    if (qos_signers_lock()) {
        k = signer_place_locked(i);
        memcpy(k->source, source, sizeof k->source);
        if (right) others = signer_put_locked(k, &found, UINT64_MAX, 0);
        qos_signers_unlock();
    }
    told[i] = false;
    if (!right) signer_say_failure(s, i, error ? error : "no memory");
    else if (others || error) signer_say_keys(s, who, found.n, error);
    free(error);
}

static void signer_look_at_file(server_rec *s, unsigned i) {
    const struct qos_signer *who = qos_signers_at(qos_config()->signers, i);
    int fd = open(who->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct qos_signer_keys *k;
    struct stat st;
    bool same;

    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        if (!told[i]) signer_say_failure(s, i, fd < 0 ? strerror(errno) : "not a file");
    } else {
        uint64_t source[3];

        base_identity(&st, source);
        if (qos_signers_lock()) {
            k = signer_place_locked(i);
            same = !memcmp(k->source, source, sizeof source);
            qos_signers_unlock();
            if (!same) signer_read_file(s, i, fd, source);
        }
    }
    if (fd >= 0) close(fd);
}

/* ---- all of them */

static void signer_look_at(server_rec *s, unsigned i) {
    bool due;

    if (qos_signers_at(qos_config()->signers, i)->file) {
        signer_look_at_file(s, i);
        return;
    }
    if (!qos_signers_lock()) return;
    due = shm_now() >= signer_place_locked(i)->again;
    qos_signers_unlock();
    if (due) signer_fetch(s, i);
}

bool qos_signers_keep(server_rec *s, const _Atomic uint32_t *stop) {
    uint64_t until = shm_now() + LOOK_AGAIN_US;
    unsigned n = qos_signers_count(qos_config()->signers);

    for (unsigned i = 0; i < n && !atomic_load(stop); i++) signer_look_at(s, i);
    while (under_way && !atomic_load(stop) && shm_now() < until) web_run(web, LOOK_MS);
    return under_way != 0;
}

void qos_signers_keep_no_longer(void) {
    giving_up = true;
    web_free(&web);
    giving_up = false;
}
