/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_register.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <apr_strings.h>
#include <http_log.h>

APLOG_USE_MODULE(ccn);

#define P              ccn_process
#define ANSWER_US      UINT64_C(5000000)  /* until then an answer has come */
#define AGAIN_US       UINT64_C(30000000) /* between two tries */
#define RIB_STATUS     0x66
#define RIB_ANSWER     0x65
#define RIB_PARAMETERS 0x68
#define RIB_FLAGS      0x6c
#define COMMAND_AT     4u /* the component of the command's name that holds its parameters */

enum { PREFIX_ASKED, PREFIX_REFUSED, PREFIX_REGISTERED };

/* ---- packets ----------------------------------------------------------------------------------------------------- */

/* The command that registers a prefix; its bytes in `out`, 0: no room. */
static size_t put_command(const struct ndn_name *prefix, bool far, const struct ndn_key *key, uint64_t now_ms,
                          uint8_t *out, size_t room) {
    uint8_t name[CCN_NAME_MAX + 256], parameters[CCN_NAME_MAX + 64];
    struct ndn_out n = ndn_out_into(name, sizeof name), p = ndn_out_into(parameters, sizeof parameters);
    size_t inside = ndn_element_size(NDN_NAME, prefix->bytes.n) + ndn_number_size(RIB_FLAGS, 1);
    const char *whose = far ? "localhop" : "localhost";
    struct ndn_interest_form f = { .segment = NDN_NO_NUMBER,
                                   .must_be_fresh = true,
                                   .lifetime_ms = NDN_LIFETIME_USUAL_MS,
                                   .has_parameters = true,
                                   .key = key,
                                   .signature_time = now_ms };

    ndn_put_head(&p, RIB_PARAMETERS, inside);
    ndn_put_element(&p, NDN_NAME, prefix->bytes.at, prefix->bytes.n);
    ndn_put_number(&p, RIB_FLAGS, 1);
    ndn_put_component(&n, NDN_GENERIC_COMPONENT, whose, strlen(whose));
    ndn_put_component(&n, NDN_GENERIC_COMPONENT, "nfd", 3);
    ndn_put_component(&n, NDN_GENERIC_COMPONENT, "rib", 3);
    ndn_put_component(&n, NDN_GENERIC_COMPONENT, "register", 8);
    ndn_put_component(&n, NDN_GENERIC_COMPONENT, parameters, p.n);
    if (n.full || p.full) return 0;
    f.name = (struct ndn_span){ name, n.n };
    if (getrandom(&f.nonce, sizeof f.nonce, 0) != sizeof f.nonce ||
        getrandom(f.signature_nonce, sizeof f.signature_nonce, 0) != sizeof f.signature_nonce)
        return 0;
    return ndn_interest_write(&f, out, room);
}

/* What Data in answer to a command says: the status code, 0 if it is no answer. */
static unsigned code_of(const struct ndn_data *d) {
    struct ndn_span in = d->content;
    struct ndn_element answer, status;
    uint64_t code;

    if (!ndn_next(&in, &answer) || answer.type != RIB_ANSWER) return 0;
    if (!ndn_next(&answer.value, &status) || status.type != RIB_STATUS || !ndn_number(status.value, &code)) return 0;
    return code < 1000 ? (unsigned)code : 0;
}

