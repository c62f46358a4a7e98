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
 * Inverse transforms of any length, by the method of Stockham: each stage leaves
 * the values in the order in which the next one takes them. See fft.h.
 *
 * C. Van Loan, "Computational Frameworks for the Fast Fourier Transform", 1992,
 * sections 1.7 and 4.2.3.
 */

#ifndef AVFILTER_CUDA_FFT_CUH
#define AVFILTER_CUDA_FFT_CUH

#include "kernel.cuh"
#include "fft.h"

static DEVICE_INLINE float2 complex_add(float2 a, float2 b)
{
    return make_float2(a.x + b.x, a.y + b.y);
}

static DEVICE_INLINE float2 complex_sub(float2 a, float2 b)
{
    return make_float2(a.x - b.x, a.y - b.y);
}

static DEVICE_INLINE float2 complex_mul(float2 a, float2 b)
{
    return make_float2(fused_add(a.x, b.x, -a.y * b.y), fused_add(a.x, b.y, a.y * b.x));
}

static DEVICE_INLINE float2 complex_conj(float2 a)
{
    return make_float2(a.x, -a.y);
}

/// a + f * b
static DEVICE_INLINE float2 complex_fused(float2 a, float f, float2 b)
{
    return make_float2(fused_add(f, b.x, a.x), fused_add(f, b.y, a.y));
}

/// a + i * f * b
static DEVICE_INLINE float2 complex_fused_i(float2 a, float f, float2 b)
{
    return make_float2(fused_add(-f, b.y, a.x), fused_add(f, b.x, a.y));
}

/// Cosine of a part of a turn, -0.5 to 0.5. For constants: compilers fold it.
static DEVICE_INLINE double const_cos(double turns)
{
    const double x = 6.283185307179586477 * turns, y = x * x;

    return 1 - y /   2 * (1 - y /  12 * (1 - y /  30 * (1 - y /  56 * (1 - y /  90 * (1 - y / 132 *
          (1 - y / 182 * (1 - y / 240 * (1 - y / 306 * (1 - y / 380 *
          (1 - y / 462 * (1 - y / 552)))))))))));
}

/// v times the k-th power of the n-th root of 1; k and n are constants.
static DEVICE_INLINE float2 mul_root(float2 v, int k, int n)
{
    const double fraction = (double)(k % n) / n, centred = fraction > 0.5 ? fraction - 1 : fraction;
    const double quarter = centred < -0.25 ? centred + 0.75 : centred - 0.25;

    if (centred == 0)
        return v;
    if (centred == 0.25)
        return make_float2(-v.y, v.x);
    if (centred == 0.5)
        return make_float2(-v.x, -v.y);
    return complex_mul(v, make_float2((float)const_cos(centred), (float)const_cos(quarter)));
}

/// Transforms of N values, 1 to 5.
template<int N> static DEVICE_INLINE void small_fft(float2 v[N]);

template<> DEVICE_INLINE void small_fft<1>(float2 v[1])
{
}

template<> DEVICE_INLINE void small_fft<2>(float2 v[2])
{
    const float2 a = v[0];

    v[0] = complex_add(a, v[1]);
    v[1] = complex_sub(a, v[1]);
}

template<> DEVICE_INLINE void small_fft<3>(float2 v[3])
{
    const float2 sum = complex_add(v[1], v[2]), difference = complex_sub(v[1], v[2]);
    const float2 middle = complex_fused(v[0], -0.5f, sum);

    v[0] = complex_add(v[0], sum);
    v[1] = complex_fused_i(middle,  0.866025404f, difference);
    v[2] = complex_fused_i(middle, -0.866025404f, difference);
}

template<> DEVICE_INLINE void small_fft<4>(float2 v[4])
{
    const float2 a = complex_add(v[0], v[2]), b = complex_sub(v[0], v[2]);
    const float2 c = complex_add(v[1], v[3]), d = complex_sub(v[1], v[3]);

    v[0] = complex_add(a, c);
    v[1] = make_float2(b.x - d.y, b.y + d.x);
    v[2] = complex_sub(a, c);
    v[3] = make_float2(b.x + d.y, b.y - d.x);
}

