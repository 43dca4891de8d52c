/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_run.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/wait.h>

extern char **environ;

/* A file in memory that holds this. */
static int file_of(const char *text) {
    int f = memfd_create("fairgate", MFD_CLOEXEC);
    size_t n = strlen(text);

    if (f >= 0 && (write(f, text, n) != (ssize_t)n || lseek(f, 0, SEEK_SET))) {
        close(f);
        return -1;
    }
    return f;
}

int pk_run(char *const argv[], const char *in, char *said, size_t room) {
    posix_spawn_file_actions_t actions;
    int from = file_of(in), to = file_of(""), why = from < 0 || to < 0 ? errno : 0, state = 0;
    ssize_t n = 0;
    pid_t pid;

    if (!why) {
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, from, 0);
        posix_spawn_file_actions_adddup2(&actions, to, 1);
        posix_spawn_file_actions_adddup2(&actions, to, 2);
        why = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    if (!why) {
        while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {}
        if (said) n = pread(to, said, room - 1, 0);
    }
    if (said) said[n > 0 ? n : 0] = 0;
    if (from >= 0) close(from);
    if (to >= 0) close(to);
    errno = why;
    return why ? -1 : WIFEXITED(state) ? WEXITSTATUS(state) : 255;
}
