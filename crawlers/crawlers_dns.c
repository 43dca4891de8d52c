/* SPDX-License-Identifier: BSD-2-Clause */
#include "crawlers_dns.h"

#include <netinet/in.h>
#include <arpa/nameser.h>
#include <limits.h>
#include <netdb.h>
#include <resolv.h>
#include <stdio.h>
#include <string.h>

#include "crawlers_prefix.h"

#define ANSWER_BYTES 4096
#define SECONDS      1

static bool dns_is_v4(const uint8_t address[16]) {
    return crawlers_prefix_is_v4(&(struct crawlers_prefix){
        .address = { address[0], address[1], address[2], address[3], address[4], address[5], address[6], address[7],
                     address[8], address[9], address[10], address[11] },
        .bits = 128,
    });
}

void crawlers_dns_reverse(const uint8_t address[16], char out[CRAWLERS_DNS_NAME]) {
    size_t n = 0;

    if (dns_is_v4(address)) {
        snprintf(out, CRAWLERS_DNS_NAME, "%u.%u.%u.%u.in-addr.arpa", address[15], address[14], address[13],
                 address[12]);
        return;
    }
    for (int i = 15; i >= 0; i--)
        n += (size_t)snprintf(out + n, CRAWLERS_DNS_NAME - n, "%x.%x.", address[i] & 15u, address[i] >> 4);
    snprintf(out + n, CRAWLERS_DNS_NAME - n, "ip6.arpa");
}

bool crawlers_dns_ends(const char *name, const char *suffix) {
    size_t n = strlen(name), k = strlen(suffix);

    if (n < k || strcmp(name + n - k, suffix)) return false;
    return n == k || name[n - k - 1] == '.';
}

/* The answer's own records, those of this type: `seen` for each until it is content. */
static bool each_record(const uint8_t *answer, size_t n, int type, bool (*seen)(const ns_msg *, const ns_rr *, void *),
                        void *of) {
    ns_msg m;
    ns_rr rr;

    if (n > INT_MAX || ns_initparse(answer, (int)n, &m)) return false;
    for (int i = 0; i < ns_msg_count(m, ns_s_an); i++)
        if (!ns_parserr(&m, ns_s_an, i, &rr) && (int)ns_rr_type(rr) == type && ns_rr_class(rr) == ns_c_in &&
            seen(&m, &rr, of))
            return true;
    return false;
}

struct dns_names {
    char (*name)[CRAWLERS_DNS_NAME];
    unsigned n;
};

/* What is longer than a name can be, or has other letters than hosts have, is none that leads anywhere. */
static bool dns_take_name(const ns_msg *m, const ns_rr *rr, void *of) {
    struct dns_names *names = of;
    char text[NS_MAXDNAME], *to = names->name[names->n];
    size_t k;

    if (ns_name_uncompress(ns_msg_base(*m), ns_msg_end(*m), ns_rr_rdata(*rr), text, sizeof text) < 0) return false;
    k = strlen(text);
    if (k && text[k - 1] == '.') text[--k] = 0;
    if (!k || k >= CRAWLERS_DNS_NAME) return false;
    for (size_t i = 0; i <= k; i++) to[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
    if (strspn(to, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != k) return false;
    return ++names->n == CRAWLERS_DNS_NAMES;
}

unsigned crawlers_dns_names(const uint8_t *answer, size_t n, char name[CRAWLERS_DNS_NAMES][CRAWLERS_DNS_NAME]) {
    struct dns_names names = { name, 0 };

    each_record(answer, n, ns_t_ptr, dns_take_name, &names);
    return names.n;
}

static bool dns_is_it(const ns_msg *m, const ns_rr *rr, void *of) {
    const uint8_t *address = of;
    bool v4 = ns_rr_type(*rr) == ns_t_a;

    (void)m;
    return ns_rr_rdlen(*rr) == (v4 ? 4 : 16) &&
           !memcmp(ns_rr_rdata(*rr), v4 ? address + 12 : address, ns_rr_rdlen(*rr));
}

bool crawlers_dns_leads_to(const uint8_t *answer, size_t n, const uint8_t address[16]) {
    uint8_t a[16];

    memcpy(a, address, sizeof a);
    return each_record(answer, n, dns_is_v4(address) ? ns_t_a : ns_t_aaaa, dns_is_it, a);
}

/* Bytes of the answer, 0: there is none such; -1: nobody says. */
static int dns_ask(res_state r, const char *name, int type, uint8_t answer[ANSWER_BYTES]) {
    int n = res_nquery(r, name, ns_c_in, type, answer, ANSWER_BYTES);

    if (n >= 0) return n < ANSWER_BYTES ? n : ANSWER_BYTES;
    return r->res_h_errno == HOST_NOT_FOUND || r->res_h_errno == NO_DATA ? 0 : -1;
}

static enum crawlers_said dns_confirm(res_state r, const uint8_t address[16], const char *const *suffix, unsigned n,
                                      const _Atomic uint32_t *stop) {
    char name[CRAWLERS_DNS_NAMES][CRAWLERS_DNS_NAME], reverse[CRAWLERS_DNS_NAME];
    uint8_t answer[ANSWER_BYTES];
    enum crawlers_said said = CRAWLERS_DENIED;
    unsigned names;
    int got;

    crawlers_dns_reverse(address, reverse);
    got = dns_ask(r, reverse, ns_t_ptr, answer);
    if (got < 0) return CRAWLERS_NO_ANSWER;
    names = crawlers_dns_names(answer, (size_t)got, name);
    for (unsigned i = 0; i < names; i++) {
        bool ours = false;

        for (unsigned k = 0; k < n && !ours; k++) ours = crawlers_dns_ends(name[i], suffix[k]);
        if (!ours) continue;
        if (atomic_load(stop)) return CRAWLERS_NO_ANSWER;
        got = dns_ask(r, name[i], dns_is_v4(address) ? ns_t_a : ns_t_aaaa, answer);
        if (got < 0) said = CRAWLERS_NO_ANSWER;
        else if (crawlers_dns_leads_to(answer, (size_t)got, address)) return CRAWLERS_CONFIRMED;
    }
    return said;
}

enum crawlers_said crawlers_dns_confirm(const uint8_t address[16], const char *const *suffix, unsigned n,
                                        const _Atomic uint32_t *stop) {
    struct __res_state r;
    enum crawlers_said said;

    memset(&r, 0, sizeof r);
    if (res_ninit(&r)) return CRAWLERS_NO_ANSWER;
    r.retrans = SECONDS;
    r.retry = 1;
    /* By TCP it would wait for a stranger's server without a bound. */
    r.options |= RES_IGNTC | RES_USE_EDNS0;
    said = dns_confirm(&r, address, suffix, n, stop);
    res_nclose(&r);
    return said;
}
