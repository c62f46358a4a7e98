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
 * Kernels of mad_cuda. vf_mad.c describes the method, vf_mad_cuda.c the order of the kernels.
 *
 * Line kernels transform rows or columns, see fft_lines(), between loads and stores of their own:
 * a structure with load() and store() applies filters and computes magnitudes, so that no
 * intermediate line passes through device memory. MAD_CHIRP and MAD_LARGE select the method for
 * modules that contain line kernels only.
 *
 * Planes are transformed less their first sample. The log-Gabor filters reject the zero frequency
 * anyway, and a flat picture then has responses of exactly 0. Blocks merge the moments of 4x4
 * cells, each about the mean of the cell, so that no large sums of powers cancel.
 */

#include "cuda/fft.cuh"
#include "cuda/kernel.cuh"
#include "vf_mad_cuda.h"

/// Cells along a side of a sub-block.
#define SUB_CELLS     (MAD_SUB_BLOCK / MAD_STEP)

/// Return the first sample of plane i.
static DEVICE_INLINE float *plane_of(const MADCUDAParams &p, int i)
{
    return p.plane + (int64_t)i * p.h * p.pitch;
}

/// Return the first value of the spectrum of plane i.
static DEVICE_INLINE float2 *spectrum_of(const MADCUDAParams &p, int i)
{
    return (float2 *)p.spectrum + (int64_t)i * p.h * p.half_pitch;
}

/// Return the first value of response i: filter i / PAIR_NB, picture i % PAIR_NB.
static DEVICE_INLINE float2 *response_of(const MADCUDAParams &p, int i)
{
    return (float2 *)p.response + (int64_t)i * p.h * p.pitch;
}

static DEVICE_INLINE float square(float x)
{
    return x * x;
}

/// Load a sample minus black, clipped to 0..white. Bits beyond the depth are ignored.
template<typename T>
static DEVICE_INLINE int load_sample(const MADCUDAParams &p, const MADCUDAInput &input,
                                     int x, int y)
{
    int v = ((const T *)(input.src + (int64_t)y * input.pitch))[x] >> p.shift & p.mask;

    v -= input.black;
    v  = v > 0 ? v : 0;
    return v < input.white ? v : input.white;
}

/// Write a value of a map to luma at x, y, in the range of the main picture.
static DEVICE_INLINE void write_map(const MADCUDAParams &p, int x, int y, float value,
                                  bool is_detection)
{
    const MADCUDAInput &input = p.input[PAIR_MAIN];
    const int sample = (input.black + mad_map_sample(value, is_detection, input.white)) << p.shift;
    uint8_t *row     = p.map + (int64_t)y * p.map_pitch;

    if (p.mask > 0xff)
        ((uint16_t *)row)[x] = sample;
    else
        row[x] = sample;
}

/// Compute the moments of a cell whose rows, or columns, are stride elements apart.
static DEVICE_INLINE MADMoments compute_cell(const float4 *src, int stride)
{
    float v[MAD_CELL_SAMPLES];

    UNROLL
    for (int i = 0; i < MAD_STEP; i++) {
        const float4 four = src[i * stride];

        v[4 * i]     = four.x;
        v[4 * i + 1] = four.y;
        v[4 * i + 2] = four.z;
        v[4 * i + 3] = four.w;
    }
    return mad_cell_moments(v);
}

/// Convert the samples of both pictures to planes. A thread has one sample of each plane.
template<typename T>
static DEVICE_INLINE void load(const MADCUDAParams &p)
{
    const int x = blockIdx.x * MAD_LOAD_W + threadIdx.x;
    const int y = blockIdx.y * MAD_LOAD_H + threadIdx.y;
    const int64_t i = (int64_t)y * p.pitch + x;
    float lightness[PAIR_NB];

    if (x >= p.w || y >= p.h)
        return;
    UNROLL
    for (int n = 0; n < PAIR_NB; n++) {
        const MADCUDAInput &input = p.input[n];
        const int v       = load_sample<T>(p, input, x, y);
        const float first = load_sample<T>(p, input, 0, 0) * input.scale;

        if (!x && !y)
            p.first_value[n] = first;
        plane_of(p, n)[i] = v * input.scale - first;
        lightness[n]      = input.lightness[v];
    }
    plane_of(p, MAD_LIGHTNESS)[i]     = lightness[PAIR_REFERENCE];
    plane_of(p, MAD_LIGHTNESS + 1)[i] = lightness[PAIR_MAIN] - lightness[PAIR_REFERENCE];
}

