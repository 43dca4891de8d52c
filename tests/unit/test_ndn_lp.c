/* SPDX-License-Identifier: BSD-2-Clause */
/* test_ndn_lp.c - what forwarders put around packets. */
#include "run_suite.h"
#include "test_ndn.h"
#include "test_ndn_captured.h"

#include "ndn/ndn_lp.h"

#define INTEREST "05{07{08{61}}}"
#define DATA     "06{07{08{61}} 16{1b{00}} 1700}"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *hex, *fragment, *token;
    bool nack;
    uint64_t reason, mark;
} right_links[] = {
    { INTEREST, INTEREST, "", false, 0, 0 },
    { DATA, DATA, "", false, 0, 0 },
    { "6400", "", "", false, 0, 0 },
    { "64{62{0102}}", "", "0102", false, 0, 0 },
    { "64{50{" INTEREST "}}", INTEREST, "", false, 0, 0 },
    { "64{62{*32 01} 50{" DATA "}}", DATA, "*32 01", false, 0, 0 },
    { "64{62{01} fd0340{01} 50{" DATA "}}", DATA, "01", false, 0, 1 },
    { "64{fd0320{fd0321{96}} 50{" INTEREST "}}", INTEREST, "", true, 150, 0 },
    { "64{fd032000 50{" INTEREST "}}", INTEREST, "", true, 0, 0 },
    { "64{62{01} fd0320{fd0321{32} fd032400} fd0340{0100} 50{" INTEREST "}}", INTEREST, "01", true, 50, 256 },
    { "64{51{0102030405060708} 50{" INTEREST "}}", INTEREST, "", false, 0, 0 },
    { "64{51{0102030405060708} 52{00} 53{01} 50{" INTEREST "}}", INTEREST, "", false, 0, 0 },
    { "64{fd032c{01} fd0330{02} fd0334{fd0335{01}} 50{" DATA "}}", DATA, "", false, 0, 0 }, /* faces, CachePolicy */
    { "64{fd0348{01} fd034400 50{" DATA "}}", DATA, "", false, 0, 0 },                      /* TxSequence, Ack */
    { "64{fd034400 fd034400}", "", "", false, 0, 0 },
    { "64{fd0344{*8790 00}}", "", "", false, 0, 0 }, /* 8,800 bytes */
};

START_TEST(links_are_read) {
    struct ndn_span packet = span_of(right_links[_i].hex), fragment = span_of(right_links[_i].fragment),
                    token = span_of(right_links[_i].token);
    struct ndn_lp lp;
    const char *wrong = ndn_lp_read(packet, &lp);

    ck_assert_msg(!wrong, "%s: %s", right_links[_i].hex, wrong);
    ck_assert(span_equal(lp.fragment, fragment) && span_equal(lp.pit_token, token));
    ck_assert(lp.nack == right_links[_i].nack && lp.nack_reason == right_links[_i].reason);
    ck_assert_uint_eq(lp.congestion_mark, right_links[_i].mark);
    ck_assert(!fragment.n || (lp.fragment.at >= packet.at && lp.fragment.at < packet.at + packet.n));
    span_free(packet);
    span_free(fragment);
    span_free(token);
}
END_TEST

