/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_outlet.h - windows of their own, and how long a request keeps its slot: what sections of the configuration say.
 *
 * A QosWindow in a <Proxy>, <VirtualHost>, <Location>, <Directory> or the like makes an outlet of the engine
 * (core/rs.h), named after where it stands; requests have the one that httpd's merging of sections leaves in their
 * per_dir_config when their fixups run, by when mod_proxy has merged <Proxy> in.  QosWindow outside of all sections is
 * the server's own, outlet 0.
 *
 * The list is made while the configuration is read, and the same in all children of a generation; their numbers in the
 * engine each child finds for itself (qos_outlet_configure).
 */
#ifndef FAIRGATE_QOS_OUTLET_H
#define FAIRGATE_QOS_OUTLET_H

#include <stdbool.h>

#include <httpd.h>
#include <http_config.h>

#include "shm/shm.h"

#define QOS_OUTLETS_OWN 63          /* that there can be beside the server's own */

struct qos_outlet {
    struct rs_outlet_settings settings;
    bool              max_said;
    const char       *path;         /* of its section; NULL: a virtual host */
    const server_rec *server;       /* in which that stands */
    uint32_t          number;       /* in the engine; 0, the server's own, if it has no place there */
};

struct qos_outlets {
    struct qos_outlet *all;         /* QOS_OUTLETS_OWN of them, in pconf; NULL: none */
    uint32_t           n;           /* as many as stand in the configuration, also if that is too many */
};

/* Per directory: when a request there gives its slot back; 0 = when it ends. */
struct qos_park {
    bool     said;
    uint64_t time_us, bytes;
};

/* Directives. */
const char *qos_outlet_set_window(cmd_parms *cmd, void *dir, const char *window, const char *most);
const char *qos_outlet_set_park(cmd_parms *cmd, void *dir, const char *one, const char *other);

/* The window of a <Proxy> that names a backend of another protocol than FastCGI. */
bool qos_outlet_is_never_php(const struct qos_outlet *o);

/* check_config: they get their names.  0, or -1 with the reason logged. */
int      qos_outlet_finish(struct qos_outlets *o, apr_pool_t *pconf, server_rec *s);
/* post_config: what the server's threads say to their windows. */
void     qos_outlet_fit(struct qos_outlets *o, uint32_t threads, server_rec *s);
/* that an engine should have: those, the server's own, and some that a graceful restart may bring */
uint32_t qos_outlet_room(const struct qos_outlets *o);
/* child_init, behind shm_configure */
void     qos_outlet_configure(struct qos_outlets *o, const struct shm_view *v, uint32_t generation, server_rec *s);
/* by struct qos_dir */
uint32_t qos_outlet_number(const struct qos_outlets *o, uint32_t of_dir);

#endif
