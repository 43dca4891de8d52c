/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_config.h - the configuration of a daemon, as pk_settings.def declares it: lines of a word and its values, # for
 * comments.
 */
#ifndef FAIRGATE_PK_CONFIG_H
#define FAIRGATE_PK_CONFIG_H

#include "pk_http.h"
#include "pk_packet.h"
#include "pk_fingerprint.h"

#include "base/base_settings.h"

#include <sys/socket.h>

#define PK_LIST_MAX  BASE_LIST_MAX
#define PK_LANES_MAX 16u            /* queues */

enum pk_keep { PK_KEEP_HTTP, PK_KEEP_ALL };
enum pk_mode { PK_MODE_PACKET, PK_MODE_WINDOW, PK_MODE_TRAIN };

/* Of `peer`: where it is; that it is to say so itself; a name, that others are to be asked for. */
enum pk_peer { PK_PEER_ADDRESS, PK_PEER_ANY, PK_PEER_NAME };

#define PK_NAME_MAX 253u            /* characters of a name (RFC 1035, 3.1) */

struct pk_network { uint8_t address[16]; unsigned bits; };      /* IPv4 in ::ffff:0:0/96 */
struct pk_networks { struct pk_network item[PK_LIST_MAX]; unsigned n; };

#define PK_CONTROL_USUAL "/run/fairgate-pktcache/control"
#define PK_LINK_USUAL    "auto"
#define PK_USER_USUAL    "fairgate-pktcache"

struct pk_config {
#define SETTING BASE_FIELD
#include "pk_settings.def"
#undef SETTING
    /* made of these */
    struct pk_networks      server, client;
    uint16_t                port[PK_LIST_MAX];          /* as on the wire */
    bool                    any_port;
    struct eeod_marks       mark;
    struct sockaddr_storage here, there;                /* of the first queue; there: its family and port at least */
    enum pk_peer            peer_is;
    char                    peer_name[PK_NAME_MAX + 1];
};

/*
 * all: as if `keep all` stood there.  0, or -1 and *error (base_error.h), "FILE:LINE: what is wrong, what would be
 * right".  pk_config_free in either case.
 */
int  pk_config_read(struct pk_config *c, const char *path, bool all, char **error);
void pk_config_free(struct pk_config *c);
void pk_config_help(FILE *out);

#define PK_ENDPOINT_TEXT 64u
/* ADDRESS:PORT, as `local` has it. */
void pk_endpoint_write(const struct sockaddr_storage *a, char text[PK_ENDPOINT_TEXT]);

bool pk_network_is_four(const struct pk_network *n);
/* Whether a packet goes from a configured server, on one of its ports, to a configured client. */
bool pk_config_serves(const struct pk_config *c, const struct pk_tuple *t);

#endif
