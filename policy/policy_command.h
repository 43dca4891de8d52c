/* SPDX-License-Identifier: BSD-2-Clause */
/* policy_command.h - the parts of the fairgate-policy command.  Each takes its own arguments and returns the exit status. */
#ifndef FAIRGATE_POLICY_COMMAND_H
#define FAIRGATE_POLICY_COMMAND_H

enum { COMMAND_OK = 0, COMMAND_BAD_POLICY = 1, COMMAND_BAD_USAGE = 2 };

/* argv[0] is the word "check" or "explain". */
int command_check(int argc, char **argv);
int command_explain(int argc, char **argv);
/* A sentence on stderr, and COMMAND_BAD_USAGE. */
int command_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
