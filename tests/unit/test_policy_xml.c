/* SPDX-License-Identifier: BSD-2-Clause */
/* test_policy_xml.c - the XML form: what is read, and the sentence for each thing that is wrong. */
#include <stdlib.h>
#include <string.h>

#include "policy/policy_exempt.h"
#include "policy/policy_impl.h"
#include "test_policy.h"

#define CLASS  "<class id=\"1\" quantum=\"1\">"
#define HEAD   "<classification>\n" CLASS "\n"
#define TAIL   "</class></classification>"
#define EXEMPT "<classification>\n<exempt>\n"
#define AFTER  "\n" CLASS "</class></classification>"

static const struct {
    const char *xml;
    unsigned line;
    const char *wanted;
} wrong[] = {
    /* not XML */
    { "", 1, "Document is empty" },
    { "people 600", 1, "begin with <classification>" },
    { "<classification>", 1, "close each element" },
    { HEAD "<url>a</uri>" TAIL, 3, "close each element with its own name" },
    { HEAD TAIL "\n<class/>", 4, "write nothing but comments behind it" },
    { HEAD "<url>a&b</url>" TAIL, 3, "write &amp; for a &" },
    { HEAD "<url>a & b</url>" TAIL, 3, "write &amp; for a &" },
    { HEAD "<url>a&nbsp;b</url>" TAIL, 3, "only &amp; &lt;" },
    { HEAD "<url>a < b</url>" TAIL, 3, "&lt;" },
    { HEAD "<url>\x01</url>" TAIL, 3, "control characters" },
    { HEAD "<url>&#0;</url>" TAIL, 3, "control characters" },
    { HEAD "<url>\xff\xfe</url>" TAIL, 3, "UTF-8" },
    { "<classification>\n<class id=\"1\" id=\"2\" quantum=\"1\"/></classification>", 2, "give each attribute once" },
    { "<classification>\n<class id=1 quantum=\"1\"/></classification>", 2, "name=\"value\"" },
    { "<classification>\n<class id=\"1\" quantum=\"1/>\n</classification>", 3, "well-formed" },
    { "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>" HEAD TAIL, 1, "save the file as UTF-8" },
    /* the notation of the paper */
    { "<?xml version=\"1.0\"?>\n<classification>\n  <class_id=\"1\" quantum=\"600\"/>\n", 3,
      "write <class id=\"1\" quantum=\"600\"> here, rules as <url>PATTERN</url>, and </class> at the end of the "
      "class" },
    { HEAD "<src_ip_addr=\"140.113.0.0\"/>" TAIL, 3, "write <src_ip_addr>140.113.0.0</src_ip_addr>" },
    { HEAD "<url = 'http://foo.com/~golden' />" TAIL, 3, "write <url>http://foo.com/~golden</url>" },
    { HEAD "<url=.jpg/>" TAIL, 3, "write <url>PATTERN</url>" },
    { "<classification>\n<class_id id=\"1\" quantum=\"600\">", 2,
      "there is no element <class_id>; write <class id=\"1\" quantum=\"600\">" },
    /* structure */
    { "<policy>\n</policy>", 1, "the first element is <policy>; write <classification>" },
    { "<classification/>", 1, "there is no class; write at least one" },
    { "<classification version=\"1\">" CLASS "</class></classification>", 1, "<classification> has no attributes" },
    { "<classification>\n<url>a</url>", 2, "<url> stands outside of a class" },
    { "<classification>\n<clas id=\"1\"/>", 2, "<classification> holds no <clas>" },
    { HEAD "<class id=\"2\" quantum=\"1\"/>" TAIL, 3, "<class> inside a class; write </class> before it" },
    { HEAD "<url>a<b/></url>" TAIL, 3, "<b> inside <url>" },
    { HEAD "abc" TAIL, 3, "text outside of a rule" },
    { "<classification>\nabc" CLASS TAIL, 2, "text outside of a rule" },
    { HEAD "<user-agent>a</user-agent>" TAIL, 3, "there is no rule <user-agent>; write <user_agent>" },
    { HEAD "<src_ip>a</src_ip>" TAIL, 3,
      "there is no rule <src_ip>; write <src_ip_addr> (the rules are src_ip_addr, dst_ip_addr" },
    { HEAD "<referer>a</referer>" TAIL, 3, "there is no rule <referer>; the rules are" },
    { "<classification xmlns=\"http://example.org/\">" CLASS TAIL, 1, "leave out xmlns" },
    { HEAD "<xi:include xmlns:xi=\"http://www.w3.org/2001/XInclude\" href=\"/etc/passwd\"/>" TAIL, 3,
      "leave out xmlns" },
    { HEAD "<xi:include href=\"/etc/passwd\"/>" TAIL, 3, "no namespaces" },
    { HEAD "<url xml:lang=\"en\">a</url>" TAIL, 3, "leave out xmlns" },
    /* attributes of a class */
    { "<classification>\n<class quantum=\"1\"/>", 2, "<class> has no id; write a number of its own, as in id=\"1\"" },
    { "<classification>\n<class id=\"9\"/>", 2, "<class id=\"9\"> has no quantum" },
    { "<classification>\n<class id=\"0\" quantum=\"1\"/>", 2,
      "id=\"0\" is not right; write a whole number from 1 to 1000000" },
    { "<classification>\n<class id=\"1\" quantum=\"0\"/>", 2, "quantum=\"0\" is not right" },
    { "<classification>\n<class id=\"1\" quantum=\"-5\"/>", 2, "quantum=\"-5\" is not right" },
    { "<classification>\n<class id=\"1\" quantum=\"1000001\"/>", 2, "quantum=\"1000001\" is not right" },
    { "<classification>\n<class id=\"1\" quantum=\"4294967297\"/>", 2, "quantum=\"4294967297\" is not right" },
    { "<classification>\n<class id=\"1\" quantum=\"99999999999999999999999\"/>", 2, "is not right" },
    { "<classification>\n<class id=\"1\" quantum=\"60%\"/>", 2, "quantum=\"60%\" is not right" },
    { "<classification>\n<class id=\"1\" quantum=\"\"/>", 2, "quantum=\"\" is not right" },
    { "<classification>\n<class id=\"1\" quantum=\" 5\"/>", 2, "quantum=\" 5\" is not right" },
    { "<classification>\n<class id=\"1\" quantum=\"1\" queue=\"many\"/>", 2,
      "queue=\"many\" is not right; write a whole number from 0 to 1000000 requests" },
    { "<classification>\n<class id=\"1\" quantum=\"1\" wait=\"99999\"/>", 2, "wait=\"99999\" is not right" },
    { "<classification>\n<class id=\"1\" quantum=\"1\" delay=\"3600001\"/>", 2, "delay=\"3600001\" is not right" },
    { "<classification>\n<class id=\"1\" quantum=\"1\" slots=\"1000001\"/>", 2, "slots=\"1000001\" is not right" },
    { "<classification>\n<class id=\"1\" quantum=\"1\" order=\"lifo\"/>", 2,
      "write order=\"fifo\" or order=\"shortest\"" },
    { "<classification>\n<class id=\"1\" quantum=\"1\" within=\"%{REMOTE_ADDR}\"/>", 2,
      "within=\"%{REMOTE_ADDR}\" is not right; write within=\"client\", or within=\"client/24/56\"" },
    { "<classification>\n<class id=\"1\" quantum=\"1\" within=\"client\" order=\"shortest\"/>", 2,
      "exclude each other" },
    { "<classification>\n<class id=\"1\" quantum=\"1\" default=\"true\"/>", 2,
      "write default=\"no\" or default=\"yes\"" },
    { "<classification>\n<class id=\"1\" quantum=\"1\" name=\"\"/>", 2, "name=\"\" has 0 characters" },
    { "<classification>\n<class id=\"1\" quantum=\"1\" name=\"a b\"/>", 2, "has a character that a name may not have" },
    { "<classification>\n<class id=\"1\" quantum=\"1\" name=\"12345678901234567890123456789012\"/>", 2,
      "has 32 characters" },
    { "<classification>\n<class id=\"1\" quantum=\"1\" weight=\"3\"/>", 2,
      "<class> has no attribute \"weight\"; it has id, name, quantum" },
    { HEAD "</class>\n<class id=\"1\" quantum=\"2\">" TAIL, 4, "class id 1 is taken by class \"class-1\"" },
    { HEAD "</class>\n<class id=\"2\" name=\"class-1\" quantum=\"2\">" TAIL, 4, "class name \"class-1\" is taken" },
    { "<classification>\n<class id=\"1\" quantum=\"1\" default=\"yes\"/>\n<class id=\"2\" quantum=\"1\" "
      "default=\"yes\"/>",
      3, "second default" },
    /* what is exempt */
    { HEAD "</class>\n<exempt><path>/a</path></exempt></classification>", 4, "stands once, before the first class" },
    { EXEMPT "<path>/a</path></exempt>\n<exempt><path>/b</path></exempt>" AFTER, 4, "stands once" },
    { EXEMPT "</exempt>" AFTER, 3, "<exempt> names nothing; write <path>/healthz</path>" },
    { "<classification>\n<exempt limit=\"0\"/>" AFTER, 2,
      "limit=\"0\" is not right; write a whole number from 1 to 256" },
    { "<classification>\n<exempt limit=\"257\"/>" AFTER, 2, "limit=\"257\" is not right" },
    { "<classification>\n<exempt most=\"1\"/>" AFTER, 2, "<exempt> has no attribute \"most\"; it has limit" },
    { EXEMPT "<url>/a</url></exempt>" AFTER, 3, "<exempt> holds no <url>; it holds <path>, <method> and <address>" },
    { EXEMPT "<path match=\"exact\">/a</path></exempt>" AFTER, 3, "<path> of <exempt> has no attributes" },
    { EXEMPT "<path>/a<b/></path></exempt>" AFTER, 3, "<b> inside <path>" },
    { EXEMPT "text</exempt>" AFTER, 3, "text outside of a rule" },
    { EXEMPT "<path/></exempt>" AFTER, 3, "must begin with a slash" },
    { EXEMPT "<path>healthz</path></exempt>" AFTER, 3, "must begin with a slash" },
    { EXEMPT "<path>/a?b</path></exempt>" AFTER, 3, "have no ?" },
    { EXEMPT "<path>/a;b</path></exempt>" AFTER, 3, "name what is above it" },
    { EXEMPT "<path>/a%2Fb</path></exempt>" AFTER, 3, "name what is above it" },
    { EXEMPT "<path>/a\\b</path></exempt>" AFTER, 3, "name what is above it" },
    { EXEMPT "<path> / </path></exempt>" AFTER, 3, "is all of the server" },
    { EXEMPT "<path>/a/../b</path></exempt>" AFTER, 3, "for a segment of its path" },
    { EXEMPT "<method>get</method></exempt>" AFTER, 3, "capital letters" },
    { EXEMPT "<method/></exempt>" AFTER, 3, "capital letters" },
    { EXEMPT "<method>ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEF</method></exempt>" AFTER, 3, "31 at most" },
    { EXEMPT "<address>10.1.2.3/8</address></exempt>" AFTER, 3, "bits set behind" },
    { EXEMPT "<address>here</address></exempt>" AFTER, 3, "; " },
    /* rules */
    { HEAD "<url/>" TAIL, 3, "url has an empty pattern" },
    { HEAD "<url>  \n </url>" TAIL, 3, "url has an empty pattern" },
    { HEAD "<url>\n\n<![CDATA[]]></url>" TAIL, 3, "url has an empty pattern" },
    { HEAD "<url kind=\"prefix\">a</url>" TAIL, 3, "<url> has no attribute \"kind\"; it has match only" },
    { HEAD "<src_port kind=\"prefix\">80</src_port>" TAIL, 3, "<src_port> has no attribute \"kind\"; it has none" },
    { HEAD "<url match=\"glob\">a</url>" TAIL, 3,
      "match=\"glob\" is not right; write substring, prefix, suffix, exact or regex" },
    { HEAD "<url match=\"\">a</url>" TAIL, 3, "match=\"\" is not right" },
    { HEAD "<src_ip_addr match=\"prefix\">10.</src_ip_addr>" TAIL, 3, "match is not allowed on <src_ip_addr>" },
    { HEAD "<src_ip_addr>10.0.0.1/8</src_ip_addr>" TAIL, 3, "write 10.0.0.0/8" },
    { HEAD "<dst_port>80,443</dst_port>" TAIL, 3, "is no port" },
    { HEAD "\n\n<url match=\"regex\">[a</url>" TAIL, 5, "is no regular expression" },
    { HEAD "<visitor/>" TAIL, 3, "<visitor> asks for nothing; write <visitor class=\"member\"/>" },
    { HEAD "<visitor class=\"a\">member</visitor>" TAIL, 3, "<visitor> holds no text" },
    { HEAD "<visitor class=\"a\">\n\n<![CDATA[x]]></visitor>" TAIL, 5, "<visitor> holds no text" },
    { HEAD "<visitor match=\"exact\"/>" TAIL, 3, "visitor has no \"match\" here; write class=WORD, age=TIME or both" },
    { HEAD "<visitor class=\"a,age=5\"/>" TAIL, 3, "visitor class \"a,age=5\" is no word" },
    { HEAD "<visitor class=\"\"/>" TAIL, 3, "visitor class \"\" is no word; use 1 to 31 of a-z 0-9 _ and -" },
    { HEAD "<visitor class=\"-\"/>" TAIL, 3, "is no word" },
    { HEAD "<visitor\nclass=\"a\" age=\"5,class=b\"/>" TAIL, 4, "visitor age 5,class=b: must be a number of seconds" },
    { HEAD "<visitor age=\"\"/>" TAIL, 3, "visitor age : must be a number of seconds from 1 to 31536000" },
    { HEAD "<visitor age=\" 5\"/>" TAIL, 3, "must be a number of seconds" },
    { HEAD "<url match=\"regex\">\n\n[a</url>" TAIL, 3, "is no regular expression" },
};

