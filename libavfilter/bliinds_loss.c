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

#include "libavutil/common.h"
#include "libavutil/macros.h"

#include "bliinds_loss.h"

/// 0.1 as 32.32 fixed point.
#define FLOOR 429496730

/**
 * The loss is soft * s * r(m) + low * r(l) + high * r(h) + noise * n.
 *
 * m, l and h are the mean drops of energy of three bands each: the main ones, one
 * of each level, that lie close to each other in frequency, the lowest and the
 * highest ones of all levels. What has more energy than in the source has not
 * dropped. r() is a square root whose slope is finite at 0. s is how soft the
 * source is: how much its energy falls from the lowest to the highest band of the
 * last level. n is the standard deviation of the noise that came in, in 8-bit steps.
 *
 * doc/rr-format.md says how the factors were fitted.
 */
static const struct {
    double soft, low, high, noise;
} factor = { 4.49, 70.99, 6.58, 1.62 };

static const uint8_t main_band[] = { 0 * 3 + 0, 1 * 3 + 1, 2 * 3 + 2 };
static const uint8_t low_band[]  = { 0 * 3 + 0, 1 * 3 + 0, 2 * 3 + 0 };
static const uint8_t high_band[] = { 0 * 3 + 2, 1 * 3 + 2, 2 * 3 + 2 };

/// Drop of energy, in log2, below which it tells little.
#define KNEE 0.015

/**
 * log2 of 32.32 fixed point that is not 0, in units of 1 / BLIINDS_ENERGY_ONE:
 * in integers, since no two libm agree on the last bit of theirs.
 */
static int log2_fixed(uint64_t x)
{
    const int whole = x >> 32 ? av_log2(x >> 32) : av_log2(x) - 32;
    uint64_t m = whole < 0 ? x << (-1 - whole) : x >> (whole + 1);  // 1.31, from 1 to 2
    uint64_t fraction = 0;

    // each squaring doubles the logarithm, whose next bit is then before the point
    for (int i = 0; i < 24; i++) {
        int bit;

        m   = m * m >> 31;
        bit = m >> 32;
        m >>= bit;
        fraction = fraction << 1 | bit;
    }
    return whole * BLIINDS_ENERGY_ONE +
           (int)((fraction * BLIINDS_ENERGY_ONE + (1 << 23)) >> 24);
}

void ff_bliinds_energies(BLIINDSEnergies *dst, const BLIINDSLevelSums sums[BLIINDS_LEVELS])
{
    for (int l = 0; l < BLIINDS_LEVELS; l++) {
        const BLIINDSClassSums *clear = &sums[l].grid[0], *straddling = &sums[l].grid[1];
        const int all    = l == 0 || !clear->nb_blocks;
        const uint64_t n = clear->nb_blocks + (all ? straddling->nb_blocks : 0);

        for (int b = 0; b < 3; b++) {
            uint64_t whole = clear->band[b].whole, fraction = clear->band[b].fraction;

            if (all) {
                whole    += straddling->band[b].whole;
                fraction += straddling->band[b].fraction;
            }
            // less than 2^25 blocks, so the rest of the whole part has room
            dst->band[l * 3 + b] =
                log2_fixed((whole / n << 32) + ((whole % n << 32) + fraction) / n + FLOOR);
        }
    }
}

/**
 * White noise adds the same variance to the three bands of level 1. What is
 * added unevenly, as by sharpening or contrast, is less by half of what the
 * bands differ, and is none.
 */
static double added_noise(const BLIINDSEnergies *source, const BLIINDSEnergies *encode)
{
    double least = INFINITY, most = -INFINITY;

    for (int b = 0; b < 3; b++) {
        double added = exp2(encode->band[b] / (double)BLIINDS_ENERGY_ONE) -
                       exp2(source->band[b] / (double)BLIINDS_ENERGY_ONE);

        least = FFMIN(least, added);
        most  = FFMAX(most,  added);
    }
    return sqrt(FFMAX(least - (most - least) / 2, 0));
}

/// The root of the mean drop of three bands.
static double drop_root(const BLIINDSEnergies *source, const BLIINDSEnergies *encode,
                        const uint8_t band[3])
{
    int drop = 0;

    for (int i = 0; i < 3; i++)
        drop += FFMAX(0, source->band[band[i]] - encode->band[band[i]]);
    return sqrt(drop / (3. * BLIINDS_ENERGY_ONE) + KNEE) - sqrt(KNEE);
}

double ff_bliinds_loss(const BLIINDSEnergies *source, const BLIINDSEnergies *encode)
{
    const int soft = FFMAX(0, source->band[low_band[2]] - source->band[high_band[2]]);

    return av_clipd(factor.soft  * drop_root(source, encode, main_band) *
                    (soft / (double)BLIINDS_ENERGY_ONE) +
                    factor.low   * drop_root(source, encode, low_band) +
                    factor.high  * drop_root(source, encode, high_band) +
                    factor.noise * added_noise(source, encode), 0, 100);
}