/// Merge mean and 2nd moment of w x h cells.
static DEVICE_INLINE MADMoments merge_variances(const MADMoments *cell, int pitch, int w, int h)
{
    MADMoments m = { 0.f, 0.f, 0.f, 0.f };

    UNROLL
    for (int y = 0; y < h; y++)
        UNROLL
        for (int x = 0; x < w; x++)
            m.mean += cell[y * pitch + x].mean;
    m.mean *= 1.f / (w * h);
    UNROLL
    for (int y = 0; y < h; y++)
        UNROLL
        for (int x = 0; x < w; x++) {
            const MADMoments &c = cell[y * pitch + x];

            m.m2 += c.m2 + MAD_CELL_SAMPLES * square(c.mean - m.mean);
        }
    return m;
}

/// Merge the moments (mean, m2, m3, m4) of MAD_BLOCK_CELLS parts of nb_samples samples each.
static DEVICE_INLINE float4 merge_parts(const float4 part[MAD_BLOCK_CELLS], float nb_samples)
{
    float4 m = { 0.f, 0.f, 0.f, 0.f };

    UNROLL
    for (int i = 0; i < MAD_BLOCK_CELLS; i++)
        m.x += part[i].x;
    m.x *= 1.f / MAD_BLOCK_CELLS;
    UNROLL
    for (int i = 0; i < MAD_BLOCK_CELLS; i++) {
        const float d = part[i].x - m.x, d2 = d * d;

        m.y += part[i].y + nb_samples * d2;
        m.z += part[i].z + d * (3 * part[i].y + nb_samples * d2);
        m.w += part[i].w + 4 * d * part[i].z + d2 * (6 * part[i].y + nb_samples * d2);
    }
    return m;
}

/**
 * @name Shared memory of the detection kernel, for a tile of MAD_DETECT_W x MAD_DETECT_H blocks
 *
 * Cells of the tile reach 3 cells beyond the first cell of the last block. The window of lmse
 * reaches from 7 samples before a sample to 8 samples after it.
 * @{
 */
#define DETECT_CELLS_W (MAD_DETECT_W + MAD_BLOCK_CELLS - 1)
#define DETECT_CELLS_H (MAD_DETECT_H + MAD_BLOCK_CELLS - 1)
#define LMSE_BEFORE    (MAD_BLOCK / 2 - 1)
#define LMSE_W         (MAD_DETECT_W * MAD_STEP + MAD_BLOCK - 1)
#define LMSE_H         (MAD_DETECT_H * MAD_STEP + MAD_BLOCK - 1)
#define DETECT_THREADS (MAD_DETECT_W * MAD_DETECT_H)

/// All members are indexed by row, then column.
typedef struct DetectShared {
    MADMoments reference[DETECT_CELLS_H][DETECT_CELLS_W];
    MADMoments error[DETECT_CELLS_H][DETECT_CELLS_W];
    float difference[LMSE_H][LMSE_W + 1];                   ///< squared errors
    float row_sum[LMSE_H][MAD_DETECT_W * MAD_STEP];         ///< sums of MAD_BLOCK in a row
} DetectShared;
/// @}

/// Sum MAD_BLOCK values from each of the first MAD_STEP positions on.
static DEVICE_INLINE void box_sums(float dst[MAD_STEP], const float *src, int stride)
{
    float v[MAD_STEP + MAD_BLOCK - 1], common = 0.f;

    UNROLL
    for (int i = 0; i < MAD_STEP + MAD_BLOCK - 1; i++)
        v[i] = src[i * stride];
    UNROLL
    for (int i = MAD_STEP - 1; i < MAD_BLOCK; i++)
        common += v[i];
    UNROLL
    for (int i = 0; i < MAD_STEP; i++) {
        dst[i] = common;
        UNROLL
        for (int j = i; j < MAD_STEP - 1; j++)
            dst[i] += v[j];
        UNROLL
        for (int j = MAD_BLOCK; j < MAD_BLOCK + i; j++)
            dst[i] += v[j];
    }
}

