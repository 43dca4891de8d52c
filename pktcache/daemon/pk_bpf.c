/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_bpf.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/syscall.h>

void pk_bpf_put(struct pk_bpf *b, int code, unsigned to, unsigned from, int off, int32_t value) {
    assert(b->n < PK_BPF_ROOM);
    b->at[b->n++] = (struct bpf_insn){
        .code = (uint8_t)code, .dst_reg = to & 15, .src_reg = from & 15, .off = (int16_t)off, .imm = value
    };
}

void pk_bpf_set(struct pk_bpf *b, unsigned to, int32_t value) {
    pk_bpf_put(b, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}

void pk_bpf_copy(struct pk_bpf *b, unsigned to, unsigned from) {
    pk_bpf_put(b, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}

void pk_bpf_point(struct pk_bpf *b, unsigned to, int stack) {
    pk_bpf_copy(b, to, BPF_REG_10);
    pk_bpf_put(b, BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, stack);
}

void pk_bpf_call(struct pk_bpf *b, int helper) { pk_bpf_put(b, BPF_JMP | BPF_CALL, 0, 0, 0, helper); }

void pk_bpf_return(struct pk_bpf *b, int32_t value) {
    pk_bpf_set(b, BPF_REG_0, value);
    pk_bpf_put(b, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static void bpf_address(struct pk_bpf *b, unsigned to, unsigned kind, int map) {
    pk_bpf_put(b, BPF_LD | BPF_DW | BPF_IMM, to, kind, 0, map);
    pk_bpf_put(b, 0, 0, 0, 0, 0);
}

void pk_bpf_map(struct pk_bpf *b, unsigned to, int map) { bpf_address(b, to, BPF_PSEUDO_MAP_FD, map); }
void pk_bpf_values(struct pk_bpf *b, unsigned to, int map) { bpf_address(b, to, BPF_PSEUDO_MAP_VALUE, map); }

void pk_bpf_read(struct pk_bpf *b, int size, unsigned to, unsigned from, int at) {
    pk_bpf_put(b, BPF_LDX | BPF_MEM | size, to, from, at, 0);
}

void pk_bpf_write(struct pk_bpf *b, int size, unsigned to, int at, unsigned from) {
    pk_bpf_put(b, BPF_STX | BPF_MEM | size, to, from, at, 0);
}

/* ---- jumps ------------------------------------------------------------------------------------------------------- */

static void bpf_jump(struct pk_bpf *b, struct pk_bpf_jumps *j, int code, unsigned reg, int32_t value) {
    assert(j->n < PK_BPF_JUMPS);
    j->at[j->n++] = b->n;
    pk_bpf_put(b, code, reg, 0, 0, value);
}

void pk_bpf_if(struct pk_bpf *b, struct pk_bpf_jumps *j, int what, unsigned reg, int32_t value) {
    bpf_jump(b, j, BPF_JMP | what | BPF_K, reg, value);
}

void pk_bpf_if32(struct pk_bpf *b, struct pk_bpf_jumps *j, int what, unsigned reg, uint32_t value) {
    bpf_jump(b, j, BPF_JMP32 | what | BPF_K, reg, (int32_t)value);
}

void pk_bpf_go(struct pk_bpf *b, struct pk_bpf_jumps *j) { bpf_jump(b, j, BPF_JMP | BPF_JA, 0, 0); }

void pk_bpf_land(struct pk_bpf *b, struct pk_bpf_jumps *j) {
    while (j->n) {
        int from = j->at[--j->n];
        b->at[from].off = (int16_t)(b->n - from - 1);
    }
}

/* ---- the kernel -------------------------------------------------------------------------------------------------- */

static int bpf(int what, union bpf_attr *a) { return (int)syscall(SYS_bpf, what, a, sizeof *a); }

int pk_bpf_load(const struct pk_bpf *b, unsigned type) {
    union bpf_attr a;
    memset(&a, 0, sizeof a);
    a.prog_type = type;
    a.insns = (uintptr_t)b->at;
    a.insn_cnt = (uint32_t)b->n;
    a.license = (uintptr_t) "Dual BSD/GPL";
    return bpf(BPF_PROG_LOAD, &a);
}

int pk_bpf_make_map(unsigned type, unsigned key, unsigned value, unsigned entries, unsigned flags) {
    union bpf_attr a;
    memset(&a, 0, sizeof a);
    a.map_type = type;
    a.key_size = key;
    a.value_size = value;
    a.max_entries = entries;
    a.map_flags = flags;
    return bpf(BPF_MAP_CREATE, &a);
}

void *pk_bpf_share(int map, size_t n) {
    void *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
    return at == MAP_FAILED ? NULL : at;
}
