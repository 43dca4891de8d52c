/* SPDX-License-Identifier: BSD-2-Clause */
#include "become.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

const char *become(const char *name) {
    struct passwd *user;

    if (geteuid()) return NULL;
    if (!name)
        return "runs as root, and need not; start it as a user of its own, or say --user NAME (a system user that may "
               "write the table: see the manual)";
    user = getpwnam(name);
    if (!user) return "--user names nobody on this system; make such a user, as the files of etc/sysusers.d do";
    if (!user->pw_uid) return NULL;
    if (initgroups(name, user->pw_gid) || setresgid(user->pw_gid, user->pw_gid, user->pw_gid) ||
        setresuid(user->pw_uid, user->pw_uid, user->pw_uid) || !setuid(0))
        return "can't become the user that --user names; start it as that one";
    return NULL;
}
