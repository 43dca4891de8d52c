/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crawlers_kept.h - the last good table, for processes that begin when the file is damaged or gone.
 *
 * A file in memory that a parent makes before there are children, and that outlives them: the path that the table was
 * read from, then the table (crawlers_table.h), whose checksum tells one that is whole from one that is just being
 * written.
 *
 * WHO WRITES HERE.  Children of httpd, as its user; the parent never reads it.  What stands there is read like a file
 * of strangers'.
 */
#ifndef FAIRGATE_CRAWLERS_KEPT_H
#define FAIRGATE_CRAWLERS_KEPT_H

#include "crawlers_table.h"

int  crawlers_kept_make(void);                  /* -1 and errno */
/* What was read from there is right.  Where it can't be written nothing is kept. */
void crawlers_kept_put(int fd, const char *path, const struct crawlers_table *t);
/* NULL: nothing that was read from there is kept. */
struct crawlers_table *crawlers_kept_get(int fd, const char *path);
void crawlers_kept_forget(int fd);

#endif
