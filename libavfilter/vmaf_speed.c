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
 * SpEED of chroma, as VMAF v1 has it: how much the entropy of U and V has changed.
 *
 * Christos G. Bampis, Praful Gupta, Rajiv Soundararajan and Alan C. Bovik, "SpEED-QA: Spatial
 * Efficient Entropic Differencing for Image and Video Quality", IEEE Signal Processing
 * Letters 24(9), 2017.
 *
 * All is floating point in the order of libvmaf's speed.c, where each rounding counts.
 */

#include <math.h>
#include <string.h>

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/log.h"
#include "libavutil/mem.h"

#include "filters.h"
#include "vmaf_cpu.h"

/// The smallest side of chroma, after it is scaled.
#define MIN_SIZE 80

/// Side of a block, and its samples.
#define SIDE  5
#define BLOCK (SIDE * SIDE)

/// A row of a matrix, with room for whole vectors.
#define STRIDE 32

/// Taps of the blur, of whose output one of so many samples is kept.
#define TAPS 9
#define STEP 16

#define SIGMA 0.19f         ///< of the noise that the eye adds
#define FLOOR 0.1f          ///< of the noise that counts as nothing
#define MAX_SCORE 45

/// log2(2 pi e)
#define ENTROPY_OF_ONE 4.094191170361282

/// Eigenvalues below it are of a matrix that has no inverse.
#define SINGULAR 1e-6

enum { REFERENCE, ENCODE, PICTURES };
enum { U, V, PLANES };

/// Between which samples a scaled one lies.
typedef struct Position {
    int before, after;
    float part;             ///< of the one after
} Position;

/// A plane of a picture. Each one is a job.
typedef struct Plane {
    float *row, *sum;       ///< w samples
    float *grid, *blurred;  ///< grid_w * grid_h samples
    float *block, *solution;    ///< [BLOCK][nb_blocks], sample by sample
    float *contrast, *entropy;  ///< of each block
    int is_singular;
} Plane;

struct VMAFSpeed {
    int depth, has_avx2;
    int w, h;               ///< that are measured
    int grid_w, grid_h;     ///< what is left of it
    int blocks_w, nb_blocks;
    float none;             ///< entropy of a block that shows nothing
    Position *column, *line;    ///< NULL without scaling
    Plane plane[PLANES][PICTURES];
    VMAFMemory memory;
    const AVFrame *frame[PICTURES];     ///< that are measured now
};

typedef float Matrix[BLOCK][STRIDE];

// ---- samples ----

static int mirror(int i, int n)
{
    i = FFABS(i);
    return i < n ? i : 2 * (n - 1) - i;
}

static av_always_inline float sample(const VMAFSpeed *s, const uint8_t *row, int x)
{
    return (s->depth == 8 ? row[x] : ((const uint16_t *)row)[x]) / (float)(1 << (s->depth - 8)) -
           128;
}

/// Row y of what is measured, in 8-bit steps around zero.
static av_always_inline void get_row(const VMAFSpeed *s, float *dst, const uint8_t *data,
                                     ptrdiff_t linesize, int y)
{
    const Position *line;
    const uint8_t *a, *b;

    if (!s->line) {
        for (int x = 0; x < s->w; x++)
            dst[x] = sample(s, data + y * linesize, x);
        return;
    }
    line = &s->line[y];
    a = data + line->before * linesize;
    b = data + line->after  * linesize;
    for (int x = 0; x < s->w; x++) {
        const Position *p = &s->column[x];
        const float dx = p->part, dy = line->part;

        dst[x] = (1 - dy) * (1 - dx) * sample(s, a, p->before) +
                 (1 - dy) * dx * sample(s, a, p->after) +
                 dy * (1 - dx) * sample(s, b, p->before) + dy * dx * sample(s, b, p->after);
    }
}

