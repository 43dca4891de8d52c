/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_bpf.h - programs for the kernel (eBPF), put together instruction by instruction, and the memory that they share
 * with us.  No compiler for them and no library is needed on the machine that runs the daemon.
 *
 * Registers are the kernel's: 0 what a call returns, 1 to 5 what it is given and spoils, 6 to 9 ours, 10 the end of the
 * stack, of 512 bytes.
 */
#ifndef FAIRGATE_PK_BPF_H
#define FAIRGATE_PK_BPF_H

#include <stddef.h>
#include <stdint.h>

#include <linux/bpf.h>

enum { PK_BPF_ROOM = 4096, PK_BPF_JUMPS = 512 };

struct pk_bpf { struct bpf_insn at[PK_BPF_ROOM]; int n; };
/* Jumps that lead to one place, which comes behind them. */
struct pk_bpf_jumps { int at[PK_BPF_JUMPS], n; };

void pk_bpf_put(struct pk_bpf *b, int code, unsigned to, unsigned from, int off, int32_t value);
void pk_bpf_set(struct pk_bpf *b, unsigned to, int32_t value);
void pk_bpf_copy(struct pk_bpf *b, unsigned to, unsigned from);
void pk_bpf_point(struct pk_bpf *b, unsigned to, int stack);                        /* to a place of the stack */
void pk_bpf_call(struct pk_bpf *b, int helper);
void pk_bpf_return(struct pk_bpf *b, int32_t value);
void pk_bpf_map(struct pk_bpf *b, unsigned to, int map);
void pk_bpf_values(struct pk_bpf *b, unsigned to, int map);                         /* to the value of a map of one */
/* size: BPF_B, BPF_H, BPF_W or BPF_DW; as the machine has them, which is not the network's order */
void pk_bpf_read(struct pk_bpf *b, int size, unsigned to, unsigned from, int at);
void pk_bpf_write(struct pk_bpf *b, int size, unsigned to, int at, unsigned from);

/* Jumps if (register `what` value), of 64 bits; or always.  what: BPF_JEQ, BPF_JNE, BPF_JSGT, ... */
void pk_bpf_if(struct pk_bpf *b, struct pk_bpf_jumps *j, int what, unsigned reg, int32_t value);
/* The same of 32 bits. */
void pk_bpf_if32(struct pk_bpf *b, struct pk_bpf_jumps *j, int what, unsigned reg, uint32_t value);
void pk_bpf_go(struct pk_bpf *b, struct pk_bpf_jumps *j);
void pk_bpf_land(struct pk_bpf *b, struct pk_bpf_jumps *j);                         /* here; j is empty then */

/* A descriptor, or -1 and errno.  type: enum bpf_prog_type, enum bpf_map_type. */
int  pk_bpf_load(const struct pk_bpf *b, unsigned type);
int  pk_bpf_make_map(unsigned type, unsigned key, unsigned value, unsigned entries, unsigned flags);
/* The first n bytes of a map's values as our memory, for munmap(); of BPF_F_MMAPABLE.  NULL and errno. */
void *pk_bpf_share(int map, size_t n);

#endif
