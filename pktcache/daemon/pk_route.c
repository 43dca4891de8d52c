/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_route.h"

#include "pk_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <linux/fib_rules.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { DELETED = 64 }; /* rules, by one run of ip */

/* Runs `ip -FAMILY -force -batch -` on these commands. */
static int run_ip(const char *family, const char *commands, char **error) {
    char *argv[] = { "ip", (char *)family, "-force", "-batch", "-", NULL };
    char said[512];
    int rv = pk_run(argv, commands, said, sizeof said), why = errno;

    if (!rv) return 0;
    said[strcspn(said, "\n")] = 0;
    if (asprintf(error, "ip %s: %s", family, rv < 0 ? strerror(why) : *said ? said : "failed") < 0) *error = NULL;
    return -1;
}

bool pk_route_has_family(const struct pk_config *c, bool four) {
    for (unsigned i = 0; i < c->server.n; i++)
        if (pk_network_is_four(c->server.item + i) == four) return true;
    return false;
}

static void write_network(FILE *out, const char *word, const struct pk_network *n) {
    char address[INET6_ADDRSTRLEN];
    bool four = pk_network_is_four(n);
    inet_ntop(four ? AF_INET : AF_INET6, n->address + (four ? 12 : 0), address, sizeof address);
    fprintf(out, " %s %s/%u", word, address, four ? n->bits - 96 : n->bits);
}

static void route_rules_of(FILE *out, const struct pk_config *c, const struct pk_network *server,
                           const struct pk_network *client, bool parent) {
    for (unsigned i = 0; i < (c->any_port ? 1 : c->ports.n); i++) {
        for (int to = 0; to <= (parent && !c->any_port); to++) {
            fprintf(out, "rule add pref %" PRIu64 " ipproto tcp", c->priority + 1);
            write_network(out, "from", to ? client : server);
            write_network(out, "to", to ? server : client);
            if (!c->any_port) fprintf(out, " %s %u", to ? "dport" : "sport", ntohs(c->port[i]));
            fprintf(out, " lookup %" PRIu64 "\n", c->table);
        }
    }
}

enum what { ROUTE = 1, RULES = 2 };

static int for_family(const struct pk_config *c, bool four, bool parent, int what, char **error) {
    char *commands = NULL;
    size_t n;
    FILE *out = open_memstream(&commands, &n);
    int rv;

    if (!out) return -1;
    if (what & ROUTE) fprintf(out, "route replace default dev %s table %" PRIu64 "\n", c->device, c->table);
    if (what & RULES) {
        fprintf(out, "rule add pref %" PRIu64 " nop\n", c->priority + 2);
        fprintf(out, "rule add pref %" PRIu64 " iif %s goto %" PRIu64 "\n", c->priority, c->device, c->priority + 2);
        fprintf(out, "rule add pref %" PRIu64 " iif lo goto %" PRIu64 "\n", c->priority, c->priority + 2);
        for (unsigned i = 0; i < c->server.n; i++)
            for (unsigned k = 0; k < c->client.n; k++)
                if (pk_network_is_four(c->server.item + i) == four && pk_network_is_four(c->client.item + k) == four)
                    route_rules_of(out, c, c->server.item + i, c->client.item + k, parent);
    }
    fclose(out);
    rv = run_ip(four ? "-4" : "-6", commands, error);
    free(commands);
    return rv;
}

int pk_route_set(const struct pk_config *c, bool parent, bool led, char **error) {
    pk_route_clear(c);
    for (int four = 0; four < 2; four++)
        if (pk_route_has_family(c, four) && for_family(c, four, parent, led ? ROUTE | RULES : RULES, error)) return -1;
    return 0;
}

int pk_route_again(const struct pk_config *c, char **error) {
    for (int four = 0; four < 2; four++)
        if (pk_route_has_family(c, four) && for_family(c, four, false, ROUTE, error)) return -1;
    return 0;
}

void pk_route_aside(const struct pk_config *c) {
    char command[64], *error = NULL;
    snprintf(command, sizeof command, "route del default table %" PRIu64 "\n", c->table);
    for (int four = 0; four < 2; four++) {
        if (pk_route_has_family(c, four)) run_ip(four ? "-4" : "-6", command, &error); /* it may be gone already */
        free(error);
        error = NULL;
    }
}

