/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_people.h - known people: an application says in its answers who is signed in, and by a cookie (qos_visitor.h) who
 * it was is known at his next requests.
 *
 *     request ─ Fairgate-Class of the client's taken out ─ cookie verified, taken out ─ qos_classify.h ─ handler
 *     answer  ─ Fairgate-Class taken out: the application's word ─ mod_cache ─ Set-Cookie ─ protocol ─ client
 *     interim answer (1xx) ─ Fairgate-Class taken out, unheard ─ client
 *
 * The word is a class of visitors, or "-" for nobody: that ends a cookie that has one.  It is heard before mod_cache
 * stores an answer and forgotten where mod_cache gives one, and the cookie is set behind it, so that none of the two
 * stands in a cache of this server.  Nor in one of others': an answer with a cookie is private, and one that says of
 * itself that it is for all gets none.
 *
 * Who has no cookie gets one without a class where the policy asks for an age: with pages (GET, 200, text/html) that
 * nobody keeps for others, and with every refusal, so that who comes back is somebody else than who comes once.  The
 * cookie of a page admits the page's assets at once (qos_page.h).
 *
 * TRUST.  Whoever makes answers where QosEngine is On decides who is what, at the hosts that the virtual host names;
 * the client decides nothing.  The keys are read by the parent and stand in memory of all children: who takes over one
 * of those can write cookies.
 */
#ifndef FAIRGATE_QOS_PEOPLE_H
#define FAIRGATE_QOS_PEOPLE_H

#include <stdbool.h>

#include <httpd.h>
#include <http_config.h>

#include "qos_visitor.h"

struct qos_people;                      /* QosVisitors, of one configuration */
struct qos_request;

/* What is known of who sent a request, and what is to be told him. */
struct qos_person {
    struct qos_visitor visitor;
    uint32_t           age;             /* seconds known; of a first page's assets: enough (qos_page.h) */
    bool               shows;           /* he sent a cookie of that name, */
    bool               claims;          /* and one of a class, which he may have or not */
    bool               refused;         /* what he gets is a refusal, so he is told who he was in any case */
    bool               answered;        /* what is below has been done */
    enum { QOS_PEOPLE_NOTHING, QOS_PEOPLE_GIVE, QOS_PEOPLE_END } word;
    char               class[POLICY_WORD_MAX];      /* to give */
};

/*
 * While the configuration is read.  NULL, or a sentence about what is wrong.  A file of keys that is wrong at a restart
 * leaves those of before in force, as a policy's does.
 */
const char *qos_people_create(cmd_parms *cmd, int argc, char *const argv[], struct qos_people **out);

/* Nobody but the application says it: before anything else of a request's fixups, where QosEngine is On. */
void qos_people_arrive(request_rec *r);
/*
 * Where QosEngine is Off, beside places where it is On: nobody behind there gets the cookie either.  A redirect that
 * leads from there to where it is On still finds it.
 */
void qos_people_pass(request_rec *r);
/*
 * Fills q->person before q is classified; qos-visitor of the environment is a known one's id.  Of who is observed
 * nothing is taken, and his answer stays as it is.
 */
void qos_people_meet(struct qos_request *q);

/*
 * He is refused.  In how many seconds he is somebody by the cookie that goes with it, or that he has, if he shows that
 * then.  0: he is told as everybody.  So are who has come back without it, or with one that does not count, and whoever
 * has a class by anything else, such as a crawler.
 */
uint32_t qos_people_refused(struct qos_request *q);

/*
 * A brigade that begins with the head of an interim answer, or of a tunnel, which no filter of an answer sees: the word
 * is no more in it, and it is *gone bytes shorter.  False: the end of the head is not in it, and nothing was done; it
 * may come with the next one.
 */
bool qos_people_hush(apr_bucket_brigade *bb, apr_size_t *gone);

/* Hooks. */
void qos_people_insert_filter(request_rec *r);
void qos_people_register(void);

#endif
