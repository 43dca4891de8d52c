/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_config.h"

#include <apr_strings.h>
#include <http_core.h>
#include <http_log.h>

#include "httpd/httpd_policy.h"
#include "qos_people.h"
#include "qos_share.h"
#include "qos_signers.h"

APLOG_USE_MODULE(qos_drr);

/* The last good policy's text outlives the configuration it came in, under this key of the process pool. */
#define KEPT_POLICY "fairgate-qos-policy-2"

static struct qos_server *in_force;

struct qos_server *qos_config(void) {
    return in_force;
}

struct qos_server *qos_config_begin(apr_pool_t *pconf) {
    struct qos_server *q = apr_pcalloc(pconf, sizeof *q);

    rs_settings_default(&q->settings);
    q->settings.sched = RS_SCHED_DRR;
    q->settings.gate = RS_GATE_WINDOW;
    q->settings.window = 8;
    q->charge = QOS_CHARGE_TIME;
    q->queue = 10000;
    q->wait = 30;
    q->delay = POLICY_USUAL_DELAY;
    q->retry_after = 5;
    q->retry_most = 60;
    q->refused = HTTP_SERVICE_UNAVAILABLE;
    q->pages = 65536;
    in_force = q;
    return q;
}

void *qos_config_create_dir(apr_pool_t *p, char *dir) {
    struct qos_dir *d = apr_pcalloc(p, sizeof *d);
    (void)dir;
    d->on = d->transparent = -1;
    return d;
}

void *qos_config_merge_dir(apr_pool_t *p, void *base, void *add) {
    const struct qos_dir *b = base, *a = add;
    struct qos_dir *d = apr_pcalloc(p, sizeof *d);
    d->on = a->on >= 0 ? a->on : b->on;
    d->transparent = a->transparent >= 0 ? a->transparent : b->transparent;
    d->outlet = a->outlet ? a->outlet : b->outlet;
    d->park = a->park.said ? a->park : b->park;
    d->body = a->body ? a->body : b->body;
    return d;
}

/* ---- directives -------------------------------------------------------------------------------------------------- */

static const char *qos_config_set_engine(cmd_parms *cmd, void *dir, const char *arg) {
    int on = !strcasecmp(arg, "on")        ? QOS_ENGINE_ON
             : !strcasecmp(arg, "observe") ? QOS_ENGINE_OBSERVE
             : !strcasecmp(arg, "off")     ? QOS_ENGINE_OFF
                                           : -1;

    if (on < 0) return apr_psprintf(cmd->pool, "QosEngine %s: must be On, Off or observe", arg);
    ((struct qos_dir *)dir)->on = on;
    in_force->used |= on != QOS_ENGINE_OFF;
    in_force->holds |= on == QOS_ENGINE_ON;
    in_force->observes |= on == QOS_ENGINE_OBSERVE;
    return NULL;
}

static const char *set_body(cmd_parms *cmd, void *dir, const char *arg) {
    struct qos_dir *d = dir;
    const char *bad = ap_check_cmd_context(cmd, NOT_IN_LIMIT);

    d->body = !strcasecmp(arg, "stream") ? QOS_BODY_STREAM : !strcasecmp(arg, "whole") ? QOS_BODY_WHOLE : 0;
    return bad || d->body ? bad : apr_psprintf(cmd->pool, "QosBody %s: must be stream or whole", arg);
}

static const char *set_transparent(cmd_parms *cmd, void *dir, int on) {
    (void)cmd;
    if (on && !ap_find_linked_module("mod_proxy_http.c"))
        return "QosTransparent: mod_proxy_http passes requests on; load it before";
    ((struct qos_dir *)dir)->transparent = on;
    in_force->transparent |= on;
    return NULL;
}

