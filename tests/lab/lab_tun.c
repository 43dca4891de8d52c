/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab_tun.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int lab_tun_open(const char *where) {
    char path[256];
    struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
    const char *colon = strchr(where, ':');
    if (!colon || colon == where || strlen(colon + 1) - 1 >= IFNAMSIZ - 1 || strchr(where, '/')) {
        fprintf(stderr, "\"%s\" is not NAMESPACE:DEVICE\n", where);
        exit(2);
    }
    snprintf(path, sizeof path, "/run/netns/%.*s", (int)(colon - where), where);
    int space = open(path, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) < 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(2);
    }
    close(space);
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    memcpy(request.ifr_name, colon + 1, strlen(colon + 1));
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0) {
        fprintf(stderr, "a device %s: %s\n", where, strerror(errno));
        exit(2);
    }
    return fd;
}
