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

/**
 * @file
 * The ffmpeg command that makes the encode: the one that is printed is run.
 */

#ifndef TOOLS_CRF_COMMAND_H
#define TOOLS_CRF_COMMAND_H

#include "options.h"
#include "source.h"

/**
 * Make the command for a CRF, as a shell takes it.
 *
 * @param input    opened
 * @param is_quiet do not tell which streams are left out
 * @param running  what is put behind the name of ffmpeg, or ""
 * @return 0, or < 0 after a message
 */
int command_make(AVBPrint *text, const Options *o, const Source *input, double crf, const char *output,
                 int is_quiet, const char *running);

/// Run it. The output gets its name only once it is whole.
int command_run(const Options *o, const Source *input, double crf, int nb_frames);

#endif /* TOOLS_CRF_COMMAND_H */