void pk_route_clear(const struct pk_config *c) {
    /* nothing comes to the device any more before what keeps it from coming back goes */
    static const uint64_t order[] = { 1, 0, 2 };
    char commands[DELETED * 32], *error = NULL;

    for (int four = 0; four < 2; four++) {
        if (!pk_route_has_family(c, four)) continue;
        for (uint64_t i = 0; i < 3; i++) {
            for (size_t k = 0, n = 0; k < DELETED; k++)
                n += (size_t)snprintf(commands + n, sizeof commands - n, "rule del pref %" PRIu64 "\n",
                                      c->priority + order[i]);
            while (!run_ip(four ? "-4" : "-6", commands, &error)) {}
            free(error);
            error = NULL;
        }
    }
}

/* ---- what is there ----------------------------------------------------------------------------------------------- */

struct question {
    struct nlmsghdr head;
    union {
        struct fib_rule_hdr rule;
        struct rtmsg route;
    } what;
    struct rtattr table;
    uint32_t number;
};

/* Calls each for every answer to a question about all there is.  0, or an errno. */
static int ask_all(struct question *q, void (*each)(void *context, const struct nlmsghdr *h), void *context) {
    union {
        struct nlmsghdr head;
        char bytes[32768];
    } u;
    int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), strict = 1, why = -1;
    struct timeval slow = { .tv_sec = 1 };
    ssize_t n;

    if (s < 0) return errno;
    /* a table of a million routes is not for us */
    setsockopt(s, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &strict, sizeof strict);
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &slow, sizeof slow);
    q->head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    if (send(s, q, q->head.nlmsg_len, 0) < 0) why = errno;
    while (why < 0) {
        if ((n = recv(s, &u, sizeof u, 0)) <= 0) {
            why = n ? errno : EPROTO;
            break;
        }
        for (struct nlmsghdr *h = &u.head; why < 0 && NLMSG_OK(h, (size_t)n); h = NLMSG_NEXT(h, n)) {
            if (h->nlmsg_type == NLMSG_DONE) why = 0;
            else if (h->nlmsg_type == NLMSG_ERROR)
                why = h->nlmsg_len < NLMSG_LENGTH(sizeof(struct nlmsgerr)) ? EPROTO
                                                                           : -((struct nlmsgerr *)NLMSG_DATA(h))->error;
            else each(context, h);
        }
    }
    close(s);
    return why;
}

/* A number that the message has behind its first `skip` bytes. */
static bool route_attribute(const struct nlmsghdr *h, size_t skip, unsigned short type, uint32_t *value) {
    int left = (int)h->nlmsg_len - (int)NLMSG_SPACE(skip);
    for (const struct rtattr *a = (const struct rtattr *)((const char *)h + NLMSG_SPACE(skip)); RTA_OK(a, left);
         a = RTA_NEXT(a, left)) {
        if (a->rta_type != type || RTA_PAYLOAD(a) < sizeof *value) continue;
        memcpy(value, RTA_DATA(a), sizeof *value);
        return true;
    }
    return false;
}

struct counted {
    const struct pk_config *c;
    unsigned rules[3];
    bool route;
    unsigned device;
};

static void count_rule(void *context, const struct nlmsghdr *h) {
    struct counted *n = context;
    uint32_t priority;
    if (h->nlmsg_type == RTM_NEWRULE && route_attribute(h, sizeof(struct fib_rule_hdr), FRA_PRIORITY, &priority) &&
        priority >= n->c->priority && priority < n->c->priority + 3)
        n->rules[priority - n->c->priority]++;
}

static void count_route(void *context, const struct nlmsghdr *h) {
    struct counted *n = context;
    uint32_t table, device;
    if (h->nlmsg_type != RTM_NEWROUTE || !route_attribute(h, sizeof(struct rtmsg), RTA_TABLE, &table) ||
        !route_attribute(h, sizeof(struct rtmsg), RTA_OIF, &device))
        return;
    n->route |= table == n->c->table && device == n->device;
}