START_TEST(each_error_names_line_and_cure) {
    parse_expecting(wrong[_i].xml, strlen(wrong[_i].xml), wrong[_i].line, wrong[_i].wanted);
}
END_TEST

/* The reader's sentences come first, so these reach the schema only here. */
static const char *const against_schema[] = {
    "<a/>",
    "<classification/>",
    "<classification><a/></classification>",
    "<classification a=\"\">" CLASS "</class></classification>",
    "<classification><class id=\"1\"/></classification>",
    "<classification><class quantum=\"1\"/></classification>",
    "<classification><class id=\"0\" quantum=\"1\"/></classification>",
    "<classification><class id=\"1\" quantum=\"1000001\"/></classification>",
    "<classification><class id=\"1\" quantum=\"+1\"/></classification>",
    "<classification><class id=\"1\" quantum=\"1\" b=\"\"/></classification>",
    "<classification><class id=\"1\" quantum=\"1\" name=\"a b\"/></classification>",
    "<classification><class id=\"1\" quantum=\"1\" order=\"lifo\"/></classification>",
    HEAD "<agent>a</agent>" TAIL,
    HEAD "<url/>" TAIL,
    HEAD "<url match=\"glob\">a</url>" TAIL,
    HEAD "<src_port match=\"exact\">80</src_port>" TAIL,
    HEAD "<src_port>a</src_port>" TAIL,
    HEAD "<src_ip_addr>example.org</src_ip_addr>" TAIL,
    HEAD "<url>a<b/></url>" TAIL,
    HEAD "text" TAIL,
    HEAD "<visitor/>" TAIL,
    HEAD "<visitor class=\"a\">b</visitor>" TAIL,
    HEAD "<visitor class=\"a.b\"/>" TAIL,
    HEAD "<visitor age=\"5w\"/>" TAIL,
    HEAD "<visitor class=\"a\" match=\"exact\"/>" TAIL,
    HEAD CLASS "</class>" TAIL,
    HEAD "</class><exempt><path>/a</path></exempt></classification>",
    EXEMPT "</exempt>" AFTER,
    EXEMPT "<path>a</path></exempt>" AFTER,
    EXEMPT "<method>get</method></exempt>" AFTER,
    EXEMPT "<address>here</address></exempt>" AFTER,
    EXEMPT "<url>/a</url></exempt>" AFTER,
    "<classification><exempt limit=\"257\"><path>/a</path></exempt>" AFTER,
};

