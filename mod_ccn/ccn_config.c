/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_config.h"

#include <stdlib.h>

#include <apr_strings.h>
#include <http_core.h>
#include <http_log.h>

#include "base/base_number.h"
#include "ccn_services.h"
#include "policy/policy_exempt.h"
#include "web/web_rules.h"

APLOG_USE_MODULE(ccn);

#define KEPT_POLICY "fairgate-ccn-policy-2"
#define SCALE       4u /* of weights, so that names that nobody knows can weigh less than the lightest class */
#define WEIGHT_MAX  1000000u

static struct ccn_site *site;

struct ccn_site *ccn_config(void) {
    return site;
}

struct ccn_site *ccn_config_begin(apr_pool_t *pconf) {
    struct ccn_site *c = apr_pcalloc(pconf, sizeof *c);

    rs_settings_default(&c->settings);
    c->scheduler = CCN_SERPT;
    c->threads = 8;
    c->queue = 4096;
    c->keep = 10;
    c->segment = 4096;
    c->pages = 128u << 20;
    c->divisor = 1;
    c->window_max = 512;
    c->results_most = UINT64_C(256) << 20;
    c->answer_within = 20;
    c->fetch_hosts = apr_array_make(pconf, 4, sizeof(const char *));
    c->fetch_addresses = apr_array_make(pconf, 4, sizeof(const char *));
    site = c;
    ccn_services_begin(pconf);
    return c;
}

void *ccn_config_create_host(apr_pool_t *p, server_rec *s) {
    struct ccn_host *h = apr_pcalloc(p, sizeof *h);

    (void)s;
    h->on = -1;
    h->maps = apr_array_make(p, 2, sizeof(struct ccn_map));
    h->forwarders = apr_array_make(p, 1, sizeof(struct ccn_forwarder));
    h->listens = apr_array_make(p, 1, sizeof(const char *));
    h->trusted = apr_array_make(p, 1, sizeof(const struct ndn_key *));
    return h;
}

/* Names are a virtual host's own: what stands outside of all is not inherited but for the switch and the keys. */
void *ccn_config_merge_host(apr_pool_t *p, void *base, void *add) {
    const struct ccn_host *b = base, *a = add;
    struct ccn_host *h = apr_pmemdup(p, a, sizeof *h);

    h->on = a->on >= 0 ? a->on : b->on;
    if (a->gives_private == CCN_PRIVATE_UNSAID) h->gives_private = b->gives_private;
    if (!a->key) h->key = b->key;
    if (!a->trusted->nelts) h->trusted = b->trusted;
    if (!a->services) h->services = b->services;
    return h;
}

/* ---- directives -------------------------------------------------------------------------------------------------- */

static struct ccn_host *host_of(cmd_parms *cmd) {
    return ap_get_module_config(cmd->server->module_config, &ccn_module);
}

static const char *ccn_set_engine(cmd_parms *cmd, void *dir, int on) {
    (void)dir;
    host_of(cmd)->on = on;
    for (const ap_directive_t *d = cmd->directive->parent ? cmd->directive->parent->first_child : NULL; d; d = d->next)
        if (!strcasecmp(d->directive, "SSLEngine") && !strcasecmp(d->args, "on")) host_of(cmd)->tls = true;
    if (on) site->used = true;
    return NULL;
}

static const char *set_private(cmd_parms *cmd, void *dir, const char *arg) {
    static const char *const names[] = { NULL, "off", "sealed", "open" };

    (void)dir;
    for (int i = CCN_PRIVATE_OFF; i <= CCN_PRIVATE_OPEN; i++)
        if (!strcasecmp(arg, names[i])) {
            host_of(cmd)->gives_private = (enum ccn_privacy)i;
            return NULL;
        }
    return apr_psprintf(cmd->pool, "CcnPrivate %s: must be sealed, open or off", arg);
}

