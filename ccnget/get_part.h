/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * get_part.h - FILE.ccnget: how much of a page FILE has, for who goes on with it.
 *
 *     fairgate-ccnget 1
 *     object /example/site/index.html/54=%00%06...        the version
 *     segments 120                                        from the first on
 *     bytes 491520                                        that these are; what is behind them counts for nothing
 *
 * Written beside it and given its name when it is whole, after FILE's bytes are on the disk.
 */
#ifndef FAIRGATE_GET_PART_H
#define FAIRGATE_GET_PART_H

#include "ndn/ndn_name.h"

struct get_part {
    size_t   n;                         /* of the object's name; 0: nothing is there */
    uint8_t  object[NDN_PACKET_MAX];    /* components */
    uint64_t segments, bytes;
};

/* What is there of FILE; nothing, if FILE.ccnget is not there or wrong, or FILE is shorter than it says. */
void get_part_read(const char *file, struct get_part *p);
int  get_part_write(const char *file, const struct get_part *p, char **error);     /* 0, or -1 and *error */
void get_part_remove(const char *file);

#endif
