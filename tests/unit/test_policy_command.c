/* SPDX-License-Identifier: BSD-2-Clause */
/* test_policy_command.c - fairgate-policy as its user sees it: output and exit status. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "test_policy.h"

#define EXAMPLE    TOP_SRCDIR "/etc/policy-example.xml"
#define NO_DEFAULT TOP_SRCDIR "/tests/fuzz/corpus/policy/no-default.xml"
#define URL_PATH   TOP_SRCDIR "/tests/fuzz/corpus/policy/url-path.xml"
#define WITHIN     TOP_SRCDIR "/tests/fuzz/corpus/policy/within.xml"

static const struct {
    const char *arguments;
    int status;
    const char *wanted, *unwanted;
} runs[] = {
    { "check " EXAMPLE, 0, "class 1 \"people\": quantum 600 (60.0 %), 9 rules, default", "no default class" },
    { "check " EXAMPLE " /nonexistent", 1, "/nonexistent: cannot be read", NULL },
    { "check " TOP_SRCDIR "/tests/fuzz/corpus/policy/paper.xml", 1,
      "paper.xml:3: <class_id=\"1\" quantum=\"600\"/> is not well-formed XML: an element's name has no value; "
      "write <class id=\"1\" quantum=\"600\">",
      "right" },
    { "check", 2, "check needs a file", NULL },
    { "", 2, "usage:", NULL },
    { "frob", 2, "there is no command \"frob\"", NULL },
    { "--help", 0, "--host-name NAME", NULL },
    { "--version", 0, "fairgate-policy ", NULL },
    { "explain " EXAMPLE, 0, "class 1 \"people\" by default: no rule matches", "later" },
    { "explain " EXAMPLE " --header 'User-Agent: GPTBot/1.0'", 0,
      "class 3 \"ai\" by line 33: user_agent substring "
      "\"GPTBot\"\nno later class matches",
      NULL },
    { "explain " EXAMPLE " --header 'user-agent: GPTBot/1.0' --header 'Cookie: a=b; session=1'", 0,
      "class 1 \"people\" by line 13: cookie prefix \"session=\"\nlater class 3 \"ai\" by line 33: ", "class 2" },
    { "explain " EXAMPLE " --url https://archive.example.org:444/x", 0,
      "line 40: dst_dn suffix \"archive.example.org\"", NULL },
    { "explain " EXAMPLE " --url https://user@archive.example.org/ --host-name www.example.org", 0, "by default",
      NULL },
    { "explain " EXAMPLE " --src 2001:db8:17::9 --dst-port 8443 --json", 0,
      "\"answer\":{\"class\":{\"position\":0,\"id\":1,\"name\":\"people\",\"quantum\":600},"
      "\"rule\":{\"number\":4,\"line\":16,\"text\":\"line 16: src_ip_addr \\\"2001:db8:17::/48\\\"\"},"
      "\"default\":false},"
      "\"later\":[],\"url\":null}",
      NULL },
    { "explain " EXAMPLE " --json", 0, "\"rule\":null,\"default\":true},\"later\":[],\"url\":null}", NULL },
    { "explain " EXAMPLE " --url https://WWW.example.org/x/..//%63heckout/?a", 0,
      "class 1 \"people\" by line 19: url prefix "
      "\"https://www.example.org/checkout/\"\nno later class matches\nrules see the URL as "
      "https://www.example.org/checkout/?a\n",
      NULL },
    { "explain " EXAMPLE " --url https://example.org/?x=https://www.example.org/checkout/", 0, "by default",
      "rules see" },
    { "explain " EXAMPLE " --url https://example.org/a%2fb.iso --json", 0, "\"url\":\"https://example.org/a%2Fb.iso\"}",
      NULL },
    { "explain " EXAMPLE
      " --src-port 80 --dst 192.0.2.80 --src-name a.search1.example.net --ssl-id 0000000011 --protocol http/1.0",
      0, "class 1 \"people\" by line 21: dst_ip_addr \"192.0.2.80\"\nlater class 2 \"search\" by line 29: src_dn regex",
      NULL },
    { "explain " URL_PATH " --url /wp-login.php", 0,
      "class 1 \"people\" by default: no rule matches\nrules see the URL as http://localhost/wp-login.php\n",
      "prefix" },
    { "explain " URL_PATH " --url /wp-login.php --host-name www.example.org --protocol https", 0,
      "rules see the URL as https://www.example.org/wp-login.php\n", "prefix" },
    { "explain " URL_PATH " --url www.example.org/wp-login.php", 2,
      "--url www.example.org/wp-login.php: begins with neither a scheme nor a path; write http://www.example.org/",
      NULL },
    { "check " URL_PATH, 0, "  warning: line 4: url prefix \"/wp-login.php\" matches no URL: ", NULL },
    { "check " EXAMPLE, 0, "right", "warning" },
    { "check " TOP_SRCDIR "/etc/examples/policy.xml " TOP_SRCDIR "/debian/policy.xml", 0, "right", "warning" },
    { "explain " NO_DEFAULT, 0, "class \"other\", which the server adds: no rule matches, and there is no default",
      "later" },
    { "explain " NO_DEFAULT " --json", 0,
      "\"answer\":{\"class\":{\"name\":\"other\"},\"rule\":null,\"default\":true},\"later\":[]", NULL },
    { "check " WITHIN, 0, "default; shared by clients, IPv4 by /24, IPv6 by /56\n", NULL },
    { "explain " WITHIN " --src 198.51.100.77", 0,
      "class 2 \"unknown\" by default: no rule matches\nits part there is that of 198.51.100.0/24\n", NULL },
    { "explain " WITHIN " --src 2001:db8:1:2ff::9", 0, "its part there is that of 2001:db8:1:200::/56\n", NULL },
    { "explain " WITHIN " --src ::ffff:198.51.100.77 --json", 0, "\"key\":\"198.51.100.0/24\",", NULL },
    { "explain " WITHIN, 0, "by default: no rule matches\n", "its part" },
    { "explain " EXAMPLE " --visitor class=member", 0, "class 1 \"people\" by line 12: visitor \"class=member\"",
      NULL },
    { "explain " EXAMPLE " --visitor age=15m,class=guest", 0, "by line 12: visitor \"age=10m\"", NULL },
    { "explain " EXAMPLE " --visitor age=9m,class=guest", 0, "by default", NULL },
    { "explain " EXAMPLE " --visitor member", 2, "--visitor: visitor has no \"member\" here; write class=WORD", NULL },
    { "explain " EXAMPLE " --src 300.1.1.1", 2, "--src 300.1.1.1: no IP address", NULL },
    { "explain " EXAMPLE " --src-port 0", 2, "--src-port 0: must be a number from 1 to 65535", NULL },
    { "explain " EXAMPLE " --src-port", 2, "--src-port: needs a value: N", NULL },
    { "explain " EXAMPLE " --colour red", 2, "--colour: no such option", NULL },
    { "explain " EXAMPLE " --header x", 2, "no header", NULL },
    { "explain " EXAMPLE " " EXAMPLE, 2, "is a second one", NULL },
    { "replay " EXAMPLE, 2, "replay needs a policy and a log", NULL },
    { "replay " EXAMPLE " /nonexistent", 1, "/nonexistent: No such file", NULL },
    { "replay /nonexistent /nonexistent", 1, "/nonexistent: cannot be read", NULL },
    { "replay --window 0 " EXAMPLE " /dev/null", 2, "--window 0: must be a number of requests from 1 to 65536", NULL },
    { "replay --charge gold " EXAMPLE " /dev/null", 2, "--charge gold", NULL },
    { "replay --format '%h' " EXAMPLE " /dev/null", 1, "the log's format has no time", NULL },
    { "replay --site www.example.org " EXAMPLE " /dev/null", 1, "write scheme and host", NULL },
    { "replay " EXAMPLE " /dev/null", 1, "/dev/null: there is no line in it", NULL },
    { "explain", 2, "explain needs a file", NULL },
    { "explain /nonexistent", 1, "/nonexistent: cannot be read", NULL },
};

START_TEST(a_run_prints_and_exits) {
    char command[1024], out[8192];
    FILE *pipe;
    size_t n;
    int status;

    snprintf(command, sizeof command, TOP_BUILDDIR "/policy/fairgate-policy %s 2>&1", runs[_i].arguments);
    pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    n = fread(out, 1, sizeof out - 1, pipe);
    out[n] = '\0';
    status = pclose(pipe);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == runs[_i].status, "%s: status %d: %s", runs[_i].arguments,
                  status, out);
    ck_assert_msg(strstr(out, runs[_i].wanted) != NULL, "%s: %s", runs[_i].arguments, out);
    ck_assert_msg(runs[_i].unwanted == NULL || strstr(out, runs[_i].unwanted) == NULL, "%s: %s", runs[_i].arguments,
                  out);
}
END_TEST

Suite *policy_command_suite(void) {
    Suite *s = suite_create("policy: command");
    TCase *t = tcase_create("command");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_run_prints_and_exits, 0, sizeof runs / sizeof *runs);
    suite_add_tcase(s, t);
    return s;
}
