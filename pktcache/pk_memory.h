/* SPDX-License-Identifier: BSD-2-Clause */
/* pk_memory.h - memory that is there from the beginning, so that what a daemon has does not grow while it works. */
#ifndef FAIRGATE_PK_MEMORY_H
#define FAIRGATE_PK_MEMORY_H

#include <stdlib.h>

#define PK_PAGE 4096u

/* Zeroed, every page of it touched; for free().  NULL: there is not so much. */
static inline void *pk_memory(size_t bytes) {
    char *p = calloc(1, bytes);
    if (p)
        for (size_t i = 0; i < bytes; i += PK_PAGE) ((volatile char *)p)[i] = 0;
    return p;
}

#endif