struct number_setting {
    size_t offset;
    uint64_t least, most;
};
static struct number_setting queue_setting = { offsetof(struct qos_server, queue), 1, POLICY_QUEUE_MAX };
static struct number_setting wait_setting = { offsetof(struct qos_server, wait), 1, POLICY_WAIT_MAX };
static struct number_setting delay_setting = { offsetof(struct qos_server, delay), 0, POLICY_DELAY_MAX };
static struct number_setting pages_setting = { offsetof(struct qos_server, pages), 1024, 16777216 };

static const char *config_set_number(cmd_parms *cmd, void *dir, const char *arg) {
    const struct number_setting *n = cmd->info;
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)dir;
    return bad ? bad
               : httpd_number(cmd->pool, cmd->cmd->name, arg, n->least, n->most, (int *)((char *)in_force + n->offset));
}

static const char *set_scheduler(cmd_parms *cmd, void *dir, const char *arg) {
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    int sched = rs_sched_by_name(arg);

    (void)dir;
    if (bad) return bad;
    if (sched != RS_SCHED_DRR && sched != RS_SCHED_DRR_PAPER && sched != RS_SCHED_FIFO)
        return apr_psprintf(cmd->pool, "QosScheduler %s: must be drr, drr-paper or fifo", arg);
    in_force->settings.sched = (uint32_t)sched;
    return NULL;
}

static const char *set_retry_after(cmd_parms *cmd, void *dir, const char *arg, const char *most) {
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    int n;

    (void)dir;
    if (!bad) bad = httpd_number(cmd->pool, "QosRetryAfter", arg, 1, 86400, &n);
    if (bad) return bad;
    in_force->retry_after = in_force->retry_most = n;
    if (!most) return NULL;
    if (strncasecmp(most, "max=", 4))
        return apr_psprintf(cmd->pool, "QosRetryAfter %s %s: the second argument must be max=SECONDS", arg, most);
    return httpd_number(cmd->pool, "QosRetryAfter max=", most + 4, (uint64_t)n, 86400, &in_force->retry_most);
}

static const char *set_refuse(cmd_parms *cmd, void *dir, const char *arg) {
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)dir;
    if (bad) return bad;
    if (!strcmp(arg, "503")) in_force->refused = HTTP_SERVICE_UNAVAILABLE;
    else if (!strcmp(arg, "429")) in_force->refused = HTTP_TOO_MANY_REQUESTS;
    else return apr_psprintf(cmd->pool, "QosRefuse %s: must be 503 or 429", arg);
    return NULL;
}

static const char *set_charge(cmd_parms *cmd, void *dir, const char *arg) {
    static const char *const names[] = { "bytes", "time", "both" };
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)dir;
    if (bad) return bad;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcasecmp(arg, names[i])) continue;
        in_force->charge = (enum qos_charge)i;
        return NULL;
    }
    return apr_psprintf(cmd->pool, "QosCharge %s: must be bytes, time or both", arg);
}

static const char *set_policy(cmd_parms *cmd, void *dir, const char *arg) {
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)dir;
    if (bad) return bad;
    if (in_force->policy)
        return "QosPolicy: the classes stand in QosClass directives already; use one way or the other";
    in_force->policy_file = ap_server_root_relative(cmd->pool, arg);
    return in_force->policy_file ? NULL : apr_pstrcat(cmd->pool, "QosPolicy ", arg, ": not a valid path", NULL);
}

/* Where the name of a file goes. */
static size_t page_table_setting = offsetof(struct qos_server, page_table);
static size_t bots_setting = offsetof(struct qos_server, bots);

static const char *config_set_file(cmd_parms *cmd, void *dir, const char *arg) {
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    const char **file = (const char **)((char *)in_force + *(const size_t *)cmd->info);

    (void)dir;
    if (bad) return bad;
    *file = ap_server_root_relative(cmd->pool, arg);
    return *file ? NULL : apr_pstrcat(cmd->pool, cmd->cmd->name, " ", arg, ": not a valid path", NULL);
}

