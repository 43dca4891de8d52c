/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_lead.h"

#include "pk_route.h"
#include "pk_run.h"
#include "pk_sight.h"
#include "pk_tun.h"
#include "pktcache/pk_filter.h"
#include "pktcache/pk_way.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    LEAD_MAGIC = 0x504b4c45,
    RULES_ROOM = 1 << 20 /* bytes of iptables-save that are read */
};

enum { /* microseconds */
       LOOK_EVERY = 90000,
       ROUTES_EVERY = 1000000,
       ROUTES_SAID = 60000000, /* between two sentences about that */
       SILENT = 1000000,       /* nothing from the device for so long: packets are looked for elsewhere */
       CLOSED_EVERY = 10000000 /* ASIDE: the filter's rules are read again */
};

struct pk_lead {
    unsigned magic;
    struct pk_common *common;
    const struct pk_config *c;
    bool parent;
    int watch;
    struct pk_way way;
    struct pk_sights sights;
    pk_sight_t *sight;
    bool blind;        /* no packet socket can be had; that was said */
    bool closed, asks; /* the filter's rules let nothing pass; they were read once at least */
    uint64_t closed_at;
    uint64_t pieces, new_bytes, came_at;
    uint64_t looked_at, routes_at, said_at;
    struct pk_vain vain;
    struct pk_seen seen;
    uint32_t asked[PK_LANES_MAX * PK_ASKED];
};

static uint64_t lead_clock_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void lead_say(const char *sentence, const char *more) {
    fprintf(stderr, "fairgate-pktcache: %s%s\n", sentence, more);
}

static void complain(char *error) {
    lead_say(error ? error : "no memory", "");
    free(error);
}

/* ---- the filter's rules ------------------------------------------------------------------------------------------ */

static void read_rules(pk_lead_t *l, uint64_t now) {
    static const char *const programs[] = { "iptables-save", "ip6tables-save" };
    char *rules = malloc(RULES_ROOM), rule[PK_RULE_MAX];
    bool closed = false;

    for (int six = 0; rules && six < 2; six++) {
        char *argv[] = { (char *)programs[six], NULL };
        if (!pk_route_has_family(l->c, !six) || pk_run(argv, "", rules, RULES_ROOM)) continue;
        closed |= pk_filter_closed(rules, l->c->device);
        if (l->asks || !pk_filter_translates(rules, l->c, rule)) continue;
        lead_say("addresses are translated here, and what goes through the device by then has its place in that "
                 "already; connections that this is for come about without the device only: ",
                 rule);
    }
    free(rules);
    l->asks = true;
    l->closed = closed;
    l->closed_at = now;
}

/* ---- rules and routes -------------------------------------------------------------------------------------------- */

static void look_after_routes(pk_lead_t *l, uint64_t now) {
    char *error = NULL;
    bool rules, route;

    if (now < l->routes_at + ROUTES_EVERY) return;
    l->routes_at = now;
    if (!pk_tun_is_up(l->c->device)) return; /* by the guard, or by an administrator */
    rules = pk_route_rules_lack(l->c, l->parent);
    route = l->way.state == PK_LED && pk_route_lacks(l->c);
    if (!rules && !route) return;
    if (!l->said_at || now >= l->said_at + ROUTES_SAID) {
        lead_say(rules ? "somebody has deleted routing rules of ours; they are set again"
                       : "somebody has deleted our route; it is set again",
                 rules ? " (systemd-networkd does so unless it is told ManageForeignRoutingPolicyRules=no)" : "");
        l->said_at = now;
    }
    if (rules ? pk_route_set(l->c, l->parent, l->way.state == PK_LED, &error) : pk_route_again(l->c, &error))
        complain(error);
}

