/* SPDX-License-Identifier: BSD-2-Clause */
/* eeod_config.h - the module's directives, per directory or location and content type. */
#ifndef FAIRGATE_EEOD_CONFIG_H
#define FAIRGATE_EEOD_CONFIG_H

#include <httpd.h>
#include <http_config.h>
#include <stdbool.h>

#include "marks/eeod_scan.h"

extern module AP_MODULE_DECLARE_DATA eeod_module;

/* -1 and NULL: not said, that of the directory above; eeod_config_of has none of these. */
struct eeod_dir {
    int                       on, strip, files;
    int                       segments;         /* are cut at marks; otherwise pages are only vouched for */
    int                       key;              /* the application's marks have the key of its response, or count not */
    int                       least;            /* bytes: smaller cacheable blocks join the unique ones beside them */
    const apr_array_header_t *types;            /* of const char *: content types whose pages may have marks */
    const struct eeod_marks  *marks;
    bool                      keyed;            /* of eeod_config_of: applications here are given keys */
};

extern const command_rec eeod_commands[];

void *eeod_config_create_dir(apr_pool_t *p, char *dir);
void *eeod_config_merge_dir(apr_pool_t *p, void *base, void *add);

void                   eeod_config_begin(apr_pool_t *pconf);        /* pre_config */
bool eeod_config_used(void);                      /* some EeodEngine On was seen */
bool eeod_config_on(const request_rec *r);
struct eeod_dir        eeod_config_of(const request_rec *r);
bool eeod_config_type(const struct eeod_dir *d, const char *content_type);

#endif