static const char *set_share(cmd_parms *cmd, void *dir, const char *provider, const char *secret) {
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)dir;
    if (bad) return bad;
    if (strncasecmp(secret, "secret=", 7))
        return "QosShare: the second argument must be secret=TEXT, the same on all gateways";
    return qos_share_create(provider, secret + 7, cmd->temp_pool, cmd->pool, &in_force->share);
}

static const char *set_visitors(cmd_parms *cmd, void *dir, int argc, char *const argv[]) {
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)dir;
    return bad ? bad : qos_people_create(cmd, argc, argv, &in_force->people);
}

/* Of a policy's file only the client's address; of directives what they said. */
static struct qos_keys *keys_of_classes(const struct qos_server *q, apr_pool_t *pconf) {
    struct qos_keys *keys = apr_pcalloc(pconf, (policy_class_count(q->policy) + 1) * sizeof *keys);

    for (uint32_t i = 0; i < policy_class_count(q->policy); i++) {
        if (q->keys_said) {
            keys[i] = APR_ARRAY_IDX(q->keys_said, i, struct qos_keys);
        } else {
            keys[i].level[0].address = policy_class_at(q->policy, i)->within;
            keys[i].levels = keys[i].level[0].address.levels;
        }
    }
    return keys;
}

static const char *set_signed(cmd_parms *cmd, void *dir, int argc, char *const argv[]) {
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)dir;
    return bad ? bad : qos_signers_add(&in_force->signers, argc, argv, cmd->pool);
}

static const char *set_class(cmd_parms *cmd, void *dir, int argc, char *const argv[]) {
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    struct qos_server *q = in_force;
    struct policy_class c = { .quantum = 0 };
    struct qos_keys keys = { .levels = 0 };
    char *error = NULL;
    int n = 0;

    (void)dir;
    if (bad) return bad;
    if (q->policy_file) return "QosClass: the classes stand in the QosPolicy file already; use one way or the other";
    if (argc < 2) return "QosClass: needs a name and weight=N";
    if (strlen(argv[0]) >= sizeof c.name)
        return apr_psprintf(cmd->pool, "QosClass %s: a name has at most %d characters", argv[0], POLICY_NAME_MAX - 1);
    memcpy(c.name, argv[0], strlen(argv[0]));
    for (int i = 1; i < argc && !bad; i++) {
        const char *a = argv[i];
        if (!strncasecmp(a, "weight=", 7)) {
            bad = httpd_number(cmd->pool, "QosClass weight=", a + 7, 1, POLICY_QUANTUM_MAX, &n);
            c.quantum = (uint32_t)n;
        } else if (!strncasecmp(a, "queue=", 6)) {
            bad = httpd_number(cmd->pool, "QosClass queue=", a + 6, 1, POLICY_QUEUE_MAX, &n);
            c.queue = (uint32_t)n;
        } else if (!strncasecmp(a, "wait=", 5)) {
            bad = httpd_number(cmd->pool, "QosClass wait=", a + 5, 1, POLICY_WAIT_MAX, &n);
            c.wait_s = (uint32_t)n;
        } else if (!strncasecmp(a, "delay=", 6)) {
            bad = httpd_number(cmd->pool, "QosClass delay=", a + 6, 0, POLICY_DELAY_MAX, &n);
            c.delay_ms = (uint32_t)n;
            c.has_delay = true;
        } else if (!strncasecmp(a, "slots=", 6)) {
            bad = httpd_number(cmd->pool, "QosClass slots=", a + 6, 1, POLICY_SLOTS_MAX, &n);
            c.slots = (uint32_t)n;
        } else if (!strcasecmp(a, "order=fifo")) c.order = POLICY_FIFO;
        else if (!strcasecmp(a, "order=shortest")) c.order = POLICY_SHORTEST;
        else if (!strncasecmp(a, "within=", 7)) bad = qos_keys_add(&keys, cmd, a + 7);
        else if (!strcasecmp(a, "default")) c.is_default = 1;
        else
            bad = apr_psprintf(cmd->pool,
                               "QosClass %s: %s is not one of weight=N, queue=N, wait=SECONDS, delay=MS, slots=N, "
                               "order=fifo|shortest, within=client|visitor|EXPRESSION, default",
                               argv[0], a);
    }
    if (bad) return bad;
    c.within.levels = keys.levels;
    if (!c.quantum) return apr_psprintf(cmd->pool, "QosClass %s: weight=N is missing", argv[0]);
    if (!q->policy) {
        q->policy = policy_new();
        httpd_policy_own(&q->policy, cmd->pool);
    }
    c.id = policy_class_count(q->policy) + 1;
    if (policy_add_class(q->policy, &c, &error)) return httpd_take_error(cmd->pool, "QosClass: ", &error);
    if (!q->keys_said) q->keys_said = apr_array_make(cmd->pool, 8, sizeof keys);
    APR_ARRAY_PUSH(q->keys_said, struct qos_keys) = keys;
    return NULL;
}