static void lead_enter(pk_lead_t *l, uint64_t now) {
    char *error = NULL;

    atomic_store(&l->common->aside, (unsigned)l->way.why);
    if (l->way.state == PK_LED) lead_say("packets are led to ", l->c->device);
    else lead_say("packets take their plain way: ", pk_why_sentence(l->way.why));
    if (l->way.state != PK_LED) pk_route_aside(l->c);
    else if (pk_tun_is_up(l->c->device) && pk_route_again(l->c, &error)) complain(error);
    l->came_at = now;
    l->sights = (struct pk_sights){ .due = 0 };
    pk_vain_forget(&l->vain);
    pk_sight_close(&l->sight);
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

static void hear(pk_lead_t *l, pk_lane_t *const *lane, struct pk_way_news *n, uint64_t now) {
    uint64_t pieces = 0, new_bytes = 0;
    struct pk_tries tries = { .asked = 0 };

    *n = (struct pk_way_news){ .closed = l->closed };
    for (unsigned i = 0; i < l->c->queues; i++) {
        pk_lane_see(lane[i], &l->seen);
        pieces += l->seen.counters.pieces;
        new_bytes += l->seen.counters.fresh;
        pk_tries_add(&tries, &l->seen.begun.tries);
        n->other |= l->seen.begun.other;
        n->unheard |= l->seen.begun.unheard;
        memcpy(l->asked + i * PK_ASKED, l->seen.begun.asked, sizeof l->seen.begun.asked);
    }
    pk_vain_look(&l->vain, &tries, now);
    n->alone = pk_vain_alone(&l->vain, now);
    n->again = pk_vain_again(&l->vain, now);
    n->came = pieces != l->pieces;
    n->goes_on = new_bytes != l->new_bytes;
    l->pieces = pieces;
    l->new_bytes = new_bytes;
    if (n->came) l->came_at = now;
}

static void see(pk_lead_t *l, const struct pk_way_news *n, uint64_t now) {
    bool led = l->way.state == PK_LED;

    if (led && (n->came || !pk_tun_is_up(l->c->device))) {
        l->sights.due = 0;
        l->came_at = now;
        pk_sight_close(&l->sight);
        return;
    }
    if (l->way.state == PK_ASIDE_NOW || (led && now < l->came_at + SILENT)) return;
    if (!l->sight && !l->blind && !(l->sight = pk_sight_open(l->c, l->parent))) {
        lead_say("packets can't be looked for on other devices (CAP_NET_RAW), so what a filter keeps from ours is not "
                 "seen: ",
                 strerror(errno));
        l->blind = true;
    }
    if (l->sight) pk_sight_read(l->sight, &l->sights, l->asked, (unsigned)l->c->queues * PK_ASKED, now);
}

void pk_lead_look(pk_lead_t *l, pk_lane_t *const *lane) {
    uint64_t now = lead_clock_now();
    struct pk_route_changes changed = pk_route_changed(l->watch, l->c);
    struct pk_way_news news;
    char *error = NULL;

    assert(l->magic == LEAD_MAGIC);
    if (changed.up && l->way.state == PK_LED && pk_tun_is_up(l->c->device) && pk_route_again(l->c, &error))
        complain(error);
    if (changed.rules && now >= l->routes_at + ROUTES_EVERY / 4) l->routes_at = 0;
    look_after_routes(l, now);
    if (now < l->looked_at + LOOK_EVERY) return;
    l->looked_at = now;
    hear(l, lane, &news, now);
    see(l, &news, now);
    if (l->way.state == PK_ASIDE_NOW && now >= l->way.until && now >= l->closed_at + CLOSED_EVERY) read_rules(l, now);
    news.closed = l->closed;
    if (pk_way_look(&l->way, &news, &l->sights, now)) lead_enter(l, now);
}

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

static int set_routes(const pk_lead_t *l, char **error) {
    if (!pk_route_set(l->c, l->parent, !l->closed, error)) return 0;
    if (l->closed) return -1;
    free(*error);
    *error = NULL;
    /* The guard, or somebody else, has the device down, or had: its route is set when it comes up. */
    return pk_route_set(l->c, l->parent, pk_tun_is_up(l->c->device), error);
}

pk_lead_t *pk_lead_start(struct pk_common *common, char **error) {
    pk_lead_t *l = calloc(1, sizeof *l);
    uint64_t now = lead_clock_now();

    *error = NULL;
    if (!l) return NULL;
    l->magic = LEAD_MAGIC;
    l->common = common;
    l->c = common->c;
    l->parent = common->role == PK_PARENT;
    l->came_at = now;
    if ((l->watch = pk_route_watch()) < 0) {
        if (asprintf(error, "devices can't be watched: %s", strerror(errno)) < 0) *error = NULL;
        pk_lead_stop(&l);
        return NULL;
    }
    read_rules(l, now);
    if (set_routes(l, error)) {
        pk_lead_stop(&l);
        return NULL;
    }
    if (l->closed && pk_way_look(&l->way, &(struct pk_way_news){ .closed = true }, &l->sights, now)) lead_enter(l, now);
    return l;
}

int pk_lead_fd(const pk_lead_t *l) { return l->watch; }

void pk_lead_stop(pk_lead_t **lead) {
    pk_lead_t *l = *lead;
    *lead = NULL;
    if (!l) return;
    assert(l->magic == LEAD_MAGIC);
    if (l->watch >= 0) {
        pk_route_clear(l->c);
        close(l->watch);
    }
    pk_sight_close(&l->sight);
    l->magic = 0;
    free(l);
}
