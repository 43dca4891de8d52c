/* SPDX-License-Identifier: BSD-2-Clause */
/* test_ndn_name.c - names as bytes and as text. */
#include "run_suite.h"
#include "test_ndn.h"

#define DIGITS "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* As it is printed, and its bytes. */
static const struct {
    const char *text, *hex;
} spellings[] = {
    { "/", "" },
    { "/a", "080161" },
    { "/example/site", "08076578616d706c65 080473697465" },
    { "/a%20b", "0803612062" },
    { "/%00%FF%2F%25%3D", "080500ff2f253d" },
    { "/AZaz09-._~", "080a415a617a30392d2e5f7e" },
    { "/...", "0800" },
    { "/....", "08012e" },
    { "/.....", "08022e2e" },
    { "/......", "08032e2e2e" },
    { "/.a", "08022e61" },
    { "/.../...", "0800 0800" },
    { "/32=metadata", "20086d65746164617461" },
    { "/32=...", "2000" },
    { "/32=....", "20012e" },
    { "/65535=a", "fdffff0161" },
    { "/9=a", "090161" },
    { "/seg=0", "320100" },
    { "/seg=255", "3201ff" },
    { "/seg=256", "32020100" },
    { "/off=65536", "340400010000" },
    { "/v=18446744073709551615", "3608ffffffffffffffff" },
    { "/t=4294967296", "38080000000100000000" },
    { "/seq=1", "3a0101" },
    { "/54=%00%01", "36020001" }, /* not its shortest form: another name than v=1 */
    { "/50=%00%00%00%00%00%00%00%01", "32080000000000000001" },
    { "/50=...", "3200" },
    { "/50=%00%00%01", "3203000001" },
    { "/50=abc", "3203616263" },
    { "/sha256digest=" DIGITS, "0120" DIGITS },
    { "/params-sha256=" DIGITS, "0220" DIGITS },
    { "/example/site/v=1/seg=0", "08076578616d706c65 080473697465 360101 320100" },
};

START_TEST(text_and_bytes) {
    uint8_t room[SPAN_ROOM];
    struct ndn_span bytes = span_of(spellings[_i].hex);
    struct ndn_name name = name_of(spellings[_i].text, room), read;

    ck_assert_msg(span_equal(name.bytes, bytes), "%s", spellings[_i].text);
    ck_assert(ndn_name_read(bytes, &read) && read.n == name.n);
    ck_assert_str_eq(text_of_name(&read), spellings[_i].text);
    span_free(bytes);
}
END_TEST

/* Other ways to write a name. */
static const struct {
    const char *text, *same;
} other_spellings[] = {
    { "ndn:/a", "/a" },
    { "NDN:/a", "/a" },
    { "ccnx:/a/b", "/a/b" },
    { "ndn:/", "/" },
    { "/8=a", "/a" },
    { "/%61", "/a" },
    { "/%2e%2e%2e", "/..." },
    { "/!{\"a\":1}", "/%21%7B%22a%22%3A1%7D" },
    { "/a+b,c;d&e", "/a%2Bb%2Cc%3Bd%26e" },
    { "/\xc3\xa4", "/%C3%A4" },
    { "/50=%00", "/seg=0" },
    { "/seg=007", "/seg=7" },
    { "/1=%00%01%02%03%04%05%06%07%08%09%0a%0b%0c%0d%0e%0f%10%11%12%13%14%15%16%17%18%19%1a%1b%1c%1d%1e%1f",
      "/sha256digest=" DIGITS },
    { "/sha256digest=000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F", "/sha256digest=" DIGITS },
    { "/32=a=b", "/32=a%3Db" },
};

START_TEST(other_texts_of_the_same_name) {
    uint8_t room[SPAN_ROOM];
    struct ndn_name name = name_of(other_spellings[_i].text, room);
    ck_assert_str_eq(text_of_name(&name), other_spellings[_i].same);
}
END_TEST

static const struct {
    const char *text, *why;
} wrong_texts[] = {
    { "", "must begin with a slash" },
    { "a", "must begin with a slash" },
    { "ndn:", "must begin with a slash" },
    { "ndn:a", "must begin with a slash" },
    { "http://a", "must begin with a slash" },
    { "//a", "leave the slash out" },
    { "ndn://a/b", "leave the slash out" },
    { "/a/", "leave the slash out" },
    { "/a//b", "leave the slash out" },
    { "/.", "three more" },
    { "/a/..", "three more" },
    { "/%2e%2E", "three more" },
    { "/32=", "leave the slash out" },
    { "/%", "hexadecimal digits" },
    { "/%1", "hexadecimal digits" },
    { "/a%1/b", "hexadecimal digits" },
    { "/%1g", "hexadecimal digits" },
    { "/%g1", "hexadecimal digits" },
    { "/a?b", "must be escaped" },
    { "/a#b", "must be escaped" },
    { "/a b", "must be escaped" },
    { "/a\n", "must be escaped" },
    { "/a\x7f", "must be escaped" },
    { "/a=b", "a type must stand before =" },
    { "/=b", "a type must stand before =" },
    { "/0=b", "a type must stand before =" },
    { "/08=b", "a type must stand before =" },
    { "/65536=b", "a type must stand before =" },
    { "/18446744073709551624=b", "a type must stand before =" },
    { "/SEG=1", "a type must stand before =" },
    { "/seg=", "a number from 0" },
    { "/seg=-1", "a number from 0" },
    { "/seg=%30", "a number from 0" },
    { "/v=1x", "a number from 0" },
    { "/v=18446744073709551616", "a number from 0" },
    { "/v=184467440737095516150", "a number from 0" },
    { "/1=a", "32 bytes" },
    { "/2=...", "32 bytes" },
    { "/sha256digest=", "64 hexadecimal digits" },
    { "/sha256digest=0" DIGITS, "64 hexadecimal digits" },
    { "/params-sha256=" DIGITS "00", "64 hexadecimal digits" },
    { "/params-sha256=x00102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", "64 hexadecimal digits" },
};