/// Compute the cell moments of filtered lightness and error for a tile that begins at block tx, ty.
static DEVICE_INLINE void load_cells(DetectShared &s, const MADCUDAParams &p,
                                     int tx, int ty, int thread)
{
    for (int i = thread; i < DETECT_CELLS_W * DETECT_CELLS_H; i += DETECT_THREADS) {
        const int cx = i % DETECT_CELLS_W, cy = i / DETECT_CELLS_W;

        if (tx + cx >= p.nb_x + MAD_BLOCK_CELLS - 1 || ty + cy >= p.nb_y + MAD_BLOCK_CELLS - 1)
            continue;
        UNROLL
        for (int n = 0; n < 2; n++) {
            const float4 *src = (const float4 *)(plane_of(p, MAD_LIGHTNESS + n) +
                                (int64_t)MAD_STEP * (ty + cy + MAD_FIRST_CELL) * p.pitch +
                                MAD_STEP * (tx + cx + MAD_FIRST_CELL));

            (n ? s.error : s.reference)[cy][cx] = compute_cell(src, p.pitch / MAD_STEP);
        }
    }
}

/// Load the squared errors of the samples for a tile; 0 outside of the picture.
static DEVICE_INLINE void load_differences(DetectShared &s, const MADCUDAParams &p,
                                           int tx, int ty, int thread)
{
    const float *reference = plane_of(p, PAIR_REFERENCE), *distorted = plane_of(p, PAIR_MAIN);

    for (int i = thread; i < LMSE_W * LMSE_H; i += DETECT_THREADS) {
        const int x = i % LMSE_W, y = i / LMSE_W;
        const int sx = MAD_BORDER_BEGIN + MAD_STEP * tx - LMSE_BEFORE + x;
        const int sy = MAD_BORDER_BEGIN + MAD_STEP * ty - LMSE_BEFORE + y;
        const int64_t j = (int64_t)sy * p.pitch + sx;

        s.difference[y][x] = sx < p.w && sy < p.h
                           ? square((distorted[j] + p.first_value[PAIR_MAIN]) -
                                    (reference[j] + p.first_value[PAIR_REFERENCE])) : 0.f;
    }
}

/// Compute the visibility of the error in the thread's block bx, by.
static DEVICE_INLINE float visibility(const DetectShared &s, const MADCUDAParams &p, int bx, int by)
{
    const int x = threadIdx.x, y = threadIdx.y;
    const MADMoments reference = merge_variances(&s.reference[y][x], DETECT_CELLS_W,
                                             MAD_BLOCK_CELLS, MAD_BLOCK_CELLS);
    const MADMoments error     = merge_variances(&s.error[y][x], DETECT_CELLS_W,
                                             MAD_BLOCK_CELLS, MAD_BLOCK_CELLS);
    const float variance = error.m2 / (MAD_BLOCK_SAMPLES - 1);
    float masking = 0.f;

    UNROLL
    for (int dy = 0; dy < 2; dy++)
        UNROLL
        for (int dx = 0; dx < 2; dx++) {
            const float m2 = merge_variances(&s.reference[y + dy][x + dx], DETECT_CELLS_W,
                                            SUB_CELLS, SUB_CELLS).m2;

            if ((!dx && !dy) || (m2 < masking && (!dx || bx < p.full_x) && (!dy || by < p.full_y)))
                masking = m2;
        }
    return mad_visibility(reference.mean, masking / (MAD_SUB_SAMPLES - 1), variance);
}

/// Sum lmse^2 over the interior part of a block's first cell. If MAP is set, write it to the map.
template<bool MAP>
static DEVICE_INLINE float lmse_square(const DetectShared &s, const MADCUDAParams &p,
                                       int bx, int by, float visible)
{
    float sum = 0.f;

    UNROLL
    for (int x = 0; x < MAD_STEP; x++) {
        float lmse[MAD_STEP];

        box_sums(lmse, &s.row_sum[MAD_STEP * threadIdx.y][MAD_STEP * threadIdx.x + x],
                 MAD_DETECT_W * MAD_STEP);
        UNROLL
        for (int y = 0; y < MAD_STEP; y++) {
            const int px = MAD_BORDER_BEGIN + MAD_STEP * bx + x;
            const int py = MAD_BORDER_BEGIN + MAD_STEP * by + y;

            if (px >= p.w - MAD_BORDER_END || py >= p.h - MAD_BORDER_END)
                continue;
            sum += square(p.lmse_scale * lmse[y]);
            if (MAP)
                write_map(p, px, py, visible * (p.lmse_scale * lmse[y]), true);
        }
    }
    return sum;
}

/**
 * Compute the detection map.
 *
 * Thread blocks of MAD_DETECT_W x MAD_DETECT_H threads; a thread has a block of samples. If MAP is
 * set, also write the output frame.
 */
