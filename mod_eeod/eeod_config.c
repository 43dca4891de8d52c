/* SPDX-License-Identifier: BSD-2-Clause */
#include "eeod_config.h"

#include <stdlib.h>
#include <string.h>

#include <apr_strings.h>

#include "base/base_number.h"

enum { LEAST_DEFAULT = 128, LEAST_MAX = 65536 };

static int used;
static struct eeod_marks default_marks;
static const char *const default_types[] = { "text/html", "application/xhtml+xml" };

void eeod_config_begin(apr_pool_t *pconf) {
    (void)pconf;
    used = 0;
    eeod_marks_set(&default_marks, EEOD_USUAL_OPEN, EEOD_USUAL_CLOSE);
}

bool eeod_config_used(void) { return used; }

void *eeod_config_create_dir(apr_pool_t *p, char *dir) {
    struct eeod_dir *d = apr_pcalloc(p, sizeof *d);
    (void)dir;
    d->on = d->strip = d->files = d->segments = d->key = d->least = -1;
    return d;
}

void *eeod_config_merge_dir(apr_pool_t *p, void *base, void *add) {
    const struct eeod_dir *b = base, *a = add;
    struct eeod_dir *d = apr_pcalloc(p, sizeof *d);
    d->on = a->on >= 0 ? a->on : b->on;
    d->strip = a->strip >= 0 ? a->strip : b->strip;
    d->files = a->files >= 0 ? a->files : b->files;
    d->segments = a->segments >= 0 ? a->segments : b->segments;
    d->key = a->key >= 0 ? a->key : b->key;
    d->least = a->least >= 0 ? a->least : b->least;
    d->types = a->types ? a->types : b->types;
    d->marks = a->marks ? a->marks : b->marks;
    return d;
}

static bool usual(const struct eeod_marks *m) { return !strcmp(m->says, default_marks.says); }

bool eeod_config_on(const request_rec *r) {
    return ((const struct eeod_dir *)ap_get_module_config(r->per_dir_config, &eeod_module))->on > 0;
}

struct eeod_dir eeod_config_of(const request_rec *r) {
    struct eeod_dir d = *(const struct eeod_dir *)ap_get_module_config(r->per_dir_config, &eeod_module);
    if (d.on < 0) d.on = 0;
    if (d.strip < 0) d.strip = 0;
    if (d.files < 0) d.files = 0;
    if (d.segments < 0) d.segments = 1;
    if (d.key < 0) d.key = 1;
    if (d.least < 0) d.least = LEAST_DEFAULT;
    if (!d.marks) d.marks = &default_marks;
    d.keyed = d.on && d.key && usual(d.marks);
    return d;
}

static int same_type(const char *wanted, const char *type, size_t n) {
    return strlen(wanted) == n && !ap_cstr_casecmpn(wanted, type, n);
}

bool eeod_config_type(const struct eeod_dir *d, const char *content_type) {
    if (!content_type) return 0;
    size_t n = strcspn(content_type, "; \t");
    if (!d->types) {
        for (size_t i = 0; i < sizeof default_types / sizeof *default_types; i++)
            if (same_type(default_types[i], content_type, n)) return 1;
        return 0;
    }
    for (int i = 0; i < d->types->nelts; i++)
        if (same_type(APR_ARRAY_IDX(d->types, i, const char *), content_type, n)) return 1;
    return 0;
}

/* ---- directives -------------------------------------------------------------------------------------------------- */

static const char *eeod_config_set_engine(cmd_parms *cmd, void *dir, int on) {
    (void)cmd;
    ((struct eeod_dir *)dir)->on = on;
    if (on) used = 1;
    return NULL;
}

static const char *set_strip(cmd_parms *cmd, void *dir, int on) {
    (void)cmd;
    ((struct eeod_dir *)dir)->strip = on;
    return NULL;
}

static const char *set_files(cmd_parms *cmd, void *dir, int on) {
    (void)cmd;
    ((struct eeod_dir *)dir)->files = on;
    return NULL;
}

