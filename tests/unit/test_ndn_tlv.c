/* SPDX-License-Identifier: BSD-2-Clause */
/* test_ndn_tlv.c - elements: read where they are right and only there, written into the room that there is. */
#include "run_suite.h"
#include "test_ndn.h"
#include "test_ndn_captured.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *hex;
    uint32_t type;
    size_t length, behind; /* of the value; bytes that come behind the element */
} right_elements[] = {
    { "0100", 1, 0, 0 },
    { "0800", 8, 0, 0 },
    { "080161", 8, 1, 0 },
    { "080161 0800", 8, 1, 2 },
    { "fc00", 252, 0, 0 },
    { "fd00fd00", 253, 0, 0 },
    { "fdffff00", 65535, 0, 0 },
    { "fe0001000000", 65536, 0, 0 },
    { "feffffffff00", UINT32_MAX, 0, 0 },
    { "08fc *252 61", 8, 252, 0 },
    { "08fd00fd *253 61 ff", 8, 253, 1 },
    { "08fd1000 *4096 61", 8, 4096, 0 },
    { "fe00010000 fd0100 *256 61", 65536, 256, 0 },
};

START_TEST(right_elements_are_read) {
    struct ndn_span whole = span_of(right_elements[_i].hex), in = whole;
    struct ndn_element e;

    ck_assert(ndn_next(&in, &e));
    ck_assert_uint_eq(e.type, right_elements[_i].type);
    ck_assert_uint_eq(e.value.n, right_elements[_i].length);
    ck_assert_uint_eq(in.n, right_elements[_i].behind);
    ck_assert_ptr_eq(e.whole.at, whole.at);
    ck_assert_ptr_eq(e.whole.at + e.whole.n, in.at);
    ck_assert_ptr_eq(e.value.at + e.value.n, in.at);
    ck_assert(ndn_whole(whole, &e) == !right_elements[_i].behind);
    span_free(whole);
}
END_TEST

static const struct {
    const char *why, *hex;
} wrong_elements[] = {
    { "nothing", "" },
    { "no length", "08" },
    { "no value", "0801" },
    { "a value that is too short", "0803 6161" },
    { "type 0", "0000" },
    { "half a type", "fd01" },
    { "half a type of four octets", "fe000100" },
    { "half a type of eight octets", "ff000000010000" },
    { "a type of eight octets", "ff0000000100000000 00" },
    { "a type in three octets that fits into one", "fd00fc 00" },
    { "a type in five octets that fits into three", "fe0000ffff 00" },
    { "a type in nine octets that fits into five", "ff00000000ffffffff 00" },
    { "type 0 in three octets", "fd0000 00" },
    { "half a length", "08fd01" },
    { "a length in three octets that fits into one", "08fd0001 61" },
    { "a length in five octets that fits into three", "08fe00000100 *256 61" },
    { "a length in nine octets that fits into five", "08ff0000000000010000 61" },
    { "a length of 2^32", "08ff0000000100000000 61" },
    { "the greatest length", "08ffffffffffffffffff 61" },
    { "a length that ends where a size does", "08fffffffffffffffff6 61" },
};

START_TEST(wrong_elements_are_refused) {
    struct ndn_span whole = span_of(wrong_elements[_i].hex), in = whole;
    struct ndn_element e;

    ck_assert_msg(!ndn_next(&in, &e), "%s", wrong_elements[_i].why);
    ck_assert_ptr_eq(in.at, whole.at);
    ck_assert_uint_eq(in.n, whole.n);
    ck_assert(!ndn_whole(whole, &e));
    span_free(whole);
}
END_TEST

