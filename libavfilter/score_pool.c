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

#include <math.h>

#include "libavutil/error.h"
#include "libavutil/macros.h"
#include "libavutil/mem.h"

#include "score_pool.h"

#define BINS (1 << SCORE_BINS_LOG2)

/// Batches that a standard error is told from.
#define MIN_BATCHES 4

static const int percentile[] = { 1, 5, 10, 50, 90, 95, 99 };

/// The bin of a value among 2 * SCORE_OCTAVES * BINS, in rising order.
static int find_bin(double value)
{
    int exponent, bin;
    double fraction = frexp(fabs(value), &exponent) * 2;    // 1 to 2

    exponent--;
    if (exponent < SCORE_MIN_OCTAVE || !value)
        bin = 0;
    else if (exponent > SCORE_MAX_OCTAVE)
        bin = SCORE_OCTAVES * BINS - 1;
    else
        bin = (exponent - SCORE_MIN_OCTAVE) * BINS + (int)((fraction - 1) * BINS);
    return value < 0 ? SCORE_OCTAVES * BINS - 1 - bin : SCORE_OCTAVES * BINS + bin;
}

static int add_to_bin(ScorePool *p, double value)
{
    const int i = find_bin(value);
    ScoreBin **octave = &p->octave[i / BINS], *bin;

    if (!*octave) {
        *octave = av_calloc(BINS, sizeof(**octave));
        if (!*octave)
            return AVERROR(ENOMEM);
    }
    bin = *octave + i % BINS;
    bin->min = bin->nb ? FFMIN(bin->min, value) : value;
    bin->max = bin->nb ? FFMAX(bin->max, value) : value;
    bin->nb++;
    return 0;
}

/// Means of batches of values in a row, each of two batches of half the length.
static void add_to_batches(ScorePool *p, double value)
{
    double sum = value;

    for (int i = 0; i < SCORE_BATCH_LENGTHS; i++) {
        const uint64_t nb = p->nb >> i;
        const double difference = ldexp(sum, -i) - p->batch[i].mean;

        p->batch[i].mean    += difference / nb;
        p->batch[i].squares += difference * (ldexp(sum, -i) - p->batch[i].mean);
        if (nb & 1) {
            p->batch[i].first = sum;
            break;
        }
        sum += p->batch[i].first;
    }
}

/// The sum over the last nb values, in their order.
static double sum_last(const ScorePool *p, uint64_t nb)
{
    double sum = 0;

    for (uint64_t i = p->nb - nb; i < p->nb; i++)
        sum += p->last[i % SCORE_WINDOW];
    return sum;
}

static void add_to_window(ScorePool *p, double value, uint64_t frame)
{
    const int i = (p->nb - 1) % SCORE_WINDOW;
    double sum;

    p->last[i]       = value;
    p->last_frame[i] = frame;
    if (p->nb < SCORE_WINDOW)
        return;
    sum = sum_last(p, SCORE_WINDOW);
    if (p->nb == SCORE_WINDOW ||
        (p->direction == SCORE_LOWER_IS_BETTER ? sum > p->worst : sum < p->worst)) {
        p->worst       = sum;
        p->worst_frame = p->last_frame[p->nb % SCORE_WINDOW];
    }
}

int ff_score_pool_add(ScorePool *p, double value, uint64_t frame)
{
    int ret = p->percentiles ? add_to_bin(p, value) : 0;

    if (ret < 0)
        return ret;
    p->min = p->nb ? FFMIN(p->min, value) : value;
    p->max = p->nb ? FFMAX(p->max, value) : value;
    p->nb++;
    p->sum     += value;
    p->inverse += value > -1 ? 1 / (value + 1) : NAN;
    add_to_batches(p, value);
    if (p->direction)
        add_to_window(p, value, frame);
    return 0;
}

/**
 * Standard error of the mean of frames. Neighbours are alike, so that it is
 * larger than that of as many independent values: what batches of frames tell
 * grows with their length until their means are independent. The largest is
 * taken, of lengths that double while there are MIN_BATCHES of them.
 *
 * H. Flyvbjerg and H. G. Petersen, "Error estimates on averages of correlated
 * data", The Journal of Chemical Physics 91(1), 1989.
 */
static double standard_error(const ScorePool *p)
{
    double largest = NAN;

    for (int i = 0; i < SCORE_BATCH_LENGTHS && p->nb >> i >= MIN_BATCHES; i++)
        largest = fmax(largest, p->batch[i].squares / ((p->nb >> i) - 1) *
                                (UINT64_C(1) << i) / p->nb);
    return sqrt(largest);
}

/// About the value at a rank, from 0: in a bin, values are taken for evenly spaced.
static double value_at(const ScorePool *p, uint64_t rank)
{
    for (int i = 0; i < 2 * SCORE_OCTAVES; i++)
        for (int j = 0; p->octave[i] && j < BINS; j++) {
            const ScoreBin *bin = &p->octave[i][j];

            if (rank >= bin->nb) {
                rank -= bin->nb;
                continue;
            }
            if (bin->nb == 1)
                return bin->min;
            return bin->min + (bin->max - bin->min) * ((double)rank / (bin->nb - 1));
        }
    return p->max;
}

/// Linear between the closest ranks.
static double find_percentile(const ScorePool *p, int percent)
{
    const double rank   = (p->nb - 1) * (percent / 100.);
    const uint64_t low  = rank;
    const double before = value_at(p, low), after = value_at(p, FFMIN(low + 1, p->nb - 1));

    return before + (after - before) * (rank - low);
}

void ff_score_pool_get(double dst[SCORE_POOLED_NB], const ScorePool *p)
{
    for (int i = 0; i < SCORE_POOLED_NB; i++)
        dst[i] = NAN;
    if (!p->nb)
        return;
    dst[SCORE_MIN]      = p->min;
    dst[SCORE_MAX]      = p->max;
    dst[SCORE_MEAN]     = p->sum / p->nb;
    dst[SCORE_HARMONIC] = p->nb / p->inverse - 1;
    dst[SCORE_ERROR]    = standard_error(p);
    for (int i = 0; p->percentiles && i < FF_ARRAY_ELEMS(percentile); i++)
        dst[SCORE_P1 + i] = find_percentile(p, percentile[i]);
    if (p->direction) {
        const int is_short = p->nb < SCORE_WINDOW;

        dst[SCORE_WORST]       = is_short ? sum_last(p, p->nb) / p->nb : p->worst / SCORE_WINDOW;
        dst[SCORE_WORST_FRAME] = is_short ? p->last_frame[0] : p->worst_frame;
    }
}

void ff_score_pool_free(ScorePool *p)
{
    for (int i = 0; i < FF_ARRAY_ELEMS(p->octave); i++)
        av_freep(&p->octave[i]);
}
