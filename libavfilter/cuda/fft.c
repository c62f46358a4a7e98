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

#include "libavutil/common.h"
#include "libavutil/macros.h"

#include "fft.h"

/// Those without a factor of 2 come first: then the first stage's writes to shared
/// memory meet no others in its banks.
static const int radices[] = { 9, 15, 5, 16, 12, 10, 8, 6, 4 };

/// Threads of a lane that have something to do in a stage.
static int nb_active(const FFTPlan *plan, int i)
{
    const int each = plan->radix[i] * (FFT_EACH / plan->radix[i]);

    return (plan->size + each - 1) / each;
}

/// How well a plan uses a multiprocessor: its threads that have something to do.
static int active_threads(const FFTPlan *plan)
{
    int sum = 0;

    for (int i = 0; i < plan->nb_stages; i++)
        sum += nb_active(plan, i) * FFT_LANES;
    return FFT_MAX_THREADS / plan->threads * sum / plan->nb_stages;
}

/// Go through the ways to split rest, from radix i on; the best one so far is kept.
static void try_radices(FFTPlan *best, FFTPlan *plan, int rest, int i)
{
    if (rest == 1) {
        int nb = 0;

        for (int j = 0; j < plan->nb_stages; j++)
            nb = FFMAX(nb, nb_active(plan, j));
        plan->threads = FFT_LANES * FFALIGN(nb, 32 / FFT_LANES);
        if (plan->threads <= FFT_MAX_THREADS &&
            (!best->nb_stages || plan->nb_stages < best->nb_stages ||
             plan->nb_stages == best->nb_stages && active_threads(plan) > active_threads(best)))
            *best = *plan;
        return;
    }
    if (plan->nb_stages == FFT_MAX_STAGES)
        return;
    for (; i < FF_ARRAY_ELEMS(radices); i++)
        if (rest % radices[i] == 0) {
            plan->radix[plan->nb_stages++] = radices[i];
            try_radices(best, plan, rest / radices[i], i);
            plan->nb_stages--;
        }
}

int ff_fft_plan(FFTPlan *plan, int size)
{
    FFTPlan way = { .size = size };

    *plan = way;
    try_radices(plan, &way, size, 0);
    for (int i = 0, before = 1; i < plan->nb_stages; before *= plan->radix[i++])
        plan->inverse[i] = before == 1 ? 0 : ((UINT64_C(1) << 32) + before - 1) / before;
    return plan->nb_stages > 0;
}
