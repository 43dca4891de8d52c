/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lines of a configuration (base/base_settings.h) and what fairgate-pktcache makes of them: read, or refused with a
 * sentence that names the file.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pktcache/pk_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct pk_config c;
    char path[32], *error = NULL;
    int fd = memfd_create("config", 0), rv;

    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    rv = pk_config_read(&c, path, size & 1, &error);
    if (rv ? !error || strncmp(error, path, strlen(path)) : !!error) abort();
    if (!rv && (!c.server.n || !c.client.n || !c.queues || c.queues > PK_LANES_MAX || !c.device || !c.marks.second))
        abort();
    free(error);
    pk_config_free(&c);
    close(fd);
    return 0;
}
