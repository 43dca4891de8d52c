/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mod_scribble - an httpd module of the lab: what a child that was taken over may do to the memory that mod_qos_drr's
 * children share.  Not installed.
 *
 *     SetHandler lab-scribble    ?what=all&seed=S       random words all over it
 *                                ?what=engine&seed=S    all over the scheduler, the constant part left as it is
 *                                ?what=stock            the number of free descriptors becomes 0x30000000
 *                                ?what=children         every row of a child belongs to somebody
 *                                ?what=lock             the lock is held, by the process that asked for it
 *                                ?what=signatures&thumbprint=HEX
 *                                                       takes the lock of signatures, whose memory that key is in, and
 *                                                       clears what was seen of them
 *                                &die=1                 and it ends at once, with whatever it has
 *                                ?what=canary           where the parent's canary is, "ADDRESS BYTES"; its bytes are
 *                                                       CANARY
 *
 * It finds the segment as an intruder would: in /proc/self/maps.
 */
#include <httpd.h>
#include <http_config.h>
#include <http_core.h>
#include <http_protocol.h>

#include <apr_strings.h>

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base_secret.h"
#include "mod_qos_drr/qos_signers.h"
#include "shm/shm.h"

#define CANARY       0xc5
#define CANARY_BYTES (1u << 20)

static unsigned char *canary; /* in the parent before its children: theirs are copies */

/* The shared mapping that has nothing but addresses behind it. */
static unsigned char *find(uint64_t *bytes) {
    FILE *maps = fopen("/proc/self/maps", "r");
    uint64_t begin = 0, end = 0, from, to;
    char line[512], access[8];
    int found = 0, shared = 0;

    while (maps && !found && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &from, &to, access) != 3) continue;
        found = shared && from == end && !strcmp(access, "---p") && to - from >= RS_REACH;
        if (found) break;
        begin = from;
        end = to;
        shared = !strcmp(access, "rw-s");
    }
    if (maps) fclose(maps);
    *bytes = end - begin;
    return found ? (unsigned char *)(uintptr_t)begin : NULL;
}

static void scribble(unsigned char *at, uint64_t bytes, uint64_t seed) {
    for (uint64_t i = 0; i < bytes / 8; i++) {
        uint64_t z = seed += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        z ^= z >> 31;
        memcpy(at + 8 * i, &z, 8);
    }
}

/* Where the engine begins: its magic number at a multiple of 64. */
static uint64_t engine_in(const unsigned char *at, uint64_t bytes) {
    for (uint64_t i = sizeof(struct shm_segment) & ~UINT64_C(63); i < bytes; i += 64)
        if (!memcmp(at + i, "SRGF", 4)) return i;
    return bytes;
}

/* By the first key of the first signer. */
static struct qos_signed_area *signatures_in(unsigned char *at, uint64_t bytes, const char *hex) {
    uint8_t thumbprint[32] = { 0 };
    unsigned char *found;

    for (size_t i = 0; i < 32 && strlen(hex) == 64; i++)
        thumbprint[i] = (uint8_t)(base_secret_digit(hex[2 * i]) << 4 | base_secret_digit(hex[2 * i + 1]));
    found = memmem(at, bytes, thumbprint, sizeof thumbprint);
    return found ? (void *)(found - offsetof(struct qos_signed_area, signer[0].key[0].thumbprint)) : NULL;
}

static const char *argument(request_rec *r, const char *name) {
    const char *at = r->args ? strstr(r->args, name) : NULL;
    return at ? apr_pstrndup(r->pool, at + strlen(name), strcspn(at + strlen(name), "&")) : "";
}

static int handler(request_rec *r) {
    const char *what = argument(r, "what=");
    uint64_t bytes = 0, seed = strtoull(argument(r, "seed="), NULL, 10), at;
    unsigned char *segment;
    struct shm_segment *sh;

    if (!r->handler || strcmp(r->handler, "lab-scribble")) return DECLINED;
    ap_set_content_type(r, "text/plain");
    if (!strcmp(what, "canary")) {
        ap_rprintf(r, "%" PRIu64 " %u\n", (uint64_t)(uintptr_t)canary, CANARY_BYTES);
        return OK;
    }
    segment = find(&bytes);
    if (!segment) return HTTP_NOT_FOUND;
    sh = (struct shm_segment *)segment;
    if (!strcmp(what, "all")) {
        scribble(segment, bytes, seed);
    } else if (!strcmp(what, "engine")) {
        at = engine_in(segment, bytes) + RS_CONSTANT;
        scribble(segment + at, bytes - at, seed);
    } else if (!strcmp(what, "stock")) {
        sh->nstock = 0x30000000;
    } else if (!strcmp(what, "lock")) {
        atomic_store(&sh->lock.word, (uint32_t)getpid());
    } else if (!strcmp(what, "signatures")) {
        struct qos_signed_area *a = signatures_in(segment, bytes, argument(r, "thumbprint="));
        if (!a || base_mutex_take(&a->lock, 5000000) != BASE_TAKEN) return HTTP_NOT_FOUND;
        memset(a->seen.place, 0, sizeof a->seen.place);
    } else if (!strcmp(what, "children")) {
        struct shm_owner *children = (struct shm_owner *)(segment + ((sizeof *sh + 63) & ~(size_t)63));
        for (int i = 0, n = atoi(argument(r, "n=")); i < n; i++)
            if (!children[i].pid) children[i].pid = 1;
    } else {
        return HTTP_BAD_REQUEST;
    }
    if (*argument(r, "die=")) kill(getpid(), SIGKILL);
    ap_rputs("done\n", r);
    return OK;
}

static int post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s) {
    (void)plog, (void)ptemp, (void)pconf;
    if (!canary) canary = memset(apr_palloc(s->process->pool, CANARY_BYTES), CANARY, CANARY_BYTES);
    return OK;
}

static void register_hooks(apr_pool_t *p) {
    (void)p;
    ap_hook_post_config(post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(handler, NULL, NULL, APR_HOOK_MIDDLE);
}

module AP_MODULE_DECLARE_DATA scribble_module = { STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, register_hooks,
                                                  AP_MODULE_FLAG_NONE };
