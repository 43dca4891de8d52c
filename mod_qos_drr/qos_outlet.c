/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_outlet.h"

#include <apr_strings.h>
#include <http_core.h>
#include <http_log.h>

#include "httpd/httpd_policy.h"
#include "qos_config.h"

APLOG_USE_MODULE(qos_drr);

#define AUTO_BEGINS 8

/* ---- directives -------------------------------------------------------------------------------------------------- */

static const char *read_window(cmd_parms *cmd, const char *arg, const char *most, struct rs_outlet_settings *w,
                               bool *max_said) {
    const char *bad;
    int n = AUTO_BEGINS;

    w->gate = RS_GATE_AUTO;
    if (strcasecmp(arg, "auto")) {
        w->gate = RS_GATE_WINDOW;
        bad = httpd_number(cmd->pool, "QosWindow", arg, 1, 65536, &n);
        if (bad) return apr_pstrcat(cmd->pool, bad, ", or auto", NULL);
    }
    w->window = (uint32_t)n;
    *max_said = most != NULL;
    if (!most) return NULL;
    if (w->gate != RS_GATE_AUTO || strncasecmp(most, "max=", 4))
        return apr_psprintf(cmd->pool, "QosWindow %s %s: the second argument must be max=N, after auto", arg, most);
    bad = httpd_number(cmd->pool, "QosWindow auto max=", most + 4, 2, 65536, &n);
    w->window_max = (uint32_t)n;
    return bad;
}

const char *qos_outlet_set_window(cmd_parms *cmd, void *dir, const char *arg, const char *most) {
    struct qos_server *q = qos_config();
    struct qos_outlets *all = &q->outlets;
    struct qos_dir *d = dir;
    struct rs_outlet_settings w = { .window_max = q->settings.window_max };
    const char *bad = ap_check_cmd_context(cmd, NOT_IN_LIMIT);
    bool max_said = false;

    if (!bad) bad = read_window(cmd, arg, most, &w, &max_said);
    if (bad) return bad;
    if (!cmd->path && !cmd->server->is_virtual) {
        q->settings.gate = w.gate;
        q->settings.window = w.window;
        q->settings.window_max = w.window_max;
        q->window_max_said = max_said;
        return NULL;
    }
    if (!all->all) all->all = apr_pcalloc(cmd->pool, QOS_OUTLETS_OWN * sizeof *all->all);
    if (!d->outlet) d->outlet = ++all->n;
    /* How many there are too many is known when all are read. */
    if (d->outlet <= QOS_OUTLETS_OWN)
        all->all[d->outlet - 1] = (struct qos_outlet){ w, max_said, cmd->path, cmd->server, 0 };
    return NULL;
}

static const char *read_park(cmd_parms *cmd, const char *arg, struct qos_park *park) {
    const char *bad;
    int n = 0;

    if (!strncasecmp(arg, "time=", 5)) {
        bad = httpd_number(cmd->pool, "QosPark time=", arg + 5, 1, 86400, &n);
        park->time_us = (uint64_t)n * 1000000u;
    } else if (!strncasecmp(arg, "size=", 5)) {
        bad = httpd_number(cmd->pool, "QosPark size=", arg + 5, 65536, INT32_MAX, &n);
        park->bytes = (uint64_t)n;
    } else {
        bad = apr_psprintf(cmd->pool, "QosPark %s: must be time=SECONDS, size=BYTES, both, or Off", arg);
    }
    return bad;
}

