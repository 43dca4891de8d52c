/* SPDX-License-Identifier: BSD-2-Clause */
/* become.h - what strangers' documents are read with is no root. */
#ifndef FAIRGATE_BECOME_H
#define FAIRGATE_BECOME_H

/* Who is root becomes this user; NULL is refused, "root" is for who insists.  NULL, or what is wrong. */
const char *become(const char *name);

#endif
