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
 * Plans and tables of the transforms on the GPU, see fft.h. Plans are searched exhaustively: the
 * plan with the fewest stages wins, then the one that keeps most threads busy.
 */

#include <math.h>

#include "libavutil/error.h"
#include "libavutil/macros.h"
#include "libavutil/mathematics.h"
#include "libavutil/mem.h"
#include "libavutil/tx.h"

#include "fft.h"

/// Radices in the order of the stages. An odd radix in the first stage avoids bank conflicts of
/// its stores to shared memory.
static const int radices[] = { 9, 15, 5, 16, 12, 10, 8, 6, 4 };

/// Return the number of threads of a lane that have work in stage i.
static int active_per_lane(const FFTPlan *plan, int i)
{
    const int each = plan->radix[i] * (FFT_VALUES_PER_THREAD / plan->radix[i]);

    return (plan->size + each - 1) / each;
}

/// Return the mean number of threads with work on a multiprocessor of FFT_MAX_THREADS threads.
static int active_threads(const FFTPlan *plan)
{
    int sum = 0;

    for (int i = 0; i < plan->nb_stages; i++)
        sum += active_per_lane(plan, i) * FFT_LANES;
    return FFT_MAX_THREADS / plan->threads * sum / plan->nb_stages;
}

/// Set the number of threads of a thread block: enough for each stage, in whole warps.
static void set_threads(FFTPlan *plan)
{
    int nb = 0;

    for (int i = 0; i < plan->nb_stages; i++)
        nb = FFMAX(nb, active_per_lane(plan, i));
    plan->threads = FFT_LANES * FFALIGN(nb, 32 / FFT_LANES);
}

/// Try all factorisations of remaining into radices[i] and later ones, and keep the best plan.
static void search_radices(FFTPlan *best, FFTPlan *plan, int remaining, int i,
                           enum FFTMethod method)
{
    if (remaining == 1) {
        set_threads(plan);
        if (method == FFT_LARGE)
            plan->threads = FFT_MAX_THREADS;
        if (plan->threads <= FFT_MAX_THREADS &&
            (!best->nb_stages || plan->nb_stages < best->nb_stages ||
             plan->nb_stages == best->nb_stages && active_threads(plan) > active_threads(best)))
            *best = *plan;
        return;
    }
    if (plan->nb_stages == FFT_MAX_STAGES)
        return;
    for (; i < FF_ARRAY_ELEMS(radices); i++)
        if (remaining % radices[i] == 0 && (method != FFT_LARGE || radices[i] <= FFT_LARGE_RADIX)) {
            plan->radix[plan->nb_stages++] = radices[i];
            search_radices(best, plan, remaining / radices[i], i, method);
            plan->nb_stages--;
        }
}

/// Plan transforms of a size. Return 1, or 0 if the size cannot be factored.
static int plan_for_size(FFTPlan *plan, int length, int size, enum FFTMethod method)
{
    FFTPlan candidate = { .length = length, .size = size };

    *plan = candidate;
    search_radices(plan, &candidate, size, 0, method);
    for (int i = 0, stride = 1; i < plan->nb_stages; stride *= plan->radix[i++])
        plan->stride_inverse[i] = stride == 1 ? 0 : ((UINT64_C(1) << 32) + stride - 1) / stride;
    return plan->nb_stages > 0;
}

int ff_fft_plan(FFTPlan *plan, int length, enum FFTMethod method)
{
    // sizes are these times powers of 2: av_tx, which transforms the chirp, is fast with them, too
    static const int odd_factors[] = { 1, 9, 5, 3, 15 };
    int best = 0;

    if (method != FFT_CHIRP && plan_for_size(plan, length, length, method))
        return 1;
    if (method == FFT_DIRECT)
        return 0;
    for (int i = 0; i < FF_ARRAY_ELEMS(odd_factors); i++) {
        int size = 4 * odd_factors[i];

        while (size < 2 * length - 1)
            size *= 2;
        if ((!best || size < best) && plan_for_size(plan, length, size, method))
            best = size;
    }
    return best && plan_for_size(plan, length, best, method);
}

int ff_fft_chirp(int n, int size, float (*chirp)[2], float (*filter)[2])
{
    AVComplexDouble *in  = av_calloc(size, sizeof(*in));
    AVComplexDouble *out = av_malloc_array(size, sizeof(*out));
    AVTXContext *tx = NULL;
    av_tx_fn fn;
    int ret = AVERROR(ENOMEM);

    if (!in || !out || (ret = av_tx_init(&tx, &fn, AV_TX_DOUBLE_FFT, 1, size, NULL, 0)) < 0)
        goto end;
    for (int i = 0; i < n; i++) {
        const double angle = M_PI * ((int64_t)i * i % (2 * n)) / n;

        chirp[i][0] = cos(angle);
        chirp[i][1] = sin(angle);
        in[i] = in[(size - i) % size] = (AVComplexDouble){ cos(angle) / size, -sin(angle) / size };
    }
    fn(tx, out, in, sizeof(*in));
    for (int i = 0; i < size; i++) {
        filter[i][0] = out[i].re;
        filter[i][1] = out[i].im;
    }

end:
    av_tx_uninit(&tx);
    av_free(in);
    av_free(out);
    return ret;
}

int ff_fft_table(const FFTPlan *plan, float (*table)[2])
{
    for (int i = 0; i < plan->size; i++) {
        table[i][0] = cos(2 * M_PI * i / plan->size);
        table[i][1] = sin(2 * M_PI * i / plan->size);
    }
    return plan->size == plan->length ? 0 :
           ff_fft_chirp(plan->length, plan->size, table + plan->size,
                        table + plan->size + plan->length);
}
