/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_bots.h - one test case per noun of bots/, and a request whose fields a test writes.
 */
#ifndef FAIRGATE_TEST_BOTS_H
#define FAIRGATE_TEST_BOTS_H

#include <string.h>

#include "bots/bots_base.h"
#include "run_suite.h"

TCase *bots_fields_case(void);
TCase *bots_base_case(void);
TCase *bots_claim_case(void);
TCase *bots_keys_case(void);
TCase *bots_agent_case(void);
TCase *bots_seen_case(void);

/* RFC 9421, B.1.4: its public half. */
#define EXAMPLE_X   "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"
#define EXAMPLE_KID "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"

struct test_request {
    struct { const char *name, *value; } field[12];     /* as many as have names */
};

static inline struct bots_text test_text(const char *s) { return bots_text(s, s ? strlen(s) : 0); }

static inline struct bots_text test_field(const void *of, const char *name) {
    const struct test_request *r = of;

    for (unsigned i = 0; i < 12 && r->field[i].name; i++)
        if (!strcmp(r->field[i].name, name)) return test_text(r->field[i].value);
    return bots_text(NULL, 0);
}

/* POST https://example.com/foo?param=Value&Pet=dog with these fields: RFC 9421, B.2. */
static inline struct bots_message test_message(const struct test_request *r) {
    return (struct bots_message){ test_text("POST"), test_text("https"),
                                  test_text("example.com"), test_text("/foo"),
                                  test_text("?param=Value&Pet=dog"), test_field, r };
}

#endif
