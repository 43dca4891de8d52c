/* SPDX-License-Identifier: BSD-2-Clause */
/* lab_tun.h - a TUN device in a network namespace, for programs that stand between two of them. */
#ifndef FAIRGATE_LAB_TUN_H
#define FAIRGATE_LAB_TUN_H

/*
 * where: "NAMESPACE:DEVICE".  A descriptor that does not block; packets come and go one by one, without offload.
 * Whatever is wrong is said, and ends the process.  The caller is in that namespace afterwards.
 */
int lab_tun_open(const char *where);

#endif
