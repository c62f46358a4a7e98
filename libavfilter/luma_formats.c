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

#include "config.h"
#include "luma_formats.h"

int ff_luma_is_supported(const AVPixFmtDescriptor *desc)
{
    const AVComponentDescriptor *luma = &desc->comp[0];
    const uint64_t refused = AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM |
                             AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_ALPHA | AV_PIX_FMT_FLAG_FLOAT |
                             AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_XYZ;

    return desc->nb_components && !(desc->flags & refused) &&
           luma->depth >= 8 && luma->depth <= 16 &&
           luma->plane == 0 && luma->offset == 0 && luma->step == (luma->depth + 7) / 8 &&
           (luma->depth == 8 || !(desc->flags & AV_PIX_FMT_FLAG_BE) == !AV_HAVE_BIGENDIAN);
}

AVFilterFormats *ff_luma_formats(void)
{
    const AVPixFmtDescriptor *desc = NULL;
    AVFilterFormats *formats = NULL;

    while ((desc = av_pix_fmt_desc_next(desc)))
        if (ff_luma_is_supported(desc) && ff_add_format(&formats, av_pix_fmt_desc_get_id(desc)) < 0)
            return NULL;
    return formats;
}