START_TEST(the_schema_refuses_by_itself) {
    char *error = NULL;
    unsigned line = 0;

    ck_assert_int_eq(policy_schema_check(HEAD TAIL, strlen(HEAD TAIL), &line, &error), 0);
    ck_assert_int_eq(policy_schema_check(against_schema[_i], strlen(against_schema[_i]), &line, &error), -1);
    ck_assert_ptr_nonnull(strstr(error, "does not follow the schema ("));
    ck_assert_uint_ge(line, 1);
    free(error);
}
END_TEST

START_TEST(a_right_file_is_read_whole) {
    static const char xml[] =
        "\xef\xbb\xbf<?xml version='1.0' encoding='utf-8'?>\n"
        "<!-- <class_id=\"1\"/> & <!DOCTYPE in a comment is a comment -->\n"
        "<?editor <b=1> ?><!--> <c=1> --><?x?>\n"
        "<classification>\n"
        "  <class id=\"10\" name=\"people\" quantum=\"600\" default=\"yes\" within=\"client/32/48\">\n"
        "    <cookie> session= </cookie>\n"
        "    <url match=\"prefix\"><![CDATA[http://a/<b=\"c\">]]>&amp;&#x41;</url>\n"
        "  </class>\n"
        "  <class quantum=\"300\" queue=\"2000\" wait=\"20\" slots=\"4\" order=\"shortest\" id=\"2\">\n"
        "    <user_agent match='regex'>Go{2}gle \\d+ >bot</user_agent><src_port>80</src_port>\n"
        "    <src_ip_addr>\n      66.249.64.0/19\n    </src_ip_addr>\n"
        "    <url>caf\xc3\xa9</url>\n"
        "    <visitor age='10M' class='member'> <!-- both --> </visitor><visitor age='0090'/>\n"
        "  </class>\n"
        "</classification>\n<!-- end -->\n";
    static const char *const texts[] = {
        "line 6: cookie prefix \"session=\"",
        "line 7: url prefix \"http://a/%3Cb=%22c%22%3E&A\"",
        "line 10: user_agent regex \"Go{2}gle \\d+ >bot\"",
        "line 10: src_port \"80\"",
        "line 11: src_ip_addr \"66.249.64.0/19\"",
        "line 14: url substring \"caf%C3%A9\"",
        "line 15: visitor \"age=10M,class=member\"",
        "line 15: visitor \"age=0090\"",
    };
    policy_t *p = parse_expecting(xml, sizeof xml - 1, 0, NULL);
    const struct policy_class *c = policy_class_at(p, 0);
    char buf[200];

    ck_assert_uint_eq(policy_class_count(p), 2);
    ck_assert_str_eq(c->name, "people");
    ck_assert_uint_eq(c->id, 10);
    ck_assert_int_eq(c->is_default, 1);
    ck_assert_int_eq(c->order, POLICY_FIFO);
    ck_assert_uint_eq(c->within.levels, 1);
    ck_assert_uint_eq(c->within.bits_v4, 32);
    ck_assert_uint_eq(c->within.bits_v6, 48);
    c = policy_class_at(p, 1);
    ck_assert_uint_eq(c->within.levels, 0);
    ck_assert_str_eq(c->name, "class-2");
    ck_assert_uint_eq(c->quantum, 300);
    ck_assert_uint_eq(c->queue, 2000);
    ck_assert_uint_eq(c->wait_s, 20);
    ck_assert_uint_eq(c->slots, 4);
    ck_assert_int_eq(c->order, POLICY_SHORTEST);
    ck_assert_uint_eq(policy_rule_count(p), 8);
    for (uint32_t i = 0; i < 8; i++) {
        policy_rule_text(p, i, buf, sizeof buf);
        ck_assert_str_eq(buf, texts[i]);
    }
    policy_free(&p);
}
END_TEST

