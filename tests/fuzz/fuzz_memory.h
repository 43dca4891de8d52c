/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_memory.h - memory that somebody wrote over, and what may come of it.
 *
 * A clean end of a process is an assertion, a division by zero, or a fault within the memory or the addresses behind it
 * that a host leaves free (RS_REACH); or at NULL, where tables of functions end.  MEMORY_TRY is 0 at first, and 1 after
 * such an end.  Everything else, a fault anywhere else above all, ends the fuzzer.
 */
#ifndef FAIRGATE_FUZZ_MEMORY_H
#define FAIRGATE_FUZZ_MEMORY_H

#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/rs.h"

static sigjmp_buf memory_end;
static volatile int memory_trying;
static char *memory_at;
static uint64_t memory_reserved;

#define MEMORY_TRY (memory_trying = 1, sigsetjmp(memory_end, 0))

_Noreturn void fuzz_assert_failed(void);
_Noreturn void fuzz_assert_failed(void) {
    if (!memory_trying) abort();
    siglongjmp(memory_end, 1);
}

static void memory_fault(int signal, siginfo_t *info, void *unused) {
    const char *at = info->si_addr;
    int here = at >= memory_at && at < memory_at + memory_reserved,
        at_null = info->si_code == SEGV_MAPERR && (uintptr_t)at < 4096;

    (void)unused;
    if (memory_trying && (signal == SIGFPE || here || at_null)) siglongjmp(memory_end, 1);
    __builtin_trap();
}

/* Ours are the faults, not the sanitizer's or the fuzzer's. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:detect_leaks=0"; }

static inline void memory_catch(void *at, uint64_t reserved) {
    struct sigaction act = { .sa_sigaction = memory_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };

    memory_at = at;
    memory_reserved = reserved;
    sigaction(SIGSEGV, &act, NULL);
    sigaction(SIGBUS, &act, NULL);
    sigaction(SIGFPE, &act, NULL);
}

/* ---- the input --------------------------------------------------------------------------------------------------- */

struct input { const uint8_t *at, *end; };

static uint8_t byte(struct input *in) { return in->at < in->end ? *in->at++ : 0; }

/* Few bytes say much: small, near a power of two, all ones, or eight of them as they are. */
static uint64_t word(struct input *in) {
    uint8_t kind = byte(in);
    uint64_t n = 0;

    if (kind < 0x60) return kind;
    if (kind < 0xa0) return (UINT64_C(1) << (kind & 63)) + byte(in) - 128;
    if (kind < 0xc0) return UINT64_MAX - (kind & 31);
    if (kind < 0xe0) return UINT32_MAX - (kind & 31);
    for (int i = 0; i < 8; i++) n = n << 8 | byte(in);
    return n;
}

/*
 * Thousands of words in one try, and who calls has seen to it that they are in the memory: no sanitizer or fuzzer is
 * told of each.
 */
__attribute__((noinline, no_sanitize("coverage", "address", "undefined"))) static void scribble(void *at,
                                                                                                uint64_t bytes,
                                                                                                uint64_t seed) {
    uint64_t *words = at;

    for (uint64_t i = 0; i < bytes / 8; i++) {
        uint64_t z = seed += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        words[i] = z ^ (z >> 27);
    }
}

/* One to eight bytes, or a stretch of random ones, anywhere in this. */
static void write_over(struct input *in, void *memory, uint64_t bytes) {
    uint8_t kind = byte(in);
    uint64_t at = ((uint64_t)byte(in) << 16 | (uint64_t)byte(in) << 8 | byte(in)) % (bytes - 8), value = word(in);

    if (kind < 0xf8) {
        at &= ~UINT64_C(3);
        memcpy((char *)memory + at, &value, kind & 1 ? 8 : 4);
    } else {
        at &= ~UINT64_C(7);
        scribble((char *)memory + at, kind == 0xff || value % 4096 > bytes - at ? bytes - at : value % 4096, value);
    }
}

#endif