static const struct {
    const char *why, *hex;
} wrong_links[] = {
    { "one whole element", "" },
    { "one whole element", "64" },
    { "one whole element", "00" },
    { "one whole element", "6401" },
    { "one whole element", "6400 00" },
    { "one whole element", INTEREST "00" },
    { "one whole element", "64fd0000" },
    { "one whole element", "64{fd0344{*8792 00}}" }, /* 8,802 bytes */
    { "must be an Interest", "07{08{61}}" },
    { "must be an Interest", "50{" INTEREST "}" },
    { "Fragment must hold", "64{5000}" },
    { "Fragment must hold", "64{50{05}}" },
    { "Fragment must hold", "64{50{" INTEREST "00}}" },
    { "Fragment must hold", "64{50{" INTEREST INTEREST "}}" },
    { "Fragment must hold", "64{50{07{08{61}}}}" },
    { "Fragment must hold", "64{50{64{50{" INTEREST "}}}}" },
    { "Nack must hold", "64{fd0320{fd0321{96}}}" },
    { "Nack must hold", "64{fd0320{fd0321{96}} 50{" DATA "}}" },
    { "NackReason", "64{fd0320{fd032100} 50{" INTEREST "}}" },
    { "NackReason", "64{fd0320{fd0321{010203}} 50{" INTEREST "}}" },
    { "out of its place", "64{fd0320{fd0321{96} fd0321{96}} 50{" INTEREST "}}" },
    { "not known", "64{fd0320{fd032200} 50{" INTEREST "}}" },
    { "fit", "64{fd0320{fd0321} 50{" INTEREST "}}" },
    { "PitToken", "64{6200 50{" INTEREST "}}" },
    { "PitToken", "64{62{*33 01} 50{" INTEREST "}}" },
    { "out of its place", "64{62{01} 62{01} 50{" INTEREST "}}" },
    { "out of its place", "64{fd0340{01} 62{01} 50{" INTEREST "}}" },
    { "out of its place", "64{50{" INTEREST "} 62{01}}" },
    { "out of its place", "64{50{" INTEREST "} 50{" INTEREST "}}" },
    { "CongestionMark", "64{fd034000 50{" INTEREST "}}" },
    { "Sequence", "64{51{01} 50{" INTEREST "}}" },
    { "one piece", "64{51{*8 00} 52{01} 53{02} 50{" INTEREST "}}" },
    { "one piece", "64{51{*8 00} 52{00} 53{02} 50{" INTEREST "}}" },
    { "one piece", "64{52{01} 50{" INTEREST "}}" },
    { "one piece", "64{5300 50{" INTEREST "}}" },
    { "not known", "64{5400 50{" INTEREST "}}" },
    { "not known", "64{fd031c00 50{" INTEREST "}}" }, /* below those that may be passed over */
    { "not known", "64{fd034600 50{" INTEREST "}}" },
    { "not known", "64{fd03c000 50{" INTEREST "}}" }, /* above them */
    { "not known", "64{2000 50{" INTEREST "}}" },
    { "fit", "64{62}" },
    { "fit", "64{6202 01}" },
    { "fit", "64{00}" },
};

START_TEST(wrong_links_are_refused) {
    struct ndn_span packet = span_of(wrong_links[_i].hex);
    struct ndn_lp lp;
    const char *wrong = ndn_lp_read(packet, &lp);

    ck_assert_msg(wrong && strstr(wrong, wrong_links[_i].why), "%s: %s", wrong_links[_i].hex, wrong);
    span_free(packet);
}
END_TEST

START_TEST(links_of_others_are_read) {
    struct ndn_span packet = span_of(captured_lp[_i].hex), token = span_of(captured_lp[_i].token);
    struct ndn_interest i;
    struct ndn_data d;
    struct ndn_lp lp;

    ck_assert_ptr_null(ndn_lp_read(packet, &lp));
    ck_assert(span_equal(lp.pit_token, token) && lp.nack == (captured_lp[_i].reason >= 0));
    ck_assert_uint_eq(lp.nack_reason, lp.nack ? (uint64_t)captured_lp[_i].reason : 0);
    ck_assert(!ndn_interest_read(lp.fragment, &i) || (!lp.nack && !ndn_data_read(lp.fragment, &d)));
    span_free(packet);
    span_free(token);
}
END_TEST

static void cut_link(const char *hex) {
    struct ndn_span packet = span_of(hex);
    struct ndn_lp lp;

    ck_assert_ptr_null(ndn_lp_read(packet, &lp));
    for (size_t n = 0; n < packet.n; n++) {
        struct ndn_span cut = span_copy(packet.at, n);
        ck_assert_ptr_nonnull(ndn_lp_read(cut, &lp));
        span_free(cut);
    }
    span_free(packet);
}

START_TEST(links_are_cut) { cut_link(right_links[_i].hex); }
END_TEST