START_TEST(numbers_have_1_2_4_or_8_octets) {
    static const struct {
        const char *hex;
        bool right;
        uint64_t n;
    } rows[] = {
        { "", false, 0 },
        { "00", true, 0 },
        { "ff", true, 255 },
        { "0100", true, 256 },
        { "0001", true, 1 },
        { "000001", false, 0 },
        { "00010000", true, 65536 },
        { "0000000001", false, 0 },
        { "000000000001", false, 0 },
        { "00000000000001", false, 0 },
        { "0000000100000000", true, UINT64_C(1) << 32 },
        { "ffffffffffffffff", true, UINT64_MAX },
        { "000000000000000001", false, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ndn_span value = span_of(rows[i].hex);
        uint64_t n = 0;
        ck_assert(ndn_number(value, &n) == rows[i].right);
        ck_assert_uint_eq(n, rows[i].n);
        span_free(value);
    }
}
END_TEST

/* Of what was named as 7, 20 and 22: which are there, or why it is refused. */
START_TEST(fields_stand_in_their_order) {
    static const uint32_t types[] = { 7, 20, 22 };
    static const struct {
        const char *hex, *there, *why;
    } rows[] = {
        { "", "---", NULL },
        { "0700 1400 1600", "xxx", NULL },
        { "0700 1600", "x-x", NULL },
        { "1400", "-x-", NULL },
        { "2000 0700 2000 2000 1600 fd080000", "x-x", NULL },
        { "1400 0700", NULL, "out of its place" },
        { "0700 0700", NULL, "twice" },
        { "0700 1600 1400", NULL, "out of its place" },
        { "0700 2100", NULL, "not known" },
        { "1f00", NULL, "not known" },
        { "1e00", NULL, "not known" },
        { "fd080100", NULL, "not known" },
        { "0700 14", NULL, "fit" },
        { "0700 1401", NULL, "fit" },
        { "0700 fd001400", NULL, "shortest" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ndn_span in = span_of(rows[i].hex);
        struct ndn_element found[3];
        const char *wrong = ndn_fields(in, types, 3, ndn_is_critical, found);

        if (rows[i].why) ck_assert_msg(wrong && strstr(wrong, rows[i].why), "%s: %s", rows[i].hex, wrong);
        else ck_assert_msg(!wrong, "%s: %s", rows[i].hex, wrong);
        for (size_t k = 0; !rows[i].why && k < 3; k++)
            ck_assert_uint_eq(found[k].type, rows[i].there[k] == 'x' ? types[k] : 0);
        span_free(in);
    }
}
END_TEST

START_TEST(some_types_have_to_be_known) {
    static const struct {
        uint32_t type;
        bool critical;
    } rows[] = { { 1, true },    { 8, true },   { 30, true },      { 31, true },     { 32, false },       { 33, true },
                 { 252, false }, { 253, true }, { 0xf520, false }, { 0xf521, true }, { UINT32_MAX, true } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert(ndn_is_critical(rows[i].type) == rows[i].critical);
}
END_TEST

/* ---- streams ----------------------------------------------------------------------------------------------------- */

START_TEST(packets_are_framed) {
    static const struct {
        const char *hex;
        int length;
    } rows[] = {
        { "", 0 },
        { "05", 0 },
        { "0500", 2 },
        { "0605 61", 7 },
        { "64fc", 254 },
        { "06fd", 0 },
        { "06fd10", 0 },
        { "06fd1000", 4100 },
        { "06fd225c", 8800 },
        { "06fd225d", -1 }, /* 8,801 bytes */
        { "06fdffff", -1 },
        { "06fe", 0 },
        { "06fe00010000", -1 },
        { "06fe00001000", -1 }, /* not its shortest form */
        { "06fd00fc", -1 },
        { "06ffffffffffffffffff", -1 },
        { "0700", -1 },
        { "00", -1 },
        { "fd0005", -1 },
        { "474554202f", -1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ndn_span in = span_of(rows[i].hex);
        ck_assert_msg(ndn_framed(in.at, in.n) == rows[i].length, "%s", rows[i].hex);
        span_free(in);
    }
}
END_TEST

/* However few of its bytes came: what is said of a packet is right, or that more must come. */
START_TEST(a_beginning_frames_as_the_whole) {
    struct ndn_span whole = span_of(captured_data[_i].hex);

    for (size_t n = 0; n <= whole.n; n++) {
        struct ndn_span part = span_copy(whole.at, n);
        int length = ndn_framed(part.at, part.n);
        ck_assert(length == (int)whole.n || (!length && n < 4));
        span_free(part);
    }
    span_free(whole);
}
END_TEST

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static const struct {
    uint64_t n;
    const char *var, *number;
} written[] = {
    { 0, "00", "00" },
    { 1, "01", "01" },
    { 252, "fc", "fc" },
    { 253, "fd00fd", "fd" },
    { 255, "fd00ff", "ff" },
    { 256, "fd0100", "0100" },
    { 65535, "fdffff", "ffff" },
    { 65536, "fe00010000", "00010000" },
    { UINT32_MAX, "feffffffff", "ffffffff" },
    { UINT64_C(1) << 32, "ff0000000100000000", "0000000100000000" },
    { UINT64_MAX, "ffffffffffffffffff", "ffffffffffffffff" },
};

START_TEST(numbers_are_written_short) {
    uint8_t room[32];
    struct ndn_out o = ndn_out_into(room, sizeof room);
    struct ndn_span var = span_of(written[_i].var), number = span_of(written[_i].number);
    struct ndn_element e;

    ndn_put_var(&o, written[_i].n);
    ck_assert(span_equal((struct ndn_span){ room, o.n }, var));
    ck_assert_uint_eq(ndn_var_size(written[_i].n), var.n);
    o = ndn_out_into(room, sizeof room);
    ndn_put_number(&o, 300, written[_i].n);
    ck_assert(ndn_whole((struct ndn_span){ room, o.n }, &e) && e.type == 300 && span_equal(e.value, number));
    ck_assert_uint_eq(ndn_number_size(300, written[_i].n), o.n);
    span_free(var);
    span_free(number);
}
END_TEST

static void put_all(struct ndn_out *o) {
    size_t outer = ndn_put_open(o, NDN_DATA, 400);
    ndn_put_element(o, NDN_GENERIC_COMPONENT, "abc", 3);
    ndn_put_number(o, NDN_OUR_WINDOW, 70000);
    ndn_put(o, NULL, 0);
    ndn_put_close(o, outer);
}

/* With any less room it is full, and not a byte stands behind the room. */
START_TEST(what_does_not_fit_is_not_written) {
    uint8_t all[32];
    struct ndn_out whole = ndn_out_into(all, sizeof all), o;
    size_t n;

    put_all(&whole);
    ck_assert(!whole.full);
    for (size_t room = 0; room < whole.n + 8; room++) {
        struct ndn_span exact = span_copy(all, room < sizeof all ? room : sizeof all);
        o = ndn_out_into((void *)(uintptr_t)exact.at, exact.n);
        put_all(&o);
        ck_assert_uint_le(o.n, room);
        ck_assert(o.full == (room < whole.n + 2)); /* a length of 400 would have two more octets */
        ndn_put(&o, "", o.full ? 0 : 100);
        ck_assert(o.full);
        n = o.n;
        ndn_put_var(&o, 1); /* nor what would fit, behind a gap */
        ck_assert_uint_eq(o.n, n);
        span_free(exact);
    }
}
END_TEST

/* Around each length at which another octet is needed; `most` is right, or more than it. */
START_TEST(a_length_that_was_not_known_before) {
    static const size_t lengths[] = { 0, 1, 251, 252, 253, 254, 65535, 65536 };
    const size_t room = 70000;
    uint8_t *value = malloc(room), *bytes = malloc(room);
    struct ndn_element e;

    for (size_t i = 0; i < room; i++) value[i] = (uint8_t)(i * 7);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t k = i; k < sizeof lengths / sizeof *lengths; k++) {
            struct ndn_out o = ndn_out_into(bytes, room);
            size_t at;

            ndn_put(&o, "before", 6);
            at = ndn_put_open(&o, 800, lengths[k]);
            ck_assert_uint_eq(at, 6);
            ndn_put(&o, value, lengths[i]);
            ndn_put_close(&o, at);
            ck_assert(ndn_whole((struct ndn_span){ bytes + 6, o.n - 6 }, &e) && e.type == 800);
            ck_assert_uint_eq(e.value.n, lengths[i]);
            ck_assert_int_eq(memcmp(e.value.at, value, lengths[i]), 0);
            ck_assert_int_eq(memcmp(bytes, "before", 6), 0);
        }
    free(value);
    free(bytes);
}
END_TEST

START_TEST(what_is_written_is_read) {
    uint64_t seed = (uint64_t)_i;
    uint8_t room[4096];

    for (int round = 0; round < 2000; round++) {
        struct ndn_out o = ndn_out_into(room, sizeof room);
        uint64_t types[6], lengths[6];
        struct ndn_span in, whole;
        struct ndn_element e;
        size_t n = 1 + chance_below(&seed, 6);

        for (size_t i = 0; i < n; i++) {
            types[i] = 1 + chance_number(&seed) % UINT32_MAX;
            lengths[i] = chance_below(&seed, 300);
            memset(room + 3000, (int)i, lengths[i]);
            ndn_put_element(&o, (uint32_t)types[i], room + 3000, lengths[i]);
        }
        ck_assert(!o.full);
        in = whole = span_copy(room, o.n);
        for (size_t i = 0; i < n; i++) {
            ck_assert(ndn_next(&in, &e) && e.type == types[i] && e.value.n == lengths[i]);
            ck_assert(!lengths[i] || (e.value.at[0] == i && e.value.at[lengths[i] - 1] == i));
            ck_assert_uint_eq(e.whole.n, ndn_element_size(e.type, e.value.n));
        }
        ck_assert_uint_eq(in.n, 0);
        span_free(whole);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("ndn_tlv");
    TCase *t = tcase_create("tlv");

    tcase_add_loop_test(t, right_elements_are_read, 0, ROWS(right_elements));
    tcase_add_loop_test(t, wrong_elements_are_refused, 0, ROWS(wrong_elements));
    tcase_add_test(t, numbers_have_1_2_4_or_8_octets);
    tcase_add_test(t, fields_stand_in_their_order);
    tcase_add_test(t, some_types_have_to_be_known);
    tcase_add_test(t, packets_are_framed);
    tcase_add_loop_test(t, a_beginning_frames_as_the_whole, 0, ROWS(captured_data));
    tcase_add_loop_test(t, numbers_are_written_short, 0, ROWS(written));
    tcase_add_test(t, what_does_not_fit_is_not_written);
    tcase_add_test(t, a_length_that_was_not_known_before);
    tcase_add_loop_test(t, what_is_written_is_read, 0, 4);
    suite_add_tcase(s, t);
    return run_suite(s);
}
