/* SPDX-License-Identifier: BSD-2-Clause */
/* test_policy_warn.c - rules that never decide are warned about, and no others. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy_warn.h"
#include "test_policy.h"

/* Two classes: the rules of the earlier one, of the later one, and what is warned about; NULL: nothing. */
static const struct {
    const char *earlier, *later, *wanted;
} shadows[] = {
    { "<user_agent>bot</user_agent>", "<user_agent>Googlebot</user_agent>",
      "line 2: user_agent substring \"Googlebot\" never decides for class \"later\", and no other rule of it decides" },
    { "<user_agent>Googlebot</user_agent>", "<user_agent>bot</user_agent>", NULL },
    { "<user_agent match='prefix'>Google</user_agent>", "<user_agent>Googlebot</user_agent>", NULL },
    { "<user_agent match='prefix'>Google</user_agent>", "<user_agent match='prefix'>GoogleBot</user_agent>", "line 2" },
    { "<user_agent match='regex'>bot|crawl</user_agent>", "<user_agent>Googlebot</user_agent>",
      "takes these requests by line 1" },
    { "<user_agent match='regex'>bot</user_agent>", "<user_agent match='regex'>bot</user_agent>", "line 2" },
    { "<user_agent match='regex'>bot</user_agent>", "<user_agent match='regex'>gptbot</user_agent>", NULL },
    { "<user_agent>Googlebot</user_agent>", "<user_agent>Googlebot</user_agent><user_agent>bingbot</user_agent>",
      "never decides for class \"later\":" },
    { "<visitor age='1s'/>", "<visitor age='10m'/>", "visitor" },
    { "<visitor age='10m'/>", "<visitor age='1s'/>", NULL },
    { "<visitor class='member'/>", "<visitor age='10m'/>", NULL },
    { "<visitor age='1s'/>", "<visitor class='member'/>", NULL },
    { "<crawler>*</crawler>", "<crawler>gptbot</crawler>", "crawler exact \"gptbot\" never decides" },
    { "<crawler>gptbot</crawler>", "<crawler>*</crawler>", NULL },
    { "<src_ip_addr>10.0.0.0/8</src_ip_addr>", "<src_ip_addr>10.1.0.0/16</src_ip_addr>", "line 2" },
    { "<src_ip_addr>10.1.0.0/16</src_ip_addr>", "<src_ip_addr>10.0.0.0/8</src_ip_addr>", NULL },
    { "<src_ip_addr>0.0.0.0/0</src_ip_addr>", "<src_ip_addr>2001:db8::/32</src_ip_addr>", NULL },
    { "<src_port>1-1023</src_port>", "<src_port>80</src_port>", "line 2" },
    { "<src_port>80</src_port>", "<src_port>1-1023</src_port>", NULL },
    { "<src_dn>example.org</src_dn>", "<src_dn>a.example.org</src_dn>", "line 2" },
    { "<src_dn>a.example.org</src_dn>", "<src_dn>example.org</src_dn>", NULL },
    { "<cookie>session=</cookie>", "<cookie>session=1</cookie>", "line 2" },
    { "<cookie>session=1</cookie>", "<cookie>session=</cookie>", NULL },
    { "<url>/shop/</url>", "<url>/shop/cart</url>", "line 2" },
    { "<url>/shop/</url>", "<url match='prefix'>http://www.example.org/shop/a</url>", "line 2" },
    { "<url>/cart</url>", "<url>/shop/</url>", NULL },
    { "<url>/</url>", "<user_agent>Googlebot</user_agent>", "line 2" },
    { "<url>?page=</url>", "<url>?page=2</url>", "line 2" },
    { "<url match='suffix'>.iso</url>", "<url match='suffix'>a.iso</url>", "line 2" },
    { "<prot_type>http</prot_type>", "<user_agent>Googlebot</user_agent>", NULL },
    { "<dst_dn>example.org</dst_dn>", "<user_agent>Googlebot</user_agent>", NULL },
    { "<ssl_id match='prefix'>00</ssl_id>", "<ssl_id>0011</ssl_id>", "line 2" },
};

/* One rule, and what is warned about. */
static const struct {
    const char *rule, *wanted;
} alone[] = {
    { "<user_agent>GPTBot|ClaudeBot</user_agent>", "| has no other meaning" },
    { "<user_agent match='regex'>GPTBot|ClaudeBot</user_agent>", NULL },
    { "<user_agent>*bot*</user_agent>", "* has no other meaning" },
    { "<user_agent match='prefix'>^Mozilla</user_agent>", "^ has no other meaning" },
    { "<cookie>session=.*</cookie>", "* has no other meaning" },
    { "<src_dn>*.example.org</src_dn>", "* has no other meaning" },
    { "<crawler>*</crawler>", NULL },
    { "<crawler>my-own</crawler>", NULL },
    { "<crawler>Googlebot</crawler>", NULL },
    { "<crawler>gogglebot</crawler>", "write googlebot" },
    { "<crawler>gptbott</crawler>", NULL },
    { "<url match='prefix'>/wp-login.php</url>", "matches no URL" },
    { "<url match='exact'>www.example.org/</url>", "matches no URL" },
    { "<url match='prefix'>http:/</url>", NULL },
    { "<url match='prefix'>https</url>", NULL },
    { "<url match='suffix'>/wp-login.php</url>", NULL },
    { "<url>/wp-login.php</url>", NULL },
    { "<url match='regex'>^/wp-login</url>", "matches no URL" },
    { "<url match='regex'>^https://[^/]+/wp-login</url>", NULL },
};