template<bool MAP>
static DEVICE_INLINE void detect(const MADCUDAParams &p)
{
    __shared__ DetectShared s;
    const int tx = blockIdx.x * MAD_DETECT_W, ty = blockIdx.y * MAD_DETECT_H;
    const int bx = tx + threadIdx.x, by = ty + threadIdx.y;
    const int thread = threadIdx.y * MAD_DETECT_W + threadIdx.x;

    load_cells(s, p, tx, ty, thread);
    load_differences(s, p, tx, ty, thread);
    __syncthreads();
    for (int i = thread; i < LMSE_H * MAD_DETECT_W; i += DETECT_THREADS) {
        const int x = i % MAD_DETECT_W * MAD_STEP, y = i / MAD_DETECT_W;

        box_sums(&s.row_sum[y][x], &s.difference[y][x], 1);
    }
    __syncthreads();
    if (bx < p.nb_x && by < p.nb_y) {
        const float visible = visibility(s, p, bx, by);

        p.detection[by * p.nb_x + bx] = square(visible) * lmse_square<MAP>(s, p, bx, by, visible);
    }
}

/// Return twice the signed distance from the filters' centre, which is off by 1/2 in odd sizes.
static DEVICE_INLINE int twice_centred(int i, int size)
{
    const int place = i + (size + 1) / 2;

    return 2 * (place < size ? place : place - size) - size;
}

/// Return the gain of a filter, with the normalisation of the transforms.
static DEVICE_INLINE float filter_gain(const MADCUDAParams &p, float radial, float angle,
                                       float direction)
{
    const float d = mad_angle_distance(angle, direction);

    return p.norm * mad_log_gabor_gain(radial * radial + d * d);
}

/// Loads of a column of a filtered spectrum, and stores of that column of the response.
struct FilteredColumn {
    static const bool LOADS_SHARED = false, STORES_SHARED = false;
    const MADCUDAParams &p;
    bool is_inside;             ///< whether the column exists; otherwise nothing is stored
    int c;                      ///< column
    bool mirrored;              ///< whether only its conjugate is stored
    const float2 *src;          ///< column of the spectrum
    const float2 *polar_column; ///< radial distances and angles
    float2 *dst;
    int half, last;             ///< rows r and last - r mirror each other, r < half
    float direction, offset, sign;

    DEVICE_INLINE FilteredColumn(const MADCUDAParams &params, int column, int response)
        : p(params), is_inside(column < p.w), c(is_inside ? column : 0), mirrored(c > p.w / 2)
    {
        const int x = twice_centred(c, p.w);

        src       = spectrum_of(p, response % PAIR_NB) + (mirrored ? p.w - c : c);
        polar_column = (const float2 *)p.polar + (x < 0 ? -x : x) / 2;
        dst       = response_of(p, response) + c;
        half      = p.h / 2;
        last      = 2 * half;
        direction = (p.orientation + response / PAIR_NB) * (float)MAD_ANGLE_STEP;
        offset    = x < 0 ? (float)(MAD_FULL_TURN / 2) : 0.f;
        sign      = x < 0 ? -1.f : 1.f;
    }

    DEVICE_INLINE float2 load(int r) const
    {
        // the row of the table is half of twice_centred(r, p.h), without its sign
        const float2 polar = polar_column[(r < half ? r : last - r) * p.half_pitch];
        const float2 value = src[(mirrored && r ? p.h - r : r) * p.half_pitch];
        const float angle  = fused_add(sign, polar.y, offset);
        float gain = filter_gain(p, polar.x + p.radial_step[p.scale], r < half ? -angle : angle, direction);

        if (!r && !c)
            gain = 0.f;
        return make_float2(gain * value.x, mirrored ? -gain * value.y : gain * value.y);
    }

    DEVICE_INLINE void store(int r, float2 v) const
    {
        if (is_inside)
            dst[r * p.pitch] = v;
    }
};

/// Loads of a row of a response, and stores of its magnitudes, interleaved with the other lanes.
struct MagnitudeRow {
    static const bool LOADS_SHARED = false, STORES_SHARED = true;
    float *magnitude;                   ///< [w][FFT_LANES]
    const float2 *src;
    int skipped_begin, skipped_end;     ///< columns outside of the passband, which are 0

    DEVICE_INLINE float2 load(int x) const
    {
        return x < skipped_begin || x >= skipped_end ? src[x] : make_float2(0.f, 0.f);
    }

    DEVICE_INLINE void store(int x, float2 v) const
    {
        magnitude[x * FFT_LANES + threadIdx.x % FFT_LANES] = approx_sqrt(v.x * v.x + v.y * v.y);
    }
};