/* The prefix that the command was about: the answer has its name. */
static bool prefix_of(const struct ndn_data *d, struct ndn_name *prefix) {
    struct ndn_element component, parameters, name;
    struct ndn_span in;

    if (!ndn_name_at(&d->name, COMMAND_AT, &component) || component.type != NDN_GENERIC_COMPONENT) return false;
    in = component.value;
    if (!ndn_next(&in, &parameters) || parameters.type != RIB_PARAMETERS) return false;
    in = parameters.value;
    return ndn_next(&in, &name) && name.type == NDN_NAME && ndn_name_read(name.value, prefix);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static const struct ndn_name *prefix_at(const struct ccn_register *r, int i) {
    return &APR_ARRAY_IDX(ccn_host_of(r->server)->prefixes, i, struct ndn_name);
}

static void ask(struct ccn_register *r) {
    const struct ccn_host *h = ccn_host_of(r->server);
    uint64_t now = (uint64_t)apr_time_as_msec(apr_time_now());
    static const struct ccn_token none = { .n = 0 };
    bool far = r->far != (r->tries & 1);

    for (int i = 0; i < h->prefixes->nelts; i++) {
        uint8_t bytes[NDN_PACKET_MAX];
        size_t n;
        if (r->at[i] == PREFIX_REGISTERED) continue;
        n = put_command(prefix_at(r, i), far, ccn_key_of(h), now + (uint64_t)i, bytes, sizeof bytes);
        if (n) ccn_face_reply(r->face, ccn_reply_bytes(&none, bytes, n));
    }
    r->due = shm_now() + (r->tries ? AGAIN_US : ANSWER_US);
    r->tries++;
}

static void tell_silent(struct ccn_register *r) {
    char name[3 * CCN_NAME_MAX];
    int first = -1, n = 0;

    for (int i = 0; i < ccn_host_of(r->server)->prefixes->nelts; i++)
        if (r->at[i] == PREFIX_ASKED && !n++) first = i;
    if (!n || r->told_silent) return;
    r->told_silent = true;
    ndn_name_print(prefix_at(r, first), name, sizeof name);
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, r->server,
                 "ccn: %s does not answer that %s is to be registered (%d of %d prefixes), and no Interests come from "
                 "there: whoever is not of its own machine it hears only if it is set so: ndnd by mgmt.allow_localhop: "
                 "true, NFD by localhop_security in the section rib",
                 r->forwarder, name, n, ccn_host_of(r->server)->prefixes->nelts);
}

static void register_tick(void *of) {
    struct ccn_register *r = of;

    if (!r->left || shm_now() < r->due) return;
    tell_silent(r);
    ask(r);
}

static void tell_refused(struct ccn_register *r, const struct ndn_name *prefix, unsigned code) {
    char name[3 * CCN_NAME_MAX];

    ccn_count(&P.area->unregistered);
    if (r->told_refused) return;
    r->told_refused = true;
    ndn_name_print(prefix, name, sizeof name);
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, r->server,
                 "ccn: %s refuses the prefix %s (%u): it must trust what this server signs commands with (CcnSign): "
                 "NFD by %s in the section rib",
                 r->forwarder, name, code, r->far ? "localhop_security" : "localhost_security");
}

static void show(const struct ccn_register *r) {
    uint32_t n[PREFIX_REGISTERED + 1] = { 0 };

    if (!r->shown) return;
    for (int i = 0; i < ccn_host_of(r->server)->prefixes->nelts; i++) n[r->at[i]]++;
    atomic_store(&r->shown->registered, n[PREFIX_REGISTERED]);
    atomic_store(&r->shown->refused, n[PREFIX_REFUSED]);
}

static void register_data(void *of, const struct ndn_data *d) {
    struct ccn_register *r = of;
    int n = ccn_host_of(r->server)->prefixes->nelts, before = r->left;
    unsigned code = code_of(d);
    struct ndn_name prefix;
    bool ours = false;

    if (!code || !prefix_of(d, &prefix)) return;
    for (int i = 0; i < n; i++) {
        if (!ndn_name_equal(&prefix, prefix_at(r, i))) continue;
        ours = true;
        if (r->at[i] == PREFIX_REGISTERED) continue;
        r->at[i] = code == 200 ? PREFIX_REGISTERED : PREFIX_REFUSED;
        if (code == 200) r->left--;
    }
    show(r);
    if (ours && code != 200) tell_refused(r, &prefix, code);
    if (before && !r->left)
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, r->server, "ccn: %s: all prefixes are registered (%d)", r->forwarder,
                     n);
}

static bool is_near(int fd) {
    struct sockaddr_storage a = { .ss_family = AF_UNSPEC };
    const struct sockaddr_in6 *six = (const void *)&a;
    socklen_t n = sizeof a;

    if (getpeername(fd, (struct sockaddr *)&a, &n)) return true;
    if (a.ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)&a)->sin_addr.s_addr) >> 24 == 127;
    if (a.ss_family != AF_INET6) return true;
    return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) ||
           (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) && six->sin6_addr.s6_addr[12] == 127);
}

void ccn_register_begin(struct ccn_register *r, struct ccn_face *f, int fd) {
    r->face = f;
    r->far = !is_near(fd);
    r->left = ccn_host_of(r->server)->prefixes->nelts;
    show(r);
    if (r->shown) atomic_store(&r->shown->holder, ccn_seat_holder());
    ccn_face_listen(f, register_data, register_tick, r);
    ask(r);
}

void ccn_register_end(struct ccn_register *r) {
    uint64_t ours = ccn_seat_holder();

    /* Another child may have connected there meanwhile. */
    if (r->shown) atomic_compare_exchange_strong(&r->shown->holder, &ours, 0);
}