static bool is_exempt(const policy_t *p, const char *method, const char *path, const unsigned char address[4]) {
    struct policy_request r = { .url = text_of(path), .src_addr = address, .src_addr_len = 4 };

    return policy_exempt_takes(policy_exempt_of(p), method, &r);
}

START_TEST(what_is_exempt_is_read) {
    static const unsigned char here[4] = { 192, 0, 2, 9 }, elsewhere[4] = { 192, 0, 3, 9 };
    static const char xml[] = "<classification>\n<exempt limit='12'>\n<!-- health -->\n<path> /healthz\n</path>"
                              "<path>/below/</path><path>/%61</path><method>OPTIONS</method>"
                              "<address>192.0.2.0/24</address></exempt>" AFTER;
    policy_t *p = parse_expecting(xml, sizeof xml - 1, 0, NULL);

    ck_assert_uint_eq(policy_exempt_count(policy_exempt_of(p)), 5);
    ck_assert_uint_eq(policy_exempt_limit(p), 12);
    ck_assert_uint_eq(policy_class_count(p), 1);
    ck_assert_uint_eq(policy_rule_count(p), 0);
    ck_assert(policy_exempt_uses(policy_exempt_of(p), POLICY_URL));
    ck_assert(policy_exempt_uses(policy_exempt_of(p), POLICY_SRC_IP_ADDR));
    ck_assert(is_exempt(p, "GET", "/healthz", elsewhere));
    ck_assert(is_exempt(p, "GET", "/healthz/a", elsewhere));
    ck_assert(is_exempt(p, "GET", "/healthz?a=b", elsewhere));
    ck_assert(is_exempt(p, "GET", "/a", elsewhere));
    ck_assert(!is_exempt(p, "GET", "/healthz2", elsewhere));
    ck_assert(is_exempt(p, "GET", "/below/x", elsewhere));
    ck_assert(!is_exempt(p, "GET", "/below", elsewhere));
    ck_assert(!is_exempt(p, "GET", "/x/healthz", elsewhere));
    ck_assert(!is_exempt(p, "GET", "/?/healthz", elsewhere));
    ck_assert(is_exempt(p, "OPTIONS", "/", elsewhere));
    ck_assert(!is_exempt(p, "options", "/", elsewhere));
    ck_assert(is_exempt(p, "GET", "/", here));
    ck_assert(!policy_exempt_takes(policy_exempt_of(p), "GET", &(struct policy_request){ .src_addr = NULL }));
    policy_free(&p);
    p = parse_expecting(HEAD TAIL, sizeof HEAD TAIL - 1, 0, NULL);
    ck_assert_ptr_null(policy_exempt_of(p));
    policy_free(&p);
}
END_TEST

