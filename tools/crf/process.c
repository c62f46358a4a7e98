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

#define _GNU_SOURCE         // for getline()

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "process.h"
#include "text.h"

volatile sig_atomic_t caught_signal;

static volatile pid_t child;

static void handle_signal(int number)
{
    caught_signal = number;
    if (child > 0)
        kill(child, SIGKILL);       // what it was making is of no use
}

void process_catch_signals(void)
{
    // the second one ends at once
    const struct sigaction action = { .sa_handler = handle_signal, .sa_flags = SA_RESETHAND };

    sigaction(SIGINT,  &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

FILE *temporary_file(void)
{
    const char *dir = getenv("TMPDIR");
    char *path      = text("%s/ffcrf-XXXXXX", dir && *dir ? dir : "/tmp");
    const int fd    = mkstemp(path);
    FILE *f         = fd < 0 || unlink(path) < 0 ? NULL : fdopen(fd, "r");

    if (!f)
        fail("Cannot make a temporary file '%s': %s. Set TMPDIR to another folder.", path,
             strerror(errno));
    return f;
}

/// Become the command.
static void become(const char *command, int out, FILE *errors, pid_t parent)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    dup2(fileno(errors), STDERR_FILENO);
    dup2(out, STDOUT_FILENO);
    if (getppid() == parent)
        execl("/bin/sh", "sh", "-c", text("exec %s", command), NULL);
    _exit(127);
}

int process_run(const char *command, void (*line)(void *opaque, const char *line), void *opaque,
                const char **error)
{
    const pid_t parent = getpid();
    FILE *errors = temporary_file(), *out;
    char *buffer = NULL;
    size_t size  = 0;
    int fd[2], status = 0;

    if (!errors)
        return -1;
    if (pipe(fd) < 0 || (child = fork()) < 0)
        return fail("No program can be started: %s.", strerror(errno));
    if (!child)
        become(command, fd[1], errors, parent);
    if (caught_signal)              // before its number was known
        kill(child, SIGKILL);
    close(fd[1]);
    out = checked(fdopen(fd[0], "r"));
    while (getline(&buffer, &size, out) >= 0)
        line(opaque, buffer);
    fclose(out);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    child  = 0;
    *error = "";
    rewind(errors);                 // the program has written with the same position
    while (!caught_signal && getline(&buffer, &size, errors) >= 0) {
        tell("%s", buffer);
        if (!**error)
            *error = text("%.*s", (int)strcspn(buffer, "\n"), buffer);
    }
    fclose(errors);
    free(buffer);
    if (caught_signal)
        return -1;
    return WIFSIGNALED(status) ? fail("ffmpeg was ended by signal %d.", WTERMSIG(status))
                               : WEXITSTATUS(status);
}