/// Loads of two rows of a plane as one complex row, and stores of its spectrum in memory.
struct PlaneRows {
    static const bool LOADS_SHARED = false, STORES_SHARED = true;
    const float *src[2];                ///< NULL for rows below the picture
    float2 *values;                     ///< [w][FFT_LANES] from the lane on

    DEVICE_INLINE float2 load(int x) const
    {
        return make_float2(src[0] ? src[0][x] : 0.f, src[1] ? src[1][x] : 0.f);
    }

    DEVICE_INLINE void store(int x, float2 v) const
    {
        values[x * FFT_LANES] = v;
    }
};

/// Loads of two half spectra as one complex spectrum, and stores of two rows of a plane.
struct SpectrumRows {
    static const bool LOADS_SHARED = false, STORES_SHARED = false;
    const float2 *src[2];
    float *dst[2];                      ///< NULL for rows below the picture
    int w;

    DEVICE_INLINE float2 load(int x) const
    {
        const int mirrored = x > w / 2, i = mirrored ? w - x : x;
        const float2 a = src[0][i], b = src[1][i];

        return mirrored ? make_float2(a.x + b.y, b.x - a.y) : make_float2(a.x - b.y, b.x + a.y);
    }

    DEVICE_INLINE void store(int x, float2 v) const
    {
        if (dst[0])
            dst[0][x] = v.x;
        if (dst[1])
            dst[1][x] = v.y;
    }
};

/// Loads and stores of a column of a plane's spectrum, in place, with a gain.
struct SpectrumColumn {
    static const bool LOADS_SHARED = false, STORES_SHARED = false;
    float2 *values;
    const float *gain;                  ///< gain of each row, or NULL for 1
    float sign;                         ///< -1 conjugates the values for a forward transform
    int pitch;
    bool is_inside;                     ///< whether the column exists; otherwise nothing is stored

    DEVICE_INLINE float2 load(int r) const
    {
        const float2 v = values[r * pitch];

        return make_float2(v.x, sign * v.y);
    }

    DEVICE_INLINE void store(int r, float2 v) const
    {
        const float factor = gain ? gain[r * pitch] : 1.f;

        if (is_inside)
            values[r * pitch] = make_float2(factor * v.x, factor * sign * v.y);
    }
};

/**
 * Transform the rows of plane blockIdx.y, a pair in each lane, and store half spectra, columns
 * 0 to w / 2. The other half is conjugate to it.
 *
 * The functions up to response_rows() are the bodies of the line kernels. Grid: thread blocks of
 * lines x layers, blockIdx.y is the layer. memory is shared memory, or scratch memory with
 * FFT_LARGE. block is the thread block's index along the lines.
 */
template<int METHOD>
static DEVICE_INLINE void plane_rows(const MADCUDAParams &p, float2 *memory, int block)
{
    const int lane  = threadIdx.x % FFT_LANES, y = 2 * (block * FFT_LANES + lane);
    const float *plane = plane_of(p, blockIdx.y) + (int64_t)y * p.pitch;
    float2 *dst     = spectrum_of(p, blockIdx.y) + (int64_t)y * p.half_pitch;
    float2 *values  = fft_lines_output<METHOD>(memory, p.row_plan) + lane;
    PlaneRows rows  = { { y < p.h ? plane : NULL, y + 1 < p.h ? plane + p.pitch : NULL }, values };

    fft_lines<METHOD>(memory, p.row_plan, (const float2 *)p.row_table, rows);
    __syncthreads();
    for (int x = threadIdx.x / FFT_LANES; x <= p.w / 2; x += blockDim.x / FFT_LANES) {
        const float2 a = values[x * FFT_LANES], b = values[(x ? p.w - x : 0) * FFT_LANES];

        if (y < p.h)
            dst[x] = make_float2(0.5f * (a.x + b.x), 0.5f * (b.y - a.y));
        if (y + 1 < p.h)
            dst[x + p.half_pitch] = make_float2(0.5f * (a.y + b.y), 0.5f * (a.x - b.x));
    }
}

