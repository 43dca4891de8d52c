/* SPDX-License-Identifier: BSD-2-Clause */
/* policy_command.h - the parts of the fairgate-policy command. */
#ifndef FAIRGATE_POLICY_COMMAND_H
#define FAIRGATE_POLICY_COMMAND_H

#include <stdio.h>

int  command_explain(int argc, char **argv);    /* as struct base_command has it */
void command_explain_help(FILE *out);
int  command_replay(int argc, char **argv);
void command_replay_help(FILE *out);

#endif
