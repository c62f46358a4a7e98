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
 * Test of cuda/fft.cuh, compiled for the CPU: compare transforms with their defining sums in double
 * precision, for each method and for lengths up to 4096. Prints the first error, or the number of
 * transforms by each method.
 */

#include <complex>

#include "cuda_on_cpu.cpp"

extern "C" {
#include "libavfilter/cuda/fft.h"
}
#include "libavfilter/cuda/fft.cuh"

#define MAX_LENGTH 4096
#define MAX_SIZE   (4 * MAX_LENGTH)
/// Maximum error, relative to the root of the energy of the values.
#define TOLERANCE  3e-6

static float2 memory[FFT_SCRATCH_BUFFERS * FFT_LANES * MAX_SIZE], table[3 * MAX_SIZE];
static float2 line[FFT_LANES][MAX_LENGTH], got[FFT_LANES][MAX_LENGTH];
static FFTPlan plan;

/// Loads and stores of the lines: results stay in the memory of the transform.
struct Lines {
    static const bool LOADS_SHARED = false, STORES_SHARED = true;
    const float2 *src;
    float2 *dst;

    float2 load(int i) const          { return src[i]; }
    void store(int i, float2 v) const { dst[i * FFT_LANES] = v; }
};

/// Kernel: transform line[] to got[].
template<int METHOD>
static void transform(Params)
{
    const int lane = threadIdx.x % FFT_LANES;
    Lines io = { line[lane], fft_lines_output<METHOD>(memory, plan) + lane };

    fft_lines<METHOD>(memory, plan, table, io);
    __syncthreads();
    for (int i = threadIdx.x / FFT_LANES; i < plan.length; i += blockDim.x / FFT_LANES)
        got[lane][i] = io.dst[i * FFT_LANES];
}

/// Return the largest relative error of a transform, over about 128 values of a long one.
static double max_error(const float2 *got, const float2 *value, int length)
{
    const int step = 1 + length / 128;
    double largest = 0, energy = 0;

    for (int i = 0; i < length; i++)
        energy += value[i].x * value[i].x + value[i].y * value[i].y;
    for (int k = length % step; k < length; k += step) {
        std::complex<double> sum(-got[k].x, -got[k].y);

        for (int i = 0; i < length; i++)
            sum += std::complex<double>(value[i].x, value[i].y) *
                   std::polar(1., 2 * M_PI * ((int64_t)i * k % length) / length);
        if (!(std::abs(sum) <= largest))    // also true for NaN
            largest = std::abs(sum);
    }
    return largest / sqrt(energy);
}

/**
 * Transform random lines of a length by a method. Exit the program on an error.
 *
 * @return 1, or 0 if the method is not possible for the length
 */
static int test(int length, enum FFTMethod method)
{
    static void (*const kernel[])(Params) = {
        transform<FFT_DIRECT>, transform<FFT_CHIRP>, transform<FFT_LARGE>
    };
    static uint32_t seed = 1;
    const unsigned one[3] = { 1, 1, 1 };
    unsigned threads[3] = { 1, 1, 1 };

    if (!ff_fft_plan(&plan, length, method))
        return 0;
    threads[0] = plan.threads;
    if (plan.threads > FFT_MAX_THREADS || ff_fft_table(&plan, (float (*)[2])table) < 0)
        stop("no plan");
    for (int lane = 0; lane < FFT_LANES; lane++)
        for (int i = 0; i < length; i++) {
            seed = seed * 1664525 + 1013904223;
            line[lane][i] = make_float2((seed >>  8 & 255) / 255.f - .5f,
                                        (seed >> 16 & 255) / 255.f - .5f);
        }
    on_cpu_launch((void *)kernel[method], table, one, threads);
    for (int lane = 0; lane < FFT_LANES; lane++) {
        const double error = max_error(got[lane], line[lane], length);

        if (!(error < TOLERANCE)) {
            printf("length %d, method %d, lane %d: error %g\n", length, method, lane, error);
            exit(1);
        }
    }
    return 1;
}

int main(void)
{
    static const int video[] = { 854, 1080, 1998, 2048, 2160, 3840, 3996, 4096 };
    const int nb_videos = sizeof(video) / sizeof(*video);
    int nb[FFT_NB_METHODS] = { 0 };

    // all short lengths, then every 13th, then lengths of videos
    for (int i = 0, length = 1; i < nb_videos; length += length < 270 ? 1 : 13) {
        if (length > 700)
            length = video[i++];
        for (int method = 0; method < FFT_NB_METHODS; method++)
            nb[method] += test(length, (enum FFTMethod)method);
    }
    printf("%d direct + %d by a chirp + %d large\n", nb[FFT_DIRECT], nb[FFT_CHIRP], nb[FFT_LARGE]);
    return 0;
}
