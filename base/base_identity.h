/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base_identity.h - is that file still the one that was read?
 *
 * By its device and inode, its size, and when anything of it last changed, its name among that: no clock is asked, and
 * who sets a file's time back is seen, too.  Never three zeros, which may stand for no file.
 */
#ifndef FAIRGATE_BASE_IDENTITY_H
#define FAIRGATE_BASE_IDENTITY_H

#include <stdint.h>
#include <sys/stat.h>

void base_identity(const struct stat *st, uint64_t out[3]);

#endif
