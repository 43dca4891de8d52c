/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base_file.h - opens a file that a user names, perhaps in a folder that a less privileged process can write.
 * Only a regular file is opened: opening a FIFO would wait for its writer for ever.
 */
#ifndef FAIRGATE_BASE_FILE_H
#define FAIRGATE_BASE_FILE_H

#include <stdio.h>

/* For reading; the caller closes it.  NULL, and *why is a static text, if it cannot be opened or is not regular. */
FILE *base_file_open(const char *path, const char **why);

#endif
