/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_command.c - fairgate-policy: check policy files, explain what one makes of a request, replay a log.  The
 * manual is fairgate-policy.1.in.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/base_command.h"
#include "policy_command.h"
#include "policy_exempt.h"
#include "policy_impl.h"
#include "policy_warn.h"

static int print_classes(FILE *out, const policy_t *p) {
    uint64_t whole = 0;
    uint32_t *rules_of = calloc(p->class_count, sizeof *rules_of);

    if (!rules_of) return -1;
    for (uint32_t i = 0; i < p->class_count; i++) whole += p->classes[i].quantum;
    for (uint32_t i = 0; i < p->rule_count; i++) rules_of[p->rules[i].class]++;
    for (uint32_t i = 0; i < p->class_count; i++) {
        const struct policy_class *c = &p->classes[i];
        uint32_t rules = rules_of[i];

        fprintf(out, "  class %u \"%s\": quantum %u (%.1f %%), %u rule%s%s%s", c->id, c->name, c->quantum,
                100.0 * c->quantum / (double)whole, rules, rules == 1 ? "" : "s", c->is_default ? ", default" : "",
                rules == 0 && !c->is_default ? "; no request gets here by a rule" : "");
        if (c->within.visitor) fputs("; shared by visitors", out);
        else if (c->within.levels)
            fprintf(out, "; shared by clients, IPv4 by /%u, IPv6 by /%u", c->within.bits_v4, c->within.bits_v6);
        fputc('\n', out);
    }
    if (policy_exempt_of(p)) {
        fprintf(out, "  exempt: %u of paths, methods and addresses", policy_exempt_count(policy_exempt_of(p)));
        if (policy_exempt_limit(p)) fprintf(out, ", %u at one time", policy_exempt_limit(p));
        fputc('\n', out);
    }
    if (p->default_class == POLICY_NONE)
        fputs("  no default class: a request that no rule matches goes to a class \"other\" that the server adds, as "
              "light as the lightest; "
              "name one with default=\"yes\"\n",
              out);
    free(rules_of);
    return 0;
}

static void print_warning(void *out, const char *sentence) { fprintf(out, "  warning: %s\n", sentence); }

static int policy_command_look(const char *file, FILE *found, char **error) {
    policy_t *p = policy_load(file, error);
    int status = p ? 0 : -1;

    if (p) {
        fprintf(found, "%u class%s, %u rule%s, %zu KB of tables\n", p->class_count, p->class_count == 1 ? "" : "es",
                p->rule_count, p->rule_count == 1 ? "" : "s", (policy_table_bytes(p) + 1023) / 1024);
        status = print_classes(found, p);
        policy_warn(p, &(struct policy_warn){ .tell = print_warning, .to = found });
    }
    policy_free(&p);
    return status;
}

static int policy_command_check(int argc, char **argv) { return base_check(argc, argv, policy_command_look); }

static const struct base_command commands[] = {
    { "check", "[--json] FILE...", "read each policy as a server would, and print its classes or what is wrong", 0,
      BASE_ANY_NUMBER, policy_command_check },
    { "explain", "FILE [OPTION]...",
      "the class of a request, the rule that decided, and the later classes that match too", 0, BASE_ANY_NUMBER,
      command_explain },
    { "replay", "[OPTION]... POLICY ACCESS-LOG",
      "what a server would have made of yesterday's requests: shares, waits, refusals", 0, BASE_ANY_NUMBER,
      command_replay },
};

static void policy_command_help(FILE *out) {
    command_explain_help(out);
    command_replay_help(out);
}

int main(int argc, char **argv) {
    static const struct base_program me = { "fairgate-policy", PACKAGE_VERSION, commands,
                                            sizeof commands / sizeof *commands, policy_command_help };

    return base_program_main(&me, argc, argv);
}
