/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_results.h - results of calls: what one is, and the directory in which all processes keep them.
 *
 * A file is one result, under the hash of what its call means (service_bind.h, `key`), which stands in it, too: what
 * another call has left under that hash is not taken.  It is written aside and renamed, so that a reader sees all of it
 * or none.  What is fresh is taken from it (RFC 9111); what is private, or says that it must not be kept, never gets
 * there.  The kernel's cache holds what is used, the disk the rest, within CcnResults' bound: the sweep takes what is
 * kept no longer, then what was used least recently.  Between two sweeps a process writes a quarter of the bound at
 * most, and another one of what was promised to somebody (ccn_http.h).
 *
 *     magic | code | bytes of: key, media type, encoding, body | made | fresh until | kept until | status | these
 *
 * How long it is kept is how long it is fresh, but for what was promised to somebody, or is handed to those who wait in
 * another process: they get it, and are told how fresh it is, if it is at all.
 *
 * TRUST.  The directory belongs to the children's user, and no other user may write to it: another one is refused.
 * Other processes of that user (CGI programs) can write there too.  So each file has a code by a secret, which the
 * parent draws and its children inherit; the code covers the whole file.  A file whose code is wrong is none; one whose
 * name is none of ours is never touched.
 *
 * LIMITS.  Such a process can read and remove results, and put an older result of the same call back while that is
 * fresh.  It can read the secret if the kernel lets it trace a child: if root did not start httpd, or if
 * CoreDumpDirectory is set.  Code that runs inside a child (mod_php) can read it always.
 */
#ifndef FAIRGATE_CCN_RESULTS_H
#define FAIRGATE_CCN_RESULTS_H

#include "ccn_make.h"

struct ccn_result {
    _Atomic unsigned holders;
    struct ccn_made  made;          /* status 200, or that of a problem, whose object is the body */
    bool             is_problem;
    uint64_t         at_us, fresh_us;       /* since 1970: made, and fresh until; 0: it never is */
    bool             from_cache;
    char             promised[40];  /* where one of those who wait for it finds it; by who tells them, one thread */
};

/* One that takes made's body; NULL: no memory, and the body is freed. */
struct ccn_result *ccn_result_new(struct ccn_made *made);
void ccn_result_hold(struct ccn_result *r);
void ccn_result_release(struct ccn_result **r);
/* Bytes for what is to become a result: false, and none are taken, if this process would hold more than CcnPages. */
bool ccn_results_take(uint64_t n);
void ccn_results_give(uint64_t n);
/* Bytes of all that this process holds. */
uint64_t ccn_results_held(void);

/* In the parent: the directory is there, and is the children's.  OK, or an error that was logged. */
int  ccn_results_open(const char *directory, server_rec *s);
/* In a child. */
void ccn_results_child_init(const char *directory, uint64_t most);

/* What a call is known by among processes: no client can aim at it. */
void ccn_results_hash(const char *key, uint64_t out[2]);
/* What is kept; NULL: nothing is. */
struct ccn_result *ccn_results_get(const char *key);
/*
 * Of one that is kept: when it was made, and until when it is fresh.  False: none is.  Its content is not read, and so
 * not verified: the caller takes nothing from this but what was made of the same result before.
 */
bool ccn_results_look(const char *key, uint64_t *at_us, uint64_t *fresh_us);
/* Until then it is kept, since 1970. */
void ccn_results_put(const char *key, const struct ccn_result *r, uint64_t until_us);
/* The same of what somebody was promised.  False: it is not there, nor is anything else under that key. */
bool ccn_results_put_promised(const char *key, const struct ccn_result *r, uint64_t until_us);
/* Now and then, by any process. */
void ccn_results_sweep(void);

#endif