struct heard {
    char text[4096];
    unsigned n;
};

static void hear(void *to, const char *sentence) {
    struct heard *h = to;
    size_t n = strlen(h->text);

    h->n++;
    snprintf(h->text + n, sizeof h->text - n, "%s\n", sentence);
}

/* The host of these tests has a crawler that signs, gptbott. */
static bool knows(const void *of, const char *crawler) {
    (void)of;
    return !strcmp(crawler, "gptbott");
}

static unsigned warned(const char *xml, struct heard *h) {
    char *error = NULL;
    policy_t *p = policy_parse(xml, strlen(xml), "policy.xml", &error);
    unsigned n;

    ck_assert_msg(p != NULL, "%s: %s", xml, error);
    *h = (struct heard){ .n = 0 };
    n = policy_warn(p, &(struct policy_warn){ hear, h, knows, NULL });
    ck_assert_uint_eq(n, h->n);
    policy_free(&p);
    return n;
}

static void expect(const char *xml, const char *wanted) {
    struct heard h;
    unsigned n = warned(xml, &h);

    ck_assert_msg(n == (wanted ? 1 : 0), "%s: %u: %s", xml, n, h.text);
    if (wanted) ck_assert_msg(strstr(h.text, wanted) != NULL, "%s: %s", xml, h.text);
}

START_TEST(test_class_below_a_wider_one_is_named_with_the_rule_above) {
    char xml[2048];

    snprintf(xml, sizeof xml,
             "<classification><class id='1' name='earlier' quantum='1'>%s</class>\n"
             "<class id='2' name='later' quantum='1'>%s</class></classification>",
             shadows[_i].earlier, shadows[_i].later);
    expect(xml, shadows[_i].wanted);
}
END_TEST

START_TEST(test_rule_that_matches_nothing_is_named_with_its_cure) {
    char xml[2048];

    snprintf(xml, sizeof xml, "<classification><class id='1' name='a' quantum='1'>%s</class></classification>",
             alone[_i].rule);
    expect(xml, alone[_i].wanted);
}
END_TEST

/* With one letter more each name is a slip; itself it is none. */
START_TEST(test_crawlers_of_the_example_table_are_those_that_are_known) {
    FILE *f = fopen(TOP_SRCDIR "/etc/bots-example.conf", "r");
    char line[1024], xml[2048], wanted[1100];
    unsigned names = 0;

    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f)) {
        if (!islower((unsigned char)*line)) continue;
        line[strcspn(line, " \t\n")] = '\0';
        names++;
        snprintf(xml, sizeof xml,
                 "<classification><class id='1' quantum='1'><crawler>%s</crawler></class></classification>", line);
        expect(xml, NULL);
        snprintf(xml, sizeof xml,
                 "<classification><class id='1' quantum='1'><crawler>%sx</crawler></class></classification>", line);
        snprintf(wanted, sizeof wanted, "write %s,", line);
        expect(xml, wanted);
    }
    fclose(f);
    ck_assert_uint_ge(names, 16);
}
END_TEST

START_TEST(test_sentences_of_a_policy_with_many_faults_are_bounded) {
    char xml[16384] = "<classification><class id='1' quantum='1'>";
    struct heard h;

    for (int i = 0; i < 200; i++)
        snprintf(xml + strlen(xml), sizeof xml - strlen(xml), "<user_agent>*%d*</user_agent>", i);
    strcat(xml, "</class></classification>");
    ck_assert_uint_eq(warned(xml, &h), POLICY_WARN_MAX);
}
END_TEST

Suite *policy_warn_suite(void) {
    Suite *s = suite_create("policy: warnings");
    TCase *t = tcase_create("warnings");

    tcase_add_loop_test(t, test_class_below_a_wider_one_is_named_with_the_rule_above, 0,
                        sizeof shadows / sizeof *shadows);
    tcase_add_loop_test(t, test_rule_that_matches_nothing_is_named_with_its_cure, 0, sizeof alone / sizeof *alone);
    tcase_add_test(t, test_crawlers_of_the_example_table_are_those_that_are_known);
    tcase_add_test(t, test_sentences_of_a_policy_with_many_faults_are_bounded);
    suite_add_tcase(s, t);
    return s;
}