static const char *set_map(cmd_parms *cmd, void *dir, const char *prefix, const char *path) {
    struct ccn_host *h = host_of(cmd);
    uint8_t bytes[CCN_NAME_MAX];
    struct ndn_out out = ndn_out_into(bytes, sizeof bytes);
    struct ccn_map m;
    char *error = NULL;
    size_t n = strlen(path), length = strlen(prefix);

    (void)dir;
    /* What is mapped begins below it, with or without a slash at its end. */
    if (length && prefix[length - 1] == '/' && strchr(prefix, '/') < prefix + length - 1)
        prefix = apr_pstrndup(cmd->pool, prefix, length - 1);
    if (ndn_name_parse(prefix, &out, &m.prefix, &error)) return httpd_take_error(cmd->pool, "CcnMap: ", &error);
    if (!m.prefix.n) return "CcnMap /: a prefix needs a component, such as /example/site";
    if (path[0] != '/' || strpbrk(path, "?#"))
        return apr_psprintf(cmd->pool, "CcnMap %s %s: the second must be the path of a URL, such as /", prefix, path);
    if (h->maps->nelts == CCN_MAPS_MAX)
        return apr_psprintf(cmd->pool, "CcnMap: at most %d in a virtual host", CCN_MAPS_MAX);
    m.prefix.bytes.at = apr_pmemdup(cmd->pool, bytes, m.prefix.bytes.n);
    m.path = path[n - 1] == '/' ? path : apr_pstrcat(cmd->pool, path, "/", NULL);
    APR_ARRAY_PUSH(h->maps, struct ccn_map) = m;
    return NULL;
}

static const char *unix_path(cmd_parms *cmd, const char *text, const char **path) {
    if (!strncasecmp(text, "unix:", 5)) {
        *path = text + 5;
        if (!strncmp(*path, "//", 2)) *path += 2;
        if (**path == '/' && strlen(*path) <= 107) return NULL;
    }
    return apr_psprintf(cmd->pool, "%s %s: must be unix:/PATH, of 107 characters at most", cmd->cmd->name, text);
}

static const char *set_listen(cmd_parms *cmd, void *dir, const char *text) {
    const char *path, *bad = unix_path(cmd, text, &path);

    (void)dir;
    if (!bad) APR_ARRAY_PUSH(host_of(cmd)->listens, const char *) = path;
    return bad;
}

static const char *set_forwarder(cmd_parms *cmd, void *dir, const char *text) {
    static const struct {
        const char *text;
        int family;
    } schemes[] = { { "tcp://", AF_UNSPEC }, { "tcp4://", AF_INET }, { "tcp6://", AF_INET6 } };
    struct ccn_forwarder f = { .text = text, .family = AF_UNSPEC, .port = 6363 };
    const char *address = NULL;

    (void)dir;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (!strncasecmp(text, schemes[i].text, strlen(schemes[i].text))) {
            address = text + strlen(schemes[i].text);
            f.family = schemes[i].family;
        }
    if (!strncasecmp(text, "unix:", 5)) {
        const char *bad = unix_path(cmd, text, &f.path);
        if (bad) return bad;
    } else if (address) {
        char *scope, *host;
        apr_port_t port = 0;
        if (apr_parse_addr_port(&host, &scope, &port, address, cmd->pool) != APR_SUCCESS || !host || scope)
            return apr_psprintf(cmd->pool, "CcnForwarder %s: must be tcp://HOST or tcp://HOST:PORT", text);
        f.host = host;
        if (port) f.port = port;
    } else {
        return apr_psprintf(cmd->pool, "CcnForwarder %s: must be tcp://HOST[:PORT] or unix:/PATH", text);
    }
    APR_ARRAY_PUSH(host_of(cmd)->forwarders, struct ccn_forwarder) = f;
    return NULL;
}

static apr_status_t free_key(void *data) {
    struct ndn_key *key = data;
    ndn_key_free(&key);
    return APR_SUCCESS;
}

static const char *read_key(cmd_parms *cmd, const char *file, const char *name, const struct ndn_key **to) {
    const char *path = ap_server_root_relative(cmd->pool, file);
    struct ndn_key *key;
    char *error = NULL;

    if (!path) return apr_pstrcat(cmd->pool, cmd->cmd->name, " ", file, ": not a valid path", NULL);
    key = ndn_key_read(path, name, &error);
    if (!key) return httpd_take_error(cmd->pool, apr_pstrcat(cmd->pool, cmd->cmd->name, ": ", NULL), &error);
    apr_pool_cleanup_register(cmd->pool, key, free_key, apr_pool_cleanup_null);
    *to = key;
    return NULL;
}

