/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_names.h"

#include "base/base_command.h"
#include "base/base_error.h"
#include "base/base_log.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>

enum { NAMES_MAGIC = 0x504b4e41, ADDRESSES = 16 /* of one name */ };

struct pk_names {
    unsigned magic;
    int socket;
    bool asked, gone;
    struct sockaddr_storage there; /* family and port */
};

/* IPv6, or IPv4 in ::ffff:0:0/96; found: whether there is one. */
struct named {
    uint8_t found, address[16];
};

/* ---- the process that asks --------------------------------------------------------------------------------------- */

/* What was said last. */
struct names_said {
    unsigned n; /* addresses; 0: none, for the reason */
    int why;
    uint8_t first[16];
    bool anything;
};

static int compare_addresses(const void *a, const void *b) { return memcmp(a, b, 16); }

/* Each address once, in an order that is the same each time. */
static unsigned collect(const struct addrinfo *all, uint8_t address[ADDRESSES][16]) {
    unsigned n = 0;

    for (; all && n < ADDRESSES; all = all->ai_next) {
        static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };
        if (all->ai_family == AF_INET6) {
            memcpy(address[n++], &((const struct sockaddr_in6 *)(const void *)all->ai_addr)->sin6_addr, 16);
        } else if (all->ai_family == AF_INET) {
            memcpy(address[n], prefix, sizeof prefix);
            memcpy(address[n++] + 12, &((const struct sockaddr_in *)(const void *)all->ai_addr)->sin_addr, 4);
        }
    }
    qsort(address, n, 16, compare_addresses);
    return n;
}

static void names_say(struct names_said *said, const char *name, unsigned n, int why, const uint8_t *first) {
    char text[INET6_ADDRSTRLEN] = "";

    if (said->anything && said->n == n && (n ? !memcmp(said->first, first, 16) : said->why == why)) return;
    *said = (struct names_said){ .n = n, .why = why, .anything = true };
    if (!n) {
        base_log(BASE_LOG_WARNING, "peer %s: %s; it is asked for again until there is an answer", name,
                 why ? gai_strerror(why) : "it has no address of the family of `local`");
        return;
    }
    memcpy(said->first, first, 16);
    inet_ntop(AF_INET6, first, text, sizeof text);
    base_log(BASE_LOG_NOTICE, "peer %s is %s%s", name, strncmp(text, "::ffff:", 7) ? text : text + 7,
             n > 1 ? ", and other addresses, which are tried in turn" : "");
}

/* One answer for each question, until the daemon has ended. */
static void names_serve(int s, const char *name, int family) {
    struct addrinfo wanted = { .ai_family = family, .ai_socktype = SOCK_DGRAM };
    struct names_said said = { .n = 0 };
    uint8_t word;

    for (unsigned turn = 0; recv(s, &word, 1, 0) == 1; turn++) {
        uint8_t address[ADDRESSES][16];
        struct addrinfo *all = NULL;
        struct named answer = { .found = 0 };
        int why = getaddrinfo(name, NULL, &wanted, &all);
        unsigned n = why ? 0 : collect(all, address);

        if (all) freeaddrinfo(all);
        names_say(&said, name, n, why, n ? address[0] : NULL);
        answer.found = n > 0;
        if (n) memcpy(answer.address, address[turn % n], sizeof answer.address);
        if (send(s, &answer, sizeof answer, MSG_NOSIGNAL) < 0) return;
    }
}

static void names_run(int s, const struct pk_config *c, const struct pk_user *u, pid_t daemon) {
    char *error = NULL;

    prctl(PR_SET_NAME, "pktcache-names");
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    setsid();
    if (pk_power_keep(u, false, &error)) {
        base_failed(error);
        return;
    }
    /* A question to servers that do not answer lasts longer than the daemon may. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == daemon) names_serve(s, c->peer_name, c->there.ss_family);
}

/* ---- the daemon's end -------------------------------------------------------------------------------------------- */

pk_names_t *pk_names_start(const struct pk_config *c, const struct pk_user *u, char **error) {
    pk_names_t *n = calloc(1, sizeof *n);
    pid_t pid = -1, daemon = getpid();
    int ends[2];

    *error = NULL;
    if (!n) return NULL;
    n->magic = NAMES_MAGIC;
    n->socket = -1;
    n->there = c->there;
    if (!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
        if (!(pid = fork())) {
            close(ends[0]);
            names_run(ends[1], c, u, daemon);
            _exit(0);
        }
        close(ends[1]);
        n->socket = ends[0];
    }
    if (pid >= 0) return n;
    base_fail(error, "nobody can be started to ask for %s: %s", c->peer_name, strerror(errno));
    pk_names_stop(&n);
    return NULL;
}

void pk_names_ask(pk_names_t *n) {
    assert(n->magic == NAMES_MAGIC);
    if (!n->asked) n->asked = send(n->socket, "?", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

int pk_names_fd(const pk_names_t *n) { return n->socket; }
bool pk_names_gone(const pk_names_t *n) { return n->gone; }

/* Of another machine, and one: no group, nothing that is only this machine's or one wire's. */
static bool take_address(const struct named *answer, struct sockaddr_storage *there) {
    struct in6_addr six;
    bool four;

    memcpy(&six, answer->address, sizeof six);
    four = IN6_IS_ADDR_V4MAPPED(&six);
    if (answer->found != 1 || four != (there->ss_family == AF_INET)) return false;
    if (four) {
        const uint8_t *a = six.s6_addr + 12;
        if (!a[0] || a[0] == 127 || a[0] >= 224 || (a[0] == 169 && a[1] == 254)) return false;
        memcpy(&((struct sockaddr_in *)there)->sin_addr, a, 4);
        return true;
    }
    if (IN6_IS_ADDR_UNSPECIFIED(&six) || IN6_IS_ADDR_LOOPBACK(&six) || IN6_IS_ADDR_LINKLOCAL(&six) ||
        IN6_IS_ADDR_MULTICAST(&six))
        return false;
    ((struct sockaddr_in6 *)there)->sin6_addr = six;
    return true;
}

bool pk_names_hear(pk_names_t *n, struct sockaddr_storage *there) {
    struct named answer;
    ssize_t got = recv(n->socket, &answer, sizeof answer, MSG_DONTWAIT | MSG_TRUNC);

    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    n->gone |= got != sizeof answer;
    if (n->gone) return false;
    n->asked = false;
    *there = n->there;
    return take_address(&answer, there);
}

void pk_names_stop(pk_names_t **names) {
    pk_names_t *n = *names;

    *names = NULL;
    if (!n) return;
    assert(n->magic == NAMES_MAGIC);
    if (n->socket >= 0) close(n->socket);
    n->magic = 0;
    free(n);
}
