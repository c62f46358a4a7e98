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
 * Fuzzer of the bitstream filter quantizer_metadata. The first byte of the input
 * tells the codec. Chunks follow, each after its size in two bytes: first the
 * extradata, then packets. One without bytes is a seek, and one whose size has
 * the highest bit is new extradata of the next packet. Packets must pass
 * unchanged, with the strings that they had, and keys must be what the
 * documentation allows.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libavutil/avstring.h"
#include "libavutil/dict.h"
#include "libavutil/intreadwrite.h"
#include "libavutil/macros.h"
#include "libavutil/mem.h"
#include "libavcodec/bsf.h"
#include "fuzz.h"

static double number(const AVDictionary *keys, const char *key)
{
    const AVDictionaryEntry *e = av_dict_get(keys, key, NULL, 0);

    av_assert0(e);
    return atof(e->value);
}

static void check_keys(const AVPacket *pkt)
{
    static const struct { const char *key; double min, max; } limits[] = {
        { "step",            -16,    16      }, { "spread",          1e-99, 16   },
        { "bytes",           1,      1 << 20 }, { "depth",           8,     16   },
        { "width",           1,      1e9     }, { "height",          1,     1e9  },
        { "gop_step",        -16,    16      }, { "gop_frames",      1,     1000 },
        { "gop_intra_bytes", 1e-99,  1e9     }, { "gop_other_bytes", 0,     1e9  },
        { "loss",            0,      100     }, { "chroma",          -16,   16   },
    };
    AVDictionary *keys = NULL;
    const uint8_t *strings;
    char key[64];
    size_t size;

    strings = av_packet_get_side_data(pkt, AV_PKT_DATA_STRINGS_METADATA, &size);
    av_assert0(strings && av_packet_unpack_dictionary(strings, size, &keys) >= 0);
    av_assert0(number(keys, "other") == 1);
    if (av_dict_count(keys) > 1) {
        for (int i = 0; i < FF_ARRAY_ELEMS(limits); i++) {
            snprintf(key, sizeof(key), "lavc.quantizer.%s", limits[i].key);
            if (av_match_name(limits[i].key, "spread,chroma,loss") && !av_dict_get(keys, key, NULL, 0))
                continue;
            av_assert0(number(keys, key) >= limits[i].min && number(keys, key) <= limits[i].max);
        }
        av_assert0(strchr("IPB", *av_dict_get(keys, "lavc.quantizer.pict_type", NULL, 0)->value));
    }
    av_dict_free(&keys);
}

/// @return the next chunk, NULL at the end
static const uint8_t *next_chunk(const uint8_t **pos, const uint8_t *end, size_t *size,
                                 int *is_extradata)
{
    const uint8_t *chunk = *pos + 2;

    if (end - *pos < 2)
        return NULL;
    *size         = FFMIN(AV_RL16(*pos) & 0x7FFF, end - chunk);
    *is_extradata = AV_RL16(*pos) >> 15;
    *pos          = chunk + *size;
    return chunk;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum AVCodecID codecs[] = {
        AV_CODEC_ID_H264,       AV_CODEC_ID_HEVC,       AV_CODEC_ID_AV1,   AV_CODEC_ID_VP9,
        AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG4, AV_CODEC_ID_MJPEG,
        AV_CODEC_ID_VVC,        AV_CODEC_ID_VP8,
    };
    const uint8_t *chunk, *pos = data + 1, *end = data + size, *extradata = NULL;
    size_t extradata_size;
    AVBSFContext *bsf;
    AVPacket *pkt;
    int is_extradata;

    if (!size)
        return 0;
    av_log_set_callback(fuzz_log);
    av_assert0(av_bsf_alloc(av_bsf_get_by_name("quantizer_metadata"), &bsf) >= 0);
    bsf->par_in->codec_type = AVMEDIA_TYPE_VIDEO;
    bsf->par_in->codec_id   = codecs[data[0] % FF_ARRAY_ELEMS(codecs)];
    chunk = next_chunk(&pos, end, &size, &is_extradata);
    if (chunk && size) {
        bsf->par_in->extradata = av_mallocz(size + AV_INPUT_BUFFER_PADDING_SIZE);
        av_assert0(bsf->par_in->extradata);
        memcpy(bsf->par_in->extradata, chunk, size);
        bsf->par_in->extradata_size = size;
    }
    av_assert0(av_bsf_init(bsf) >= 0);

    pkt = av_packet_alloc();
    av_assert0(pkt);
    while ((chunk = next_chunk(&pos, end, &size, &is_extradata))) {
        uint8_t *side;

        if (is_extradata) {
            extradata      = chunk;
            extradata_size = size;
            continue;
        }
        if (!size) {
            av_bsf_flush(bsf);
            continue;
        }
        av_assert0(av_new_packet(pkt, size) >= 0);
        memcpy(pkt->data, chunk, size);
        side = av_packet_new_side_data(pkt, AV_PKT_DATA_STRINGS_METADATA, 8);
        av_assert0(side);
        memcpy(side, "other\0001", 8);
        if (extradata) {
            side = av_packet_new_side_data(pkt, AV_PKT_DATA_NEW_EXTRADATA, extradata_size);
            av_assert0(side);
            memcpy(side, extradata, extradata_size);
            extradata = NULL;
        }
        av_assert0(av_bsf_send_packet(bsf, pkt) >= 0 && av_bsf_receive_packet(bsf, pkt) >= 0);
        av_assert0(pkt->size == size && !memcmp(pkt->data, chunk, size));
        check_keys(pkt);
        av_packet_unref(pkt);
    }
    av_packet_free(&pkt);
    av_bsf_free(&bsf);
    return 0;
}
