/* SPDX-License-Identifier: BSD-2-Clause */
/* Which range an address is in, whatever it is dressed as. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "web/web_address.h"
#include "test_web.h"

static struct sockaddr_storage address_of(const char *text) {
    struct sockaddr_storage a;
    ck_assert_msg(!web_address_read(text, &a), "%s", text);
    return a;
}

START_TEST(ranges) {
    static const struct {
        const char *address;
        enum web_range range;
    } t[] = {
        { "93.184.216.34", WEB_PUBLIC },
        { "8.8.8.8", WEB_PUBLIC },
        { "2606:2800:220:1::1", WEB_PUBLIC },
        { "64:ff9b::8.8.8.8", WEB_PUBLIC },
        { "2002:808:808::1", WEB_PUBLIC },
        { "::ffff:8.8.8.8", WEB_PUBLIC },
        { "127.0.0.1", WEB_PRIVATE },
        { "127.255.255.254", WEB_PRIVATE },
        { "10.1.2.3", WEB_PRIVATE },
        { "172.16.0.1", WEB_PRIVATE },
        { "172.31.255.255", WEB_PRIVATE },
        { "192.168.1.1", WEB_PRIVATE },
        { "100.64.0.1", WEB_PRIVATE },
        { "198.51.100.7", WEB_PRIVATE },
        { "::1", WEB_PRIVATE },
        { "fd00::1", WEB_PRIVATE },
        { "fc00::1", WEB_PRIVATE },
        { "2001:db8::1", WEB_PRIVATE },
        { "::ffff:127.0.0.1", WEB_PRIVATE },
        { "::ffff:10.0.0.1", WEB_PRIVATE },
        { "64:ff9b::10.0.0.1", WEB_PRIVATE },
        { "2002:a00:1::1", WEB_PRIVATE },
        { "2002:7f00:1::", WEB_PRIVATE },
        { "169.254.169.254", WEB_NEVER },
        { "::ffff:169.254.169.254", WEB_NEVER },
        { "64:ff9b::a9fe:a9fe", WEB_NEVER },
        { "2002:a9fe:a9fe::", WEB_NEVER },
        { "0.0.0.0", WEB_NEVER },
        { "0.1.2.3", WEB_NEVER },
        { "224.0.0.1", WEB_NEVER },
        { "255.255.255.255", WEB_NEVER },
        { "240.0.0.1", WEB_NEVER },
        { "192.0.0.8", WEB_NEVER },
        { "100:0:0:1::8", WEB_NEVER },
        { "100.100.100.200", WEB_NEVER },
        { "fd00:ec2::254", WEB_NEVER },
        { "::", WEB_NEVER },
        { "::7f00:1", WEB_NEVER },
        { "fe80::1", WEB_NEVER },
        { "ff02::1", WEB_NEVER },
        { "2001::1", WEB_NEVER },
        { "fec0::1", WEB_NEVER },
        { "64:ff9b:1::1", WEB_NEVER },
        { "172.15.255.255", WEB_PUBLIC },
        { "172.32.0.0", WEB_PUBLIC },
        { "100.63.255.255", WEB_PUBLIC },
        { "100.128.0.0", WEB_PUBLIC },
        { "11.0.0.0", WEB_PUBLIC },
        { "9.255.255.255", WEB_PUBLIC },
        { "128.0.0.1", WEB_PUBLIC },
        { "223.255.255.255", WEB_PUBLIC },
        { "198.20.0.0", WEB_PUBLIC },
    };
    struct sockaddr_un other = { .sun_family = AF_UNIX };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct sockaddr_storage a = address_of(t[i].address);
        ck_assert_msg(web_address_range((struct sockaddr *)&a) == t[i].range, "%s", t[i].address);
    }
    ck_assert_int_eq(web_address_range((struct sockaddr *)&other), WEB_NEVER);
}
END_TEST

START_TEST(loopback) {
    static const struct {
        const char *address;
        bool is;
    } t[] = {
        { "127.0.0.1", true },     { "127.255.255.255", true },   { "::1", true },
        { "128.0.0.1", false },    { "10.0.0.1", false },         { "::2", false },
        { "::", false },           { "::ffff:127.0.0.1", true },  { "64:ff9b::127.0.0.1", true },
        { "2002:7f00:1::", true }, { "::ffff:128.0.0.1", false }, { "2002:7e00:1::", false },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct sockaddr_storage a = address_of(t[i].address);
        ck_assert_msg(web_address_is_loopback((struct sockaddr *)&a) == t[i].is, "%s", t[i].address);
    }
}
END_TEST

START_TEST(as_people_write_them) {
    static const char *const bad[] = {
        "",
        "backend",
        "backend:80",
        "10.0.0.1:",
        "10.0.0.1:0",
        "10.0.0.1:65536",
        "10.0.0.1:80x",
        "10.0.0.1:x",
        "10.0.0.1:-1",
        "[::1",
        "[::1]x",
        "[::1]:",
        "[]",
        "[::1]:80:80",
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "[fe80::1%lo]",
        "10.0.0.1 ",
        " 10.0.0.1",
        "10.0.0.1:80 ",
        ":80",
        "::1:x",
        "10.0.0.1:80:80",
        "256.0.0.1",
        "10.0.0.1/32",
        "[:::]",
        "1:2:3:4:5:6:7:8:9",
        "10.0.0.1:18446744073709551696",
    };
    struct sockaddr_storage a;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) ck_assert_msg(web_address_read(bad[i], &a) < 0, "%s", bad[i]);
    a = address_of("10.0.0.1:8080");
    ck_assert_uint_eq(ntohs(((struct sockaddr_in *)&a)->sin_port), 8080);
    a = address_of("[fd00::7]:80");
    ck_assert_int_eq(a.ss_family, AF_INET6);
    ck_assert_uint_eq(ntohs(((struct sockaddr_in6 *)&a)->sin6_port), 80);
    a = address_of("[fd00::7]");
    ck_assert_uint_eq(((struct sockaddr_in6 *)&a)->sin6_port, 0);
}
END_TEST

START_TEST(the_same_with_its_port_or_any) {
    static const struct {
        const char *address, *given;
        bool fits;
    } t[] = {
        { "10.0.0.1:80", "10.0.0.1:80", true },  { "10.0.0.1:80", "10.0.0.1", true },
        { "10.0.0.1:81", "10.0.0.1:80", false }, { "10.0.0.2:80", "10.0.0.1", false },
        { "10.0.0.1", "10.0.0.1:80", false },    { "[fd00::7]:80", "[fd00::7]:80", true },
        { "[fd00::7]:80", "fd00::7", true },     { "[fd00::7]:81", "[fd00::7]:80", false },
        { "[fd00::8]:80", "fd00::7", false },    { "[::ffff:10.0.0.1]:80", "10.0.0.1", false },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct sockaddr_storage a = address_of(t[i].address), given = address_of(t[i].given);
        ck_assert_msg(web_address_fits((struct sockaddr *)&a, &given) == t[i].fits, "%s and %s", t[i].address,
                      t[i].given);
    }
}
END_TEST

START_TEST(ranges_of_networks) {
    static const struct {
        const char *address;
        unsigned bits;
        enum web_range range;
    } t[] = {
        { "8.8.8.0", 24, WEB_PUBLIC },        { "192.160.0.0", 13, WEB_PUBLIC },
        { "192.160.0.0", 12, WEB_PRIVATE },   { "192.168.7.0", 24, WEB_PRIVATE },
        { "169.254.169.254", 32, WEB_NEVER }, { "168.0.0.0", 6, WEB_NEVER },
        { "0.0.0.0", 0, WEB_NEVER },          { "2606:2800::", 32, WEB_PUBLIC },
        { "2001:db8:7::", 48, WEB_PRIVATE },  { "2001:c00::", 22, WEB_PRIVATE },
        { "2000::", 8, WEB_NEVER },           { "::", 0, WEB_NEVER },
        { "2002:808:808::", 48, WEB_NEVER },  { "64:ff9b::808:808", 128, WEB_NEVER },
        { "::ffff:8.8.8.8", 128, WEB_NEVER },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct sockaddr_storage a = address_of(t[i].address);
        ck_assert_msg(web_network_range((struct sockaddr *)&a, t[i].bits) == t[i].range, "%s/%u", t[i].address,
                      t[i].bits);
    }
}
END_TEST

TCase *web_address_case(void) {
    TCase *t = tcase_create("address");
    tcase_add_test(t, ranges);
    tcase_add_test(t, ranges_of_networks);
    tcase_add_test(t, loopback);
    tcase_add_test(t, as_people_write_them);
    tcase_add_test(t, the_same_with_its_port_or_any);
    return t;
}
