/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base_magic.h - magic numbers, and the assertion that stays in release builds.
 *
 * RS_ASSERT is for a bug of ours or a host's breach of the contract in rs.h; it ends the process and names the line.
 * rs_check and rs_attach, which judge memory that may be damaged, return sentences instead.
 */
#ifndef FAIRGATE_BASE_MAGIC_H
#define FAIRGATE_BASE_MAGIC_H

#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#ifdef RS_ASSERT_FAILED     /* of a fuzz target, which goes on after one */
_Noreturn void RS_ASSERT_FAILED(void);
#define RS_ASSERT(what) ((what) ? (void)0 : RS_ASSERT_FAILED())
#else
#define RS_ASSERT(what) assert(what)
#endif

#define RS_ENGINE_MAGIC  0x46475253u    /* "FGRS" */
#define RS_OUTLET_MAGIC  0x4647524fu
/* of the block's shape: goes up whenever a struct in base_block.h or a private state changes */
#define RS_VERSION       18u

#define RS_NIL           UINT32_MAX     /* no index */

/*
 * Keeps the compiler from moving stores across: what a process that is killed here leaves behind must be the old or the
 * new state.
 */
#define RS_BARRIER()     __asm__ volatile("" ::: "memory")

#endif
