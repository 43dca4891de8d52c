/* SPDX-License-Identifier: BSD-2-Clause */
/* test_ndn_packet.c - Interests and Data: what is right is read as it was meant, everything else is refused. */
#include "run_suite.h"
#include "test_ndn_captured.h"
#include "test_ndn_key.h"

#define A      "07{08{61}}" /* the name /a */
#define DIGEST "02{*32 dd}" /* in an Interest's name: that of its parameters */
#define INFO   "16{1b{00}}"
#define SIGNED INFO "17{*32 00}"

/* ---- reading Interests ------------------------------------------------------------------------------------------- */

/* Its DIGEST becomes that of its parameters. */
static struct ndn_span interest_of(const char *value) {
    char text[6000];
    struct ndn_span packet, told;
    struct ndn_element whole, e;
    uint8_t *place;

    snprintf(text, sizeof text, "05{%s}", value);
    packet = span_of(text);
    place = memmem(packet.at, packet.n, "\x02\x20\xdd\xdd\xdd\xdd", 6);
    ck_assert(ndn_whole(packet, &whole));
    for (struct ndn_span in = whole.value; place && ndn_next(&in, &e);)
        if (e.type == NDN_PARAMETERS) {
            told = (struct ndn_span){ e.whole.at, (size_t)(packet.at + packet.n - e.whole.at) };
            ndn_digest(&told, 1, place + 2);
            break;
        }
    return packet;
}

START_TEST(all_that_an_interest_can_say) {
    struct ndn_span packet =
        interest_of(A "21{} 12{} 1e{07{08{62}} 07{08{63}}} 0a{01020304} 0c{03e8} 22{05} fd03e8{61}");
    struct ndn_interest i;
    const char *wrong = ndn_interest_read(packet, &i);

    ck_assert_msg(!wrong, "%s", wrong);
    ck_assert_str_eq(text_of_name(&i.name), "/a");
    ck_assert(i.can_be_prefix && i.must_be_fresh && i.has_nonce && !i.has_parameters && !i.is_signed);
    ck_assert(i.nonce == 0x01020304 && i.lifetime_ms == 1000 && i.hop_limit == 5);
    span_free(packet);
}
END_TEST

START_TEST(an_interest_that_says_little) {
    struct ndn_span packet = interest_of(A);
    struct ndn_interest i;

    ck_assert_ptr_null(ndn_interest_read(packet, &i));
    ck_assert(!i.can_be_prefix && !i.must_be_fresh && !i.has_nonce && !i.has_parameters && !i.is_signed);
    ck_assert(i.lifetime_ms == NDN_LIFETIME_USUAL_MS && i.hop_limit == 255);
    ck_assert(i.signature.time == NDN_NO_NUMBER && i.signature.seq == NDN_NO_NUMBER);
    span_free(packet);
}
END_TEST

START_TEST(all_that_a_signed_interest_can_say) {
    struct ndn_span packet = interest_of("07{08{61}" DIGEST "} 0a{01020304} 24{6162} 2c{1b{04} 1c{07{08{6b}}} "
                                         "26{0102030405060708} 28{000001a1fbf24d96} 2a{07} 2e00} 2e{*32 00}");
    struct ndn_interest i;
    const char *wrong = ndn_interest_read(packet, &i);

    ck_assert_msg(!wrong, "%s", wrong);
    ck_assert(i.has_parameters && i.is_signed && i.digest_at == 1 && span_is(i.parameters, "ab"));
    ck_assert(i.signature.type == NDN_SIGNED_HMAC && i.signature.nonce.n == 8 && i.signature.nonce.at[7] == 8);
    ck_assert(i.signature.time == 0x1a1fbf24d96 && i.signature.seq == 7 && i.signature.value.n == 32);
    ck_assert_str_eq(text_of_name(&i.signature.key), "/k");
    ck_assert(i.signature.ncovered == 2 && span_is(i.signature.covered[0], "\b\001a"));
    ck_assert_ptr_eq(i.signature.covered[1].at, i.parameters.at - 2);
    ck_assert_ptr_eq(i.signature.covered[1].at + i.signature.covered[1].n, i.signature.value.at - 2);
    span_free(packet);
}
END_TEST

/* Four generic components more: a name like others, and nothing was verified. */
START_TEST(the_signed_interest_of_2014_is_a_name) {
    struct ndn_span packet = interest_of("07{08{61} 08{000001a1fbf24d96} 08{0102030405060708} 08{16{1b{00}}} "
                                         "08{17{*32 77}}} 0a{01020304}");
    struct ndn_interest i;

    ck_assert_ptr_null(ndn_interest_read(packet, &i));
    ck_assert(i.name.n == 5 && !i.is_signed && !i.has_parameters);
    span_free(packet);
}
END_TEST