/// Blur a plane, of which only the samples of the grid are made.
static av_always_inline void make_grid(const VMAFSpeed *s, Plane *p, const uint8_t *data,
                                       ptrdiff_t linesize)
{
    static const float tap[TAPS] = {
        0x1.35db8cp-4f, 0x1.95ed7p-4f, 0x1.ec4b3cp-4f, 0x1.1459bp-3f, 0x1.1f3866p-3f,
        0x1.1459bp-3f, 0x1.ec4b3cp-4f, 0x1.95ed7p-4f, 0x1.35db8cp-4f,
    };

    for (int y = 0; y < s->grid_h; y++) {
        memset(p->sum, 0, s->w * sizeof(*p->sum));
        for (int i = 0; i < TAPS; i++) {
            get_row(s, p->row, data, linesize, mirror(y * STEP + i - TAPS / 2, s->h));
            for (int x = 0; x < s->w; x++)
                p->sum[x] += tap[i] * p->row[x];
        }
        for (int x = 0; x < s->grid_w; x++) {
            float sum = 0;

            for (int i = 0; i < TAPS; i++)
                sum += tap[i] * p->sum[mirror(x * STEP + i - TAPS / 2, s->w)];
            p->grid[y * s->grid_w + x] = sum;
        }
    }
}

/// Leave only what differs from around.
static void subtract_mean(const VMAFSpeed *s, Plane *p)
{
    const float side = 0x1.54be42p-3f, middle = 0x1.55a0dep-1f;
    const int w = s->grid_w, h = s->grid_h;

    for (int y = 0; y < h; y++) {
        const float *above = p->grid + mirror(y - 1, h) * w, *row = p->grid + y * w;
        const float *below = p->grid + mirror(y + 1, h) * w;

        for (int x = 0; x < w; x++)
            p->blurred[y * w + x] = side * above[x] + middle * row[x] + side * below[x];
    }
    for (int y = 0; y < h; y++) {
        const float *row = p->blurred + y * w;

        for (int x = 0; x < w; x++)
            p->grid[y * w + x] -= side * row[mirror(x - 1, w)] + middle * row[x] +
                                  side * row[mirror(x + 1, w)];
    }
}

// ---- statistics ----

/// The covariance of the samples of all blocks, also of those that overlap.
static av_always_inline void covariance(const VMAFSpeed *s, const Plane *p, Matrix dst)
{
    const int w = (s->blocks_w - 1) * SIDE + 1, h = (s->nb_blocks / s->blocks_w - 1) * SIDE + 1;
    const int n = w * h;
    float mean[BLOCK] = { 0 };
    double sum[BLOCK][STRIDE] = { { 0 } }, d[STRIDE] = { 0 };

    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int i = 0; i < BLOCK; i++)
                mean[i] += p->grid[(y + i / SIDE) * s->grid_w + x + i % SIDE];
    for (int i = 0; i < BLOCK; i++)
        mean[i] /= n;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            for (int i = 0; i < BLOCK; i++)
                d[i] = (double)p->grid[(y + i / SIDE) * s->grid_w + x + i % SIDE] - mean[i];
            for (int i = 0; i < BLOCK; i++)
                for (int j = 0; j <= i; j++)
                    sum[i][j] += d[i] * d[j];
        }
    for (int i = 0; i < BLOCK; i++)
        for (int j = 0; j <= i; j++)
            dst[i][j] = dst[j][i] = sum[i][j] / n;
}