template<> DEVICE_INLINE void small_fft<5>(float2 v[5])
{
    const float cos1 = 0.309016994f, cos2 = -0.809016994f;
    const float sin1 = 0.951056516f, sin2 =  0.587785252f;
    const float2 sum1 = complex_add(v[1], v[4]), difference1 = complex_sub(v[1], v[4]);
    const float2 sum2 = complex_add(v[2], v[3]), difference2 = complex_sub(v[2], v[3]);
    const float2 a = complex_fused(complex_fused(v[0], cos1, sum1), cos2, sum2);
    const float2 b = complex_fused(complex_fused(v[0], cos2, sum1), cos1, sum2);

    v[0] = complex_add(v[0], complex_add(sum1, sum2));
    v[1] = complex_fused_i(complex_fused_i(a,  sin1, difference1),  sin2, difference2);
    v[4] = complex_fused_i(complex_fused_i(a, -sin1, difference1), -sin2, difference2);
    v[2] = complex_fused_i(complex_fused_i(b,  sin2, difference1), -sin1, difference2);
    v[3] = complex_fused_i(complex_fused_i(b, -sin2, difference1),  sin1, difference2);
}

/// A transform of N1 * N2 values, by N2 of N1 and N1 of N2.
template<int N1, int N2>
static DEVICE_INLINE void fft_composite(float2 v[N1 * N2])
{
    float2 grid[N1][N2];

    UNROLL
    for (int n2 = 0; n2 < N2; n2++) {
        float2 column[N1];

        UNROLL
        for (int n1 = 0; n1 < N1; n1++)
            column[n1] = v[n1 * N2 + n2];
        small_fft<N1>(column);
        UNROLL
        for (int k1 = 0; k1 < N1; k1++)
            grid[k1][n2] = mul_root(column[k1], n2 * k1, N1 * N2);
    }
    UNROLL
    for (int k1 = 0; k1 < N1; k1++) {
        small_fft<N2>(grid[k1]);
        UNROLL
        for (int k2 = 0; k2 < N2; k2++)
            v[k1 + N1 * k2] = grid[k1][k2];
    }
}

/// Multiply value i by the i-th power of a root.
template<int N>
static DEVICE_INLINE void fft_twiddle(float2 v[N], float2 root)
{
    const float2 square = complex_mul(root, root);
    float2 odd = root, even = square;

    UNROLL
    for (int i = 1; i < N; i += 2) {
        v[i] = complex_mul(v[i], odd);
        odd  = complex_mul(odd, square);
        if (i + 1 < N) {
            v[i + 1] = complex_mul(v[i + 1], even);
            even     = complex_mul(even, square);
        }
    }
}

/// A stage, for one thread.
typedef struct FFTStage {
    float2 *values;         ///< [size][FFT_LANES] in shared memory, from the thread's lane on
    const float2 *roots;
    int size;
    int stride;             ///< product of the radices of the stages before
    unsigned stride_inverse;       ///< of that, in 32 bits of fraction, rounded up
    int first, step;        ///< butterflies of the thread
} FFTStage;

/// i % s.before
static DEVICE_INLINE int fft_mod_stride(const FFTStage &s, int i)
{
    return s.stride == 1 ? 0 : i - (int)((uint64_t)i * s.stride_inverse >> 32) * s.stride;
}