/// Transform the columns of plane blockIdx.y. Apply the CSF to lightness, and transform it back.
template<int METHOD>
static DEVICE_INLINE void plane_columns(const MADCUDAParams &p, float2 *memory, int block)
{
    const int c = block * FFT_LANES + threadIdx.x % FFT_LANES;
    const bool is_lightness = blockIdx.y >= MAD_LIGHTNESS, is_inside = c <= p.w / 2;
    SpectrumColumn column = { spectrum_of(p, blockIdx.y) + (is_inside ? c : 0),
                              is_lightness ? p.csf + (is_inside ? c : 0) : NULL,
                              -1.f, p.half_pitch, is_inside };

#pragma unroll 1
    for (int i = 0; i < 1 + is_lightness; i++) {
        fft_lines<METHOD>(memory, p.column_plan, (const float2 *)p.column_table, column);
        __syncthreads();
        column.gain = NULL;
        column.sign = 1.f;
    }
}

/// Transform the rows of lightness plane blockIdx.y back, a pair in each lane.
template<int METHOD>
static DEVICE_INLINE void lightness_rows(const MADCUDAParams &p, float2 *memory, int block)
{
    const int y = 2 * (block * FFT_LANES + threadIdx.x % FFT_LANES);
    const int first = y < p.h ? y : 0, second = y + 1 < p.h ? y + 1 : first;
    const float2 *src = spectrum_of(p, MAD_LIGHTNESS + blockIdx.y);
    float *dst        = plane_of(p, MAD_LIGHTNESS + blockIdx.y);
    SpectrumRows rows = { { src + (int64_t)first * p.half_pitch, src + (int64_t)second * p.half_pitch },
                          { y     < p.h ? dst + (int64_t)first  * p.pitch : NULL,
                            y + 1 < p.h ? dst + (int64_t)second * p.pitch : NULL }, p.w };

    fft_lines<METHOD>(memory, p.row_plan, (const float2 *)p.row_table, rows);
}

/// Filter the spectrum of a picture and transform its columns; blockIdx.y is the response.
template<int METHOD>
static DEVICE_INLINE void response_columns(const MADCUDAParams &p, float2 *memory, int block)
{
    const MADCUDAPassband &passband = p.passband[p.scale];
    const int first = block + (block < passband.blocks ? 0 : passband.skipped);
    FilteredColumn column(p, first * FFT_LANES + threadIdx.x % FFT_LANES, blockIdx.y);

    fft_lines<METHOD>(memory, p.column_plan, (const float2 *)p.column_table, column);
}

/**
 * Transform the rows of response blockIdx.y, and compute the moments of its magnitudes in cell row
 * block: the FFT_LANES lanes are the rows of the cells.
 */
template<int METHOD>
static DEVICE_INLINE void response_rows(const MADCUDAParams &p, float2 *memory, int block)
{
    const int nb_x = p.nb_x + MAD_BLOCK_CELLS - 1, nb_y = p.nb_y + MAD_BLOCK_CELLS - 1;
    const int y = (block + MAD_FIRST_CELL) * MAD_STEP + threadIdx.x % FFT_LANES;
    const MADCUDAPassband &passband = p.passband[p.scale];
    float *magnitude = (float *)fft_lines_output<METHOD>(memory, p.row_plan);
    MagnitudeRow row = { magnitude, response_of(p, blockIdx.y) + (int64_t)y * p.pitch,
                         passband.blocks * FFT_LANES,
                         (passband.blocks + passband.skipped) * FFT_LANES };
    float4 *cells = (float4 *)p.cells +
                    (((int64_t)p.orientation * PAIR_NB + blockIdx.y) * nb_y + block) * nb_x;

    fft_lines<METHOD>(memory, p.row_plan, (const float2 *)p.row_table, row);
    __syncthreads();
    for (int cx = threadIdx.x; cx < nb_x; cx += blockDim.x) {
        const float4 *src  = (const float4 *)magnitude + (cx + MAD_FIRST_CELL) * MAD_STEP;
        const MADMoments m = compute_cell(src, 1);

        cells[cx] = make_float4(m.mean, m.m2, m.m3, m.m4);
    }
}

/**
 * Merge MAD_BLOCK_CELLS cells below each other to a strip, for all blocks of a thread block. Up to
 * MAD_BLOCK_CELLS blocks share a strip.
 *
 * @param strip [MAD_BLOCKS_H][MAD_STRIPS] in shared memory
 * @param cell  first cell of the thread block's first block
 * @param pitch cells between rows
 * @param w, h  columns and rows of cells from there to the end of the map
 */
