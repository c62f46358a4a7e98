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
 * The arithmetic of the detail loss: the only copy, included by C and by CUDA C.
 *
 * Songnan Li, Fan Zhang, Lin Ma and King Ngi Ngan, "Image Quality Assessment by
 * Separately Evaluating Detail Losses and Additive Impairments", IEEE
 * Transactions on Multimedia 13(5), 2011.
 *
 * Source and encode are split into wavelet bands. Each coefficient of the encode is
 * split into the part that it kept of the source's, and the part that was added. Both
 * are weighted by how well the eye sees their frequency. Each one masks the other.
 *
 * Every operation is an IEEE single precision one in a written order, so that any
 * compiler and any processor yields the same bits. The files that include this are
 * compiled without contraction of a * b + c. All sums are integers.
 */

#ifndef AVFILTER_DETAILLOSS_WAVELET_H
#define AVFILTER_DETAILLOSS_WAVELET_H

#include <stdint.h>

#include "cuda/shared.h"

#if !defined(__CUDACC__) && !defined(__CUDA__)
#include <float.h>
#include <math.h>
// 16 means single precision for float, like 0
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "Scores need float in its own format: on 32-bit x86, --extra-cflags='-msse2 -mfpmath=sse'"
#endif
#endif

#define DETAIL_SCALES       4   ///< each one has half the size of the one before
#define DETAIL_ORIENTATIONS 3   ///< horizontal, vertical and diagonal detail

/// Bands of a scale whose coefficients are pooled together.
enum DetailBand {
    DETAIL_STRAIGHT,            ///< horizontal and vertical detail
    DETAIL_DIAGONAL,
    DETAIL_NB_BANDS
};

/// Parts of the coefficients, whose cubes are summed.
enum DetailPart {
    DETAIL_SOURCE,              ///< the source's coefficient
    DETAIL_KEPT,                ///< what the encode kept of it, minus what is masked
    DETAIL_ADDED,               ///< what the encode added to it, minus what is masked
    DETAIL_NB_PARTS
};

/// Sides of the cells for motion and for chroma, in samples of luma. For a display of 2160
/// lines, the side of a chroma cell is twice as long.
#define DETAIL_MOTION_CELL 4
#define DETAIL_CHROMA_CELL 16
/// Blocks of chroma cells: their side, and the step from one to the next, in cells.
#define DETAIL_CHROMA_BLOCK 5
#define DETAIL_CHROMA_STEP  3

/// What the samples of a picture are.
typedef struct DetailPicture {
    int width, height;
    int octave;                     ///< of scale 0, see detail_weight()
    int depth;
    int cell_w, cell_h;             ///< samples of chroma in a cell
    int cells_x, cells_y;           ///< whole cells of chroma, 0 in gray pictures
    float luma_unit;                ///< factor from a sample to 8-bit steps of limited range
    float chroma_unit;              ///< factor from the sum over a cell to their mean in such steps
} DetailPicture;

/// What a filter's CPU or GPU part hands to the shared part for each pair of frames.
typedef struct DetailSums {
    /// sums of detail_cube()
    uint64_t cube[DETAIL_SCALES][DETAIL_NB_BANDS][DETAIL_NB_PARTS];
    uint64_t chroma;            ///< sum of detail_chroma() over the blocks of both planes
    uint64_t motion;            ///< absolute differences of the source's cells to the frame before
} DetailSums;

/**
 * Factor of how well the eye sees a coefficient, at a viewing distance of three times the
 * height of the display.
 *
 * The ten numbers are those of libvmaf, BLENDED_CSF_1080_3H and, for octave 0, the first of
 * BLENDED_CSF_2160_3H in libvmaf/src/feature/barten_csf_tools.h, under BSD-2-Clause-Patent:
 *
 * Copyright 2016-2023 Netflix, Inc.
 *
 * Redistribution and use in source and binary forms, with or without modification, are permitted
 * provided that the following conditions are met:
 * 1. Redistributions of source code must retain the above copyright notice, this list of
 *    conditions and the following disclaimer.
 * 2. Redistributions in binary form must reproduce the above copyright notice, this list of
 *    conditions and the following disclaimer in the documentation and/or other materials
 *    provided with the distribution.
 * The patent grant, and the whole: https://opensource.org/licenses/BSDplusPatent
 *
 * THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR
 * IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND
 * FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDERS OR
 * CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL
 * DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE,
 * DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY,
 * WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY
 * WAY OUT OF THE USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
 *
 * @param octave the scale, from 0; plus 1 for a display of 1080 lines instead of 2160
 */
SHARED_INLINE float detail_weight(int octave, int band)
{
    const float straight[DETAIL_SCALES + 1] = { .00226f,  .01183f,  .025026f, .04295f,  .058621f };
    const float diagonal[DETAIL_SCALES + 1] = { .000479f, .004302f, .011778f, .023918f, .035901f };

    return band == DETAIL_STRAIGHT ? straight[octave] : diagonal[octave];
}

