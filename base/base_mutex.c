/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base_mutex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPINS   100
#define LOOK_US 50000u /* who sleeps looks so often whether the holder is still there */

/* Of this thread: its number, and where the kernel looks when it ends. */
static __thread struct {
    uint32_t id;
    struct robust_list_head *head;
} self;

static void know_self(void) {
    size_t size;

    self.id = (uint32_t)syscall(SYS_gettid);
    /* Without it a holder's death shows when others have looked for it. */
    if (syscall(SYS_get_robust_list, 0, &self.head, &size)) self.head = NULL;
}

void base_mutex_forked(void) { self.id = 0; }

static inline void announce(struct base_mutex *l) {
    if (__builtin_expect(!self.id, 0)) know_self();
    if (self.head) self.head->list_op_pending = (struct robust_list *)((char *)&l->word - self.head->futex_offset);
    atomic_signal_fence(memory_order_seq_cst);
}

static inline void renounce(void) {
    atomic_signal_fence(memory_order_seq_cst);
    if (self.head) self.head->list_op_pending = NULL;
}

void base_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_us) {
    struct timespec t = { .tv_sec = (time_t)(timeout_us / 1000000u), .tv_nsec = (long)(timeout_us % 1000000u) * 1000 };
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &t, NULL, 0);
}

void base_futex_wake(_Atomic uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); }

static uint64_t clock_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static inline void pause_cpu(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static inline int swap(struct base_mutex *l, uint32_t from, uint32_t to) {
    return atomic_compare_exchange_strong_explicit(&l->word, &from, to, memory_order_acquire, memory_order_relaxed);
}

static int is_gone(uint32_t word) { return kill((pid_t)(word & FUTEX_TID_MASK), 0) && errno == ESRCH; }

static __attribute__((noinline)) enum base_taken take_slowly(struct base_mutex *l, uint64_t most_us) {
    uint64_t now, end = 0, looked = 0;
    uint32_t waiters = 0;

    /* It is held for about a microsecond, much less than it takes to sleep and be woken. */
    for (int i = 0; i < SPINS; i++) {
        pause_cpu();
        if (!atomic_load_explicit(&l->word, memory_order_relaxed) && swap(l, 0, self.id)) return BASE_TAKEN;
    }
    for (;;) {
        uint32_t word = atomic_load_explicit(&l->word, memory_order_relaxed);

        if (!(word & FUTEX_TID_MASK)) {
            /* Others may sleep, too: whoever has slept keeps them in mind. */
            if (swap(l, word, self.id | (word & FUTEX_WAITERS) | waiters))
                return word & FUTEX_OWNER_DIED ? BASE_TAKEN_DIED : BASE_TAKEN;
            continue;
        }
        if ((word & FUTEX_TID_MASK) == self.id) return BASE_NOT_TAKEN;
        now = clock_us();
        if (!end) {
            end = now + most_us;
            looked = now;
        }
        if (now >= end) return BASE_NOT_TAKEN;
        if (now - looked >= LOOK_US) {
            looked = now;
            if (is_gone(word)) {
                if (swap(l, word, self.id | FUTEX_WAITERS)) return BASE_TAKEN_DIED;
                continue;
            }
        }
        if (!(word & FUTEX_WAITERS) && !swap(l, word, word | FUTEX_WAITERS)) continue;
        waiters = FUTEX_WAITERS;
        base_futex_wait(&l->word, word | FUTEX_WAITERS, end - now < LOOK_US ? end - now : LOOK_US);
    }
}

enum base_taken base_mutex_take(struct base_mutex *l, uint64_t most_us) {
    enum base_taken taken;

    announce(l);
    if (__builtin_expect(swap(l, 0, self.id), 1)) return BASE_TAKEN;
    taken = take_slowly(l, most_us);
    if (taken == BASE_NOT_TAKEN && !base_mutex_is_held(l)) renounce();
    return taken;
}

enum base_taken base_mutex_try(struct base_mutex *l) {
    uint32_t word;

    announce(l);
    word = atomic_load_explicit(&l->word, memory_order_relaxed);
    if ((!(word & FUTEX_TID_MASK) || (word != self.id && is_gone(word))) &&
        swap(l, word, self.id | (word & FUTEX_WAITERS)))
        return word & (FUTEX_TID_MASK | FUTEX_OWNER_DIED) ? BASE_TAKEN_DIED : BASE_TAKEN;
    if (!base_mutex_is_held(l)) renounce();
    return BASE_NOT_TAKEN;
}

int base_mutex_give(struct base_mutex *l) {
    uint32_t word = self.id;
    int ours = 1;

    if (!atomic_compare_exchange_strong_explicit(&l->word, &word, 0, memory_order_release, memory_order_relaxed)) {
        ours = (word & FUTEX_TID_MASK) == self.id;
        if (ours) {
            atomic_store_explicit(&l->word, 0, memory_order_release);
            syscall(SYS_futex, &l->word, FUTEX_WAKE, 1, NULL, NULL, 0);
        }
    }
    renounce();
    return ours;
}

bool base_mutex_is_held(const struct base_mutex *l) {
    return self.id &&
           (atomic_load_explicit((_Atomic uint32_t *)&l->word, memory_order_relaxed) & FUTEX_TID_MASK) == self.id;
}

bool base_mutex_is_kept(const struct base_mutex *l) {
    uint32_t word = atomic_load_explicit((_Atomic uint32_t *)&l->word, memory_order_relaxed);
    return word & FUTEX_TID_MASK && !is_gone(word);
}

void base_mutex_hand_over(struct base_mutex *l) {
    announce(l);
    atomic_store(&l->word, self.id);
}