static const char *set_sign(cmd_parms *cmd, void *dir, const char *file, const char *name) {
    struct ccn_host *h = host_of(cmd);
    const char *bad;

    (void)dir;
    if (!name) {
        if (strcasecmp(file, "digest")) return "CcnSign: must be digest, or FILE NAME";
        h->key = ndn_key_none();
        return NULL;
    }
    bad = read_key(cmd, file, name, &h->key);
    if (!bad && !ndn_key_can_sign(h->key))
        return apr_psprintf(cmd->pool, "CcnSign %s: must be a private key, or a secret", file);
    return bad;
}

static const char *set_trust(cmd_parms *cmd, void *dir, const char *file, const char *name) {
    const struct ndn_key *key;
    const char *bad = read_key(cmd, file, name, &key);

    (void)dir;
    if (!bad) APR_ARRAY_PUSH(host_of(cmd)->trusted, const struct ndn_key *) = key;
    return bad;
}

static const char *set_services(cmd_parms *cmd, void *dir, const char *path) {
    size_t n = strlen(path);

    (void)dir;
    if (path[0] != '/' || n < 2 || path[n - 1] == '/' || strpbrk(path, "?#%!") || ap_strstr_c(path, "//"))
        return apr_psprintf(cmd->pool, "CcnServices %s: must be the path of a URL, such as /ccn", path);
    host_of(cmd)->services = path;
    site->used = true;
    return NULL;
}

static const char *set_results(cmd_parms *cmd, void *dir, const char *path, const char *most) {
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY), *above;
    apr_finfo_t found;
    char *error = NULL;

    (void)dir;
    if (bad) return bad;
    site->results = ap_server_root_relative(cmd->pool, path);
    if (!site->results) return apr_pstrcat(cmd->pool, "CcnResults ", path, ": not a valid path", NULL);
    /* It is made at the start, and what it is made in must be there: configtest can tell that. */
    above = ap_make_dirstr_parent(cmd->pool, site->results);
    if (apr_stat(&found, above, APR_FINFO_TYPE, cmd->pool) != APR_SUCCESS || found.filetype != APR_DIR)
        return apr_pstrcat(cmd->pool, "CcnResults ", path, ": there is no directory ", above, NULL);
    if (!most) return NULL;
    if (strncasecmp(most, "max=", 4)) return "CcnResults: the second argument must be max=BYTES";
    if (base_number("CcnResults max=", most + 4, "bytes", 1u << 20, UINT64_C(1) << 40, &site->results_most, &error))
        return httpd_take_error(cmd->pool, "", &error);
    return NULL;
}

/* `private`: one of the addresses that are allowed though they are nobody's to ask for. */
static const char *set_fetched(cmd_parms *cmd, void *dir, const char *text) {
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY), *one[1] = { text };
    bool is_private = cmd->info != NULL;
    struct web_rules r = { .hosts = is_private ? NULL : one,
                           .nhosts = !is_private,
                           .addresses = is_private ? one : NULL,
                           .naddresses = is_private,
                           .bytes = 1,
                           .seconds = 1,
                           .at_once = 1 };
    struct web_allowed *allowed;
    char *error = NULL;

    (void)dir;
    if (bad) return bad;
    allowed = web_allowed_new(&r, &error);
    if (!allowed) return httpd_take_error(cmd->pool, apr_pstrcat(cmd->pool, cmd->cmd->name, ": ", NULL), &error);
    web_allowed_free(&allowed);
    APR_ARRAY_PUSH(is_private ? site->fetch_addresses : site->fetch_hosts, const char *) = text;
    ccn_services_line(cmd->cmd->name, text);
    return NULL;
}

