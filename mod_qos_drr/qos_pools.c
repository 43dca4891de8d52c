/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_pools.h"

#include <glob.h>
#include <stdlib.h>

#include <apr_lib.h>
#include <apr_strings.h>
#include <http_config.h>
#include <http_log.h>

APLOG_USE_MODULE(qos_drr);

#define POOL_BYTES (1u << 20) /* of a file of pools */
#define POOL_FILES 64
#define POOL_LEAST 2u /* slots: the smallest window of auto */

struct pools_look {
    apr_pool_t *p;
    qos_pool_found *found;
    void *of;
};

struct pool_section {
    const char *name, *listen;
    int children;
};

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool pool_is_used(const ap_directive_t *d, const char *listen) {
    for (; d; d = d->next) {
        const char *at = d->args ? strstr(d->args, listen) : NULL;

        if ((at && !apr_isdigit(at[strlen(listen)])) || pool_is_used(d->first_child, listen)) return true;
    }
    return false;
}

static void section_ends(const struct pools_look *is, const struct pool_section *section, const char *file) {
    const struct qos_pool pool = { section->name, file, (uint32_t)section->children };
    const char *listen = section->listen;

    if (!listen || section->children < 1) return;
    if (!listen[strspn(listen, "0123456789")]) listen = apr_pstrcat(is->p, ":", listen, NULL);
    if (pool_is_used(ap_conftree, listen)) is->found(is->of, &pool);
}

static void pool_read_line(const struct pools_look *is, struct pool_section *section, const char *file, char *line) {
    char *value = strchr(line, '=');

    line += strspn(line, " \t");
    if (*line == '[') {
        section_ends(is, section, file);
        *section = (struct pool_section){ .name = apr_pstrmemdup(is->p, line + 1, strcspn(line + 1, "]")) };
    } else if (value && *line != ';') {
        char *end = value;

        while (end > line && apr_isspace(end[-1])) end--;
        value++;
        value += strspn(value, " \t\"");
        value[strcspn(value, " \t\r\";")] = '\0';
        if (end - line == 6 && !strncmp(line, "listen", 6)) section->listen = value;
        if (end - line == 15 && !strncmp(line, "pm.max_children", 15)) section->children = atoi(value);
    }
}

/* A regular file of a bounded size. */
static void pool_read_file(const struct pools_look *is, const char *file) {
    struct pool_section section = { .name = "" };
    apr_finfo_t info;
    apr_file_t *f;
    apr_size_t n;
    char *text, *line, *last;

    if (apr_stat(&info, file, APR_FINFO_TYPE | APR_FINFO_SIZE, is->p) != APR_SUCCESS || info.filetype != APR_REG ||
        info.size > POOL_BYTES || apr_file_open(&f, file, APR_FOPEN_READ, APR_OS_DEFAULT, is->p) != APR_SUCCESS)
        return;
    n = (apr_size_t)info.size;
    text = apr_palloc(is->p, n + 1);
    if (apr_file_read_full(f, text, n, &n) != APR_SUCCESS) n = 0;
    apr_file_close(f);
    text[n] = '\0';
    for (line = apr_strtok(text, "\n", &last); line; line = apr_strtok(NULL, "\n", &last))
        pool_read_line(is, &section, file, line);
    section_ends(is, &section, file);
}

/* Where Debian, Fedora and PHP's own build have files of pools. */
void qos_pools(apr_pool_t *p, qos_pool_found *found, void *of) {
    static const char *const places[] = { "/etc/php/*/fpm/pool.d/*.conf", "/etc/php-fpm.d/*.conf",
                                          "/usr/local/etc/php-fpm.d/*.conf" };
    const struct pools_look is = { p, found, of };
    glob_t files;

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (glob(places[i], 0, NULL, &files)) continue;
        for (size_t k = 0; k < files.gl_pathc && k < POOL_FILES; k++) pool_read_file(&is, files.gl_pathv[k]);
        globfree(&files);
    }
}

/* ---- the window -------------------------------------------------------------------------------------------------- */

static void pools_add(void *sum, const struct qos_pool *pool) { *(uint32_t *)sum += pool->children; }

struct other_backends {
    const struct qos_outlets *outlets;
    bool found;
};

/* A <Proxy> with a window of its own bounds this backend. */
static bool has_own_window(const struct qos_outlets *o, const char *args) {
    for (uint32_t i = 0; i < o->n && i < QOS_OUTLETS_OWN; i++)
        if (o->all[i].path && strstr(args, o->all[i].path)) return true;
    return false;
}

/* ProxyPass and the like to anything but PHP-FPM; "!" passes nothing. */
static void pools_note_backend(void *of, const char *args) {
    struct other_backends *is = of;

    if (!strstr(args, "fcgi://") && !strstr(args, " !") && !has_own_window(is->outlets, args)) is->found = true;
}

static bool has_other_backends(const struct qos_outlets *o) {
    static const char *const directives[] = { "ProxyPass", "ProxyPassMatch", "BalancerMember" };
    struct other_backends is = { o, false };

    for (size_t i = 0; i < sizeof directives / sizeof *directives; i++)
        qos_config_each(directives[i], pools_note_backend, &is);
    return is.found;
}

/* A window of a section that may pass requests to PHP-FPM. */
static bool has_window_for_php(const struct qos_outlets *o) {
    for (uint32_t i = 0; i < o->n && i < QOS_OUTLETS_OWN; i++)
        if (!qos_outlet_is_never_php(o->all + i)) return true;
    return false;
}

void qos_pools_fit(apr_pool_t *p, server_rec *s, struct qos_server *conf) {
    uint32_t children = 0;

    if (conf->settings.gate != RS_GATE_AUTO || conf->window_max_said || has_window_for_php(&conf->outlets) ||
        has_other_backends(&conf->outlets))
        return;
    qos_pools(p, pools_add, &children);
    if (!children) return;
    if (children < POOL_LEAST) children = POOL_LEAST;
    if (children >= conf->settings.window_max) return;
    conf->settings.window_max = children;
    ap_log_error(APLOG_MARK, APLOG_INFO, 0, s,
                 "qos: QosWindow auto lets in %u requests at most, as many as PHP-FPM serves at one time "
                 "(pm.max_children)",
                 children);
}
