/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_policy.c - any bytes as a policy file.
 *
 * What must hold: a file is either right, or refused with "NAME:LINE: wrong; cure" in printable characters; the reader
 * never accepts what the schema refuses; and a policy that was accepted answers requests as its rules say one by one.
 */
#include <stdlib.h>
#include <string.h>

#include "policy/policy_exempt.h"
#include "policy/policy_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct policy_text text_of(const char *s) { return (struct policy_text){ s, strlen(s) }; }

static int begins(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

static void check_error(const char *error) {
    const char *sentence;

    assert(error != NULL);
    assert(begins(error, "fuzz:") && error[5] >= '1' && error[5] <= '9');
    sentence = strchr(error + 5, ' ');
    assert(sentence != NULL && strstr(sentence, "; ") != NULL);
    assert(!begins(sentence, " out of memory") && !begins(sentence, " does not follow the schema"));
    for (; *error != '\0'; error++) assert(*error >= 0x20 && *error < 0x7f);
}

static void check_answer(const policy_t *p, const struct policy_request *r) {
    struct policy_answer a = policy_match_request(p, r);
    uint32_t rank = 0;
    char text[300];

    while (rank < p->rule_count && !policy_rule_matches(p, p->by_rank[rank], r)) rank++;
    assert(a.rule == (rank < p->rule_count ? p->by_rank[rank] : POLICY_NONE));
    assert(a.position == (a.rule != POLICY_NONE ? p->rules[a.rule].class : p->default_class));
    policy_rule_text(p, a.rule, text, sizeof text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const unsigned char v4[4] = { 66, 249, 66, 1 }, v6[16] = { 0x20, 0x01, 0x0d, 0xb8 };
    char *error = NULL;
    policy_t *p = policy_parse((const char *)data, size, "fuzz", &error);
    struct policy_request r = {
        .src_addr = v4, .src_addr_len = 4, .dst_addr = v6, .dst_addr_len = 16, .src_port = 50000, .dst_port = 80
    };

    if (p == NULL) {
        check_error(error);
        free(error);
        return 0;
    }
    assert(error == NULL);
    if (policy_exempt_of(p)) {
        assert(policy_exempt_count(policy_exempt_of(p)) >= 1 && policy_exempt_limit(p) <= POLICY_EXEMPT_LIMIT_MAX);
        policy_exempt_takes(policy_exempt_of(p), "OPTIONS", &r);
        r.url = text_of("/healthz/a?b");
        policy_exempt_takes(policy_exempt_of(p), "GET", &r);
        r.url = text_of("");
    }
    check_answer(p, &(struct policy_request){ .src_port = 0 });
    check_answer(p, &r);
    r = (struct policy_request){ .url = text_of("http://www.example.org/a/b.jpg?c=d&e"),
                                 .user_agent = text_of("Mozilla/5.0 (Googlebot/2.1)") };
    check_answer(p, &r);
    r.cookie = text_of("a=b; session=1; lang=de");
    r.prot_type = text_of("h2");
    r.dst_dn = text_of("www.example.org.");
    r.src_dn = text_of("");
    r.ssl_id = text_of("00ff");
    r.visitor = (struct policy_visitor){ true, text_of("member"), 600 };
    r.crawler = text_of("googlebot");
    check_answer(p, &r);
    policy_free(&p);
    return 0;
}