struct ccn_number {
    size_t offset;
    uint64_t least, most;
};
static struct ccn_number threads_row = { offsetof(struct ccn_site, threads), 1, 1024 };
static struct ccn_number queue_row = { offsetof(struct ccn_site, queue), 1, 1000000 };
static struct ccn_number connections_row = { offsetof(struct ccn_site, connections), 1, 65536 };
static struct ccn_number keep_row = { offsetof(struct ccn_site, keep), 1, 3600 };
static struct ccn_number answer_row = { offsetof(struct ccn_site, answer_within), 1, 3600 };
static struct ccn_number segment_row = { offsetof(struct ccn_site, segment), 512, 7168 };

static const char *ccn_set_number(cmd_parms *cmd, void *dir, const char *arg) {
    const struct ccn_number *n = cmd->info;
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)dir;
    return bad ? bad
               : httpd_number(cmd->pool, cmd->cmd->name, arg, n->least, n->most, (int *)((char *)site + n->offset));
}

static const char *set_pages(cmd_parms *cmd, void *dir, const char *arg) {
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    char *error = NULL;

    (void)dir;
    if (bad) return bad;
    if (base_number("CcnPages", arg, "bytes", 1u << 20, UINT64_C(1) << 40, &site->pages, &error))
        return httpd_take_error(cmd->pool, "", &error);
    return NULL;
}

static const char *ccn_set_scheduler(cmd_parms *cmd, void *dir, const char *arg) {
    static const char *const names[] = { "fifo", "idsrs", "serpt" };
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)dir;
    if (bad) return bad;
    for (int i = CCN_FIFO; i <= CCN_SERPT; i++)
        if (!strcasecmp(arg, names[i])) {
            site->scheduler = (enum ccn_scheduler)i;
            return NULL;
        }
    return apr_psprintf(cmd->pool, "CcnScheduler %s: must be fifo, idsrs or serpt", arg);
}

static const char *set_pipeline(cmd_parms *cmd, void *dir, const char *arg, const char *most) {
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)dir;
    if (bad) return bad;
    if (!strcasecmp(arg, "off")) site->divisor = 0;
    else if (!strcasecmp(arg, "n")) site->divisor = 1;
    else if (!strncasecmp(arg, "n/", 2))
        bad = httpd_number(cmd->pool, "CcnPipeline n/", arg + 2, 1, 1000, &site->divisor);
    else bad = apr_psprintf(cmd->pool, "CcnPipeline %s: must be n, n/Q or off", arg);
    if (bad || !most) return bad;
    if (strncasecmp(most, "max=", 4))
        return apr_psprintf(cmd->pool, "CcnPipeline %s: the second argument must be max=N", most);
    return httpd_number(cmd->pool, "CcnPipeline max=", most + 4, 1, 1024, &site->window_max);
}

static const char *ccn_set_policy(cmd_parms *cmd, void *dir, const char *arg) {
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)dir;
    if (bad) return bad;
    site->policy_file = ap_server_root_relative(cmd->pool, arg);
    return site->policy_file ? NULL : apr_pstrcat(cmd->pool, "CcnPolicy ", arg, ": not a valid path", NULL);
}

static char site_private[] = "private";