/* As many as there may be; more than a class is cut into for the schema, which an <exempt> is not. */
START_TEST(many_are_exempt) {
    static char xml[POLICY_EXEMPT_RULES_MAX * 40 + 400];

    for (int more = 0; more < 2; more++) {
        size_t n = (size_t)sprintf(xml, "<classification><exempt>");

        for (int i = 0; i < POLICY_EXEMPT_RULES_MAX + more; i++) n += (size_t)sprintf(xml + n, "\n<path>/%d</path>", i);
        n += (size_t)sprintf(xml + n, "</exempt>" AFTER);
        policy_t *p = more ? parse_expecting(xml, n, POLICY_EXEMPT_RULES_MAX + 2, "more than 256 paths")
                           : parse_expecting(xml, n, 0, NULL);
        if (!p) continue;
        ck_assert_uint_eq(policy_exempt_count(policy_exempt_of(p)), POLICY_EXEMPT_RULES_MAX);
        policy_free(&p);
    }
}
END_TEST

START_TEST(the_example_is_right) {
    char *error = NULL;
    policy_t *p = policy_load(TOP_SRCDIR "/etc/policy-example.xml", &error);

    ck_assert_msg(p != NULL, "%s", error);
    ck_assert_uint_eq(policy_class_count(p), 3);
    for (int f = 0; f < POLICY_FIELDS; f++)
        ck_assert_msg(policy_uses(p, f), "the example shows no rule of field %d", f);
    policy_free(&p);
}
END_TEST

