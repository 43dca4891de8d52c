/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_calls.h"

#include "base/base_error.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/socket.h>

/* Whatever their arguments.  A name that this machine's libseccomp does not know is left out. */
static const char *const plain[] = {
    /* lanes: the device, the link, the time */
    "read", "readv", "write", "writev", "recvfrom", "recvmsg", "recvmmsg", "recvmmsg_time64", "sendto", "sendmsg",
    "epoll_pwait", "epoll_pwait2", "epoll_wait", "clock_gettime", "clock_gettime64", "gettimeofday", "time",
    "getrandom",
    /* the first thread: signals, who asks for figures */
    "poll", "ppoll", "ppoll_time64", "accept", "accept4", "shutdown", "close",
    /* memory, threads, and the end of them */
    "brk", "munmap", "mremap", "madvise", "futex", "futex_time64", "set_robust_list", "rseq", "set_tid_address",
    "sched_yield", "sched_getaffinity", "nanosleep", "clock_nanosleep", "clock_nanosleep_time64", "restart_syscall",
    "rt_sigprocmask", "rt_sigaction", "rt_sigreturn", "sigreturn", "sigaltstack", "getpid", "gettid", "exit",
    "exit_group"
};

/* With these arguments only, of which each that is compared must hold. */
static const struct limited {
    const char *name;
    unsigned n;
    struct scmp_arg_cmp is[2];
} limited[] = {
    /* no code is made */
    { "mmap", 1, { { 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0 } } },
    { "mmap2", 1, { { 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0 } } },
    { "mprotect", 1, { { 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0 } } },
    /* threads, no processes */
    { "clone", 1, { { 0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD } } },
    /* an answer to who asks for figures is waited for so long */
    { "setsockopt", 2, { { 1, SCMP_CMP_EQ, SOL_SOCKET, 0 }, { 2, SCMP_CMP_EQ, SO_RCVTIMEO, 0 } } },
};

static int calls_add(scmp_filter_ctx f, uint32_t action, const char *name, unsigned n, const struct scmp_arg_cmp *is) {
    int call = seccomp_syscall_resolve_name(name), why;

    /* What only other architectures have adds nothing. */
    why = call == __NR_SCMP_ERROR ? 0 : seccomp_rule_add_array(f, action, call, n, is);
    return why == -EEXIST ? 0 : why;
}

static int calls_list(scmp_filter_ctx f) {
    /* abort() of this process, and no signal to another */
    const struct scmp_arg_cmp own = { 0, SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0 };
    int why = calls_add(f, SCMP_ACT_ALLOW, "tgkill", 1, &own);

    for (size_t i = 0; !why && i < sizeof plain / sizeof *plain; i++)
        why = calls_add(f, SCMP_ACT_ALLOW, plain[i], 0, NULL);
    for (size_t i = 0; !why && i < sizeof limited / sizeof *limited; i++)
        why = calls_add(f, SCMP_ACT_ALLOW, limited[i].name, limited[i].n, limited[i].is);
    /* Its arguments can't be looked at; the C library takes clone then. */
    if (!why) why = calls_add(f, SCMP_ACT_ERRNO(ENOSYS), "clone3", 0, NULL);
    return why;
}

int pk_calls_limit(char **error) {
#ifdef FAIRGATE_SANITIZED
    const bool limits = false;
#else
    const bool limits = true;
#endif
    scmp_filter_ctx f = limits ? seccomp_init(SCMP_ACT_KILL_PROCESS) : NULL;
    int why = f || !limits ? 0 : -EOPNOTSUPP; /* or who has started it lets nobody ask */

    if (f) {
        /* Before Linux 5.16 a filter would switch speculation off (SSBD), for all that such a process does. */
        seccomp_attr_set(f, SCMP_FLTATR_CTL_SSB, 1);
        seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
        if (!(why = calls_list(f))) why = seccomp_load(f);
        seccomp_release(f);
    }
    return why ? base_fail(error, "system calls can't be limited (seccomp): %s", strerror(-why)) : 0;
}