START_TEST(texts_that_are_no_name) {
    uint8_t room[64] = "abc";
    struct ndn_out o = { room, 3, sizeof room, false };
    struct ndn_name name;
    char *error = NULL;

    ck_assert_int_eq(ndn_name_parse(wrong_texts[_i].text, &o, &name, &error), -1);
    ck_assert_msg(error && strstr(error, wrong_texts[_i].why), "%s: %s", wrong_texts[_i].text, error);
    ck_assert(o.n == 3 && !o.full && !memcmp(room, "abc", 3));
    ck_assert_int_eq(ndn_name_parse(wrong_texts[_i].text, &o, &name, NULL), -1);
    free(error);
}
END_TEST

START_TEST(a_name_is_put_behind_what_is_there) {
    uint8_t room[16] = "abc";

    for (size_t n = 3; n <= sizeof room; n++) {
        struct ndn_out o = { room, 3, n, false };
        struct ndn_name name;
        char *error = NULL;
        bool fits = n >= 3 + 6;

        ck_assert_int_eq(ndn_name_parse("/a/b", &o, &name, &error), fits ? 0 : -1);
        ck_assert_uint_eq(o.n, fits ? 9 : 3);
        ck_assert(fits || strstr(error, "too long"));
        if (fits) ck_assert(name.bytes.at == room + 3 && span_is(name.bytes, "\b\001a\b\001b") && name.n == 2);
        free(error);
    }
}
END_TEST

START_TEST(print_is_cut_short) {
    static const char *const texts[] = { "/", "/a%20b/.../v=1/seg=99999", ("/sha256digest=" DIGITS) };
    uint8_t room[SPAN_ROOM];

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct ndn_name name = name_of(texts[i], room);
        size_t whole = strlen(texts[i]);

        for (size_t n = 0; n < whole + 3; n++) {
            char *out = malloc(n ? n : 1);
            ck_assert_uint_eq(ndn_name_print(&name, n ? out : NULL, n), whole);
            if (n) {
                ck_assert_uint_eq(strlen(out), n <= whole ? n - 1 : whole);
                ck_assert_int_eq(strncmp(out, texts[i], n - 1), 0);
            }
            free(out);
        }
    }
}
END_TEST

START_TEST(random_names_survive_text) {
    uint64_t seed = (uint64_t)_i;
    uint8_t room[SPAN_ROOM], again[SPAN_ROOM];

    for (int round = 0; round < 3000; round++) {
        struct ndn_name name = chance_name(&seed, 40, room), same = name_of(text_of_name(&name), again);
        ck_assert_msg(ndn_name_equal(&name, &same) && name.n == same.n, "%s", text_of_name(&name));
    }
}
END_TEST

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *why, *hex;
} wrong_names[] = {
    { "type 0", "0000" },
    { "a type of more than two octets", "fe0001000000" },
    { "a component that is cut", "080161 0802 61" },
    { "a length that is not short", "08fd0001 61" },
    { "a byte behind the last", "080161 08" },
    { "a digest of 31 bytes", "011f *31 00" },
    { "a digest of 33 bytes", "0221 *33 00" },
    { "an empty digest", "0200" },
};

START_TEST(bytes_that_are_no_name) {
    struct ndn_span bytes = span_of(wrong_names[_i].hex);
    struct ndn_name name;
    ck_assert_msg(!ndn_name_read(bytes, &name), "%s", wrong_names[_i].why);
    span_free(bytes);
}
END_TEST

START_TEST(a_name_has_128_components) {
    char text[2 * 129 + 1];
    uint8_t room[SPAN_ROOM];
    struct ndn_out o = ndn_out_into(room, sizeof room);
    struct ndn_name name;
    struct ndn_span bytes;
    char *error = NULL;

    for (size_t i = 0; i < 129; i++) memcpy(text + 2 * i, "/a", 3);
    ck_assert_int_eq(ndn_name_parse(text, &o, &name, &error), -1);
    ck_assert_ptr_nonnull(strstr(error, "128 components"));
    free(error);
    text[2 * 128] = 0;
    name = name_of(text, room);
    ck_assert_uint_eq(name.n, 128);
    bytes = span_copy(room, 3 * 128);
    ck_assert(ndn_name_read(bytes, &name) && name.n == 128);
    span_free(bytes);
    memcpy(room + 3 * 128, room, 3);
    bytes = span_copy(room, 3 * 129);
    ck_assert(!ndn_name_read(bytes, &name));
    span_free(bytes);
}
END_TEST

