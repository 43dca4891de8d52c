/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * httpd/httpd_segment.h - the segment of shm/ as a module of httpd has it: who makes it, how long it lives, who tells
 * whom.
 *
 * The parent makes it and keeps it for its own life under a key of the process pool: one engine at all times, whatever
 * restarts.  Children inherit it.  The parent learns which of them end, and says so in the segment (shm_tell_ended);
 * else it never looks there, for children write it, and the parent may be root.
 *
 * DAMAGE.  A child that leaves the segment writes a byte into `alarm`, and the kernel sends the parent SIGIO.  The
 * handler asks the MPM for a graceful restart, as an administrator would: it is there that fresh memory takes the place
 * of the old, and new children come to use it.  A hostile child may write there, too; so one such restart follows
 * another no sooner than after a pause, which doubles.  Until then children go unscheduled.
 *
 * Whoever has the end of the pipe that we read can choose what signal the kernel sends us, SIGKILL too: no process that
 * we fork keeps it (it is closed as part of fork), and before a restart, while our code is not there to see to that, it
 * is closed.
 *
 * A module has one.  Two modules that have one each share the signal: a handler calls the one that was there before.
 */
#ifndef FAIRGATE_HTTPD_SEGMENT_H
#define FAIRGATE_HTTPD_SEGMENT_H

#include <signal.h>

#include <httpd.h>
#include <mpm_common.h>

#include "shm/shm.h"

struct httpd_segment {
    struct shm_view       view;         /* view.sh NULL: no segment yet */
    int                   stock[SHM_WAKE_FDS];
    uint32_t              nstock;
    uint32_t              generation;   /* of the configuration */
    apr_pool_t           *process;
    pid_t                *alive;        /* children that may use the segment */
    uint32_t              nalive, room;
    int                   alarm[2];     /* a pipe for each configuration: ours to read, the children's to write */
    /* when a damaged segment was replaced last, and how long there will be no other */
    uint64_t              renewed, pause;
    volatile sig_atomic_t wanted;       /* children have left it */
    bool                  told;         /* it was said that they must wait */
    const char           *name;         /* what log lines begin with: "qos" */
    int                   module;       /* whose log level holds: APLOG_MODULE_INDEX */
    /* with the segment goes what the module has beside it */
    void                (*forget)(struct httpd_segment *k);
};

/* What a configuration asks of it. */
struct httpd_segment_wants {
    struct shm_size                 size;
    struct rs_settings              settings;
    const struct rs_class_settings *classes;
    uint32_t                        nclasses;
    bool                            stock;      /* waits are held on descriptors */
    const char                     *grows_with; /* directives that ask for a larger one, for a sentence */
    /* fills the area of a fresh one; 0, or -1 and *why */
    int                           (*fill)(struct httpd_segment *k, const char **why);
};

/*
 * The one that is kept, `bytes` long (a struct that begins with struct httpd_segment), zeroed when it is made.  A
 * restart may load a newer build of the module: `key` counts the shapes of that struct and of what stands in the
 * segment.
 */
struct httpd_segment *httpd_segment_kept(apr_pool_t *process, const char *key, size_t bytes);

/* In post_config: the segment of before, or a fresh one, for the configuration that begins.  OK, or an error. */
int httpd_segment_begin(struct httpd_segment *k, server_rec *s, apr_pool_t *pconf,
                        const struct httpd_segment_wants *w);
/* In post_config, and the module is off: children of before may still be at work. */
void httpd_segment_off(struct httpd_segment *k, apr_pool_t *pconf);

/* In hooks of the same names. */
void httpd_segment_child_init(void);
void httpd_segment_child_status(server_rec *s, pid_t pid, mpm_child_status status, bool uses);
int  httpd_segment_monitor(server_rec *s);

/* ap_mpm_query, or `otherwise`. */
int httpd_query(int what, int otherwise);

#endif