const command_rec ccn_commands[] = {
    AP_INIT_FLAG("CcnEngine", ccn_set_engine, NULL, RSRC_CONF,
                 "On: connections to this virtual host carry NDN packets (default Off)"),
    AP_INIT_TAKE1("CcnPrivate", set_private, NULL, RSRC_CONF,
                  "sealed (default), open or off: whether Interests with parameters get pages for one visitor, and "
                  "whether caches on the way may read them"),
    AP_INIT_TAKE2("CcnMap", set_map, NULL, RSRC_CONF, "PREFIX PATH: names below PREFIX are pages below PATH"),
    AP_INIT_TAKE1("CcnForwarder", set_forwarder, NULL, RSRC_CONF,
                  "tcp://HOST[:PORT] or unix:/PATH: connect to this forwarder and register the prefixes there"),
    AP_INIT_TAKE1("CcnListen", set_listen, NULL, RSRC_CONF, "unix:/PATH: take NDN connections there, too"),
    AP_INIT_TAKE12("CcnSign", set_sign, NULL, RSRC_CONF,
                   "digest (default), or FILE NAME: what Data is signed with, and the key's name"),
    AP_INIT_TAKE2("CcnTrust", set_trust, NULL, RSRC_CONF,
                  "FILE NAME: a key, or a secret, whose signatures of Interests are believed"),
    AP_INIT_TAKE1("CcnScheduler", ccn_set_scheduler, NULL, RSRC_CONF,
                  "which Interest is next: serpt (default), idsrs or fifo"),
    AP_INIT_TAKE1("CcnThreads", ccn_set_number, &threads_row, RSRC_CONF,
                  "how many pages are made at one time (default 8)"),
    AP_INIT_TAKE1("CcnQueue", ccn_set_number, &queue_row, RSRC_CONF, "how many pages may wait (default 4096)"),
    AP_INIT_TAKE1("CcnConnections", ccn_set_number, &connections_row, RSRC_CONF,
                  "how many connections an address may have (default: a quarter of httpd's threads)"),
    AP_INIT_TAKE1("CcnPages", set_pages, NULL, RSRC_CONF, "bytes of pages that are kept (default 128M)"),
    AP_INIT_TAKE1("CcnKeep", ccn_set_number, &keep_row, RSRC_CONF,
                  "seconds that a page is kept for which nobody comes (default 10)"),
    AP_INIT_TAKE1("CcnSegment", ccn_set_number, &segment_row, RSRC_CONF, "bytes of a segment (default 4096)"),
    AP_INIT_TAKE12("CcnPipeline", set_pipeline, NULL, RSRC_CONF,
                   "n (default), n/Q or off, [max=N]: how many segments a client is told to ask for at one time"),
    AP_INIT_RAW_ARGS("CcnService", ccn_services_declare, NULL, RSRC_CONF,
                     "NAME PARAMETER=TYPE ... => URL [OPTION=VALUE ...]: what has that name, and does the work"),
    AP_INIT_TAKE1("CcnServices", set_services, NULL, RSRC_CONF,
                  "PATH: services are called below it over HTTP, too, and listed there"),
    AP_INIT_TAKE12("CcnResults", set_results, NULL, RSRC_CONF,
                   "DIRECTORY [max=BYTES]: where results of services are kept while they are fresh (default 256M)"),
    AP_INIT_ITERATE("CcnFetch", set_fetched, NULL, RSRC_CONF,
                    "HOST, *.DOMAIN, HOST:PORT or *: where parameters of services are fetched from by http, https and "
                    "ftp (default: nowhere)"),
    AP_INIT_ITERATE("CcnFetchPrivate", set_fetched, site_private, RSRC_CONF,
                    "ADDRESS[:PORT]: of those that CcnFetch names, one that may be connected to though it is private"),
    AP_INIT_TAKE1("CcnAnswerWithin", ccn_set_number, &answer_row, RSRC_CONF,
                  "seconds after which a call over HTTP is told where its result will be (default 20)"),
    AP_INIT_TAKE1("CcnPolicy", ccn_set_policy, NULL, RSRC_CONF, "an XML file with classes and their rules"),
    { .name = NULL }
};

/* ---- making it final --------------------------------------------------------------------------------------------- */