START_TEST(components_one_by_one) {
    static const char *const texts[] = { "a", "bc", "", "d" };
    static const size_t ends[] = { 0, 3, 7, 9, 12, 12, 12 };
    uint8_t room[SPAN_ROOM], no_room[SPAN_ROOM];
    struct ndn_name name = name_of("/a/bc/.../32=d", room), none = name_of("/", no_room);
    struct ndn_element c;

    for (unsigned i = 0; i < 4; i++) {
        ck_assert(ndn_name_at(&name, i, &c) && span_is(c.value, texts[i]));
        ck_assert(ndn_component_is(&c, i == 3 ? 32 : 8, texts[i]));
        ck_assert(!ndn_component_is(&c, i == 3 ? 8 : 32, texts[i]) && !ndn_component_is(&c, c.type, "x"));
    }
    ck_assert(!ndn_name_at(&name, 4, &c) && !ndn_name_at(&name, UINT32_MAX, &c) && !ndn_name_at(&none, 0, &c));
    for (unsigned n = 0; n < 7; n++) {
        struct ndn_name first = ndn_name_first(&name, n);
        ck_assert(first.n == (n < 4 ? n : 4) && first.bytes.n == ends[n] && first.bytes.at == name.bytes.at);
        ck_assert(ndn_name_begins(&name, &first) && ndn_name_begins(&first, &name) == (n >= 4));
        ck_assert(ndn_name_equal(&name, &first) == (n >= 4));
    }
    ck_assert(ndn_name_first(&none, 3).n == 0);
}
END_TEST

START_TEST(names_are_compared) {
    static const struct {
        const char *a, *b;
        bool begins;
    } rows[] = {
        { "/a/b", "/a", true },  { "/a/b", "/", true },    { "/", "/", true },        { "/ab", "/a", false },
        { "/a", "/a/b", false }, { "/8=a", "/a", true },   { "/32=a", "/a", false },  { "/v=1", "/54=%00%01", false },
        { "/a/b", "/b", false }, { "/a/...", "/a", true }, { "/a", "/a/...", false }, { "/A", "/a", false },
    };
    uint8_t ra[SPAN_ROOM], rb[SPAN_ROOM];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ndn_name a = name_of(rows[i].a, ra), b = name_of(rows[i].b, rb);
        ck_assert_msg(ndn_name_begins(&a, &b) == rows[i].begins, "%s %s", rows[i].a, rows[i].b);
        ck_assert(ndn_name_equal(&a, &b) == (rows[i].begins && a.n == b.n));
        ck_assert(ndn_name_equal(&a, &b) == ndn_name_equal(&b, &a));
    }
}
END_TEST

/* Only in their shortest form are they numbers: a longer one would be another name for the same. */
START_TEST(components_hold_numbers) {
    static const struct {
        const char *text;
        bool right;
        uint64_t n;
    } rows[] = {
        { "/seg=0", true, 0 },
        { "/seg=65536", true, 65536 },
        { "/50=%00%01", false, 0 },
        { "/v=1", false, 0 },
        { "/50=...", false, 0 },
        { "/50=%00%00%01", false, 0 },
        { "/50=%00%00%00%00%00%00%00%00", false, 0 },
        { "/%01", false, 0 },
    };
    uint8_t room[SPAN_ROOM];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ndn_name name = name_of(rows[i].text, room);
        struct ndn_element c;
        uint64_t n = 77;

        ck_assert(ndn_name_at(&name, 0, &c) && ndn_component_read(c.whole, &c));
        ck_assert_msg(ndn_component_number(&c, 50, &n) == rows[i].right, "%s", rows[i].text);
        ck_assert(!rows[i].right || n == rows[i].n);
        ck_assert_uint_eq(ndn_segment_of(&name), rows[i].right ? rows[i].n : NDN_NO_NUMBER);
        ck_assert(!rows[i].right || ndn_component_number_size(50, n) == name.bytes.n);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("ndn_name");
    TCase *t = tcase_create("name");

    tcase_add_loop_test(t, text_and_bytes, 0, ROWS(spellings));
    tcase_add_loop_test(t, other_texts_of_the_same_name, 0, ROWS(other_spellings));
    tcase_add_loop_test(t, texts_that_are_no_name, 0, ROWS(wrong_texts));
    tcase_add_test(t, a_name_is_put_behind_what_is_there);
    tcase_add_test(t, print_is_cut_short);
    tcase_add_loop_test(t, random_names_survive_text, 0, 4);
    tcase_add_loop_test(t, bytes_that_are_no_name, 0, ROWS(wrong_names));
    tcase_add_test(t, a_name_has_128_components);
    tcase_add_test(t, components_one_by_one);
    tcase_add_test(t, names_are_compared);
    tcase_add_test(t, components_hold_numbers);
    suite_add_tcase(s, t);
    return run_suite(s);
}
