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

/** @file ffmpeg is run, and what it has measured is kept. No program outlives this one. */

#ifndef TOOLS_CRF_RUN_H
#define TOOLS_CRF_RUN_H

#include <signal.h>

#include "command.h"

/// What came of an encode.
typedef struct Result {
    int nb_frames, nb_scores;
    int64_t bytes;
    double seconds;             ///< that it took
    double *score;
} Result;

extern volatile sig_atomic_t caught_signal;     ///< the one that asks to end, or 0

void run_catch_signals(void);

/// Ask for what ffmpeg prints with these options. @return its exit status, or -1
int run_ask(const Job *job, const char *options, const char **answer);

/// Run a command that does what was asked for. @return 0, or -1 after a message
int run_first(const Job *job, const char *command);

/**
 * Run a command that scores, unless what comes out was kept. It fails if a frame got lost, or may
 * have met another one.
 *
 * @return 1 if it was kept, 0, or -1 after a message
 */
int run_measure(const Job *job, const char *command, int is_kept, int nb_frames, int step,
                Result *r);

/// The mean; for decibels, that of the errors that they stand for.
double score_mean(const Metric *m, const Result *r);

/// The score of some samples, by "mean", "worst" or a percentile as "p5".
double score_pool(const Metric *m, const char *pool, const Result *sample, int nb);

#endif /* TOOLS_CRF_RUN_H */