static DEVICE_INLINE void merge_strips(float4 strip[MAD_BLOCKS_H][MAD_STRIPS], const float4 *cell,
                                      int pitch, int w, int h)
{
    const int y = threadIdx.y;

    for (int x = threadIdx.x; x < MAD_STRIPS && x < w; x += MAD_BLOCKS_W) {
        float4 part[MAD_BLOCK_CELLS];

        UNROLL
        for (int i = 0; i < MAD_BLOCK_CELLS; i++)
            part[i] = cell[(y + i < h ? y + i : h - 1) * pitch + x];
        strip[y][x] = merge_parts(part, MAD_CELL_SAMPLES);
    }
}

/// Return how many samples of a block's first cell lie in the interior along an axis.
static DEVICE_INLINE int nb_inside(int block, int size)
{
    const int left = size - MAD_BORDER_END - MAD_BORDER_BEGIN - MAD_STEP * block;

    return left < MAD_STEP ? left : MAD_STEP;
}

/// Sum a value over a thread block of MAD_POOL_THREADS threads; only thread 0 gets the sum.
static DEVICE_INLINE double block_sum(double *shared, double value)
{
    const int i = threadIdx.x;

    __syncthreads();
    shared[i] = value;
    for (int n = MAD_POOL_THREADS / 2; n; n /= 2) {
        __syncthreads();
        if (i < n)
            shared[i] = value += shared[i + n];
    }
    return value;
}