/* Names that never brought a page: a flood of random ones takes no place that the others need. */
static int add_unknown(struct ccn_site *c, apr_pool_t *pconf, server_rec *s) {
    struct httpd_classes *k = &c->classes, old = *k;
    uint32_t lightest = UINT32_MAX;

    k->settings = apr_pcalloc(pconf, (old.n + 1) * sizeof *k->settings);
    k->wait_s = apr_pcalloc(pconf, (old.n + 1) * sizeof *k->wait_s);
    k->number = apr_pcalloc(pconf, (old.n + 1) * sizeof *k->number);
    for (uint32_t i = 0; i < old.n; i++) {
        k->settings[i] = old.settings[i];
        if (!strcmp(k->settings[i].name, CCN_UNKNOWN)) {
            ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, s,
                         "CcnPolicy: the class of names that never brought a page is called " CCN_UNKNOWN
                         ": call yours otherwise");
            return HTTP_INTERNAL_SERVER_ERROR;
        }
        if (k->settings[i].weight > WEIGHT_MAX / SCALE) {
            ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_WARNING, 0, s,
                         "CcnPolicy: the weight %u of class %s counts as %u, which is the most: weights are ratios, "
                         "divide all of them",
                         k->settings[i].weight, k->settings[i].name, WEIGHT_MAX / SCALE);
            k->settings[i].weight = WEIGHT_MAX / SCALE;
        }
        if (k->settings[i].weight < lightest) lightest = k->settings[i].weight;
        k->settings[i].weight *= SCALE;
        k->settings[i].level = 1;
        k->wait_s[i] = old.wait_s[i];
    }
    strcpy(k->settings[old.n].name, CCN_UNKNOWN);
    k->settings[old.n].weight = lightest;
    k->settings[old.n].level = 1;
    /* However slow their pages are, a quarter of the threads is left to those that are known. */
    k->settings[old.n].window = (uint32_t)(c->threads - (c->threads + 3) / 4);
    if (!k->settings[old.n].window) k->settings[old.n].window = 1;
    k->wait_s[old.n] = k->wait_s[old.otherwise];
    k->n++;
    return OK;
}

/* What a host that speaks NDN is asked for: what is mapped, and services, which all of them have. */
static void prefixes_of(struct ccn_host *h, apr_pool_t *p) {
    const struct service_table *t = ccn_services();
    const char *last = NULL;

    h->prefixes = apr_array_make(p, h->maps->nelts + (int)t->n, sizeof(struct ndn_name));
    for (int i = 0; i < h->maps->nelts; i++)
        APR_ARRAY_PUSH(h->prefixes, struct ndn_name) = APR_ARRAY_IDX(h->maps, i, struct ccn_map).prefix;
    for (unsigned i = 0; i < t->n && h->prefixes->nelts < CCN_PREFIXES_MAX; i++) {
        struct ndn_out o = ndn_out_into(apr_palloc(p, CCN_NAME_MAX), CCN_NAME_MAX);
        struct ndn_name name;
        if (!(t->all[i]->over & SERVICE_NDN)) continue;
        if (last && !strcmp(t->all[i]->name, last)) continue; /* an overload */
        last = t->all[i]->name;
        if (ccn_map_service(t->all[i]->name, &o, &name)) APR_ARRAY_PUSH(h->prefixes, struct ndn_name) = name;
    }
}

int ccn_config_finish(struct ccn_site *c, apr_pool_t *pconf, server_rec *s) {
    const struct policy_engine_host here = { 30, true, false, false, 0 };
    char *error = NULL;

    for (server_rec *host = s; host; host = host->next)
        prefixes_of(ap_get_module_config(host->module_config, &ccn_module), pconf);
    if (c->policy_file) {
        const struct httpd_policy_file f = { c->policy_file, "CcnPolicy", KEPT_POLICY, APLOG_MODULE_INDEX };
        int rc = httpd_policy_load(&f, pconf, s, &c->policy);
        if (rc != OK) return rc;
        if (policy_exempt_of(c->policy))
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                         "CcnPolicy: <exempt> is of mod_qos_drr: nothing is exempt from waiting here");
    } else {
        static const struct policy_class all = { .name = "all", .id = 1, .quantum = 1, .is_default = 1 };
        c->policy = policy_new();
        httpd_policy_own(&c->policy, pconf);
        if (policy_add_class(c->policy, &all, &error) || policy_freeze(c->policy, &error))
            return HTTP_INTERNAL_SERVER_ERROR;
    }
    httpd_policy_classes(c->policy, &here, pconf, &c->classes);
    c->settings.sched = c->scheduler == CCN_SERPT   ? RS_SCHED_SHORTEST
                        : c->scheduler == CCN_IDSRS ? RS_SCHED_LEVELS
                                                    : RS_SCHED_FIFO;
    c->settings.gate = RS_GATE_WINDOW; /* a parked task's thread is made up for (ccn_turns.h) */
    c->settings.window = (uint32_t)c->threads;
    c->settings.queue_max = (uint32_t)c->queue;
    return add_unknown(c, pconf, s);
}