static const char *set_rule(cmd_parms *cmd, void *dir, int argc, char *const argv[]) {
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    struct qos_server *q = in_force;
    uint32_t class = 0, classes;
    int field, match = POLICY_DEFAULT_MATCH;
    char *error = NULL;

    (void)dir;
    if (bad) return bad;
    if (argc != 3 && argc != 4) return "QosRule: needs a class, a field, perhaps how to match, and a pattern";
    classes = q->policy ? policy_class_count(q->policy) : 0;
    while (class < classes && strcmp(policy_class_at(q->policy, class)->name, argv[0])) class += 1;
    if (class == classes)
        return apr_psprintf(cmd->pool, "QosRule %s: there is no such class; a QosClass %s must stand above", argv[0],
                            argv[0]);
    field = policy_field_by_name(argv[1]);
    if (field < 0)
        return apr_psprintf(cmd->pool,
                            "QosRule %s: %s is not a field; fields are src_ip_addr, dst_ip_addr, src_port, dst_port, "
                            "prot_type, src_dn, "
                            "dst_dn, url, user_agent, cookie, ssl_id, visitor, crawler",
                            argv[0], argv[1]);
    if (argc == 4) match = policy_match_by_name(argv[2]);
    if (match < 0)
        return apr_psprintf(cmd->pool, "QosRule %s: %s is not one of substring, prefix, suffix, exact, regex", argv[0],
                            argv[2]);
    if (policy_add_rule(q->policy, class, (enum policy_field)field, (enum policy_match)match, argv[argc - 1],
                        strlen(argv[argc - 1]), &error))
        return httpd_take_error(cmd->pool, "QosRule: ", &error);
    return NULL;
}

