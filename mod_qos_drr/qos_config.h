/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_config.h - the module's directives and what they make.
 *
 * One policy and one engine serve the whole server, virtual hosts included, and one window what has none of its own.
 * What can differ by virtual host, directory or backend is whether requests are scheduled there, or observed
 * (QosEngine), by which window, and for how long they keep their slots (qos_outlet.h).
 *
 * A policy comes either from an XML file (QosPolicy) or from QosClass and QosRule.  At start, and for `apachectl
 * configtest`, a bad one is an error and httpd does not start.  On a graceful restart a bad file is an error in the
 * log, and the policy of before stays in force.
 */
#ifndef FAIRGATE_QOS_CONFIG_H
#define FAIRGATE_QOS_CONFIG_H

#include <httpd.h>
#include <http_config.h>

#include "core/rs.h"
#include "policy/policy.h"
#include "qos_cost.h"
#include "qos_exempt.h"
#include "qos_inner.h"
#include "qos_keys.h"
#include "qos_outlet.h"

extern module AP_MODULE_DECLARE_DATA qos_drr_module;

/* bytes of a response when nothing is known: the mean of the paper's page sizes (4.2.3) */
#define QOS_MEAN_DEFAULT   27656u
#define QOS_HEADER_DEFAULT 300u     /* bytes of an answer without a body */

/* Of the whole server; lives in pconf.  Filled while the configuration is read, completed by qos_config_finish. */
struct qos_server {
    const char        *policy_file;
    const char        *page_table;          /* the prober's file, or NULL */
    const char        *bots;                /* fairgate-bots's, or NULL */
    struct qos_cache  *share;               /* or NULL */
    struct qos_people *people;              /* of QosVisitors, or NULL */
    struct qos_signers *signers;            /* of QosSigned, or NULL */
    policy_t          *policy;              /* frozen after qos_config_finish */
    uint32_t           default_class;       /* position in classes[] */
    uint32_t           nclasses;
    uint64_t           weights;             /* their sum */
    struct rs_class_settings *classes;      /* as in the policy, and "other" at the end if the policy has no default */
    uint32_t          *wait_s;              /* per class: longest wait */
    struct qos_keys   *keys;                /* per class: whose a request is in it */
    apr_array_header_t *keys_said;          /* of QosClass directives, until then */
    uint32_t          *number;              /* per class: its number in the engine */
    struct rs_settings settings;
    bool               window_max_said;         /* QosWindow auto max=N of the whole server */
    struct qos_outlets outlets;             /* windows of their own */
    enum qos_charge    charge;
    int                queue, wait, pages;
    int                delay;               /* milliseconds, of classes that name none */
    int                retry_after, retry_most; /* seconds; a refused client is told more than the first if it helps */
    int                refused;             /* the status of a refusal */
    struct qos_exempt  exempt;
    struct qos_self    self;                /* QosSelf */
    int                used;                /* some QosEngine On or observe was seen; */
    int                holds, observes;     /* On; observe */
    int                transparent;         /* some QosTransparent On was seen */
};

enum { QOS_BODY_NOT_SAID, QOS_BODY_STREAM, QOS_BODY_WHOLE };
enum { QOS_ENGINE_OFF, QOS_ENGINE_ON, QOS_ENGINE_OBSERVE };
/* Per directory. */
struct qos_dir {
    int             on;                     /* -1 not said */
    int             transparent;            /* likewise */
    uint32_t        outlet;                 /* 0 not said: the server's; else 1 + position in qos_server.outlets */
    struct qos_park park;
    int             body;                   /* QOS_BODY_ */
};

extern const command_rec qos_commands[];

void *qos_config_create_dir(apr_pool_t *p, char *dir);
void *qos_config_merge_dir(apr_pool_t *p, void *base, void *add);

struct qos_server *qos_config_begin(apr_pool_t *pconf);     /* pre_config: a fresh one, defaults filled in */
struct qos_server *qos_config(void);                        /* the one in force in this process */
/* check_config: make classes and policy final.  OK, or HTTP_INTERNAL_SERVER_ERROR with the reason logged. */
int                qos_config_finish(struct qos_server *q, apr_pool_t *pconf, server_rec *s);

/*
 * First argument of a directive anywhere in the configuration that was read, or NULL: what MPMs do not tell by query.
 */
const char *qos_config_find(const char *directive);
/* Does anything in it look at the notes that requests get for the log? */
bool        qos_config_notes(void);
/* All that such a directive says, wherever it stands: tell(whom, its arguments). */
void        qos_config_each(const char *directive, void (*tell)(void *, const char *), void *whom);

#endif