extern "C" {

// the modules of other methods contain line kernels only, see Makefile
#if !defined(MAD_CHIRP) && !defined(MAD_LARGE)

/// load() for samples of 8 bits, in thread blocks of MAD_LOAD_W x MAD_LOAD_H threads.
__global__ void mad_load_8(MADCUDAParams p)
{
    load<uint8_t>(p);
}

/// load() for samples of more than 8 bits, in the same thread blocks.
__global__ void mad_load_16(MADCUDAParams p)
{
    load<uint16_t>(p);
}

/// detect() without a map.
__global__ void __launch_bounds__(DETECT_THREADS)
mad_detect(MADCUDAParams p)
{
    detect<false>(p);
}

/// detect() with a map.
__global__ void __launch_bounds__(DETECT_THREADS)
mad_detect_map(MADCUDAParams p)
{
    detect<true>(p);
}

/// Fill a plane of the output frame. A thread has a word; thread blocks are MAD_POOL_THREADS wide.
__global__ void mad_fill(MADCUDAFill p)
{
    const int64_t i = (int64_t)blockIdx.x * MAD_POOL_THREADS + threadIdx.x;

    if (i < p.nb_words)
        p.dst[i] = p.word;
}

/**
 * Write the appearance map to luma of the output frame. Thread blocks of MAD_LOAD_W x MAD_LOAD_H
 * threads; a thread has a sample of the interior.
 */
__global__ void mad_appearance_map(MADCUDAParams p)
{
    const int x = blockIdx.x * MAD_LOAD_W + threadIdx.x;
    const int y = blockIdx.y * MAD_LOAD_H + threadIdx.y;
    const int border = MAD_BORDER_BEGIN + MAD_BORDER_END;

    if (x < p.w - border && y < p.h - border)
        write_map(p, x + MAD_BORDER_BEGIN, y + MAD_BORDER_BEGIN,
                p.appearance[y / MAD_STEP * p.nb_x + x / MAD_STEP], false);
}

#endif /* MAD_CHIRP, MAD_LARGE */

/**
 * Define a line kernel: plan.threads threads transform FFT_LANES lines. With FFT_LARGE, a launch
 * has at most FFT_SCRATCH_BLOCKS thread blocks, and each repeats this for further lines.
 */
#ifdef MAD_LARGE
#define LINE_KERNEL(name)                                                                \
__global__ void __launch_bounds__(FFT_MAX_THREADS, 1) mad_##name##_large(MADCUDAParams p)   \
{                                                                                           \
    float2 *scratch = (float2 *)p.scratch + p.scratch_size *                                \
                      (blockIdx.y * (FFT_SCRATCH_BLOCKS / p.nb_layers) + blockIdx.x);       \
                                                                                            \
    for (int i = blockIdx.x; i < p.nb_blocks; i += FFT_SCRATCH_BLOCKS / p.nb_layers)        \
        name<FFT_LARGE>(p, scratch, i);                                                     \
}
#else
#define LINE_KERNEL_BY(method, kernel, name)                                                  \
__global__ void __launch_bounds__(FFT_MAX_THREADS, 1) kernel(MADCUDAParams p)               \
{                                                                                           \
    DYNAMIC_SHARED(float2, shared);                                                         \
                                                                                            \
    name<method>(p, shared, blockIdx.x);                                                       \
}
#ifdef MAD_CHIRP
#define LINE_KERNEL(name) LINE_KERNEL_BY(FFT_CHIRP, mad_##name##_chirp, name)
#else
#define LINE_KERNEL(name) LINE_KERNEL_BY(FFT_DIRECT, mad_##name, name)
#endif
#endif

LINE_KERNEL(plane_rows)
LINE_KERNEL(plane_columns)
LINE_KERNEL(lightness_rows)
LINE_KERNEL(response_columns)
LINE_KERNEL(response_rows)

#if !defined(MAD_CHIRP) && !defined(MAD_LARGE)

/**
 * Add the differences of a scale to the appearance map, eta of the paper.
 *
 * Thread blocks of MAD_BLOCKS_W x MAD_BLOCKS_H threads, a warp in a row; a thread has a block of
 * samples. Shared memory holds the strips of all orientations and both pictures.
 */
__global__ void __launch_bounds__(MAD_BLOCKS_W * MAD_BLOCKS_H)
mad_compare(MADCUDAParams p)
{
    __shared__ float4 strip[MAD_ORIENTATIONS][PAIR_NB][MAD_BLOCKS_H][MAD_STRIPS];
    const int first_x = blockIdx.x * MAD_BLOCKS_W, first_y = blockIdx.y * MAD_BLOCKS_H;
    const int bx = first_x + threadIdx.x, by = first_y + threadIdx.y;
    const int nb_x = p.nb_x + MAD_BLOCK_CELLS - 1, nb_y = p.nb_y + MAD_BLOCK_CELLS - 1;
    const float4 *cell = (const float4 *)p.cells + (int64_t)first_y * nb_x + first_x;
    float sum = 0.f;

    for (int i = 0; i < MAD_ORIENTATIONS * PAIR_NB; i++, cell += (int64_t)nb_y * nb_x)
        merge_strips(strip[i / PAIR_NB][i % PAIR_NB], cell, nb_x, nb_x - first_x, nb_y - first_y);
    __syncthreads();
    for (int o = 0; o < MAD_ORIENTATIONS; o++) {
        float stats[PAIR_NB][3];

        UNROLL
        for (int n = 0; n < PAIR_NB; n++) {
            const float4 m = merge_parts(&strip[o][n][threadIdx.y][threadIdx.x],
                                        MAD_BLOCK_CELLS * MAD_CELL_SAMPLES);

            mad_std_skew_kurt(stats[n], m.y, m.z, m.w);
        }
        sum += mad_stat_diff(stats[0], stats[1], p.ref_step);
    }
    if (bx < p.nb_x && by < p.nb_y)
        p.appearance[by * p.nb_x + bx] += p.weight[p.scale] * sum;
}

/**
 * Sum both squared maps. MAD_POOL_BLOCKS thread blocks of MAD_POOL_THREADS threads; shared memory
 * holds a sum of each thread. The last thread block to finish adds the sums of all thread blocks
 * in their order: the result is the same in each run.
 */
__global__ void __launch_bounds__(MAD_POOL_THREADS)
mad_pool(MADCUDAParams p)
{
    __shared__ double shared[MAD_POOL_THREADS];
    __shared__ bool is_last;
    double hi = 0, lo = 0;

    for (int i = blockIdx.x * MAD_POOL_THREADS + threadIdx.x; i < p.nb_x * p.nb_y;
         i += MAD_POOL_BLOCKS * MAD_POOL_THREADS) {
        hi += p.detection[i];
        lo += (double)square(p.appearance[i]) *
              (nb_inside(i % p.nb_x, p.w) * nb_inside(i / p.nb_x, p.h));
    }
    hi = block_sum(shared, hi);
    lo = block_sum(shared, lo);
    if (threadIdx.x == 0) {
        p.partial[blockIdx.x].hi = hi;
        p.partial[blockIdx.x].lo = lo;
        fence_device();
        is_last = atomic_add(p.nb_done, 1) == MAD_POOL_BLOCKS - 1;
        fence_device();
    }
    __syncthreads();
    if (!is_last || threadIdx.x)
        return;
    hi = lo = 0;
    for (int i = 0; i < MAD_POOL_BLOCKS; i++) {
        hi += load_relaxed(&p.partial[i].hi);
        lo += load_relaxed(&p.partial[i].lo);
    }
    p.result->hi = hi;
    p.result->lo = lo;
    *p.nb_done   = 0;
}

#endif /* MAD_CHIRP, MAD_LARGE */

}
