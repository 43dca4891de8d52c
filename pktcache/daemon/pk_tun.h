/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_tun.h - the device that packets are led to (pk_hook.h): a tun with virtio-net headers and segmentation offload,
 * of one queue or many.
 *
 * It exists as long as its descriptors do: when the process dies, the device goes.  With several queues a packet's
 * queue is computed from its addresses and ports, which both directions and both ends of the link do alike, by a
 * program in the kernel (TUNSETSTEERINGEBPF).
 */
#ifndef FAIRGATE_PK_TUN_H
#define FAIRGATE_PK_TUN_H

#include <stdbool.h>

/*
 * Makes the device and brings it up; fd: a descriptor for each queue, that do not block.  0, or -1 and *error, a
 * sentence the caller frees.
 */
int pk_tun_open(const char *name, unsigned queues, unsigned mtu, int *fd, char **error);
bool pk_tun_is_up(const char *name);

#endif
