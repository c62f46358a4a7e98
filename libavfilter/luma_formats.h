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
 * The pixel formats of the filters that compare two inputs in memory.
 */

#ifndef AVFILTER_LUMA_FORMATS_H
#define AVFILTER_LUMA_FORMATS_H

#include "libavutil/pixdesc.h"

#include "formats.h"

/// Whether a format has luma in a plane of its own, of 8 to 16 bits.
int ff_luma_is_supported(const AVPixFmtDescriptor *desc);

/// All such formats, NULL if memory is short.
AVFilterFormats *ff_luma_formats(void);

#endif /* AVFILTER_LUMA_FORMATS_H */
