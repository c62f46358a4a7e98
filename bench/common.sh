# shellcheck shell=bash disable=SC2034
# What the benchmarks share.
# SPDX-License-Identifier: LGPL-2.1-or-later

# Filters that tell what quantizer_metadata tells, so that bliinds takes the bitstream's model.
coded=$(printf 'metadata=add:key=lavc.quantizer.%s,' gop_step:value=2 \
    gop_intra_bytes:value=9999 width:value=640 height:value=360 codec:value=h264)

median() { # of lines
    sort -n | awk '{ v[NR] = $1 } END { if (NR) print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}