/// Size of a picture's bands, and of the picture of the next scale.
SHARED_INLINE int detail_half(int size)
{
    return (size + 1) / 2;
}

/// Index of the sample that mirrors sample i of n, which is from -1 to n + 2.
SHARED_INLINE int detail_mirror(int i, int n)
{
    i = i < 0 ? -i : i;
    i = i < n ? i : 2 * (n - 1) - i;
    return i < 0 ? 0 : i;
}

/// @name The Daubechies wavelet with four taps: coefficient i is made of samples 2 i - 1 to 2 i + 2
/// @{
SHARED_INLINE float detail_low(float x0, float x1, float x2, float x3)
{
    return (.4829629131f * x0 + .8365163037f * x1) + (.2241438680f * x2 - .1294095226f * x3);
}

SHARED_INLINE float detail_high(float x0, float x1, float x2, float x3)
{
    return (.8365163037f * x2 - .2241438680f * x1) - (.1294095226f * x0 + .4829629131f * x3);
}
/// @}

/// The weighted magnitudes of a coefficient.
typedef struct DetailCoefficient {
    float source, kept, added;
} DetailCoefficient;

SHARED_INLINE DetailCoefficient detail_coefficient(float source, float encode, float weight)
{
    const float s = fabsf(source) * weight, e = fabsf(encode) * weight;
    const int alike = (source < 0) == (encode < 0);
    DetailCoefficient ret;

    ret.source = s;
    ret.kept   = !alike ? 0.f : e < s ? e : s;
    ret.added  = !alike ? e   : e > s ? e - s : 0.f;
    return ret;
}

/**
 * Masking threshold at a coefficient: a weighted mean of what is around it.
 *
 * @param above,middle,below sums over the orientations, in three rows around [0]
 */
SHARED_INLINE float detail_mask(const float *above, const float *middle, const float *below)
{
    const float left  = (above[-1] + middle[-1]) + below[-1];
    const float here  = (above[0]  + middle[0])  + below[0];
    const float right = (above[1]  + middle[1])  + below[1];

    return (((left + right) + here) + middle[0]) * (1.f / 30);
}

/// The cube of the part of a magnitude above the masking threshold, in units of 2^-16.
SHARED_INLINE uint64_t detail_cube(float x, float mask)
{
    const float seen = x > mask ? x - mask : 0.f;

    return (uint64_t)(int64_t)(seen * seen * seen * 65536.f);
}

/// log2 of a positive, normal number.
SHARED_INLINE float detail_log2(float x)
{
    union { float f; uint32_t i; } m = { x };
    int exponent = (int)(m.i >> 23) - 127;
    float t, u;

    m.i = (m.i & 0x7fffff) | 0x3f800000;
    if (m.f > 1.41421356f) {
        m.f *= .5f;
        exponent++;
    }
    t = (m.f - 1.f) / (m.f + 1.f);
    u = t * t;
    return exponent + t * (2.88539008f + u * (.961796694f + u * (.577078016f + u * .412198583f)));
}

/**
 * Variance of a block of cells.
 *
 * @param stride of the cells, in cells
 * @param unit   from a cell to 8-bit steps
 */
SHARED_INLINE float detail_variance(const uint32_t *cell, int stride, float unit)
{
    float value[DETAIL_CHROMA_BLOCK][DETAIL_CHROMA_BLOCK], sum = 0.f, mean;

    for (int y = 0; y < DETAIL_CHROMA_BLOCK; y++)
        for (int x = 0; x < DETAIL_CHROMA_BLOCK; x++) {
            value[y][x] = (int)cell[y * stride + x] * unit;
            sum += value[y][x];
        }
    mean = sum * (1.f / (DETAIL_CHROMA_BLOCK * DETAIL_CHROMA_BLOCK));
    sum  = 0.f;
    for (int y = 0; y < DETAIL_CHROMA_BLOCK; y++)
        for (int x = 0; x < DETAIL_CHROMA_BLOCK; x++) {
            const float d = value[y][x] - mean;

            sum += d * d;
        }
    return sum * (1.f / (DETAIL_CHROMA_BLOCK * DETAIL_CHROMA_BLOCK - 1));
}

/// By how many octaves the variance of a block of chroma has changed, in units of 2^-24.
SHARED_INLINE uint64_t detail_chroma(float source, float encode)
{
    const float noise = .05f;

    return (uint64_t)(int64_t)(fabsf(detail_log2(source + noise) -
                                     detail_log2(encode + noise)) * 16777216.f);
}

/// Number of blocks along n cells.
SHARED_INLINE int detail_nb_chroma_blocks(int n)
{
    return n < DETAIL_CHROMA_BLOCK ? 0 : (n - DETAIL_CHROMA_BLOCK) / DETAIL_CHROMA_STEP + 1;
}

#endif /* AVFILTER_DETAILLOSS_WAVELET_H */