static const struct {
    const char *why, *value;
} wrong_interests[] = {
    { "must come first", "" },
    { "must come first", "0a{01020304}" },
    { "must come first", "2000 " A },
    { "out of its place", "2100 " A },
    { "1 to 128 components", "0700" },
    { "1 to 128 components", "07{0801}" },
    { "1 to 128 components", "07{08{61}08}" },
    { "1 to 128 components", "07{0000}" },
    { "1 to 128 components", "07{01{00}}" },
    { "1 to 128 components", "07{*128 [0800] 0800}" },
    { "out of its place", A A },
    { "out of its place", A "1200 2100" },
    { "out of its place", A "2100 2100" },
    { "out of its place", A "0c{01} 0a{01020304}" },
    { "out of its place", A "22{01} 0a{01020304}" },
    { "out of its place", A "22{01} 22{01}" },
    { "out of its place", "07{" DIGEST "} 2400 2400" },
    { "out of its place", "07{" DIGEST "} 2400 22{01}" },
    { "not known", A "0900" }, /* Selectors of 2014 */
    { "not known", A "1400" },
    { "not known", A "2300" },
    { "not known", A "fd03e900" },
    { "fit", A "0a" },
    { "fit", A "0a04 010203" },
    { "fit", A "0afd0004 01020304" },
    { "fit", A "00" },
    { "CanBePrefix", A "21{00}" },
    { "MustBeFresh", A "12{00}" },
    { "ForwardingHint", A "1e{61}" },
    { "ForwardingHint", A "1e{0702}" },
    { "ForwardingHint", A "1e{07{0801}}" },
    { "ForwardingHint", A "1e{1f00}" },
    { "Nonce", A "0a00" },
    { "Nonce", A "0a{010203}" },
    { "Nonce", A "0a{0102030405}" },
    { "Nonce", A "0a{0102030405060708}" },
    { "InterestLifetime", A "0c00" },
    { "InterestLifetime", A "0c{010203}" },
    { "HopLimit", A "2200" },
    { "HopLimit", A "22{0001}" },
    { "one digest", A "2400" },
    { "one digest", A "24{61}" },
    { "one digest", "07{" DIGEST DIGEST "} 2400" },
    { "must not be in the name", "07{08{61}" DIGEST "}" },
    { "must not be in the name", "07{" DIGEST "} 0a{01020304}" },
    { "that of the parameters", "07{02{*32 00}} 2400" },
    { "behind parameters", A "2c{1b{00}}" },
    { "behind parameters", A "2e{61}" },
    { "not known", "07{" DIGEST "} 24{61} 0900" },
    { "one is not there", "07{" DIGEST "} 2400 2c{1b{00}}" },
    { "one is not there", "07{" DIGEST "} 2400 2e{61}" },
    { "out of its place", "07{" DIGEST "} 2400 2e{61} 2c{1b{00}}" },
    { "out of its place", "07{" DIGEST "} 2400 2c{1b{00}} 2e{61} 2e{61}" },
    { "must end with the digest", "07{08{61}" DIGEST "32{00}} 2400 2c{1b{00}} 2e{61}" },
    { "SignatureType", "07{" DIGEST "} 2400 2c00 2e{61}" },
    { "SignatureType", "07{" DIGEST "} 2400 2c{1b00} 2e{61}" },
    { "SignatureType", "07{" DIGEST "} 2400 2c{1b{010203}} 2e{61}" },
    { "SignatureType", "07{" DIGEST "} 2400 2c{26{01}} 2e{61}" },
    { "a Name or a KeyDigest", "07{" DIGEST "} 2400 2c{1b{04} 1c00} 2e{61}" },
    { "a Name or a KeyDigest", "07{" DIGEST "} 2400 2c{1b{04} 1c{07{08{6b}} 1d{61}}} 2e{61}" },
    { "SignatureNonce", "07{" DIGEST "} 2400 2c{1b{00} 2600} 2e{61}" },
    { "SignatureTime", "07{" DIGEST "} 2400 2c{1b{00} 2800} 2e{61}" },
    { "SignatureTime", "07{" DIGEST "} 2400 2c{1b{00} 28{ffffffffffffffff}} 2e{61}" },
    { "SignatureSeqNum", "07{" DIGEST "} 2400 2c{1b{00} 2a{010203}} 2e{61}" },
    { "out of its place", "07{" DIGEST "} 2400 2c{1b{00} 28{01} 26{01}} 2e{61}" },
    { "not known", "07{" DIGEST "} 2400 2c{1b{00} fd00fd00} 2e{61}" }, /* ValidityPeriod is for certificates */
};

START_TEST(wrong_interests_are_refused) {
    struct ndn_span packet = interest_of(wrong_interests[_i].value);
    struct ndn_interest i;
    const char *wrong = ndn_interest_read(packet, &i);

    ck_assert_msg(wrong && strstr(wrong, wrong_interests[_i].why), "%s: %s", wrong_interests[_i].value, wrong);
    span_free(packet);
}
END_TEST

/* What stands behind the parameters, and may; where their digest stands in the name. */
static const struct {
    const char *value;
    bool is_signed;
    unsigned digest_at;
} parameterized[] = {
    { "07{" DIGEST "} 2400", false, 0 },
    { "07{08{61}" DIGEST "} 24{61}", false, 1 },
    { "07{08{61}" DIGEST "36{01}32{00}} 24{61}", false, 1 },
    { "07{08{61}" DIGEST "} 24{61} 2000 fd03e8{61}", false, 1 },
    { "07{" DIGEST "} 2400 2c{1b{00}} 2e{61}", true, 0 },
    { "07{" DIGEST "} 2400 2c{1b{00}} 2e00", true, 0 },
    { "07{" DIGEST "} 2400 2c{1b{0100}} 2e{61}", true, 0 },
    { "07{" DIGEST "} 2400 2000 2c{1b{00}} 2000 2e{61} 2000", true, 0 },
    { "07{" DIGEST "} 2400 2c{1b{00} 1c{ff}} 2e{61}", true, 0 }, /* a digest's locator is to be ignored */
    { "07{" DIGEST "} 2400 2c{1b{c8} 1c{1d{616263}}} 2e{61}", true, 0 },
};

