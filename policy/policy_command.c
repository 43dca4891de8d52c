/* SPDX-License-Identifier: BSD-2-Clause */
/* policy_command.c - fairgate-policy: check policy files, and explain what one makes of a request.  The manual is fairgate-policy.1. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy_command.h"
#include "policy_impl.h"

static const char help[] =
    "usage: fairgate-policy check FILE...\n"
    "       fairgate-policy explain FILE [--json] [what is known of a request]\n"
    "\n"
    "check    reads each policy as a server would, and prints its classes or what is wrong; exit status 1 if any is wrong\n"
    "explain  prints the class of a request, the rule that decided, and the later classes that match too\n"
    "\n"
    "  --src ADDRESS        address of the client, IPv4 or IPv6          (src_ip_addr)\n"
    "  --dst ADDRESS        address of the server                        (dst_ip_addr)\n"
    "  --src-port N         port of the client                           (src_port)\n"
    "  --dst-port N         port of the server                           (dst_port)\n"
    "  --protocol NAME      http, https, h2, ...                         (prot_type)\n"
    "  --src-name NAME      domain name of the client                    (src_dn)\n"
    "  --host-name NAME     domain name of the server                    (dst_dn; default: the host of --url)\n"
    "  --url URL            scheme://host[:port]/path?query              (url)\n"
    "  --header 'NAME: V'   User-Agent and Cookie are looked at          (user_agent, cookie)\n"
    "  --ssl-id HEX         TLS session id                               (ssl_id)\n"
    "  --json               the answer as JSON\n"
    "\n"
    "  --help  --version\n";

int command_usage(const char *format, ...)
{
    va_list ap;

    fputs("fairgate-policy: ", stderr);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputs("\n", stderr);
    return COMMAND_BAD_USAGE;
}

static int print_classes(const policy_t *p)
{
    uint64_t whole = 0;
    uint32_t *rules_of = calloc(p->class_count, sizeof *rules_of);

    if (rules_of == NULL)
        return -1;
    for (uint32_t i = 0; i < p->class_count; i++)
        whole += p->classes[i].quantum;
    for (uint32_t i = 0; i < p->rule_count; i++)
        rules_of[p->rules[i].class]++;
    for (uint32_t i = 0; i < p->class_count; i++) {
        const struct policy_class *c = &p->classes[i];
        uint32_t rules = rules_of[i];

        printf("  class %u \"%s\": quantum %u (%.1f %%), %u rule%s%s%s\n", c->id, c->name, c->quantum,
               100.0 * c->quantum / (double)whole, rules, rules == 1 ? "" : "s", c->is_default ? ", default" : "",
               rules == 0 && !c->is_default ? "; no request gets here by a rule" : "");
    }
    if (p->default_class == POLICY_NONE)
        puts("  no default class: a request that no rule matches goes to a class \"other\" that the server adds, as light as the lightest; "
             "name one with default=\"yes\"");
    free(rules_of);
    return 0;
}

int command_check(int argc, char **argv)
{
    int status = COMMAND_OK;

    if (argc < 2)
        return command_usage("check needs a file; write fairgate-policy check FILE...");
    for (int i = 1; i < argc; i++) {
        char *error = NULL;
        policy_t *p = policy_load(argv[i], &error);

        if (p == NULL) {
            fflush(stdout);
            fprintf(stderr, "%s\n", error != NULL ? error : "out of memory");
            status = COMMAND_BAD_POLICY;
        } else {
            printf("%s: right; %u class%s, %u rule%s, %zu KB of tables\n", argv[i], p->class_count, p->class_count == 1 ? "" : "es",
                   p->rule_count, p->rule_count == 1 ? "" : "s", (policy_table_bytes(p) + 1023) / 1024);
            if (print_classes(p) != 0)
                status = COMMAND_BAD_POLICY;
        }
        free(error);
        policy_free(&p);
    }
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs(help, stderr);
        return COMMAND_BAD_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        fputs(help, stdout);
        return COMMAND_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("fairgate-policy " PACKAGE_VERSION);
        return COMMAND_OK;
    }
    if (strcmp(argv[1], "check") == 0)
        return command_check(argc - 1, argv + 1);
    if (strcmp(argv[1], "explain") == 0)
        return command_explain(argc - 1, argv + 1);
    return command_usage("there is no command \"%s\"; write check, explain, --help or --version", argv[1]);
}