const char *qos_outlet_set_park(cmd_parms *cmd, void *dir, const char *one, const char *other) {
    struct qos_dir *d = dir;
    const char *bad = ap_check_cmd_context(cmd, NOT_IN_LIMIT);

    d->park = (struct qos_park){ .said = true };
    if (bad || (!other && !strcasecmp(one, "off"))) return bad;
    bad = read_park(cmd, one, &d->park);
    return bad || !other ? bad : read_park(cmd, other, &d->park);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* What is too long for a name is cut, with a number of the whole behind it. */
static const char *fitting(apr_pool_t *p, const char *name) {
    uint32_t h = 2166136261u;

    if (strlen(name) < RS_OUTLET_NAME_MAX) return name;
    for (const char *c = name; *c; c++) h = (h ^ (unsigned char)*c) * 16777619u;
    return apr_psprintf(p, "%.48s~%08x", name, h);
}

/* "server" is what figures call the server's own. */
static bool is_taken(const struct qos_outlets *o, uint32_t before, const char *name) {
    if (!strcmp(name, "server")) return true;
    for (uint32_t i = 0; i < before; i++)
        if (!strcmp(o->all[i].settings.name, name)) return true;
    return false;
}

/* After its section, and the virtual host in which that stands. */
static const char *name_of(const struct qos_outlet *o, apr_pool_t *p) {
    const server_rec *s = o->server;
    const char *host = "";

    if (s->is_virtual) host = s->server_hostname ? s->server_hostname : "*";
    if (s->is_virtual && s->port) host = apr_psprintf(p, "%s:%u", host, (unsigned)s->port);
    if (!o->path) return host;
    return *host ? apr_pstrcat(p, host, " ", o->path, NULL) : o->path;
}

int qos_outlet_finish(struct qos_outlets *o, apr_pool_t *pconf, server_rec *s) {
    if (o->n > QOS_OUTLETS_OWN) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, s,
                     "QosWindow stands in %u sections, and at most %d of them can have windows of their own; let some "
                     "share one, in a section around them",
                     o->n, QOS_OUTLETS_OWN);
        return -1;
    }
    for (uint32_t i = 0; i < o->n; i++) {
        const char *whole = name_of(&o->all[i], pconf), *name = fitting(pconf, whole);

        for (unsigned n = 2; is_taken(o, i, name); n++)
            name = fitting(pconf, apr_psprintf(pconf, "%.52s#%u", whole, n));
        apr_cpystrn(o->all[i].settings.name, *name ? name : "*", sizeof o->all[i].settings.name);
    }
    return 0;
}

bool qos_outlet_is_never_php(const struct qos_outlet *o) {
    return o->path &&
           (!strncmp(o->path, "http://", 7) || !strncmp(o->path, "https://", 8) || !strncmp(o->path, "ajp://", 6));
}

/* ---- in force ---------------------------------------------------------------------------------------------------- */

/* A server that hangs keeps the threads of its window: it must not be all that there are. */
void qos_outlet_fit(struct qos_outlets *o, uint32_t threads, server_rec *s) {
    uint32_t half = threads / 2 > 2 ? threads / 2 : 2;

    for (uint32_t i = 0; i < o->n; i++) {
        struct rs_outlet_settings *w = &o->all[i].settings;
        uint32_t most = w->gate == RS_GATE_AUTO ? w->window_max : w->window;

        if (w->gate == RS_GATE_AUTO && !o->all[i].max_said && most > half) w->window_max = half;
        else if (most > half)
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                         "qos: the window %u of %s is more than half of the %u threads of this server: if what is "
                         "behind it hangs, it keeps them from others; set MaxRequestWorkers %u, or less in QosWindow",
                         most, w->name, threads, 2 * most);
    }
}

uint32_t qos_outlet_room(const struct qos_outlets *o) {
    uint32_t room = 2 * o->n + 4;
    return room < QOS_OUTLETS_OWN + 1 ? room : QOS_OUTLETS_OWN + 1;
}

void qos_outlet_configure(struct qos_outlets *o, const struct shm_view *v, uint32_t generation, server_rec *s) {
    struct rs_outlet_settings wanted[QOS_OUTLETS_OWN];
    uint32_t number[QOS_OUTLETS_OWN];
    const char *why = "";
    bool left_out = false;

    for (uint32_t i = 0; i < o->n; i++) wanted[i] = o->all[i].settings;
    switch (shm_configure_outlets(v, generation, wanted, o->n, number, &left_out, &why)) {
    case SHM_CONFIGURED_BEFORE: break;
    case SHM_NOT_CONFIGURED:
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s, "qos: %s; windows of before stay in force", why);
        break;
    case SHM_CONFIGURED:
        if (left_out)
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                         "qos: there are more windows of their own than the scheduler has places for: those without a "
                         "place share the server's own until `apachectl restart`");
    }
    for (uint32_t i = 0; i < o->n; i++) o->all[i].number = number[i];
}

uint32_t qos_outlet_number(const struct qos_outlets *o, uint32_t of_dir) {
    return of_dir && of_dir <= o->n ? o->all[of_dir - 1].number : 0;
}