const command_rec qos_commands[] = {
    AP_INIT_TAKE1("QosEngine", qos_config_set_engine, NULL, RSRC_CONF | ACCESS_CONF,
                  "On: requests here are scheduled by class; observe: on paper alone (default Off)"),
    AP_INIT_FLAG("QosTransparent", set_transparent, NULL, RSRC_CONF | ACCESS_CONF,
                 "On: requests here were redirected by the kernel, and go on to where they were going (default Off)"),
    AP_INIT_TAKE1("QosPolicy", set_policy, NULL, RSRC_CONF, "an XML file with the classes and their rules"),
    AP_INIT_TAKE_ARGV("QosClass", set_class, NULL, RSRC_CONF,
                      "NAME weight=N [queue=N] [wait=SECONDS] [delay=MS] [slots=N] [order=fifo|shortest] "
                      "[within=client|visitor|EXPRESSION ...] [default]"),
    AP_INIT_TAKE_ARGV("QosRule", set_rule, NULL, RSRC_CONF,
                      "CLASS FIELD [substring|prefix|suffix|exact|regex] PATTERN"),
    AP_INIT_TAKE1("QosScheduler", set_scheduler, NULL, RSRC_CONF,
                  "which request is next: drr (default), drr-paper or fifo"),
    AP_INIT_TAKE1("QosCharge", set_charge, NULL, RSRC_CONF,
                  "what is shared: time in which requests have slots (default), bytes of answers, or both"),
    AP_INIT_TAKE12("QosWindow", qos_outlet_set_window, NULL, RSRC_CONF | ACCESS_CONF,
                   "how many requests the server works on at one time: N (default 8), or auto [max=N]; in a section, "
                   "one that stands there has a window of its own"),
    AP_INIT_TAKE12("QosPark", qos_outlet_set_park, NULL, RSRC_CONF | ACCESS_CONF,
                   "[time=SECONDS] [size=BYTES] after which a request gives its slot back (default time=10), or Off"),
    AP_INIT_TAKE1("QosBody", set_body, NULL, RSRC_CONF | ACCESS_CONF,
                  "stream: a request's body goes to the backend as it comes (default); whole: when all of it is there"),
    AP_INIT_TAKE1("QosQueue", config_set_number, &queue_setting, RSRC_CONF,
                  "how many requests may wait, in all classes (default 10000)"),
    AP_INIT_TAKE1("QosWait", config_set_number, &wait_setting, RSRC_CONF,
                  "how many seconds a request may wait before it is answered 503 (default 30)"),
    AP_INIT_TAKE1(
        "QosDelay", config_set_number, &delay_setting, RSRC_CONF,
        "milliseconds after which a request is refused while the queue of its class is persistent, for classes "
        "without delay= (default 800, 0: never)"),
    AP_INIT_TAKE12("QosRetryAfter", set_retry_after, NULL, RSRC_CONF,
                   "seconds in the Retry-After field of a refusal: N, or N max=M by how far behind its class is "
                   "(default 5 max=60)"),
    AP_INIT_TAKE1("QosRefuse", set_refuse, NULL, RSRC_CONF, "the status of a refusal: 503 (default) or 429"),
    AP_INIT_TAKE1("QosPages", config_set_number, &pages_setting, RSRC_CONF,
                  "how many page sizes to keep of what answers taught (default 65536)"),
    AP_INIT_TAKE1("QosPageTable", config_set_file, &page_table_setting, RSRC_CONF,
                  "the file of page sizes that fairgate-prober writes"),
    AP_INIT_TAKE1("QosBots", config_set_file, &bots_setting, RSRC_CONF,
                  "the file that fairgate-bots writes: who crawls from where"),
    AP_INIT_TAKE2("QosShare", set_share, NULL, RSRC_CONF,
                  "PROVIDER[:ARGUMENTS] secret=TEXT: share page sizes with other gateways by this socache"),
    AP_INIT_TAKE_ARGV("QosVisitors", set_visitors, NULL, RSRC_CONF,
                      "KEYFILE [cookie=NAME] [age=SECONDS] [secure]: know people again by a cookie"),
    AP_INIT_TAKE_ARGV(
        "QosExempt", qos_exempt_set, NULL, RSRC_CONF,
        "path PREFIX..., method NAME..., address CIDR...: what never waits; limit=N: so many at one time (default 8)"),
    AP_INIT_TAKE_ARGV("QosSelf", qos_inner_set, NULL, RSRC_CONF,
                      "host, CIDR...: addresses whose requests other requests here have caused (default host); or Off"),
    AP_INIT_TAKE_ARGV("QosSigned", set_signed, NULL, RSRC_CONF,
                      "CRAWLER AGENT [keys=FILE] [private=ADDRESS[:PORT]]: it is who signs with a key of this agent"),
    { .name = NULL }
};

/* ---- making it final --------------------------------------------------------------------------------------------- */