static float dot(const float *a, const float *b, int n)
{
    float sum = 0;

    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static float hypotenuse(float a, float b)
{
    return sqrtf(a * a + b * b);
}

/// Reduce a symmetric matrix to its diagonal and the one beside it, by Householder's reflections.
static void tridiagonalize(Matrix m, float diagonal[BLOCK], float side[BLOCK - 1])
{
    for (int j = 0; j < BLOCK - 2; j++) {
        const int n = BLOCK - 1 - j, first = j + 1;
        float v[BLOCK] = { 1 }, y[BLOCK], beta, tau, pivot, factor, head = m[first][j], rest;

        for (int i = 1; i < n; i++)
            v[i] = m[first + i][j];
        rest = sqrtf(dot(v + 1, v + 1, n - 1));
        if (rest == 0)
            continue;
        beta  = head >= 0 ? -hypotenuse(head, rest) : hypotenuse(head, rest);
        tau   = (beta - head) / beta;
        pivot = head - beta;
        if (pivot != 0) {
            for (int i = 1; i < n; i++)
                v[i] /= pivot;
            m[first][j] = beta;
        }
        if (tau == 0)
            continue;
        for (int r = 0; r < n; r++) {
            y[r] = 0;
            for (int i = 0; i < n; i++)
                y[r] += tau * m[first + r][first + i] * v[i];
        }
        factor = -0.5 * tau * dot(y, v, n);
        for (int i = 0; i < n; i++)
            y[i] += factor * v[i];
        for (int r = 0; r < n; r++)
            for (int i = 0; i < n; i++)
                m[first + r][first + i] -= y[r] * v[i] + v[r] * y[i];
    }
    for (int i = 0; i < BLOCK; i++)
        diagonal[i] = m[i][i];
    for (int i = 0; i < BLOCK - 1; i++)
        side[i] = m[i + 1][i];
}

/// Clear what is too small beside the diagonal.
static void chop(const float *diagonal, float *side, int from, int to)
{
    for (int i = from; i < to; i++)
        if (fabsf(side[i]) < SINGULAR * (fabsf(diagonal[i]) + fabsf(diagonal[i + 1])))
            side[i] = 0;
}

/// Wilkinson's shift: the eigenvalue of the last 2x2 block that is nearer to its end.
static float wilkinson(const float *diagonal, const float *side, int last)
{
    const float h = (diagonal[last - 1] - diagonal[last]) / 2;
    const float e = side[last - 1], q = diagonal[last];

    return h > 0 ? q - e * (e / (h + hypotenuse(h, e))) :
           h < 0 ? q + e * (e / (-h + hypotenuse(h, e))) : q - fabsf(e);
}

/// Eigenvalues of a symmetric matrix, which is overwritten: QR sweeps with implicit shifts.
static void eigenvalues(Matrix m, float d[BLOCK])
{
    float e[BLOCK - 1];
    int last = BLOCK - 1, sweeps = 0;

    tridiagonalize(m, d, e);
    chop(d, e, 0, BLOCK - 1);
    while (last > 0 && sweeps < 500) {
        int first = last - 1;
        float shift, x, z;

        if (e[last - 1] == 0) {
            last--;
            continue;
        }
        while (first > 0 && e[first - 1] != 0)
            first--;
        shift = wilkinson(d, e, last);
        if (SINGULAR * fabsf(shift) > fabsf(d[first]) + fabsf(e[first]))
            shift = 0;
        x = d[first] - shift;
        z = e[first];
        for (int k = first; k < last; k++) {
            const float a = d[k], b = e[k], f = d[k + 1];
            float c = 1, s = 0;

            if (z != 0) {
                const int is_steep = fabsf(z) > fabsf(x);
                const float t      = is_steep ? -x / z : -z / x;
                const float major  = 1.0 / sqrt((double)(1 + t * t)), minor = major * t;

                c = is_steep ? minor : major;
                s = is_steep ? major : minor;
            }
            if (k > first)
                e[k - 1] = c * e[k - 1] - s * z;
            d[k]     = c * (c * a - s * b) + s * (s * f - c * b);
            e[k]     = c * (s * a + c * b) - s * (s * b + c * f);
            d[k + 1] = s * (s * a + c * b) + c * (s * b + c * f);
            if (k < last - 1) {
                z        = -s * e[k + 1];
                e[k + 1] = c * e[k + 1];
                x        = e[k];
            }
        }
        chop(d, e, first, last);
        sweeps++;
    }
}

/// dst = a * b, of the rows and columns from first on: the others are those of a unit matrix.
static av_always_inline void multiply(float *dst, int stride, Matrix a, const float *b, int first,
                                      int columns)
{
    for (int i = first; i < BLOCK; i++) {
        float *restrict row = dst + i * stride;

        memset(row, 0, columns * sizeof(*row));
        for (int k = first; k < BLOCK; k++) {
            const float factor = a[i][k];
            const float *restrict from = b + k * stride;

            for (int j = 0; j < columns; j++)
                row[j] += factor * from[j];
        }
    }
}

/// Solve m * p->solution = p->block by Householder's reflections. @return 0 if there is none
static av_always_inline int solve(Plane *p, Matrix m, int nb_blocks)
{
    Matrix z, q = { { 0 } }, h, next;

    memcpy(z, m, sizeof(z));
    for (int i = 0; i < BLOCK; i++)
        q[i][i] = 1;
    for (int k = 0; k < BLOCK - 1; k++) {
        float v[BLOCK] = { 0 }, norm;

        for (int i = k; i < BLOCK; i++)
            v[i] = z[i][k];
        norm  = sqrtf(dot(v, v, BLOCK));
        // the sign is that of the matrix as it was given, in libvmaf
        v[k] += m[k][k] >= 0 ? norm : -norm;
        norm  = sqrtf(dot(v, v, BLOCK));
        for (int i = k; i < BLOCK; i++)
            v[i] /= norm;
        for (int i = k; i < BLOCK; i++) {
            for (int j = k; j < BLOCK; j++)
                h[i][j] = -2 * v[i] * v[j];
            h[i][i] += 1;
        }
        multiply(next[0], STRIDE, h, z[0], k, BLOCK);
        memcpy(z[k], next[k], (BLOCK - k) * sizeof(*z));
        multiply(next[0], STRIDE, h, q[0], k, BLOCK);
        memcpy(q[k], next[k], (BLOCK - k) * sizeof(*q));
    }
    multiply(z[0], STRIDE, q, m[0], 0, BLOCK);
    multiply(p->solution, nb_blocks, q, p->block, 0, nb_blocks);
    for (int i = BLOCK - 1; i >= 0; i--) {
        float *x = p->solution + i * nb_blocks;

        if (fabsf(z[i][i]) < SINGULAR)
            return 0;
        for (int k = i + 1; k < BLOCK; k++)
            for (int b = 0; b < nb_blocks; b++)
                x[b] -= p->solution[k * nb_blocks + b] * z[i][k];
        for (int b = 0; b < nb_blocks; b++)
            x[b] /= z[i][i];
    }
    return 1;
}

/// Contrast and entropy of each block.
static av_always_inline void measure_blocks(const VMAFSpeed *s, Plane *p)
{
    const int nb = s->nb_blocks;
    float value[BLOCK];
    Matrix m, work;

    for (int i = 0; i < BLOCK; i++)
        for (int b = 0; b < nb; b++) {
            const int y = b / s->blocks_w * SIDE + i / SIDE, x = b % s->blocks_w * SIDE + i % SIDE;

            p->block[i * nb + b] = p->grid[y * s->grid_w + x];
        }
    covariance(s, p, m);
    memcpy(work, m, sizeof(work));
    eigenvalues(work, value);
    p->is_singular = 0;
    for (int i = 0; i < BLOCK; i++)
        p->is_singular |= value[i] < SINGULAR;
    p->is_singular = p->is_singular || !solve(p, m, nb);
    for (int b = 0; b < nb; b++) {
        float contrast = 0, entropy = 0;

        for (int i = 0; i < BLOCK && !p->is_singular; i++)
            contrast += p->solution[i * nb + b] * p->block[i * nb + b] / BLOCK;
        for (int i = 0; i < BLOCK; i++)
            entropy += log2((double)(FFMAX(value[i], 0) * contrast + SIGMA)) + ENTROPY_OF_ONE;
        p->contrast[b] = contrast;
        p->entropy[b]  = entropy;
    }
}

static av_always_inline int measure_plane(AVFilterContext *ctx, void *arg, int job, int nb_jobs)
{
    VMAFSpeed *s = arg;
    Plane *p     = &s->plane[job / PICTURES][job % PICTURES];
    const AVFrame *frame = s->frame[job % PICTURES];
    const int i  = 1 + job / PICTURES;

    make_grid(s, p, frame->data[i], frame->linesize[i]);
    subtract_mean(s, p);
    measure_blocks(s, p);
    return 0;
}

VMAF_JOB_FORMS(measure_plane)

// ---- scores ----

static float compare(const VMAFSpeed *s, const Plane plane[PICTURES])
{
    const Plane *r = &plane[REFERENCE], *e = &plane[ENCODE];
    const int nb = s->nb_blocks;
    float sum = 0;

    if (r->is_singular != e->is_singular)
        return 0;
    for (int b = 0; b < nb; b++) {
        float before, after;

        if (r->entropy[b] < s->none && e->entropy[b] < s->none)
            continue;
        // float on one side and double on the other, in libvmaf
        before = r->entropy[b] * log2((double)(1 + r->contrast[b]));
        after  = e->entropy[b] * log2(1 + (0.75 * r->contrast[b] + 0.25 * e->contrast[b]));
        sum   += fabsf(before - after);
    }
    return sum / nb;
}

/// NAN becomes the largest score, too.
static double limit(double score)
{
    return score < MAX_SCORE ? score : MAX_SCORE;
}

VMAFChroma ff_vmaf_speed(VMAFSpeed *s, AVFilterContext *ctx, const AVFrame *reference,
                         const AVFrame *encode)
{
    float score[PLANES];
    int is_known[PLANES];

    s->frame[REFERENCE] = reference;
    s->frame[ENCODE]    = encode;
    ff_filter_execute(ctx, VMAF_JOB(s, measure_plane), s, NULL, PLANES * PICTURES);
    for (int i = 0; i < PLANES; i++) {
        score[i]    = compare(s, s->plane[i]);
        is_known[i] = !s->plane[i][REFERENCE].is_singular && !s->plane[i][ENCODE].is_singular;
    }
    return (VMAFChroma){
        limit(score[U]), limit(score[V]),
        limit(is_known[U] == is_known[V] ? (score[U] + score[V]) / 2.0
                                         : score[is_known[U] ? U : V]),
    };
}

// ---- set-up ----

static av_cold Position *make_positions(VMAFMemory *m, int src, int n)
{
    const float ratio = (float)src / n;
    Position *p = vmaf_alloc(m, n, sizeof(*p));

    for (int i = 0; i < n && p; i++) {
        const float at   = (i + 0.5) * ratio - 0.5;
        const int before = mirror(floor(at), src);

        p[i] = (Position){ before, mirror(ceil(at), src), at - before };
    }
    return p;
}

av_cold int ff_vmaf_speed_init(VMAFSpeed **ps, AVFilterContext *ctx, int w, int h, int depth,
                               double prescale)
{
    const int scaled_w = w * prescale + 0.5, scaled_h = h * prescale + 0.5;
    VMAFSpeed *s;
    VMAFMemory *m;

    if (FFMIN(scaled_w, scaled_h) < MIN_SIZE) {
        const int min = ceil((MIN_SIZE - 0.5) / prescale);

        av_log(ctx, AV_LOG_ERROR, "The model needs chroma of at least %dx%d samples, this has "
               "%dx%d: scale both inputs, or choose another model.\n", min, min, w, h);
        return AVERROR(EINVAL);
    }
    if (!(s = *ps = av_mallocz(sizeof(*s))))
        return AVERROR(ENOMEM);
    m = &s->memory;
    s->has_avx2  = VMAF_HAS_AVX2;
    s->depth     = depth;
    s->w         = scaled_w;
    s->h         = scaled_h;
    s->grid_w    = s->w / STEP;
    s->grid_h    = s->h / STEP;
    s->blocks_w  = s->grid_w / SIDE;
    s->nb_blocks = s->blocks_w * (s->grid_h / SIDE);
    s->none      = BLOCK * (log2((double)((1 + FLOOR) * SIGMA)) + ENTROPY_OF_ONE);
    for (int i = 0; i < PLANES * PICTURES; i++) {
        Plane *p          = &s->plane[i / PICTURES][i % PICTURES];
        const size_t grid = s->grid_w * s->grid_h;

        p->row      = vmaf_alloc(m, s->w, sizeof(float));
        p->sum      = vmaf_alloc(m, s->w, sizeof(float));
        p->grid     = vmaf_alloc(m, grid, sizeof(float));
        p->blurred  = vmaf_alloc(m, grid, sizeof(float));
        p->block    = vmaf_alloc(m, BLOCK * s->nb_blocks, sizeof(float));
        p->solution = vmaf_alloc(m, BLOCK * s->nb_blocks, sizeof(float));
        p->contrast = vmaf_alloc(m, s->nb_blocks, sizeof(float));
        p->entropy  = vmaf_alloc(m, s->nb_blocks, sizeof(float));
    }
    if (prescale != 1) {
        s->column = make_positions(m, w, s->w);
        s->line   = make_positions(m, h, s->h);
    }
    return m->is_short ? AVERROR(ENOMEM) : 0;
}

av_cold void ff_vmaf_speed_free(VMAFSpeed **s)
{
    if (*s)
        vmaf_free(&(*s)->memory);
    av_freep(s);
}