/// A stage of radix N1 * N2.
template<int N1, int N2, typename IO>
static DEVICE_INLINE void fft_stage(const FFTStage &s, IO &io)
{
    const int N = N1 * N2, nb_each = FFT_VALUES_PER_THREAD / N;
    const int nb = s.size / N, nb_twiddles = nb / s.stride;
    float2 v[nb_each][N];

    UNROLL
    for (int i = 0; i < nb_each; i++) {
        const int j = s.first + i * s.step;

        if (j >= nb) {
            // otherwise compilers keep the values of the stage before
            UNROLL
            for (int k = 0; k < N; k++)
                v[i][k] = make_float2(0.f, 0.f);
            continue;
        }
        if (s.stride == 1) {
            UNROLL
            for (int k = 0; k < N; k++)
                v[i][k] = io.load(j + k * nb);
        } else {
            UNROLL
            for (int k = 0; k < N; k++)
                v[i][k] = s.values[(j + k * nb) * FFT_LANES];
            fft_twiddle<N>(v[i], s.roots[fft_mod_stride(s, j) * nb_twiddles]);
        }
        fft_composite<N1, N2>(v[i]);
    }
    if (nb_twiddles == 1 ? IO::STORES_SHARED : s.stride > 1 || IO::LOADS_SHARED)
        __syncthreads();
    UNROLL
    for (int i = 0; i < nb_each; i++) {
        const int j = s.first + i * s.step, low = fft_mod_stride(s, j);

        if (j >= nb)
            continue;
        if (nb_twiddles == 1) {
            UNROLL
            for (int k = 0; k < N; k++)
                io.store(j + k * nb, v[i][k]);
        } else {
            UNROLL
            for (int k = 0; k < N; k++)
                s.values[((j - low) * N + low + k * s.stride) * FFT_LANES] = v[i][k];
        }
    }
    if (nb_twiddles > 1)
        __syncthreads();
}

/// A stage in scratch memory.
typedef struct FFTLargeStage : FFTStage {
    float2 *next;           ///< takes the values
} FFTLargeStage;

template<int N1, int N2>
static DEVICE_INLINE void fft_stage(FFTLargeStage &s, FFTLargeStage &)
{
    const int N = N1 * N2, nb = s.size / N, nb_twiddles = nb / s.stride;
    float2 v[N];

#pragma unroll 1
    for (int j = s.first; j < nb; j += s.step) {
        const int low = fft_mod_stride(s, j);

        UNROLL
        for (int k = 0; k < N; k++)
            v[k] = s.values[(j + k * nb) * FFT_LANES];
        if (s.stride > 1)
            fft_twiddle<N>(v, s.roots[low * nb_twiddles]);
        fft_composite<N1, N2>(v);
        UNROLL
        for (int k = 0; k < N; k++)
            s.next[((j - low) * N + low + k * s.stride) * FFT_LANES] = v[k];
    }
    __syncthreads();
    float2 *const done = s.next;
    s.next   = s.values;
    s.values = done;
}

template<typename IO>
static DEVICE_INLINE void fft_wide_stage(FFTStage &s, int radix, IO &io)
{
    switch (radix) {
    case 10: fft_stage<5, 2>(s, io); break;
    case 12: fft_stage<4, 3>(s, io); break;
    case 15: fft_stage<5, 3>(s, io); break;
    case 16: fft_stage<4, 4>(s, io); break;
    }
}

/// No larger radix: addresses in scratch memory take the registers that it needs.
static DEVICE_INLINE void fft_wide_stage(FFTLargeStage &, int, FFTLargeStage &)
{
}

template<typename Stage, typename IO>
static DEVICE_INLINE void fft_stages(Stage &s, const FFTPlan &plan, IO &io)
{
    s.size   = plan.size;
    s.stride = 1;
    s.first  = threadIdx.x / FFT_LANES;
    s.step   = blockDim.x / FFT_LANES;
#pragma unroll 1
    for (int i = 0; i < plan.nb_stages; i++) {
        s.stride_inverse = plan.stride_inverse[i];
        // keeps compilers from computing all stages' indices before the loop
        asm volatile("" : "+r"(s.first));
        switch (plan.radix[i]) {
        case  4: fft_stage<4, 1>(s, io); break;
        case  5: fft_stage<5, 1>(s, io); break;
        case  6: fft_stage<3, 2>(s, io); break;
        case  8: fft_stage<4, 2>(s, io); break;
        case  9: fft_stage<3, 3>(s, io); break;
        default: fft_wide_stage(s, plan.radix[i], io); break;
        }
        s.stride *= plan.radix[i];
    }
}