START_TEST(parameters_and_their_digest) {
    struct ndn_span packet = interest_of(parameterized[_i].value), changed;
    struct ndn_interest i;
    const char *wrong = ndn_interest_read(packet, &i);
    size_t from;

    ck_assert_msg(!wrong, "%s: %s", parameterized[_i].value, wrong);
    ck_assert(i.has_parameters && i.is_signed == parameterized[_i].is_signed);
    ck_assert_uint_eq(i.digest_at, parameterized[_i].digest_at);
    from = (size_t)(i.parameters.at - packet.at) - 2;
    for (size_t bit = 8 * from; bit < 8 * packet.n; bit++) {
        changed = span_copy(packet.at, packet.n);
        ((uint8_t *)(uintptr_t)changed.at)[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_ptr_nonnull(ndn_interest_read(changed, &i));
        span_free(changed);
    }
    span_free(packet);
}
END_TEST

START_TEST(interests_of_others_are_read) {
    struct ndn_span packet = span_of(captured_interests[_i].hex);
    struct ndn_interest i;
    const char *wrong = ndn_interest_read(packet, &i);

    ck_assert_msg(!wrong, "%s: %s", captured_interests[_i].name, wrong);
    ck_assert_str_eq(text_of_name(&i.name), captured_interests[_i].name);
    ck_assert(i.has_nonce && i.is_signed == (captured_interests[_i].signature >= 0));
    ck_assert(i.can_be_prefix == !!strstr(captured_interests[_i].name, "metadata") ||
              strstr(captured_interests[_i].name, "Param1"));
    if (i.is_signed) ck_assert(i.signature.nonce.n == 8 && i.signature.time >> 40 == 1);
    span_free(packet);
}
END_TEST

/* ---- reading Data ------------------------------------------------------------------------------------------------ */

static struct ndn_span data_of(const char *value) {
    char text[20000];
    snprintf(text, sizeof text, "06{%s}", value);
    return span_of(text);
}

START_TEST(all_that_data_can_say) {
    struct ndn_span packet = data_of("07{08{61}32{03}} 14{18{03} 19{03e8} 1a{32{0e}} fdf520{0d} fdf522{0194} "
                                     "fdf524{746578742f68746d6c} fdf526{2f62} fdf528{677a6970} fdf52e00} 15{6162} 2000 "
                                     "16{1b{04} 1c{07{08{6b}}}} 17{*32 00} 2000");
    struct ndn_data d;
    const char *wrong = ndn_data_read(packet, &d);

    ck_assert_msg(!wrong, "%s", wrong);
    ck_assert_str_eq(text_of_name(&d.name), "/a/seg=3");
    ck_assert(d.content_type == NDN_NO && d.freshness_ms == 1000 && d.has_final && ndn_data_last(&d) == 14);
    ck_assert(d.window == 13 && d.status == 404 && span_is(d.media_type, "text/html") && span_is(d.location, "/b"));
    ck_assert(span_is(d.encoding, "gzip") && !d.seal.n);
    ck_assert(span_is(d.content, "ab") && ndn_segment_of(&d.name) == 3);
    ck_assert(d.signature.type == NDN_SIGNED_HMAC && d.signature.value.n == 32 && d.signature.ncovered == 1);
    ck_assert_str_eq(text_of_name(&d.signature.key), "/k");
    ck_assert_ptr_eq(d.signature.covered[0].at, d.name.bytes.at - 2);
    ck_assert_ptr_eq(d.signature.covered[0].at + d.signature.covered[0].n, d.signature.value.at - 2);
    span_free(packet);
}
END_TEST

START_TEST(data_that_says_little) {
    struct ndn_span packet = data_of(A SIGNED);
    struct ndn_data d;

    ck_assert_ptr_null(ndn_data_read(packet, &d));
    ck_assert(d.content_type == NDN_BLOB && !d.freshness_ms && !d.has_final && !d.content.n && !d.media_type.n);
    ck_assert(d.window == NDN_NO_NUMBER && d.status == NDN_NO_NUMBER && !d.location.n && !d.encoding.n &&
              !d.signature.key.n);
    ck_assert(ndn_data_last(&d) == NDN_NO_NUMBER && ndn_segment_of(&d.name) == NDN_NO_NUMBER);
    span_free(packet);
}
END_TEST

START_TEST(data_may_say_more) {
    static const char *const values[] = {
        "07{08{61}" DIGEST "}" SIGNED,                   /* Data's name may hold any digest */
        A "16{1b{03} 1c{07{08{6b}}} fd00fd{ff}} 17{61}", /* ValidityPeriod */
        A "16{1b{03} 1c{1d{*32 01}} fd010200} 17{61}",   /* AdditionalDescription */
        A "16{1b{c8}} 1700",                             /* no signature, of a type that we don't know */
        A "14{1a{08{6c617374}}}" SIGNED,                 /* the last one's name is no number */
        A "14{fdf524{*128 61} fdf526{*1024 61} fdf528{*64 61}}" SIGNED,
        A "14{fdf52800 fdf52a{*32 61}}" SIGNED,
        A "1400 1500" SIGNED,
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct ndn_span packet = data_of(values[i]);
        struct ndn_data d;
        const char *wrong = ndn_data_read(packet, &d);
        ck_assert_msg(!wrong, "%s: %s", values[i], wrong);
        ck_assert(ndn_data_last(&d) == NDN_NO_NUMBER);
        span_free(packet);
    }
}
END_TEST

static const struct {
    const char *why, *value;
} wrong_data[] = {
    { "must come first", "" },
    { "must come first", SIGNED },
    { "must come first", "2000" A SIGNED },
    { "1 to 128 components", "0700" SIGNED },
    { "1 to 128 components", "07{02{61}}" SIGNED },
    { "1 to 128 components", "07{*129 [0800]}" SIGNED },
    { "out of its place", A A SIGNED },
    { "out of its place", A "1500 1400" SIGNED },
    { "out of its place", A "1500 1500" SIGNED },
    { "out of its place", A SIGNED "1500" },
    { "out of its place", A "1700" INFO },
    { "must be there", A },
    { "must be there", A INFO },
    { "must be there", A "1700" },
    { "not known", A "0a{01020304}" SIGNED },
    { "not known", A "2100" SIGNED },
    { "not known", A SIGNED "2100" },
    { "not known", A "14{1b{00}}" SIGNED },
    { "not known", A "14{fdf52100}" SIGNED },
    { "not known", A "16{1b{00} fd010300} 1700" },
    { "fit", A "14{18}" SIGNED },
    { "fit", A "14{1801}" SIGNED },
    { "fit", A "15fd0001 61" SIGNED },
    { "out of its place", A "14{19{01} 18{01}}" SIGNED },
    { "out of its place", A "14{fdf520{01} 1a{32{00}}}" SIGNED },
    { "ContentType", A "14{1800}" SIGNED },
    { "FreshnessPeriod", A "14{19{010203}}" SIGNED },
    { "FinalBlockId", A "14{1a00}" SIGNED },
    { "FinalBlockId", A "14{1a{3201}}" SIGNED },
    { "FinalBlockId", A "14{1a{32{00}32{00}}}" SIGNED },
    { "FinalBlockId", A "14{1a{02{61}}}" SIGNED },
    { "FinalBlockId", A "14{1a{fe0001000000}}" SIGNED },
    { "window", A "14{fdf52000}" SIGNED },
    { "status", A "14{fdf522{010203}}" SIGNED },
    { "media type", A "14{fdf524{*129 61}}" SIGNED },
    { "location", A "14{fdf526{*1025 61}}" SIGNED },
    { "encoding", A "14{fdf528{*65 61}}" SIGNED },
    { "out of its place", A "14{fdf528{61} fdf526{61}}" SIGNED },
    { "out of its place", A "14{fdf52a{*32 61} fdf528{61}}" SIGNED },
    { "out of its place", A "14{fdf528{61} fdf528{61}}" SIGNED },
    { "SignatureType", A "1600 1700" },
    { "SignatureType", A "16{1b{010203}} 1700" },
    { "a Name or a KeyDigest", A "16{1b{03} 1c00} 1700" },
    { "a Name or a KeyDigest", A "16{1b{03} 1c{2000}} 1700" },
    { "KeyDigest must not", A "16{1b{03} 1c{1d00}} 1700" },
    { "KeyLocator's Name", A "16{1b{03} 1c{0700}} 1700" },
    { "KeyLocator's Name", A "16{1b{03} 1c{07{61}}} 1700" },
    { "not known", A "16{1b{03} 1c{1f00}} 1700" },
    { "out of its place", A "16{1b{03} fd00fd00 1c{1d{61}}} 1700" },
};

START_TEST(wrong_data_are_refused) {
    struct ndn_span packet = data_of(wrong_data[_i].value);
    struct ndn_data d;
    const char *wrong = ndn_data_read(packet, &d);

    ck_assert_msg(wrong && strstr(wrong, wrong_data[_i].why), "%s: %s", wrong_data[_i].value, wrong);
    span_free(packet);
}
END_TEST

START_TEST(data_of_others_are_read) {
    struct ndn_span packet = span_of(captured_data[_i].hex);
    struct ndn_data d;
    const char *wrong = ndn_data_read(packet, &d), *segment = strstr(captured_data[_i].name, "seg=");

    ck_assert_msg(!wrong, "%s: %s", captured_data[_i].name, wrong);
    ck_assert_str_eq(text_of_name(&d.name), captured_data[_i].name);
    ck_assert_uint_eq(d.signature.type, (uint64_t)captured_data[_i].signature);
    ck_assert(d.content.n && d.has_final == !!strstr(captured_data[_i].hex, "1a03320100"));
    ck_assert_uint_eq(ndn_data_last(&d), d.has_final ? 0 : NDN_NO_NUMBER);
    ck_assert_uint_eq(ndn_segment_of(&d.name), segment ? 0 : NDN_NO_NUMBER);
    span_free(packet);
}
END_TEST

/* ---- the outer element ------------------------------------------------------------------------------------------- */

static const char *read_any(struct ndn_span packet, uint32_t type) {
    struct ndn_interest i;
    struct ndn_data d;
    return type == NDN_INTEREST ? ndn_interest_read(packet, &i) : ndn_data_read(packet, &d);
}

START_TEST(one_whole_packet) {
    static const struct {
        uint32_t type;
        const char *hex;
        bool right;
    } rows[] = {
        { NDN_INTEREST, "", false },
        { NDN_INTEREST, "05{" A "}", true },
        { NDN_INTEREST, "05{" A "} 00", false },
        { NDN_INTEREST, "05{" A "} 05{" A "}", false },
        { NDN_INTEREST, "05fd0005" A, false },
        { NDN_INTEREST, "06{" A "}", false },
        { NDN_INTEREST, "64{50{05{" A "}}}", false },
        { NDN_DATA, "06{" A SIGNED "}", true },
        { NDN_DATA, "05{" A SIGNED "}", false },
        { NDN_DATA, "06{" A SIGNED "} 00", false },
        { NDN_DATA, "06{" A "15{*8748 61}" SIGNED "}", true }, /* 8,800 bytes */
        { NDN_DATA, "06{" A "15{*8749 61}" SIGNED "}", false },
        { NDN_INTEREST, "05{" A "20{*8787 61}}", true },
        { NDN_INTEREST, "05{" A "20{*8788 61}}", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ndn_span packet = span_of(rows[i].hex);
        const char *wrong = read_any(packet, rows[i].type);
        ck_assert_msg(rows[i].right ? !wrong : wrong && strstr(wrong, "must be one whole"), "%s: %s", rows[i].hex,
                      wrong);
        ck_assert(!rows[i].right || packet.n < 100 || packet.n == NDN_PACKET_MAX);
        span_free(packet);
    }
}
END_TEST

/* Cut at every byte, as it is, and in an outer element that is whole again: then it may end where an element does. */
static void cut_everywhere(const char *hex, uint32_t type) {
    struct ndn_span packet = span_of(hex), cut;
    struct ndn_element whole, e;
    bool ends[NDN_PACKET_MAX] = { true };

    ck_assert(ndn_whole(packet, &whole) && !read_any(packet, type));
    for (struct ndn_span in = whole.value; ndn_next(&in, &e);) ends[in.at - whole.value.at] = true;
    for (size_t n = 0; n < packet.n; n++) {
        cut = span_copy(packet.at, n);
        ck_assert_ptr_nonnull(read_any(cut, type));
        span_free(cut);
    }
    for (size_t n = 0; n < whole.value.n; n++) {
        uint8_t bytes[NDN_PACKET_MAX];
        struct ndn_out o = ndn_out_into(bytes, sizeof bytes);
        const char *wrong;

        ndn_put_element(&o, type, whole.value.at, n);
        cut = span_copy(bytes, o.n);
        wrong = read_any(cut, type);
        ck_assert(wrong || (ends[n] && type == NDN_INTEREST));
        span_free(cut);
    }
    span_free(packet);
}

START_TEST(interests_are_cut) { cut_everywhere(captured_interests[_i].hex, NDN_INTEREST); }
END_TEST

START_TEST(data_are_cut) { cut_everywhere(captured_data[_i].hex, NDN_DATA); }
END_TEST

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void same_interest(const struct ndn_interest *a, const struct ndn_interest *b) {
    ck_assert(ndn_name_equal(&a->name, &b->name) && a->name.n == b->name.n);
    ck_assert(a->can_be_prefix == b->can_be_prefix && a->must_be_fresh == b->must_be_fresh);
    ck_assert(a->nonce == b->nonce && a->lifetime_ms == b->lifetime_ms && a->has_parameters == b->has_parameters);
    ck_assert(span_equal(a->parameters, b->parameters) && a->is_signed == b->is_signed);
    ck_assert(a->signature.type == b->signature.type && a->signature.time == b->signature.time);
    ck_assert(span_equal(a->signature.nonce, b->signature.nonce));
}

/* Its parts, from which it can be written. */
static struct ndn_interest_form form_of_interest(const struct ndn_interest *i, const struct ndn_key *key) {
    struct ndn_interest_form f = { .name =
                                       i->has_parameters ? ndn_name_first(&i->name, i->digest_at).bytes : i->name.bytes,
                                   .segment = NDN_NO_NUMBER,
                                   .can_be_prefix = i->can_be_prefix,
                                   .must_be_fresh = i->must_be_fresh,
                                   .nonce = i->nonce,
                                   .lifetime_ms = i->lifetime_ms == NDN_LIFETIME_USUAL_MS ? 0 : i->lifetime_ms,
                                   .has_parameters = i->has_parameters,
                                   .parameters = i->parameters,
                                   .key = i->is_signed ? key : NULL,
                                   .signature_time = i->signature.time };
    if (i->is_signed) memcpy(f.signature_nonce, i->signature.nonce.at, 8);
    return f;
}

/* Written from their parts they are what came over the link, byte for byte; signed anew they mean the same. */
START_TEST(interests_of_others_are_written) {
    struct ndn_span packet = span_of(captured_interests[_i].hex);
    struct ndn_key *ecdsa = captured_interests[_i].signature == NDN_SIGNED_ECDSA ? key_new(NDN_SIGNED_ECDSA) : NULL;
    uint8_t bytes[NDN_PACKET_MAX];
    struct ndn_interest i, again;
    struct ndn_interest_form f;
    size_t n;

    ck_assert_ptr_null(ndn_interest_read(packet, &i));
    f = form_of_interest(&i, ecdsa ? ecdsa : ndn_key_none());
    n = ndn_interest_write(&f, bytes, sizeof bytes);
    if (ecdsa) {
        ck_assert_ptr_null(ndn_interest_read((struct ndn_span){ bytes, n }, &again));
        again.name = i.name; /* but for the digest */
        same_interest(&i, &again);
    } else {
        ck_assert(span_equal((struct ndn_span){ bytes, n }, packet));
    }
    ndn_key_free(&ecdsa);
    span_free(packet);
}
END_TEST

static void same_data(const struct ndn_data *a, const struct ndn_data *b) {
    ck_assert(ndn_name_equal(&a->name, &b->name) && a->name.n == b->name.n);
    ck_assert(a->content_type == b->content_type && a->freshness_ms == b->freshness_ms);
    ck_assert(a->has_final == b->has_final && ndn_data_last(a) == ndn_data_last(b));
    ck_assert(a->window == b->window && a->status == b->status && span_equal(a->media_type, b->media_type));
    ck_assert(span_equal(a->location, b->location) && span_equal(a->content, b->content));
    ck_assert(span_equal(a->encoding, b->encoding));
    ck_assert(a->signature.type == b->signature.type);
}

static struct ndn_data_form form_of_data(const struct ndn_data *d, const struct ndn_key *key) {
    return (struct ndn_data_form){ .name = d->name.bytes,
                                   .segment = NDN_NO_NUMBER,
                                   .last = ndn_data_last(d),
                                   .content_type = (enum ndn_content_type)d->content_type,
                                   .freshness_ms = d->freshness_ms,
                                   .window = d->window,
                                   .status = d->status,
                                   .media_type = d->media_type,
                                   .location = d->location,
                                   .encoding = d->encoding,
                                   .content = d->content,
                                   .key = key };
}

START_TEST(data_of_others_are_written) {
    struct ndn_span packet = span_of(captured_data[_i].hex);
    int type = captured_data[_i].signature;
    struct ndn_key *key = type == NDN_SIGNED_DIGEST ? NULL : key_new((enum ndn_signature_type)type);
    bool says_blob = strstr(captured_data[_i].hex, "180100"); /* which we leave out */
    uint8_t bytes[NDN_PACKET_MAX];
    struct ndn_data d, again;
    struct ndn_data_form f;
    size_t n;

    ck_assert_ptr_null(ndn_data_read(packet, &d));
    f = form_of_data(&d, key ? key : ndn_key_none());
    n = ndn_data_write(&f, bytes, sizeof bytes);
    ck_assert_ptr_null(ndn_data_read((struct ndn_span){ bytes, n }, &again));
    same_data(&d, &again);
    ck_assert(type != NDN_SIGNED_DIGEST || says_blob || span_equal((struct ndn_span){ bytes, n }, packet));
    ndn_key_free(&key);
    span_free(packet);
}
END_TEST

static const enum ndn_signature_type key_types[] = { NDN_SIGNED_DIGEST, NDN_SIGNED_HMAC, NDN_SIGNED_ECDSA,
                                                     NDN_SIGNED_ED25519 };

static struct ndn_span chance_span(uint64_t *seed, size_t most) {
    static const uint8_t bytes[NDN_PACKET_MAX] = "any text, the same each time";
    return (struct ndn_span){ bytes, chance_below(seed, most + 1) };
}

/* With a byte less than it takes there is no room, and nothing stands behind what there is. */
static void fits_exactly(size_t n, size_t (*write)(const void *form, void *out, size_t room), const void *form) {
    size_t rooms[] = { 0, 1, 2, n / 2, n > 33 ? n - 33 : 3, n - 1 };

    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        uint8_t *room = malloc(rooms[i] ? rooms[i] : 1);
        ck_assert_uint_eq(write(form, room, rooms[i]), 0);
        free(room);
    }
}

static size_t write_data(const void *form, void *out, size_t room) { return ndn_data_write(form, out, room); }

static size_t write_interest(const void *form, void *out, size_t room) { return ndn_interest_write(form, out, room); }

/* Random forms, many of them about as long as a length that needs two octets more. */
START_TEST(random_data_survive) {
    enum ndn_signature_type type = key_types[_i % 4];
    struct ndn_key *made = type == NDN_SIGNED_DIGEST ? NULL : key_new(type);
    const struct ndn_key *key = made ? made : ndn_key_none();
    uint64_t seed = (uint64_t)_i;
    uint8_t room[SPAN_ROOM], bytes[NDN_PACKET_MAX];
    unsigned longest = 0;

    for (int round = 0; round < 400; round++) {
        struct ndn_name name = chance_name(&seed, round % 2 ? 300 : 3, room);
        struct ndn_data_form f = { .name = name.bytes,
                                   .segment = chance(&seed) % 2 ? chance_number(&seed) : NDN_NO_NUMBER,
                                   .last = chance(&seed) % 2 ? chance_number(&seed) : NDN_NO_NUMBER,
                                   .content_type = (enum ndn_content_type)(chance(&seed) % 4),
                                   .freshness_ms = chance(&seed) % 2 ? chance_number(&seed) : 0,
                                   .window = chance(&seed) % 4 ? NDN_NO_NUMBER : chance_number(&seed),
                                   .status = chance(&seed) % 4 ? NDN_NO_NUMBER : chance_number(&seed),
                                   .media_type = chance_span(&seed, round % 3 ? 0 : NDN_MEDIA_TYPE_MAX),
                                   .location = chance_span(&seed, round % 5 ? 0 : NDN_LOCATION_MAX),
                                   .encoding = chance_span(&seed, round % 4 ? 0 : NDN_ENCODING_MAX),
                                   .content = chance_span(&seed, round % 2 ? 4096 : 220),
                                   .key = key };
        size_t n = ndn_data_write(&f, bytes, sizeof bytes), most = ndn_data_room(&f);
        struct ndn_data d;
        struct ndn_span packet;
        const char *wrong;

        ck_assert(n && (n == most || (type == NDN_SIGNED_ECDSA && n < most && n + 8 >= most)));
        longest += n == most;
        packet = span_copy(bytes, n);
        wrong = ndn_data_read(packet, &d);
        ck_assert_msg(!wrong, "%s", wrong);
        ck_assert(d.name.n == name.n + (f.segment != NDN_NO_NUMBER) && ndn_name_begins(&d.name, &name));
        ck_assert(f.segment == NDN_NO_NUMBER || ndn_segment_of(&d.name) == f.segment);
        ck_assert(ndn_data_last(&d) == f.last && d.content_type == (uint64_t)f.content_type);
        ck_assert(d.freshness_ms == f.freshness_ms && d.window == f.window && d.status == f.status);
        ck_assert(span_equal(d.media_type, f.media_type) && span_equal(d.location, f.location));
        ck_assert(span_equal(d.encoding, f.encoding) && span_equal(d.content, f.content));
        ck_assert(ndn_verify(key, d.signature.type, d.signature.covered, d.signature.ncovered, d.signature.value));
        if (type != NDN_SIGNED_ECDSA) fits_exactly(n, write_data, &f);
        span_free(packet);
    }
    ck_assert_uint_gt(longest, 0); /* one in four of ecdsa's */
    ndn_key_free(&made);
}
END_TEST

START_TEST(random_interests_survive) {
    enum ndn_signature_type type = key_types[_i % 4];
    struct ndn_key *made = type == NDN_SIGNED_DIGEST ? NULL : key_new(type);
    const struct ndn_key *key = made ? made : ndn_key_none();
    uint64_t seed = (uint64_t)_i;
    uint8_t room[SPAN_ROOM], bytes[NDN_PACKET_MAX];

    for (int round = 0; round < 400; round++) {
        struct ndn_name name = chance_name(&seed, round % 2 ? 300 : 3, room);
        struct ndn_interest_form f = { .name = name.bytes,
                                       .segment = chance(&seed) % 2 ? chance_number(&seed) : NDN_NO_NUMBER,
                                       .can_be_prefix = chance(&seed) % 2,
                                       .must_be_fresh = chance(&seed) % 2,
                                       .nonce = (uint32_t)chance(&seed),
                                       .lifetime_ms = chance(&seed) % 2 ? chance_number(&seed) : 0,
                                       .has_parameters = chance(&seed) % 2,
                                       .key = chance(&seed) % 2 ? key : NULL,
                                       .signature_nonce = { 1, 2, 3, 4, 5, 6, 7, (uint8_t)round },
                                       .signature_time = chance_number(&seed) };
        struct ndn_interest i;
        struct ndn_span packet;
        const char *wrong;
        size_t n;

        if (f.has_parameters) f.parameters = chance_span(&seed, round % 2 ? 4096 : 100);
        n = ndn_interest_write(&f, bytes, sizeof bytes);
        ck_assert_uint_gt(n, 0);
        packet = span_copy(bytes, n);
        wrong = ndn_interest_read(packet, &i);
        ck_assert_msg(!wrong, "%s", wrong);
        ck_assert(i.has_parameters == (f.has_parameters || f.key) && i.is_signed == !!f.key && i.has_nonce);
        ck_assert(i.name.n == name.n + (f.segment != NDN_NO_NUMBER) + i.has_parameters);
        ck_assert(ndn_name_begins(&i.name, &name) && (!i.has_parameters || i.digest_at == i.name.n - 1));
        ck_assert(i.can_be_prefix == f.can_be_prefix && i.must_be_fresh == f.must_be_fresh && i.nonce == f.nonce);
        ck_assert(i.lifetime_ms == (f.lifetime_ms ? f.lifetime_ms : NDN_LIFETIME_USUAL_MS));
        ck_assert(span_equal(i.parameters, f.parameters));
        if (f.key) {
            ck_assert(i.signature.time == f.signature_time && i.signature.seq == NDN_NO_NUMBER);
            ck_assert_int_eq(memcmp(i.signature.nonce.at, f.signature_nonce, 8), 0);
            ck_assert(ndn_verify(key, i.signature.type, i.signature.covered, i.signature.ncovered, i.signature.value));
        }
        if (!f.key || type != NDN_SIGNED_ECDSA) fits_exactly(n, write_interest, &f);
        span_free(packet);
    }
    ndn_key_free(&made);
}
END_TEST

START_TEST(what_cannot_be_said_is_not_written) {
    static uint8_t bytes[2 * NDN_PACKET_MAX], content[NDN_PACKET_MAX];
    struct ndn_interest_form i = { .segment = NDN_NO_NUMBER };
    struct ndn_data_form d = { .segment = NDN_NO_NUMBER,
                               .last = NDN_NO_NUMBER,
                               .window = NDN_NO_NUMBER,
                               .status = NDN_NO_NUMBER,
                               .key = ndn_key_none() };
    EVP_PKEY *pair = EVP_EC_gen("P-256");
    struct ndn_key *public;

    ck_assert_uint_eq(ndn_interest_write(&i, bytes, sizeof bytes), 0); /* no name */
    ck_assert_uint_eq(ndn_data_write(&d, bytes, sizeof bytes), 0);
    i.segment = d.segment = 0;
    ck_assert_uint_gt(ndn_interest_write(&i, bytes, sizeof bytes), 0);
    i.has_parameters = true;
    i.parameters = (struct ndn_span){ content, 8747 };
    ck_assert_uint_eq(ndn_interest_write(&i, bytes, sizeof bytes), NDN_PACKET_MAX);
    i.parameters.n++;
    ck_assert_uint_eq(ndn_interest_write(&i, bytes, sizeof bytes), 0);
    i.parameters.n = 0;
    ck_assert_uint_gt(ndn_data_write(&d, bytes, sizeof bytes), 0);
    d.media_type = (struct ndn_span){ content, NDN_MEDIA_TYPE_MAX + 1 };
    ck_assert_uint_eq(ndn_data_write(&d, bytes, sizeof bytes), 0);
    d.media_type.n = 0;
    d.location = (struct ndn_span){ content, NDN_LOCATION_MAX + 1 };
    ck_assert_uint_eq(ndn_data_write(&d, bytes, sizeof bytes), 0);
    d.location.n = 0;
    d.encoding = (struct ndn_span){ content, NDN_ENCODING_MAX + 1 };
    ck_assert_uint_eq(ndn_data_write(&d, bytes, sizeof bytes), 0);
    d.encoding.n = 0;
    d.content = (struct ndn_span){ content, 8748 };
    ck_assert_uint_eq(ndn_data_write(&d, bytes, sizeof bytes), NDN_PACKET_MAX);
    d.content.n++; /* there would be room, but in no packet */
    ck_assert_uint_eq(ndn_data_write(&d, bytes, sizeof bytes), 0);
    d.content.n = 0;
    key_file_public(pair, 0644);
    d.key = i.key = public = key_from_file();
    ck_assert_uint_eq(ndn_data_write(&d, bytes, sizeof bytes), 0);
    ck_assert_uint_eq(ndn_interest_write(&i, bytes, sizeof bytes), 0);
    ndn_key_free(&public);
    EVP_PKEY_free(pair);
}
END_TEST

int main(void) {
    Suite *s = suite_create("ndn_packet");
    TCase *t = tcase_create("packet");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, all_that_an_interest_can_say);
    tcase_add_test(t, an_interest_that_says_little);
    tcase_add_test(t, all_that_a_signed_interest_can_say);
    tcase_add_test(t, the_signed_interest_of_2014_is_a_name);
    tcase_add_loop_test(t, wrong_interests_are_refused, 0, ROWS(wrong_interests));
    tcase_add_loop_test(t, parameters_and_their_digest, 0, ROWS(parameterized));
    tcase_add_loop_test(t, interests_of_others_are_read, 0, ROWS(captured_interests));
    tcase_add_test(t, all_that_data_can_say);
    tcase_add_test(t, data_that_says_little);
    tcase_add_test(t, data_may_say_more);
    tcase_add_loop_test(t, wrong_data_are_refused, 0, ROWS(wrong_data));
    tcase_add_loop_test(t, data_of_others_are_read, 0, ROWS(captured_data));
    tcase_add_test(t, one_whole_packet);
    tcase_add_loop_test(t, interests_are_cut, 0, ROWS(captured_interests));
    tcase_add_loop_test(t, data_are_cut, 0, ROWS(captured_data));
    tcase_add_loop_test(t, interests_of_others_are_written, 0, ROWS(captured_interests));
    tcase_add_loop_test(t, data_of_others_are_written, 0, ROWS(captured_data));
    tcase_add_loop_test(t, random_data_survive, 0, 8);
    tcase_add_loop_test(t, random_interests_survive, 0, 8);
    tcase_add_test(t, what_cannot_be_said_is_not_written);
    suite_add_tcase(s, t);
    return run_suite(s);
}
