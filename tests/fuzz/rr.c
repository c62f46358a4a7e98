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
 * Fuzzer of the reader of a source's statistics. The first byte of the input
 * tells what frames are matched by and how much of the file there is at first;
 * the file follows. What was read must be what doc/rr-format.md allows.
 */

#define _GNU_SOURCE         // for fuzz.h

#include <math.h>

#include "libavutil/avutil.h"
#include "libavutil/macros.h"
#include "libavfilter/bliinds_model.h"
#include "libavfilter/bliinds_rr.h"
#include "fuzz.h"

/// Look for frames as an encode would that is near the source's, and compare them.
static int find_frames(BLIINDSRR *s)
{
    int ret = 0;

    for (uint64_t i = 0; ret >= 0 && i < 8; i++) {
        BLIINDSRRFrame encode = { .n = i, .time = i * 40000, .format = s->read_format };
        const BLIINDSRRFrame *source;
        double coded[BLIINDS_NB_CODED];

        for (int k = 0; k < BLIINDS_NB_CODED; k++)
            coded[k] = i & 1 ? (double)k : NAN;
        if (i < s->nb_frames) {
            encode = s->frame[s->nb_frames - 1 - i];
            encode.n    -= i & 1;
            encode.time += i & 3 ? i * 1000 : 0;
        }
        ret = ff_bliinds_rr_find(s, NULL, &encode, &source);
        if (ret >= 0 && source)
            av_assert0(isfinite(ff_bliinds_loss(&source->energies, &encode.energies, coded).loss));
    }
    return ret;
}

static void check_frames(const BLIINDSRR *s)
{
    for (uint64_t i = 0; i < s->nb_frames; i++) {
        const BLIINDSRRFrame *f = &s->frame[i];

        av_assert0(f->n >= 0 && (!i || f->n > f[-1].n));
        av_assert0(s->match != BLIINDS_RR_TIME ||
                   f->time != AV_NOPTS_VALUE && (!i || f->time > f[-1].time));
        av_assert0(f->format.width > 0 && f->format.height > 0 && f->format.depth >= 8);
        for (int j = 0; j < BLIINDS_NB_BANDS; j++)
            av_assert0(f->energies.band[j] >= BLIINDS_ENERGY_MIN &&
                       f->energies.band[j] <= BLIINDS_ENERGY_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[32];
    BLIINDSRR s = { .read_path = path };
    size_t first;
    int fd;

    if (!size)
        return 0;
    s.match = data[0] & 1;
    first   = (size - 1) * (data[0] >> 1) / 127;
    fd      = fuzz_file(path, data + 1, first);
    if (ff_bliinds_rr_open(&s, &(ScoreOutputs){ 0 }, NULL) >= 0 && find_frames(&s) >= 0) {
        fuzz_write(fd, data + 1 + first, size - 1 - first);
        if (find_frames(&s) >= 0)
            check_frames(&s);
    }
    ff_bliinds_rr_close(&s, NULL);
    close(fd);
    return 0;
}
