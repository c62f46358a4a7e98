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
 * The features of VMAF v1 on the CPU. Each is set up for pictures of a size, returning 0 or a
 * negative AVERROR after a message, and is to be freed in any case.
 */

#ifndef AVFILTER_VMAF_CPU_H
#define AVFILTER_VMAF_CPU_H

#include <stddef.h>
#include <stdint.h>

#include "config.h"

#include "libavutil/cpu.h"
#include "libavutil/frame.h"
#include "libavutil/mem.h"

#include "avfilter.h"
#include "vmaf.h"
#include "vmaf_arithmetic.h"

/// @name Jobs of which the compiler makes vectors, for more than one kind of processor
/// @{
#if ARCH_X86 && (defined(__GNUC__) || defined(__clang__))
#define VMAF_AVX2     __attribute__((target("avx2")))
#define VMAF_HAS_AVX2 !!(av_get_cpu_flags() & AV_CPU_FLAG_AVX2)
#else
#define VMAF_AVX2
#define VMAF_HAS_AVX2 0
#endif

/// The job of an inline function, of which VMAF_JOB() chooses one form.
#define VMAF_JOB_FORMS(name)                                                                \
static int name ## _c(AVFilterContext *ctx, void *arg, int job, int nb_jobs)                \
{                                                                                           \
    return name(ctx, arg, job, nb_jobs);                                                    \
}                                                                                           \
                                                                                            \
VMAF_AVX2 static int name ## _avx2(AVFilterContext *ctx, void *arg, int job, int nb_jobs)   \
{                                                                                           \
    return name(ctx, arg, job, nb_jobs);                                                    \
}

#define VMAF_JOB(s, name) ((s)->has_avx2 ? name ## _avx2 : name ## _c)
/// @}

/// @name Memory of a feature
/// @{
typedef struct VMAFMemory {
    void **part;
    int nb;
    int is_short;           ///< not all was had
} VMAFMemory;

/// Bytes before and after a part, which may be read and written.
#define VMAF_PAD 64

static inline void *vmaf_alloc(VMAFMemory *m, size_t nb, size_t size)
{
    uint8_t *part = av_mallocz(nb * size + 2 * VMAF_PAD);

    if (part && av_dynarray_add_nofree(&m->part, &m->nb, part) >= 0)
        return part + VMAF_PAD;
    av_free(part);
    m->is_short = 1;
    return NULL;
}

static inline void vmaf_free(VMAFMemory *m)
{
    while (m->nb)
        av_free(m->part[--m->nb]);
    av_freep(&m->part);
}
/// @}

/// @name Loops of ADM
/// @{

/// Rows of what coefficients are split to: the weighed parts, band by band; what both mask around a
/// place, over the bands; and how much more at their own place.
enum VMAFADMRow {
    VMAF_ADM_NEAR = VMAF_ADM_PARTS * VMAF_ADM_BANDS,
    VMAF_ADM_HERE = VMAF_ADM_NEAR + VMAF_ADM_PARTS,
    VMAF_ADM_ROWS = VMAF_ADM_HERE + VMAF_ADM_PARTS
};

/**
 * The first ones of two are for the first scale. Rows of the bands are those of the main picture,
 * in the order of enum VMAFADMBand, then of the reference, stride elements apart. All rows but the
 * lines of frames may be read and written VMAF_PAD bytes before and after.
 */
typedef struct VMAFADMDSP {
    /// Filter the columns of four lines of w >= 16 samples to what is low and high. In the first
    /// scale both are int16_t, and the shift is the depth.
    void (*split_columns[2])(void *low, void *high, const void *const line[4], int shift, int w);
    /// Filter a row of these: coefficient x from src[2 * x - 1] on.
    void (*split_row[2])(int32_t *low, int32_t *high, const void *src, int shift, int w);
    /// -1 where reference and encode point to the same side, else 0
    void (*align_row)(int32_t *dst, const int32_t *bands, ptrdiff_t stride, int w);
    /// Split coefficients to the rows of enum VMAFADMRow, stride elements apart.
    void (*part_row[2])(int32_t *dst, const int32_t *bands, ptrdiff_t stride,
                        const int32_t *is_aligned, const uint32_t weight[VMAF_ADM_BANDS], int w);
    /// The sum of vmaf_adm_cube().
    uint64_t (*cube_row)(const int32_t *value, const int32_t *threshold, const VMAFADMCube *cube,
                         int w);
} VMAFADMDSP;

void ff_vmaf_adm_dsp_init(VMAFADMDSP *dsp, int depth);
void ff_vmaf_adm_dsp_init_x86(VMAFADMDSP *dsp, int depth);
/// @}

/// @name ADM and motion
/// @{
typedef struct VMAFLuma VMAFLuma;

int ff_vmaf_luma_init(VMAFLuma **s, AVFilterContext *ctx, int width, int height, int depth);

void ff_vmaf_adm(VMAFLuma *s, AVFilterContext *ctx, const AVFrame *reference,
                 const AVFrame *encode, const VMAFADMScale scale[VMAF_ADM_SCALES],
                 VMAFADMSums *sums);

/// The sum of absolute differences of two blurred frames of the reference.
uint64_t ff_vmaf_motion(VMAFLuma *s, AVFilterContext *ctx, const AVFrame *before,
                        const AVFrame *now);

void ff_vmaf_luma_free(VMAFLuma **s);
/// @}

/// @name CAMBI
/// @{
typedef struct VMAFCambi VMAFCambi;

int ff_vmaf_cambi_init(VMAFCambi **s, AVFilterContext *ctx, int width, int height, int depth,
                       const VMAFCambiOptions *options);

/// @return 0, or AVERROR_INVALIDDATA after a message if a sample has more bits than the depth
int ff_vmaf_cambi(VMAFCambi *s, AVFilterContext *ctx, const AVFrame *encode, double *score);

void ff_vmaf_cambi_free(VMAFCambi **s);
/// @}

/// @name SpEED of chroma
/// @{
typedef struct VMAFSpeed VMAFSpeed;

/// @param w,h of a plane of chroma, its last odd column and row left out
int ff_vmaf_speed_init(VMAFSpeed **s, AVFilterContext *ctx, int w, int h, int depth,
                       double prescale);

VMAFChroma ff_vmaf_speed(VMAFSpeed *s, AVFilterContext *ctx, const AVFrame *reference,
                         const AVFrame *encode);

void ff_vmaf_speed_free(VMAFSpeed **s);
/// @}

#endif /* AVFILTER_VMAF_CPU_H */
