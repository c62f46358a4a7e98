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
 * What differs between the FFmpeg releases that the quality filters build on:
 * 7.1 (libavfilter 10), 8.1 (11) and 9.0 (12).
 */

#ifndef AVFILTER_RELEASE_COMPAT_H
#define AVFILTER_RELEASE_COMPAT_H

#include "version_major.h"
#include "filters.h"

#if LIBAVFILTER_VERSION_MAJOR < 11
typedef AVFilter FFFilter;
/// A field of a filter's public part.
#define FILTER_PUBLIC(field) .field
#else
#define FILTER_PUBLIC(field) .p.field
#endif

#endif /* AVFILTER_RELEASE_COMPAT_H */