START_TEST(a_file_that_cannot_be_read_is_named) {
    char *error = NULL;

    ck_assert_ptr_null(policy_load("/nonexistent/policy.xml", &error));
    ck_assert_str_eq(
        error,
        "/nonexistent/policy.xml: cannot be read (No such file or directory); give the path of a policy file that this "
        "process may read");
    free(error);
    error = NULL;
    ck_assert_ptr_null(policy_load("/", &error));
    ck_assert_ptr_nonnull(strstr(error, "/: cannot be read (Is a directory)"));
    free(error);
    error = NULL;
    ck_assert_ptr_null(policy_load("/dev/zero", &error));
    ck_assert_ptr_nonnull(strstr(error, "/dev/zero: more than 16777216 bytes"));
    free(error);
    ck_assert_ptr_null(policy_load("/nonexistent/policy.xml", NULL));
    ck_assert_ptr_null(policy_parse("<a/>", 4, "a", NULL));
}
END_TEST

Suite *policy_xml_suite(void) {
    Suite *s = suite_create("policy: XML");
    TCase *t = tcase_create("xml");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, each_error_names_line_and_cure, 0, sizeof wrong / sizeof *wrong);
    tcase_add_loop_test(t, the_schema_refuses_by_itself, 0, sizeof against_schema / sizeof *against_schema);
    tcase_add_test(t, a_right_file_is_read_whole);
    tcase_add_test(t, what_is_exempt_is_read);
    tcase_add_test(t, many_are_exempt);
    tcase_add_test(t, the_example_is_right);
    tcase_add_test(t, a_file_that_cannot_be_read_is_named);
    suite_add_tcase(s, t);
    return s;
}