START_TEST(links_of_others_are_cut) { cut_link(captured_lp[_i].hex); }
END_TEST

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* The head and what it stands before are one packet, as it would be written by hand; with neither there is no head. */
START_TEST(heads_are_written) {
    static const struct {
        const char *token;
        uint64_t mark;
        const char *hex; /* but for the fragment */
    } rows[] = {
        { "", 0, NULL },
        { "00000013a298", 0, "62{00000013a298}" },
        { "", 1, "fd0340{01}" },
        { "*32 07", UINT64_MAX, "62{*32 07} fd0340{ffffffffffffffff}" },
    };
    static const size_t sizes[] = { 2, 100, 249, 252, 253, 4096, 8700 };

    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            char text[1000];
            struct ndn_span token = span_of(rows[r].token), whole;
            uint8_t *head = malloc(NDN_LP_HEAD_MAX);
            size_t n = ndn_lp_head(token, rows[r].mark, sizes[k], head);

            snprintf(text, sizeof text, "64{%s 50{*%zu 61}}", rows[r].hex ? rows[r].hex : "", sizes[k]);
            whole = span_of(text);
            if (rows[r].hex) ck_assert(n + sizes[k] == whole.n && !memcmp(head, whole.at, n));
            else ck_assert_uint_eq(n, 0);
            span_free(whole);
            span_free(token);
            free(head);
        }
}
END_TEST

START_TEST(nacks_are_written) {
    static const enum ndn_nack reasons[] = { NDN_NACK_CONGESTION, NDN_NACK_DUPLICATE, NDN_NACK_NO_ROUTE };
    struct ndn_span interest = span_of(INTEREST), token = span_of("0102"), none = { NULL, 0 };
    uint8_t bytes[100];
    struct ndn_lp lp;

    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        for (int with = 0; with < 2; with++) {
            size_t n = ndn_lp_nack(with ? token : none, reasons[i], interest, bytes, sizeof bytes);
            ck_assert_ptr_null(ndn_lp_read((struct ndn_span){ bytes, n }, &lp));
            ck_assert(lp.nack && lp.nack_reason == (uint64_t)reasons[i] && span_equal(lp.fragment, interest));
            ck_assert(span_equal(lp.pit_token, with ? token : none) && !lp.congestion_mark);
            for (size_t room = 0; room < n; room++) {
                uint8_t *exact = malloc(room ? room : 1);
                ck_assert_uint_eq(ndn_lp_nack(with ? token : none, reasons[i], interest, exact, room), 0);
                free(exact);
            }
        }
    span_free(interest);
    span_free(token);
}
END_TEST

/* NFD's own, byte for byte. */
START_TEST(nacks_of_others_are_written) {
    unsigned seen = 0;

    for (int k = 0; k < ROWS(captured_lp); k++) {
        struct ndn_span packet = span_of(captured_lp[k].hex);
        struct ndn_lp lp;
        uint8_t bytes[100];

        ck_assert_ptr_null(ndn_lp_read(packet, &lp));
        if (lp.nack) {
            size_t n = ndn_lp_nack(lp.pit_token, (enum ndn_nack)lp.nack_reason, lp.fragment, bytes, sizeof bytes);
            ck_assert(span_equal((struct ndn_span){ bytes, n }, packet));
            seen++;
        }
        span_free(packet);
    }
    ck_assert_uint_eq(seen, 2);
}
END_TEST

/* A nack that would be longer than a packet. */
START_TEST(a_nack_is_a_packet) {
    static uint8_t interest[NDN_PACKET_MAX], bytes[2 * NDN_PACKET_MAX];
    const struct ndn_span none = { NULL, 0 };
    const size_t most = NDN_PACKET_MAX - 4 - 4 - 5 - 4;

    ck_assert_uint_gt(ndn_lp_nack(none, NDN_NACK_NO_ROUTE, (struct ndn_span){ interest, most }, bytes, sizeof bytes),
                      most);
    ck_assert_uint_eq(
        ndn_lp_nack(none, NDN_NACK_NO_ROUTE, (struct ndn_span){ interest, most + 1 }, bytes, sizeof bytes), 0);
}
END_TEST

int main(void) {
    Suite *s = suite_create("ndn_lp");
    TCase *t = tcase_create("lp");

    tcase_add_loop_test(t, links_are_read, 0, ROWS(right_links));
    tcase_add_loop_test(t, wrong_links_are_refused, 0, ROWS(wrong_links));
    tcase_add_loop_test(t, links_of_others_are_read, 0, ROWS(captured_lp));
    tcase_add_loop_test(t, links_are_cut, 0, ROWS(right_links));
    tcase_add_loop_test(t, links_of_others_are_cut, 0, ROWS(captured_lp));
    tcase_add_test(t, heads_are_written);
    tcase_add_test(t, nacks_are_written);
    tcase_add_test(t, nacks_of_others_are_written);
    tcase_add_test(t, a_nack_is_a_packet);
    suite_add_tcase(s, t);
    return run_suite(s);
}
