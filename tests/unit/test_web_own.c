/* SPDX-License-Identifier: BSD-2-Clause */
/* Which addresses belong to this machine.  A system test has a host of its own, with addresses of interfaces. */
#include <netinet/in.h>
#include <sys/un.h>

#include "web/web_address.h"
#include "web/web_own.h"
#include "test_web.h"

START_TEST(test_own_address_in_any_form_is_found) {
    static const struct {
        const char *address;
        bool own;
    } t[] = {
        { "127.0.0.1", true },
        { "127.77.0.3", true },
        { "[::ffff:127.0.0.1]", true },
        { "[64:ff9b::127.0.0.1]", true },
        { "[2002:7f00:1::]", true },
        { "[::1]", true },
        /* Of others, with a route to them or without. */
        { "8.8.8.8", false },
        { "[::ffff:8.8.8.8]", false },
        { "[2606:2800:220:1::1]", false },
        { "[64:ff9b::8.8.8.8]", false },
    };
    struct sockaddr_un other = { .sun_family = AF_UNIX };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct sockaddr_storage a;
        ck_assert_int_eq(web_address_read(t[i].address, &a), 0);
        ck_assert_msg(web_address_is_own((struct sockaddr *)&a) == t[i].own, "%s", t[i].address);
    }
    ck_assert(web_address_is_own((struct sockaddr *)&other));
}
END_TEST

TCase *web_own_case(void) {
    TCase *t = tcase_create("own");
    tcase_add_test(t, test_own_address_in_any_form_is_found);
    return t;
}