bool pk_route_rules_lack(const struct pk_config *c, bool parent) {
    for (int four = 0; four < 2; four++) {
        struct question q = { .head = { .nlmsg_len = NLMSG_LENGTH(sizeof q.what.rule), .nlmsg_type = RTM_GETRULE },
                              .what = { .rule = { .family = four ? AF_INET : AF_INET6 } } };
        struct counted n = { .c = c };
        unsigned pairs = 0;

        if (!pk_route_has_family(c, four) || ask_all(&q, count_rule, &n)) continue;
        for (unsigned i = 0; i < c->server.n; i++)
            for (unsigned k = 0; k < c->client.n; k++)
                pairs +=
                    pk_network_is_four(c->server.item + i) == four && pk_network_is_four(c->client.item + k) == four;
        if (n.rules[0] < 2 || n.rules[1] < pairs * (c->any_port ? 1 : c->ports.n * (parent ? 2 : 1)) || n.rules[2] < 1)
            return true;
    }
    return false;
}

bool pk_route_lacks(const struct pk_config *c) {
    for (int four = 0; four < 2; four++) {
        struct question q = { .head = { .nlmsg_len = NLMSG_SPACE(sizeof q.what.route) + RTA_LENGTH(4),
                                        .nlmsg_type = RTM_GETROUTE },
                              .what = { .route = { .rtm_family = four ? AF_INET : AF_INET6 } },
                              .table = { .rta_len = RTA_LENGTH(4), .rta_type = RTA_TABLE },
                              .number = (uint32_t)c->table };
        struct counted n = { .c = c, .device = if_nametoindex(c->device) };
        int why;

        if (!pk_route_has_family(c, four) || !n.device) continue;
        why = ask_all(&q, count_route, &n);
        /* ENOENT: a table that has had no route since the machine began */
        if (why == ENOENT || (!why && !n.route)) return true;
    }
    return false;
}

/* ---- what changes ------------------------------------------------------------------------------------------------ */

int pk_route_watch(void) {
    struct sockaddr_nl all = { .nl_family = AF_NETLINK,
                               .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_RULE | 1u << (RTNLGRP_IPV6_RULE - 1) };
    int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

    if (s >= 0 && bind(s, (struct sockaddr *)&all, sizeof all)) {
        close(s);
        return -1;
    }
    return s;
}

struct pk_route_changes pk_route_changed(int watch, const struct pk_config *c) {
    union {
        struct nlmsghdr head;
        char bytes[8192];
    } u;
    unsigned device = if_nametoindex(c->device);
    struct pk_route_changes changed = { .up = false };
    ssize_t n;

    while ((n = recv(watch, &u, sizeof u, 0)) > 0 || (n < 0 && errno == ENOBUFS)) {
        changed.up |= n < 0; /* there was too much to be told */
        for (struct nlmsghdr *h = &u.head; n > 0 && NLMSG_OK(h, (size_t)n); h = NLMSG_NEXT(h, n)) {
            const struct ifinfomsg *link = NLMSG_DATA(h);
            changed.rules |= h->nlmsg_type == RTM_DELRULE;
            if (h->nlmsg_type != RTM_NEWLINK || h->nlmsg_len < NLMSG_LENGTH(sizeof *link)) continue;
            changed.up |= link->ifi_change & link->ifi_flags & IFF_UP && (unsigned)link->ifi_index == device;
        }
    }
    return changed;
}

/* ---- what is in the way ------------------------------------------------------------------------------------------ */

static int sysctl_of(const char *path) {
    FILE *f = fopen(path, "re");
    int value = -1;
    if (!f) return -1;
    if (fscanf(f, "%d", &value) != 1) value = -1;
    fclose(f);
    return value;
}

char *pk_route_obstacle(const struct pk_config *c) {
    const char *what = NULL;
    if (pk_route_has_family(c, true) && sysctl_of("/proc/sys/net/ipv4/ip_forward") == 0)
        what = "net.ipv4.ip_forward is 0: this machine forwards nothing; sysctl -w net.ipv4.ip_forward=1";
    else if (pk_route_has_family(c, true) && sysctl_of("/proc/sys/net/ipv4/conf/all/rp_filter") == 1)
        what = "net.ipv4.conf.all.rp_filter is 1: what comes back from the device would be thrown away; sysctl -w "
               "net.ipv4.conf.all.rp_filter=2";
    else if (pk_route_has_family(c, false) && sysctl_of("/proc/sys/net/ipv6/conf/all/forwarding") == 0)
        what = "net.ipv6.conf.all.forwarding is 0: this machine forwards nothing; sysctl -w "
               "net.ipv6.conf.all.forwarding=1";
    return what ? strdup(what) : NULL;
}
