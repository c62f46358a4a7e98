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

/** @file Programs that are run, and signals: none of them outlives this one. */

#ifndef TOOLS_CRF_PROCESS_H
#define TOOLS_CRF_PROCESS_H

#include <signal.h>
#include <stdio.h>

extern volatile sig_atomic_t caught_signal;     ///< the one that asks to end, or 0

void process_catch_signals(void);

/// A file without a name; NULL after a message.
FILE *temporary_file(void);

/**
 * Run a command of a shell. When it has ended, what it wrote to standard error is printed.
 *
 * @param line  takes each line of standard output
 * @param error set to the first line of standard error, or ""
 * @return the exit status, or -1 after a message
 */
int process_run(const char *command, void (*line)(void *opaque, const char *line), void *opaque,
                const char **error);

#endif /* TOOLS_CRF_PROCESS_H */