int qos_config_finish(struct qos_server *q, apr_pool_t *pconf, server_rec *s) {
    const struct policy_engine_host here = { (uint32_t)q->wait, true, true, true, (uint32_t)q->delay };
    struct httpd_classes c;
    char *error = NULL;
    const char *why = NULL;

    if (q->policy_file) {
        const struct httpd_policy_file f = { q->policy_file, "QosPolicy", KEPT_POLICY, APLOG_MODULE_INDEX };
        int rc = httpd_policy_load(&f, pconf, s, &q->policy);
        if (rc != OK) return rc;
    } else {
        if (!q->policy) {
            /* No classes: everybody is one, and the window alone is at work. */
            static const struct policy_class all = { .name = "all", .id = 1, .quantum = 1, .is_default = 1 };
            q->policy = policy_new();
            httpd_policy_own(&q->policy, pconf);
            if (policy_add_class(q->policy, &all, &error)) return HTTP_INTERNAL_SERVER_ERROR;
        }
        if (policy_freeze(q->policy, &error)) {
            ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, s, "%s",
                         httpd_take_error(pconf, "QosRule: ", &error));
            return HTTP_INTERNAL_SERVER_ERROR;
        }
    }
    if (policy_uses(q->policy, POLICY_VISITOR) && !q->people)
        ap_log_error(
            APLOG_MARK, APLOG_WARNING, 0, s,
            "qos: the policy has rules about visitors, and without QosVisitors nobody is known: they never match");
    if (qos_exempt_finish(&q->exempt, q->policy, &why)) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, s, "QosExempt: %s", why);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    httpd_policy_classes(q->policy, &here, pconf, &c);
    q->classes = c.settings;
    q->wait_s = c.wait_s;
    q->number = c.number;
    q->nclasses = c.n;
    q->keys = keys_of_classes(q, pconf);
    q->default_class = c.otherwise;
    q->weights = c.weights;
    q->settings.queue_max = (uint32_t)q->queue;
    if (q->charge != QOS_CHARGE_BYTES) {
        q->settings.await_us = QOS_AWAIT_US;
        q->settings.debt_max = 0;
    }
    if (qos_outlet_finish(&q->outlets, pconf, s)) return HTTP_INTERNAL_SERVER_ERROR;
    return OK;
}

static const char *find_in(const ap_directive_t *d, const char *directive) {
    for (; d; d = d->next) {
        const char *deep;
        if (!strcasecmp(d->directive, directive)) return d->args;
        deep = d->first_child ? find_in(d->first_child, directive) : NULL;
        if (deep) return deep;
    }
    return NULL;
}

const char *qos_config_find(const char *directive) { return find_in(ap_conftree, directive); }

/* %{qos-wait}n, %{note:qos-wait}, note('qos-wait'): who sets a variable writes no bracket before its name. */
static bool names_note(const char *text) {
    static const char prefix[] = "qos-";

    for (const char *at = strstr(text, prefix); at; at = strstr(at + 1, prefix)) {
        const char *before = at;

        while (before > text && strchr("'\"\\", before[-1])) before--;
        if (before > text && strchr("{(:", before[-1])) return true;
    }
    return false;
}

static bool notes_in(const ap_directive_t *d) {
    for (; d; d = d->next)
        if ((d->args && names_note(d->args)) || notes_in(d->first_child)) return true;
    return false;
}

bool qos_config_notes(void) {
    /* A script may ask for any. */
    return qos_config_find("LuaHookLog") || qos_config_find("PerlLogHandler") || notes_in(ap_conftree);
}

static void each_in(const ap_directive_t *d, const char *directive, void (*tell)(void *, const char *), void *whom) {
    for (; d; d = d->next) {
        if (!strcasecmp(d->directive, directive)) tell(whom, d->args);
        if (d->first_child) each_in(d->first_child, directive, tell, whom);
    }
}

void qos_config_each(const char *directive, void (*tell)(void *, const char *), void *whom) {
    each_in(ap_conftree, directive, tell, whom);
}
