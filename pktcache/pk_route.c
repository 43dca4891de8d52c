/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_route.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

extern char **environ;

enum { DELETED = 64 };          /* rules, by one run of ip */

/* A file in memory that holds this. */
static int file_of(const char *text) {
    int f = memfd_create("ip", MFD_CLOEXEC);
    size_t n = strlen(text);

    if (f >= 0 && (write(f, text, n) != (ssize_t)n || lseek(f, 0, SEEK_SET))) {
        close(f);
        return -1;
    }
    return f;
}

/* Runs `ip -FAMILY -force -batch -` on these commands. */
static int run_ip(const char *family, const char *commands, char **error) {
    char *argv[] = { "ip", (char *)family, "-force", "-batch", "-", NULL };
    char said[512] = "";
    posix_spawn_file_actions_t actions;
    int in = file_of(commands), out = file_of(""), why = in < 0 || out < 0 ? errno : 0, state = 0;
    pid_t pid;

    if (!why) {
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, in, 0);
        posix_spawn_file_actions_adddup2(&actions, out, 1);
        posix_spawn_file_actions_adddup2(&actions, out, 2);
        why = posix_spawnp(&pid, "ip", &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    if (!why) {
        while (waitpid(pid, &state, 0) < 0 && errno == EINTR) { }
        if (pread(out, said, sizeof said - 1, 0) < 0) *said = 0;
    }
    if (in >= 0) close(in);
    if (out >= 0) close(out);
    if (!why && !state) return 0;
    said[strcspn(said, "\n")] = 0;
    if (asprintf(error, "ip %s: %s", family, why ? strerror(why) : *said ? said : "failed") < 0) *error = NULL;
    return -1;
}

static bool has_family(const struct pk_config *c, bool four) {
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

static void rules_of(FILE *out, const struct pk_config *c, const struct pk_network *server, const struct pk_network *client, bool parent) {
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

static int for_family(const struct pk_config *c, bool four, bool parent, bool route_only, char **error) {
    char *commands = NULL;
    size_t n;
    FILE *out = open_memstream(&commands, &n);
    int rv;

    if (!out) return -1;
    fprintf(out, "route replace default dev %s table %" PRIu64 "\n", c->device, c->table);
    if (!route_only) {
        fprintf(out, "rule add pref %" PRIu64 " nop\n", c->priority + 2);
        fprintf(out, "rule add pref %" PRIu64 " iif %s goto %" PRIu64 "\n", c->priority, c->device, c->priority + 2);
        fprintf(out, "rule add pref %" PRIu64 " iif lo goto %" PRIu64 "\n", c->priority, c->priority + 2);
        for (unsigned i = 0; i < c->server.n; i++)
            for (unsigned k = 0; k < c->client.n; k++)
                if (pk_network_is_four(c->server.item + i) == four && pk_network_is_four(c->client.item + k) == four) rules_of(out, c, c->server.item + i, c->client.item + k, parent);
    }
    fclose(out);
    rv = run_ip(four ? "-4" : "-6", commands, error);
    free(commands);
    return rv;
}

int pk_route_set(const struct pk_config *c, bool parent, char **error) {
    pk_route_clear(c);
    for (int four = 0; four < 2; four++)
        if (has_family(c, four) && for_family(c, four, parent, false, error)) return -1;
    return 0;
}

int pk_route_again(const struct pk_config *c, char **error) {
    for (int four = 0; four < 2; four++)
        if (has_family(c, four) && for_family(c, four, false, true, error)) return -1;
    return 0;
}

void pk_route_clear(const struct pk_config *c) {
    static const uint64_t order[] = { 1, 0, 2 };    /* nothing comes to the device any more before what keeps it from coming back goes */
    char commands[DELETED * 32], *error = NULL;

    for (int four = 0; four < 2; four++) {
        if (!has_family(c, four)) continue;
        for (uint64_t i = 0; i < 3; i++) {
            for (size_t k = 0, n = 0; k < DELETED; k++) n += (size_t)snprintf(commands + n, sizeof commands - n, "rule del pref %" PRIu64 "\n", c->priority + order[i]);
            while (!run_ip(four ? "-4" : "-6", commands, &error)) { }
            free(error);
            error = NULL;
        }
    }
}

/* ---- when somebody takes the device down and up ---------------------------------------------------------------------------------- */

int pk_route_watch(void) {
    struct sockaddr_nl links = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK };
    int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

    if (s >= 0 && bind(s, (struct sockaddr *)&links, sizeof links)) {
        close(s);
        return -1;
    }
    return s;
}

bool pk_route_lost(int watch, const struct pk_config *c) {
    union { struct nlmsghdr head; char bytes[8192]; } u;
    unsigned device = if_nametoindex(c->device);
    bool lost = false;
    ssize_t n;

    while ((n = recv(watch, &u, sizeof u, 0)) > 0 || (n < 0 && errno == ENOBUFS)) {
        lost |= n < 0;                          /* there was too much to be told */
        for (struct nlmsghdr *h = &u.head; n > 0 && NLMSG_OK(h, (size_t)n); h = NLMSG_NEXT(h, n)) {
            const struct ifinfomsg *link = NLMSG_DATA(h);
            if (h->nlmsg_type != RTM_NEWLINK || h->nlmsg_len < NLMSG_LENGTH(sizeof *link)) continue;
            lost |= link->ifi_change & link->ifi_flags & IFF_UP && (unsigned)link->ifi_index == device;
        }
    }
    return lost;
}

/* ---- what is in the way -------------------------------------------------------------------------------------------------------- */

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
    if (has_family(c, true) && sysctl_of("/proc/sys/net/ipv4/ip_forward") == 0) what = "net.ipv4.ip_forward is 0: this machine forwards nothing; sysctl -w net.ipv4.ip_forward=1";
    else if (has_family(c, true) && sysctl_of("/proc/sys/net/ipv4/conf/all/rp_filter") == 1)
        what = "net.ipv4.conf.all.rp_filter is 1: what comes back from the device would be thrown away; sysctl -w net.ipv4.conf.all.rp_filter=2";
    else if (has_family(c, false) && sysctl_of("/proc/sys/net/ipv6/conf/all/forwarding") == 0)
        what = "net.ipv6.conf.all.forwarding is 0: this machine forwards nothing; sysctl -w net.ipv6.conf.all.forwarding=1";
    return what ? strdup(what) : NULL;
}
