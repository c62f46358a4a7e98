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
 * From the source to samples of it, and from these to candidates and their scores.
 */

#ifndef TOOLS_CRF_SAMPLE_H
#define TOOLS_CRF_SAMPLE_H

#include "options.h"

/// Bytes that are left for frames: in the machine's memory, and in that of the GPU.
enum { MEMORY_SYSTEM, MEMORY_GPU, NB_MEMORIES };

/// Frames that are kept in memory: all, or none if they did not fit.
typedef struct Frames {
    AVFrame **frame;
    int nb, is_full;
} Frames;

/// A part of the source that candidates are made of.
typedef struct Sample {
    int number;                 ///< from 0
    int64_t start, duration;    ///< in microseconds from the start of what is taken; duration 0: all

    // once it is loaded
    int loaded;
    int step;                   ///< one of so many frames is scored
    Frames frames;              ///< as the encoder gets them
    Frames references;          ///< those that are scored, where the frames are not at hand for that
    int64_t *pts;               ///< of all frames
    int nb_frames;
    AVRational time_base, frame_rate;
    uint64_t bytes;
    double seconds;
    double decode_seconds;      ///< that decoding and filtering it took
} Sample;

/// What a candidate of a sample came out as.
typedef struct Result {
    int nb_frames;
    uint64_t bytes, source_bytes;
    double seconds;             ///< that the sample lasts
    double encode_seconds;      ///< that decoding, filtering and encoding it took, without scoring
    double score_seconds;       ///< that scoring it took; the cache does not know it
    int is_cached;              ///< it was in the cache
    int nb_scores;              ///< 1 at least
    double *score;
} Result;

/// So much of the GPU's memory is free, 0 if that is not known.
int64_t gpu_memory(AVBufferRef *device);

/// Decode a sample, once: count its frames, and keep them if they fit into what is left of memory.
int sample_load(const Options *o, Sample *sample, int64_t memory[NB_MEMORIES]);

void sample_unload(Sample *sample);

/// Encode a sample, decode and score that.
int sample_encode(const Options *o, const Sample *sample, double crf, Result *result);

/// Score a whole file that was encoded from the source.
int score_file(const Options *o, const char *path, Result *result);

#endif /* TOOLS_CRF_SAMPLE_H */
