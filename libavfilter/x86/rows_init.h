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

#ifndef AVFILTER_X86_ROWS_INIT_H
#define AVFILTER_X86_ROWS_INIT_H

/// What a function leaves to that of the next narrower vectors; FILTER(name) is ff_filter_name.
#define BELOW_avx2(name)      AV_JOIN(FILTER(name), _c)
#define BELOW_avx512icl(name) name ## _avx2

/// Functions that take n elements, if there are enough of them for one vector.
#define ROW_OF(opt, nb_lanes, name, n, params, args)                                \
void AV_JOIN(FILTER(name), _ ## opt) params;                                        \
static void name ## _ ## opt params                                                 \
{                                                                                   \
    ((n) < nb_lanes ? BELOW_ ## opt(name) : AV_JOIN(FILTER(name), _ ## opt))args;   \
}

#define ROW(name, n, params, args)                                                  \
    ROW_OF(avx2,       8, name, n, params, args)                                    \
    ROW_OF(avx512icl, 16, name, n, params, args)

#endif /* AVFILTER_X86_ROWS_INIT_H */
