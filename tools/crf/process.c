/*
 * This file is part of FFmpeg.
 *
 * FFmpeg is free software; you can redistribute it and/or
 * modify it under the terms of the GNU Lesser General Public
 * License as published by the Free Software Foundation; either
 * version 2.1 of the License, or (at your option) any later version.
 *
 * FFmpeg is distributed in the hope that it will be useful,
 * but WITHOUT ANY WARRANTY; without even the implied warranty of
 * MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the GNU
 * Lesser General Public License for more details.
 *
 * You should have received a copy of the GNU Lesser General Public
 * License along with FFmpeg; if not, write to the Free Software
 * Foundation, Inc., 51 Franklin Street, Fifth Floor, Boston, MA 02110-1301 USA
 */

#define _GNU_SOURCE         // for F_DUPFD_CLOEXEC

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "process.h"
#include "text.h"

#define FIRST_FILE STDERR_FILENO
#define WAIT       250          ///< a signal is seen after so many milliseconds at most

volatile sig_atomic_t caught_signal;

static void handle_signal(int number)
{
    caught_signal = number;
}

void process_catch_signals(void)
{
    // the second one ends at once
    const struct sigaction action = { .sa_handler = handle_signal, .sa_flags = SA_RESETHAND };

    sigaction(SIGINT,  &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int process_is_stopped(void)
{
    return caught_signal;
}

/// Move a file to a number that no file of the program has.
static int move_up(int fd)
{
    const int moved = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FILE + PROCESS_FILES);

    close(fd);
    return moved;
}

static int open_files(FILE *file[PROCESS_FILES])
{
    const char *dir = getenv("TMPDIR");

    for (int i = 0; i < PROCESS_FILES; i++) {
        char *path = text("%s/ffcrf-XXXXXX", dir && *dir ? dir : "/tmp");
        int fd     = mkstemp(path);

        if (fd >= 0 && unlink(path) >= 0)
            fd = move_up(fd);
        if (fd < 0 || !(file[i] = fdopen(fd, "r")))
            return fail("Cannot make a temporary file '%s': %s. Set TMPDIR to another folder.",
                        path, strerror(errno));
    }
    return 0;
}

void process_close(FILE *file[PROCESS_FILES])
{
    for (int i = 0; i < PROCESS_FILES; i++)
        if (file[i])
            fclose(file[i]);
}

/// Become the program.
static void become(char *const argv[], FILE *file[PROCESS_FILES], int out, pid_t parent)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    for (int i = 0; i < PROCESS_FILES; i++)
        dup2(fileno(file[i]), FIRST_FILE + i);
    dup2(out, STDOUT_FILENO);
    if (getppid() == parent)
        execvp(argv[0], argv);
    _exit(127);
}

/// Take lines until there are no more, or a signal comes.
static void follow(int fd, void (*line)(void *opaque, char *line), void *opaque)
{
    struct pollfd p = { fd, POLLIN };
    char buffer[4096];
    size_t size = 0;

    while (!caught_signal) {
        char *begin = buffer, *end;
        ssize_t got;

        if (poll(&p, 1, WAIT) <= 0)
            continue;
        if ((got = read(fd, buffer + size, sizeof(buffer) - 1 - size)) <= 0)
            break;
        size += got;
        buffer[size] = 0;
        for (; (end = strchr(begin, '\n')); begin = end + 1) {
            *end = 0;
            line(opaque, begin);
        }
        size -= begin - buffer;
        memmove(buffer, begin, size);
        if (size == sizeof(buffer) - 1)     // what has no end is no line of interest
            size = 0;
    }
}

int process_run(char *const argv[], FILE *file[PROCESS_FILES],
                void (*line)(void *opaque, char *line), void *opaque)
{
    const pid_t parent = getpid();
    int fd[2], status  = 0;
    pid_t child;

    memset(file, 0, PROCESS_FILES * sizeof(*file));
    if (open_files(file) < 0)
        return -1;
    if (pipe(fd) < 0 || (fd[0] = move_up(fd[0])) < 0 || (fd[1] = move_up(fd[1])) < 0 ||
        (child = fork()) < 0)
        return fail("No program can be started: %s.", strerror(errno));
    if (!child)
        become(argv, file, fd[1], parent);
    close(fd[1]);
    follow(fd[0], line, opaque);
    close(fd[0]);
    do {
        if (caught_signal)
            kill(child, SIGKILL);           // what it was making is of no use
    } while (waitpid(child, &status, 0) < 0 && errno == EINTR);
    rewind(file[0]);                        // the program has written with the same position
    if (caught_signal)
        return -1;
    if (WIFSIGNALED(status))
        return fail("'%s' was ended by signal %d.", argv[0], WTERMSIG(status));
    if (WEXITSTATUS(status) == 127)
        return fail("There is no '%s' that can be run.", argv[0]);
    return WEXITSTATUS(status);
}
