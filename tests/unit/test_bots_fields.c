/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "bots/bots_fields.h"
#include "test_bots.h"

/* The members of a dictionary as they are to be written, in one line; "-" if it is none. */
static const char *members(const char *field) {
    static char out[1000];
    struct bots_text left = test_text(field);
    struct bots_member m;
    size_t n = 0;

    while (bots_fields_member(&left, &m)) {
        int more;
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%.*s=", n ? " | " : "", (int)m.key.n, m.key.at);
        more = bots_fields_write(&m.item, out + n, sizeof out - n - 1);
        if (more < 0) n += (size_t)snprintf(out + n, sizeof out - n, "can't");
        else n += (size_t)more;
    }
    out[n] = 0;
    return left.at ? out : "-";
}

START_TEST(dictionaries_are_read_and_written) {
    static const struct {
        const char *field, *members;
    } rows[] = {
        { "", "" },
        { "a=1", "a=1" },
        { "  a=1,b=2 ,\t c=3  ", "a=1 | b=2 | c=3" },
        { "a", "a=?1" },
        { "a;x;y=2, b=?0", "a=?1;x;y=2 | b=?0" },
        { "a=(\"x\"   \"y\";key=\"z\" );created=0017", "a=(\"x\" \"y\";key=\"z\");created=17" },
        { "a=()", "a=()" },
        { "a=( )", "a=()" },
        { "a=-0, b=-12, c=999999999999999", "a=0 | b=-12 | c=999999999999999" },
        { "a=\"q\\\"\\\\\"", "a=\"q\\\"\\\\\"" },
        { "*a-b.c_d*=tok/en:1", "*a-b.c_d*=tok/en:1" },
        { "a=:aGVsbG8=:, b=::", "a=:aGVsbG8=: | b=::" },
        { "a=1;  x=?1;y=?0", "a=1;x;y=?0" },
        /* What reads and has another form, or none here. */
        { "a=1.5", "a=can't" },
        { "a=:aGVsbG8:", "a=can't" },
        { "a=:aGVsbG9=:", "a=can't" },
        { "a=:aG=sbG8=:", "a=can't" },
        { "a=:===:", "a=can't" },
        { "a=1;x=1;x=2", "a=can't" },
        { "a=1;a;b;c;d;e;f;g;h;i;j;k;l;m;n;o;p", "a=1;a;b;c;d;e;f;g;h;i;j;k;l;m;n;o;p" },
        { "a=1;a;b;c;d;e;f;g;h;i;j;k;l;m;n;o;p;q", "a=can't" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) ck_assert_str_eq(members(rows[i].field), rows[i].members);
}
END_TEST

START_TEST(what_is_no_dictionary_is_refused) {
    static const char *const rows[] = {
        "a=1,",
        ",a=1",
        "a=1,,b=2",
        "A=1",
        "1=1",
        "a=",
        "a= 1",
        "a =1",
        "a=1 b=2",
        "a=\"x",
        "a=\"\\n\"",
        "a=\"\x7f\"",
        "a=\"\\",
        "a=(",
        "a=(1",
        "a=(1,2)",
        "a=(\"x\"\"y\")",
        "a=1)",
        "a=:x",
        "a=:$:",
        "a=?2",
        "a=?",
        "a=--1",
        "a=1.",
        "a=1.1234",
        "a=1.2.3",
        "a=1234567890123456",
        "a=1;",
        "a=1; ",
        "a=1;B",
        "a=1;x=",
        "a=@1",
        "a=%\"x\"",
        "a=((1))",
        "a=1;x=(1)",
        "a=1\n",
        "a=\xc3\xa9",
        "a=1 ;x",
        "a=(1 ;x)",
        "a=1234567890123.1",
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) ck_assert_msg(*members(rows[i]) == '-', "%s", rows[i]);
    /* A NUL is a byte like others. */
    {
        struct bots_text left = bots_text("a=1\0", 4), value = bots_text("a=t\0", 4);
        struct bots_member m;
        ck_assert(!bots_fields_member(&left, &m) && !left.at);
        ck_assert(!bots_fields_member(&value, &m) && !value.at);
    }
}
END_TEST

START_TEST(a_member_is_found_once) {
    static const struct {
        const char *field;
        int found;
    } rows[] = {
        { "b=1, a=2, c", 1 }, { "b=1", 0 }, { "", 0 }, { "a=1, a=2", -1 }, { "a=1, !", -1 }, { "aa=1, A=2", -1 },
    };
    struct bots_member m;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_int_eq(bots_fields_find(test_text(rows[i].field), test_text("a"), &m), rows[i].found);
}
END_TEST

/* No more is read than there is, and what is written is no longer than the room. */
START_TEST(nothing_reaches_beyond) {
    static const char whole[] = "sig1=(\"@authority\" \"x\";key=\"y\");a=1;b=\"\\\"\";c=:aGVsbG8=:;d=?1;e=tok, b=2.5;x";
    struct bots_member m;

    for (size_t n = 0; n < sizeof whole; n++) {
        char *copy = malloc(n ? n : 1); /* whose end a sanitizer watches */
        struct bots_text left;

        ck_assert_ptr_nonnull(copy);
        memcpy(copy, whole, n);
        left = bots_text(copy, n);
        while (bots_fields_member(&left, &m)) {
            for (size_t room = 0; room < 100; room++) {
                char *out = malloc(room ? room : 1);
                int wrote = bots_fields_write(&m.item, out, room);
                ck_assert_int_le(wrote, (int)room);
                free(out);
            }
        }
        free(copy);
    }
}
END_TEST

START_TEST(base64_has_one_form) {
    static const struct {
        const char *text;
        bool url;
        int n;
    } rows[] = {
        { "", false, 0 },
        { "AA==", false, 1 },
        { "AAA=", false, 2 },
        { "AAAA", false, 3 },
        { "+/+/", false, 3 },
        { "AA", false, -1 },
        { "AB==", false, -1 },
        { "AAB=", false, -1 },
        { "A===", false, -1 },
        { "-_-_", false, -1 },
        { "-_-_", true, 3 },
        { "AA", true, 1 },
        { "AAA", true, 2 },
        { "A", true, -1 },
        { "AAAAA", true, -1 },
        { "AA==", true, -1 },
        { "AB", true, -1 },
        { "+/+/", true, -1 },
        { "AAAAAAAA", true, -1 /* no room */ },
    };
    uint8_t out[4];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(bots_base64(test_text(rows[i].text), rows[i].url, out, sizeof out) == rows[i].n, "%s",
                      rows[i].text);
}
END_TEST

TCase *bots_fields_case(void) {
    TCase *t = tcase_create("fields");

    tcase_add_test(t, dictionaries_are_read_and_written);
    tcase_add_test(t, what_is_no_dictionary_is_refused);
    tcase_add_test(t, a_member_is_found_once);
    tcase_add_test(t, nothing_reaches_beyond);
    tcase_add_test(t, base64_has_one_form);
    return t;
}
