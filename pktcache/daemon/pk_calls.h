/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_calls.h - the system calls that the process of packets may make (seccomp).
 *
 * It opens no file, runs no program, connects to nobody and makes no code.  A call that is not of the list is its end
 * (SIGSYS): its device goes with it, and packets take their plain way.  What is to call something new adds that to the
 * list, with the arguments that it needs; the system tests go through all that the process does.
 */
#ifndef FAIRGATE_PK_CALLS_H
#define FAIRGATE_PK_CALLS_H

/*
 * From now on, for this thread and those that it will make.  Before: pk_power_keep.  0, or -1 and *error, a sentence
 * that the caller frees.
 *
 * In a build for sanitizers it does nothing: they read files, map code and look at the process with ptrace.
 */
int pk_calls_limit(char **error);

#endif