/// Transform in shared memory.
template<typename IO>
static DEVICE_INLINE void fft_direct(float2 *shared, const FFTPlan &plan, const float2 *roots,
                                     IO &io)
{
    FFTStage s;

    s.values = shared + threadIdx.x % FFT_LANES;
    s.roots  = roots;
    fft_stages(s, plan, io);
}

/// The two transforms that convolve a line with a chirp; conjugates make the second one inverse.
template<typename IO>
struct FFTChirp {
    static const bool LOADS_SHARED = true, STORES_SHARED = true;
    IO &io;
    float2 *values;                     ///< of the lane
    const float2 *chirp, *filter;
    int length;
    bool is_second;

    DEVICE_INLINE float2 load(int i) const
    {
        if (is_second)
            return values[i * FFT_LANES];
        return i < length ? complex_mul(io.load(i), chirp[i]) : make_float2(0.f, 0.f);
    }

    DEVICE_INLINE void store(int i, float2 v) const
    {
        if (!is_second)
            values[i * FFT_LANES] = complex_conj(complex_mul(v, filter[i]));
        else if (i < length)
            io.store(i, complex_mul(complex_conj(v), chirp[i]));
    }
};

/// Transform in scratch memory, with or without a chirp.
template<typename IO>
static DEVICE_INLINE void fft_large(const FFTPlan &plan, const float2 *roots, FFTChirp<IO> &io)
{
    const bool is_chirp = plan.size != plan.length;
    const int first = threadIdx.x / FFT_LANES, step = blockDim.x / FFT_LANES;
    FFTLargeStage s;

    s.roots = roots;
#pragma unroll 1
    for (int pass = 0; pass < 1 + is_chirp; pass++) {
        io.is_second = pass;
        s.values = io.values;
        s.next   = s.values + plan.size * FFT_LANES;
        for (int i = first; i < plan.size; i += step)
            s.values[i * FFT_LANES] = is_chirp ? io.load(i) : io.io.load(i);
        __syncthreads();
        fft_stages(s, plan, s);
        for (int i = first; i < plan.size; i += step)
            if (is_chirp)
                io.store(i, s.values[i * FFT_LANES]);
            else
                io.io.store(i, s.values[i * FFT_LANES]);
        __syncthreads();
    }
}

/**
 * Transform FFT_LANES lines of plan.length complex values; by plan.threads threads,
 * whose lane is threadIdx.x % FFT_LANES.
 *
 * @param memory ff_fft_memory_size() bytes of shared memory; for FFT_LARGE
 *               FFT_SCRATCH_BUFFERS times as many of scratch memory
 * @param table  ff_fft_table()
 * @param io     load(i) returns value i of the thread's line, store(i, v) takes value
 *               i of its transform. LOADS_SHARED: loads are from memory; STORES_SHARED:
 *               stores are to fft_lines_output()
 */
template<int METHOD, typename IO>
static DEVICE_INLINE void fft_lines(float2 *memory, const FFTPlan &plan, const float2 *table,
                                    IO &io)
{
    if (METHOD == FFT_DIRECT) {
        fft_direct(memory, plan, table, io);
    } else {
        const float2 *chirp = table + plan.size;
        FFTChirp<IO> both = { io, memory + threadIdx.x % FFT_LANES, chirp, chirp + plan.length,
                              plan.length, false };

        if (METHOD == FFT_LARGE)
            fft_large(plan, table, both);
#pragma unroll 1
        for (int pass = 0; METHOD == FFT_CHIRP && pass < 2; pass++) {
            both.is_second = pass;
            fft_direct(memory, plan, table, both);
            __syncthreads();
        }
    }
}

/// Memory for what io.store() gets: of each lane, value i at [i * FFT_LANES + lane].
template<int METHOD>
static DEVICE_INLINE float2 *fft_lines_output(float2 *memory, const FFTPlan &plan)
{
    return METHOD == FFT_LARGE ? memory + 2 * plan.size * FFT_LANES : memory;
}

#endif /* AVFILTER_CUDA_FFT_CUH */
