/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_power.h"

#include "pktcache/pk_config.h"

#include "base/base_error.h"
#include "base/base_log.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define NOBODY "nobody"

int pk_power_user(struct pk_user *u, const char *name, char **error) {
    const struct passwd *p;

    *u = (struct pk_user){ geteuid(), getegid() };
    if (geteuid()) return 0;
    if (!(p = getpwnam(name)) && !strcmp(name, PK_USER_USUAL) && (p = getpwnam(NOBODY)))
        base_log(BASE_LOG_WARNING, "there is no user " PK_USER_USUAL ", so it is " NOBODY
                                   "; one of its own is better (docs/pktcache.md)");
    if (!p) return base_fail(error, "user %s: there is no such user here", name);
    *u = (struct pk_user){ p->pw_uid, p->pw_gid };
    return 0;
}

static int set_capabilities(uint64_t these, bool to_programs) {
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2];

    for (int i = 0; i < 2; i++) {
        data[i].effective = data[i].permitted = (uint32_t)(these >> 32 * i);
        data[i].inheritable = to_programs ? data[i].permitted : 0;
    }
    return (int)syscall(SYS_capset, &head, data);
}

static int become(const struct pk_user *u) {
    if (u->user == geteuid() && u->group == getegid()) return 0;
    return setgroups(0, NULL) || setresgid(u->group, u->group, u->group) || setresuid(u->user, u->user, u->user);
}

int pk_power_keep(const struct pk_user *u, bool net_admin, char **error) {
    uint64_t keep = net_admin ? 1u << CAP_NET_ADMIN : 0;

    /* Without CAP_SETPCAP the bound stays.  Nothing can be had of it then, either: PR_SET_NO_NEW_PRIVS. */
    for (unsigned long c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; c++)
        if (!(keep >> c & 1)) prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
    if (prctl(PR_SET_KEEPCAPS, net_admin, 0, 0, 0) || become(u))
        return base_fail(error, "user: can't be taken (%s); root can, and who is started as that user",
                         strerror(errno));
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (set_capabilities(keep, net_admin) ||
        (net_admin && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_ADMIN, 0, 0)))
        return base_fail(error, "CAP_NET_ADMIN can't be had: %s", strerror(errno));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return base_fail(error, "power can't be given up for good: %s", strerror(errno));
#ifndef FAIRGATE_SANITIZED
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* a change of user has left it as the system's fs.suid_dumpable says */
#else
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* at the end LeakSanitizer looks at the process as a debugger would */
#endif
    if (u->user && !setuid(0)) abort();
    return 0;
}
