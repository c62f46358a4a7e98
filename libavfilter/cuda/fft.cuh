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
 * Device functions of the transforms, see fft.h: Stockham's autosort algorithm and Bluestein's
 * algorithm, after C. Van Loan, "Computational Frameworks for the Fast Fourier Transform", 1992,
 * sections 1.7 and 4.2.3.
 *
 * All transforms are inverse ones, e^(+2 pi i jk / n), and not normalised. For a forward
 * transform, conjugate the values before and after it.
 *
 * A thread block of plan.threads threads transforms FFT_LANES lines: thread t has lane
 * t % FFT_LANES and every (plan.threads / FFT_LANES)-th butterfly of its line. A stage keeps up to
 * FFT_VALUES_PER_THREAD values of a thread in registers. The threads of a lane exchange them
 * through shared memory, where value i of lane l is at [i * FFT_LANES + l].
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

/// Return a + f * b.
static DEVICE_INLINE float2 complex_fused(float2 a, float f, float2 b)
{
    return make_float2(fused_add(f, b.x, a.x), fused_add(f, b.y, a.y));
}

/// Return a + i * f * b.
static DEVICE_INLINE float2 complex_fused_i(float2 a, float f, float2 b)
{
    return make_float2(fused_add(-f, b.y, a.x), fused_add(f, b.x, a.y));
}

/// Return the cosine of an angle in turns, -0.5 to 0.5. Only for constants: compilers fold it.
static DEVICE_INLINE double const_cos(double turns)
{
    const double x = 6.283185307179586477 * turns, y = x * x;

    return 1 - y /   2 * (1 - y /  12 * (1 - y /  30 * (1 - y /  56 * (1 - y /  90 * (1 - y / 132 *
          (1 - y / 182 * (1 - y / 240 * (1 - y / 306 * (1 - y / 380 *
          (1 - y / 462 * (1 - y / 552)))))))))));
}

/// Return v times the k-th power of the n-th root of unity; k and n must be constants.
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

/// Transform N values in place, N = 1 to 5.
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

/// Transform N1 * N2 values in place: N2 transforms of N1 values, then N1 of N2.
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

/// Multiply value i by the i-th power of a root of unity.
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

/// State of a thread in a stage of a transform in shared memory.
typedef struct FFTStage {
    float2 *values;         ///< [size][FFT_LANES] values, from the lane of the thread on
    const float2 *roots;    ///< powers of the size-th root of unity
    int size;
    int stride;             ///< product of the radices of the previous stages
    unsigned stride_inverse;    ///< 2^32 / stride, rounded up
    int first, step;        ///< first butterfly of the thread, distance to the next one
} FFTStage;

/// Return i % s.stride.
static DEVICE_INLINE int fft_mod_stride(const FFTStage &s, int i)
{
    return s.stride == 1 ? 0 : i - (int)((uint64_t)i * s.stride_inverse >> 32) * s.stride;
}

/// Run a stage of radix N1 * N2. The first stage loads by io, the last one stores by it.
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
            // without the assignment, compilers keep the previous stage's values in registers
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

/// State of a thread in a stage of a transform in scratch memory.
typedef struct FFTLargeStage : FFTStage {
    float2 *next;           ///< receives the results; swapped with values after the stage
} FFTLargeStage;

/// Run a stage of radix N1 * N2 from s.values to s.next.
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

/// Run a stage of a radix above FFT_LARGE_RADIX.
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

/// Plans of FFT_LARGE have no such radix: addresses in scratch memory need the registers.
static DEVICE_INLINE void fft_wide_stage(FFTLargeStage &, int, FFTLargeStage &)
{
}

/// Run all stages of a plan.
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
        // keep compilers from computing the indices of all stages before the loop
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

/// Run a transform in shared memory.
template<typename IO>
static DEVICE_INLINE void fft_direct(float2 *shared, const FFTPlan &plan, const float2 *roots,
                                     IO &io)
{
    FFTStage s;

    s.values = shared + threadIdx.x % FFT_LANES;
    s.roots  = roots;
    fft_stages(s, plan, io);
}

/**
 * Loads and stores of the two transforms that convolve a line with a chirp. Conjugation makes the
 * second one a forward transform.
 */
template<typename IO>
struct FFTChirp {
    static const bool LOADS_SHARED = true, STORES_SHARED = true;
    IO &io;
    float2 *values;                     ///< values of the lane, between both transforms
    const float2 *chirp, *filter;       ///< see ff_fft_chirp()
    int length;
    bool is_second;                     ///< whether the second transform runs

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

/// Run a transform in scratch memory, with or without a chirp.
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
 * Transform FFT_LANES lines of plan.length complex values by all plan.threads threads of a thread
 * block. The lane of a thread is threadIdx.x % FFT_LANES. Synchronize the thread block before
 * reading what other threads have stored.
 *
 * @param memory ff_fft_memory_size() bytes of shared memory; with FFT_LARGE, FFT_SCRATCH_BUFFERS
 *               times as many bytes of scratch memory
 * @param table  values from ff_fft_table()
 * @param io     load(i) returns value i of the lane's line, store(i, v) receives value i of its
 *               transform. LOADS_SHARED says that load() reads memory, STORES_SHARED that store()
 *               writes to fft_lines_output()
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

/// Return the memory that io.store() may write to: value i of a lane at [i * FFT_LANES + lane].
template<int METHOD>
static DEVICE_INLINE float2 *fft_lines_output(float2 *memory, const FFTPlan &plan)
{
    return METHOD == FFT_LARGE ? memory + 2 * plan.size * FFT_LANES : memory;
}

#endif /* AVFILTER_CUDA_FFT_CUH */