static const char *set_segments(cmd_parms *cmd, void *dir, int on) {
    (void)cmd;
    ((struct eeod_dir *)dir)->segments = on;
    return NULL;
}

static const char *set_least(cmd_parms *cmd, void *dir, const char *arg) {
    char *error = NULL;
    const char *why = "EeodMinBlock: out of memory";
    uint64_t n;

    if (!base_number("EeodMinBlock", arg, "", 0, LEAST_MAX, &n, &error)) {
        ((struct eeod_dir *)dir)->least = (int)n;
        return NULL;
    }
    if (error) why = apr_pstrdup(cmd->pool, error);
    free(error);
    return why;
}

static const char *add_type(cmd_parms *cmd, void *dir, const char *arg) {
    struct eeod_dir *d = dir;

    if (!strchr(arg, '/') || strpbrk(arg, "*; \t"))
        return apr_psprintf(cmd->pool,
                            "EeodTypes %s: must be a content type such as text/html, without parameters or *", arg);
    if (!d->types) d->types = apr_array_make(cmd->pool, 4, sizeof(const char *));
    *(const char **)apr_array_push((apr_array_header_t *)d->types) = arg;
    return NULL;
}

/* What different sections say is known only when a request comes; eeod_page.c tells then. */
static const char *keys_and_marks(cmd_parms *cmd, const struct eeod_dir *d) {
    if (d->key <= 0 || !d->marks || usual(d->marks)) return NULL;
    return apr_psprintf(cmd->pool,
                        "EeodKey On and EeodMarks %.*s %.*s: only the usual marks can have keys; leave EeodMarks out, "
                        "or say EeodKey Off if visitors can't write these marks",
                        (int)d->marks->length[0], (const char *)d->marks->text[0], (int)d->marks->length[1],
                        (const char *)d->marks->text[1]);
}

static const char *set_key(cmd_parms *cmd, void *dir, int on) {
    ((struct eeod_dir *)dir)->key = on;
    return keys_and_marks(cmd, dir);
}

static const char *set_marks(cmd_parms *cmd, void *dir, const char *open, const char *close) {
    struct eeod_marks *m = apr_palloc(cmd->pool, sizeof *m);
    const char *why = eeod_marks_set(m, open, close);

    if (why) return apr_psprintf(cmd->pool, "EeodMarks %s %s: %s", open, close, why);
    ((struct eeod_dir *)dir)->marks = m;
    return keys_and_marks(cmd, dir);
}

#define EVERYWHERE (RSRC_CONF | ACCESS_CONF)

const command_rec eeod_commands[] = {
    AP_INIT_FLAG("EeodEngine", eeod_config_set_engine, NULL, EVERYWHERE,
                 "On: the pages here go out in blocks, cut at their marks"),
    AP_INIT_ITERATE("EeodTypes", add_type, NULL, EVERYWHERE,
                    "content types of pages that may have marks (text/html application/xhtml+xml)"),
    AP_INIT_FLAG("EeodStrip", set_strip, NULL, EVERYWHERE, "On: the marks are taken out of the page (Off)"),
    AP_INIT_FLAG("EeodSegments", set_segments, NULL, EVERYWHERE,
                 "Off: pages go out as without the module, and are only vouched for, to caches that need no segments "
                 "(On)"),
    AP_INIT_FLAG("EeodKey", set_key, NULL, EVERYWHERE,
                 "Off: marks without the key of their response count as the application's, whoever wrote them (On)"),
    AP_INIT_TAKE1("EeodMinBlock", set_least, NULL, EVERYWHERE,
                  "bytes of the smallest cacheable block; smaller ones go with the unique one beside them (128)"),
    AP_INIT_TAKE2("EeodMarks", set_marks, NULL, EVERYWHERE,
                  "the opening and the closing mark (<!--EEOD--> <!--/EEOD-->)"),
    AP_INIT_FLAG(
        "EeodFiles", set_files, NULL, EVERYWHERE,
        "On: whatever else there is, files and downloads and pages without marks, is one cacheable block (Off)"),
    { .name = NULL }
};
