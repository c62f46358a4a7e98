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
 * Attach to each packet what its frame was coded with, first of all the
 * quantizer step, as strings that become metadata of the decoded frame.
 *
 * All codecs' steps have one unit: log2 of the step of a uniform quantizer, for
 * the coefficients of an orthonormal transform of 8-bit samples. A sample of
 * more bits counts as the fraction of an 8-bit one that it is.
 *
 * AVVideoEncParams, which some decoders export, cannot serve: those of HEVC and AV1 do
 * not, none does that runs in hardware, and no filter learns of frames that it is not given.
 *
 * Only headers are read. If one is broken, its packet gets no keys; in AV1 and
 * VP9 the packets up to the next key frame get none, either. The decoder reports
 * the error: here it is logged for debugging only.
 */

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libavutil/avutil.h"
#include "libavutil/bprint.h"
#include "libavutil/dict.h"
#include "libavutil/intreadwrite.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"
#include "libavutil/mem.h"

#include "libavcodec/bsf.h"
#include "libavcodec/bsf_internal.h"
#include "libavcodec/bytestream.h"
#include "libavcodec/cbs.h"
#include "libavcodec/cbs_av1.h"
#include "libavcodec/cbs_h264.h"
#include "libavcodec/cbs_h265.h"
#include "libavcodec/cbs_mpeg2.h"
#include "libavcodec/cbs_vp9.h"
#include "libavcodec/get_bits.h"
#include "libavcodec/h264.h"
#include "libavcodec/hevc/hevc.h"
#include "libavcodec/mjpeg.h"
#include "libavcodec/mpeg12data.h"
#include "libavcodec/mpeg4videodefs.h"
#include "libavcodec/mpegvideodata.h"
#include "libavcodec/vp9data.h"

#define KEY "lavc.quantizer."

/// Bytes in which nearly all slice headers of H.264 and HEVC end.
#define SLICE_HEAD 4096

/// Frames after which those of a group count half: some groups have no end.
#define MAX_GROUP 1000

/// A group of pictures up to and including a frame, in the order of packets that show one.
typedef struct Group {
    int     frames;
    int     has_intra;
    int64_t intra_bytes;        ///< of its I frame, else of its largest frame so far
    int64_t other_bytes;        ///< of the frames that are not I
    double  bytes;              ///< of all frames
    double  step;               ///< log2 of the step of each frame, times its bytes, summed up
} Group;

/// What is known of a coded frame: nothing if it has no bytes.
typedef struct CodedFrame {
    int64_t bytes;              ///< of all slices
    double  step;               ///< log2 of the step of each slice, times its bytes, summed up
    double  square;             ///< the same of the squares
    enum AVPictureType type;
    enum AVPictureType first;   ///< that of its first field
    int     is_second, bottom;  ///< the field of the slice at hand, and of the first slice
    int     width, height;      ///< as it leaves the decoder
    int     depth;
    int     film_grain;         ///< the decoder adds film grain
    int     hidden;             ///< AV1, VP9: the packet does not show it
} CodedFrame;

typedef struct QuantizerMetadataContext {
    const AVClass *class;
    int log_level_offset;
    const struct Codec *codec;  ///< NULL if the stream's codec is not supported
    CodedBitstreamContext *cbc; ///< NULL if the codec is read without CBS
    CodedBitstreamFragment fragment;

    // H.264, HEVC, MPEG-1, MPEG-2: units are handed to CBS one by one
    int nal_length_size;        ///< 0 for start codes
    AVPacket *unit;

    // AV1, VP9: the frames that may be shown later
    CodedFrame slot[AV1_NUM_REF_FRAMES];

    Group group;

    // MPEG-1, MPEG-2, MPEG-4
    double matrix[2];           ///< mean log2 of a weight, intra and not
    int non_linear;             ///< q_scale_type

    // MPEG-4
    struct {
        int width, height;      ///< 0 if its pictures cannot be read
        int time_increment_bits;
        int interlaced;
        int mpeg_quant;
    } vol;

    // MJPEG
    double table[4];            ///< mean log2 of a step, NAN if there is none
} QuantizerMetadataContext;

typedef struct Codec {
    enum AVCodecID id;
    enum AVCodecID cbs_id;
    /// Read the data of a packet, or of extradata in the same form.
    void (*read)(AVBSFContext *bsf, const AVPacket *pkt, const uint8_t *data, size_t size,
                 CodedFrame *frame);
    enum {
        NO_EXTRADATA,
        LIKE_PACKETS,           ///< extradata have the form of a packet without a frame
        RECORD,                 ///< ... a form of their own that CBS knows, such as avcC
    } extradata;
} Codec;

static void add_slice(CodedFrame *frame, enum AVPictureType type, double step, size_t bytes)
{
    frame->bytes  += bytes;
    frame->step   += step * bytes;
    frame->square += step * step * bytes;
    // I, P, B: the one that depends on more
    frame->type    = FFMAX(frame->type, type);
    if (!frame->is_second)
        frame->first = frame->type;
}

/**
 * Add a frame to the group so far, or begin one if its first field, or all of it, is I.
 *
 * A hidden frame of AV1 or VP9 stays out of those after it until it is shown, if ever: so
 * the sums are those of the frames that a decoder gives out.
 */
static Group add_to_group(QuantizerMetadataContext *s, const CodedFrame *frame)
{
    Group group = s->group;

    if (frame->first == AV_PICTURE_TYPE_I)
        group = (Group){ .has_intra = 1, .intra_bytes = frame->bytes };
    else
        group.other_bytes += frame->bytes;
    if (!group.has_intra)
        group.intra_bytes = FFMAX(group.intra_bytes, frame->bytes);
    group.frames++;
    group.bytes += frame->bytes;
    group.step  += frame->step;
    if (frame->hidden)
        return group;
    s->group = group;
    if (group.frames == MAX_GROUP) {
        s->group.frames      /= 2;
        s->group.other_bytes /= 2;
        s->group.bytes       /= 2;
        s->group.step        /= 2;
    }
    return group;
}

/**
 * Find the next unit of a packet: a NAL unit, or what follows a start code.
 *
 * @param pos where to begin; set to where to go on
 */
static const uint8_t *next_unit(const uint8_t **pos, const uint8_t *end, int nal_length_size,
                                size_t *size)
{
    const uint8_t *unit = NULL, *p = *pos;

    if (nal_length_size) {
        uint32_t length = 0;

        if (end - p <= nal_length_size)
            return NULL;
        for (int i = 0; i < nal_length_size; i++)
            length = length << 8 | *p++;
        if (!length || length > end - p)
            return NULL;
        *size = length;
        *pos  = p + length;
        return p;
    }
    // A start code is 0, 0, 1: of these, 1 is the rarest byte of a stream.
    for (p += 2; p < end; p++) {
        p = memchr(p, 1, end - p);
        if (!p)
            break;
        if (p[-1] || p[-2])
            continue;
        if (unit) {
            end = p - 2;
            break;
        }
        unit = p + 1;
        p   += 2;
    }
    *pos = end;
    *size = unit ? end - unit : 0;
    return unit;
}

/// Read one unit by CBS.
static int read_unit(QuantizerMetadataContext *s, CodedBitstreamUnitType type,
                     const uint8_t *data, size_t size)
{
    const int prefix = s->nal_length_size ? s->nal_length_size : 3;
    const uint32_t code = s->nal_length_size ? size : 1;    // of its length, or its start
    int ret;

    ff_cbs_fragment_reset(&s->fragment);
    s->unit->size = 0;
    ret = av_grow_packet(s->unit, prefix + size);
    if (ret < 0)
        return ret;
    for (int i = 0; i < prefix; i++)
        s->unit->data[i] = code >> 8 * (prefix - 1 - i);
    memcpy(s->unit->data + prefix, data, size);
    ret = ff_cbs_read_packet(s->cbc, &s->fragment, s->unit);
    if (ret < 0)
        return ret;
    // CBS splits the data at a start code, too, where none may be. A parameter set behind it
    // may have replaced that of the slice.
    return s->fragment.nb_units == 1 && s->fragment.units[0].type == type &&
           s->fragment.units[0].content ? 0 : AVERROR_INVALIDDATA;
}

/// Width and height of a chroma sample in samples of luma, by chroma_format_idc: units of cropping.
static const uint8_t luma_width[] = { 1, 2, 2, 1 }, luma_height[] = { 1, 2, 1, 1 };

/// log2 of the step, at any depth: a bit more lowers the least QP by 6 and halves the unit.
static double step_of_qp(int qp)
{
    return (qp - 4) / 6.;
}

static void read_h264_slice(const QuantizerMetadataContext *s, size_t size, CodedFrame *frame)
{
    static const enum AVPictureType types[] = {
        AV_PICTURE_TYPE_P, AV_PICTURE_TYPE_B, AV_PICTURE_TYPE_I,
        AV_PICTURE_TYPE_P, AV_PICTURE_TYPE_I,   // SP and SI
    };
    const CodedBitstreamH264Context *h264 = s->cbc->priv_data;
    const H264RawSlice *slice = s->fragment.units[0].content;
    const H264RawSPS *sps = h264->active_sps;
    const H264RawPPS *pps = h264->active_pps;
    const int fields = 2 - sps->frame_mbs_only_flag;

    if (slice->header.redundant_pic_cnt)
        return;
    if (!frame->bytes)
        frame->bottom = slice->header.bottom_field_flag;
    frame->is_second = slice->header.bottom_field_flag != frame->bottom;
    add_slice(frame, types[slice->header.slice_type % 5],
              step_of_qp(26 + pps->pic_init_qp_minus26 + slice->header.slice_qp_delta), size);
    frame->width  = (sps->pic_width_in_mbs_minus1 + 1) * 16 -
                    luma_width[sps->chroma_format_idc] *
                    (sps->frame_crop_left_offset + sps->frame_crop_right_offset);
    frame->height = ((sps->pic_height_in_map_units_minus1 + 1) * 16 -
                     luma_height[sps->chroma_format_idc] *
                     (sps->frame_crop_top_offset + sps->frame_crop_bottom_offset)) * fields;
    frame->depth  = sps->bit_depth_luma_minus8 + 8;
}

static void read_hevc_slice(const QuantizerMetadataContext *s, size_t size, CodedFrame *frame)
{
    static const enum AVPictureType types[] = {
        AV_PICTURE_TYPE_B, AV_PICTURE_TYPE_P, AV_PICTURE_TYPE_I,
    };
    const CodedBitstreamH265Context *h265 = s->cbc->priv_data;
    const H265RawSliceHeader *header = &((H265RawSlice *)s->fragment.units[0].content)->header;
    const H265RawSPS *sps = h265->active_sps;
    const H265RawPPS *pps = h265->active_pps;

    if (header->dependent_slice_segment_flag) {
        // It continues the slice before: the mean of the slices so far will do.
        if (frame->bytes)
            add_slice(frame, frame->type, frame->step / frame->bytes, size);
        return;
    }
    add_slice(frame, types[header->slice_type],
              step_of_qp(26 + pps->init_qp_minus26 + header->slice_qp_delta), size);
    frame->width  = sps->pic_width_in_luma_samples - luma_width[sps->chroma_format_idc] *
                    (sps->conf_win_left_offset + sps->conf_win_right_offset);
    frame->height = sps->pic_height_in_luma_samples - luma_height[sps->chroma_format_idc] *
                    (sps->conf_win_top_offset + sps->conf_win_bottom_offset);
    frame->depth  = sps->bit_depth_luma_minus8 + 8;
}

static void read_nal(QuantizerMetadataContext *s, const uint8_t *unit, size_t size,
                     CodedFrame *frame)
{
    const int is_h264  = s->codec->id == AV_CODEC_ID_H264;
    const int type     = is_h264 ? unit[0] & 31 : unit[0] >> 1 & 63;
    const int is_slice = is_h264 ? type == H264_NAL_SLICE || type == H264_NAL_IDR_SLICE :
                         type <= HEVC_NAL_RASL_R ||
                         type >= HEVC_NAL_BLA_W_LP && type <= HEVC_NAL_CRA_NUT;
    const int is_set   = is_h264 ? type == H264_NAL_SPS || type == H264_NAL_PPS :
                         type >= HEVC_NAL_VPS && type <= HEVC_NAL_PPS;
    // CBS copies and unescapes all that it gets, but the header is the beginning of a slice.
    const size_t head  = is_slice ? FFMIN(size, SLICE_HEAD) : size;
    int ret;

    // Another layer may use the same numbers for its parameter sets.
    if (!is_slice && !is_set || !is_h264 && (unit[0] & 1 || unit[1] >> 3))
        return;
    ret = read_unit(s, type, unit, head);
    if (ret < 0 && head < size)
        ret = read_unit(s, type, unit, size);
    if (ret < 0 || !is_slice)
        return;
    if (is_h264)
        read_h264_slice(s, size, frame);
    else
        read_hevc_slice(s, size, frame);
}

static void read_h2645(AVBSFContext *bsf, const AVPacket *pkt, const uint8_t *data, size_t size,
                       CodedFrame *frame)
{
    QuantizerMetadataContext *s = bsf->priv_data;
    const CodedBitstreamH2645Context *common = s->cbc->priv_data;
    const uint8_t *unit, *pos = data, *end = data + size;

    s->nal_length_size = common->mp4 ? common->nal_length_size : 0;
    while ((unit = next_unit(&pos, end, s->nal_length_size, &size))) {
        // Zeros at its end belong to the next start code.
        while (size && !unit[size - 1])
            size--;
        if (size > 2)
            read_nal(s, unit, size, frame);
    }
    ff_cbs_fragment_reset(&s->fragment);
}

static double step_of_index(int index, int depth)
{
    // The coefficients of AV1 and VP9 are 8 times those of an orthonormal transform.
    return log2(ff_vp9_ac_qlookup[(depth - 8) / 2][index] / 8.) - (depth - 8);
}

/// Read the new extradata of a packet, or those of the stream.
static void read_extradata(AVBSFContext *bsf, const AVPacket *pkt)
{
    QuantizerMetadataContext *s = bsf->priv_data;
    const uint8_t *data = bsf->par_in->extradata;
    size_t size         = bsf->par_in->extradata_size;
    CodedFrame none     = { 0 };

    if (pkt)
        data = av_packet_get_side_data(pkt, AV_PKT_DATA_NEW_EXTRADATA, &size);
    if (!data || !size || s->codec->extradata == NO_EXTRADATA)
        return;
    if (s->codec->extradata == LIKE_PACKETS) {
        s->codec->read(bsf, NULL, data, size, &none);
        return;
    }
    if (pkt)
        ff_cbs_read_packet_side_data(s->cbc, &s->fragment, pkt);
    else
        ff_cbs_read_extradata(s->cbc, &s->fragment, bsf->par_in);
    ff_cbs_fragment_reset(&s->fragment);
}

/// Forget the frames that came before. Parameter sets stay, as in decoders.
static void quantizer_metadata_flush(AVBSFContext *bsf)
{
    QuantizerMetadataContext *s = bsf->priv_data;

    memset(s->slot, 0, sizeof(s->slot));
    s->group = (Group){ 0 };
    if (s->codec && s->codec->id == AV_CODEC_ID_AV1) {
        // CBS knows of frames, too.
        ff_cbs_flush(s->cbc);
        read_extradata(bsf, NULL);
    }
}

/// Read a packet of AV1 or VP9 by CBS; after a broken one all frames are forgotten.
static int read_packet(AVBSFContext *bsf, const AVPacket *pkt)
{
    QuantizerMetadataContext *s = bsf->priv_data;
    const int ret = ff_cbs_read_packet(s->cbc, &s->fragment, pkt);

    if (ret < 0) {
        ff_cbs_fragment_reset(&s->fragment);
        quantizer_metadata_flush(bsf);
    }
    return ret;
}

/**
 * A coded frame of AV1 or VP9 is complete: put it in the slots that it may be shown
 * from. It is the packet's frame if it is shown, or if no other one is.
 */
static void put_frame(QuantizerMetadataContext *s, const CodedFrame *coded, int refresh,
                      int show, int *shown, CodedFrame *frame)
{
    for (int i = 0; i < FF_ARRAY_ELEMS(s->slot); i++)
        if (refresh & 1 << i)
            s->slot[i] = *coded;
    if (show || !*shown) {
        *frame = *coded;
        frame->hidden = !show;
    }
    *shown |= show;
}

static void begin_av1_frame(const QuantizerMetadataContext *s, const AV1RawFrameHeader *header,
                            CodedFrame *coded)
{
    const CodedBitstreamAV1Context *av1 = s->cbc->priv_data;

    *coded = header->show_existing_frame ? s->slot[header->frame_to_show_map_idx] : (CodedFrame) {
        .width      = header->frame_width_minus_1  + 1,
        .height     = header->frame_height_minus_1 + 1,
        .depth      = av1->bit_depth,
        .film_grain = header->film_grain.apply_grain,
    };
}

static void read_av1(AVBSFContext *bsf, const AVPacket *pkt, const uint8_t *data, size_t size,
                     CodedFrame *frame)
{
    QuantizerMetadataContext *s = bsf->priv_data;
    const AV1RawFrameHeader *header = NULL;
    CodedFrame coded = { 0 };
    int shown = 0;

    if (read_packet(bsf, pkt) < 0)
        return;
    for (int i = 0; i <= s->fragment.nb_units; i++) {
        const int is_end = i == s->fragment.nb_units;
        const CodedBitstreamUnit *unit = is_end ? NULL : &s->fragment.units[i];
        const AV1RawOBU *obu = is_end ? NULL : unit->content;
        const int is_new = obu && (unit->type == AV1_OBU_FRAME_HEADER ||
                                   unit->type == AV1_OBU_FRAME);

        if (header && (is_new || is_end))
            put_frame(s, &coded, header->refresh_frame_flags,
                      header->show_frame || header->show_existing_frame, &shown, frame);
        if (is_new) {
            header = unit->type == AV1_OBU_FRAME ? &obu->obu.frame.header : &obu->obu.frame_header;
            begin_av1_frame(s, header, &coded);
        }
        if (obu && header && !header->show_existing_frame &&
            (unit->type == AV1_OBU_TILE_GROUP || unit->type == AV1_OBU_FRAME))
            add_slice(&coded, header->frame_type == AV1_FRAME_KEY ||
                              header->frame_type == AV1_FRAME_INTRA_ONLY ? AV_PICTURE_TYPE_I
                                                                         : AV_PICTURE_TYPE_P,
                      step_of_index(header->base_q_idx, coded.depth), unit->data_size);
    }
    ff_cbs_fragment_reset(&s->fragment);
}

static void read_vp9(AVBSFContext *bsf, const AVPacket *pkt, const uint8_t *data, size_t size,
                     CodedFrame *frame)
{
    QuantizerMetadataContext *s = bsf->priv_data;
    int shown = 0;

    if (read_packet(bsf, pkt) < 0)
        return;
    for (int i = 0; i < s->fragment.nb_units; i++) {
        const CodedBitstreamUnit *unit = &s->fragment.units[i];
        const VP9RawFrameHeader *header = &((VP9RawFrame *)unit->content)->header;
        const int intra = header->frame_type == VP9_KEY_FRAME || header->intra_only;
        CodedFrame coded = { 0 };

        if (header->show_existing_frame) {
            put_frame(s, &s->slot[header->frame_to_show_map_idx], 0, 1, &shown, frame);
            continue;
        }
        coded.width  = header->frame_width_minus_1  + 1;
        coded.height = header->frame_height_minus_1 + 1;
        coded.depth  = intra ? header->profile_high_bit ? 10 + 2 * header->ten_or_twelve_bit : 8
                             : s->slot[header->ref_frame_idx[0]].depth;
        for (int j = 0; !intra && j < VP9_REFS_PER_FRAME; j++) {
            if (header->found_ref[j]) {
                coded.width  = s->slot[header->ref_frame_idx[j]].width;
                coded.height = s->slot[header->ref_frame_idx[j]].height;
                break;
            }
        }
        if (coded.depth)
            add_slice(&coded, intra ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_P,
                      step_of_index(header->base_q_idx, coded.depth), unit->data_size);
        put_frame(s, &coded, header->refresh_frame_flags, header->show_frame, &shown, frame);
    }
    ff_cbs_fragment_reset(&s->fragment);
}

/// The mean over the AC coefficients.
static double mean_log2(const uint8_t weight[64])
{
    double sum = 0;

    for (int i = 1; i < 64; i++)
        sum += log2(weight[i]);
    return sum / 63;
}

static void read_mpeg12_header(QuantizerMetadataContext *s, const CodedBitstreamUnit *unit)
{
    if (unit->type == MPEG2_START_SEQUENCE_HEADER) {
        const MPEG2RawSequenceHeader *header = unit->content;

        // without them, mean_log2() of the default matrix (ISO/IEC 13818-2, 6.3.11), and one
        // that is 16 everywhere
        s->matrix[0] = header->load_intra_quantiser_matrix ?
                       mean_log2(header->intra_quantiser_matrix) : 4.9725;
        s->matrix[1] = header->load_non_intra_quantiser_matrix ?
                       mean_log2(header->non_intra_quantiser_matrix) : 4;
    } else if (unit->type == MPEG2_START_EXTENSION) {
        const MPEG2RawExtensionData *extension = unit->content;
        const MPEG2RawQuantMatrixExtension *matrix = &extension->data.quant_matrix;

        switch (extension->extension_start_code_identifier) {
        case MPEG2_EXTENSION_PICTURE_CODING:
            s->non_linear = extension->data.picture_coding.q_scale_type;
            break;
        case MPEG2_EXTENSION_QUANT_MATRIX:
            if (matrix->load_intra_quantiser_matrix)
                s->matrix[0] = mean_log2(matrix->intra_quantiser_matrix);
            if (matrix->load_non_intra_quantiser_matrix)
                s->matrix[1] = mean_log2(matrix->non_intra_quantiser_matrix);
            break;
        }
    }
}

static void read_mpeg12(AVBSFContext *bsf, const AVPacket *pkt, const uint8_t *data, size_t size,
                        CodedFrame *frame)
{
    QuantizerMetadataContext *s = bsf->priv_data;
    const CodedBitstreamMPEG2Context *mpeg2 = s->cbc->priv_data;
    const uint8_t *unit, *pos = data, *end = data + size;
    enum AVPictureType type = AV_PICTURE_TYPE_NONE;

    while ((unit = next_unit(&pos, end, 0, &size))) {
        if (size >= 3 && MPEG2_START_IS_SLICE(unit[0])) {
            // Its first five bits; in tall pictures three bits of the position come before them.
            const int shift = mpeg2->vertical_size > 2800 ? 0 : 3;
            const int code  = AV_RB16(unit + 1) >> 8 + shift & 31;
            const int scale = s->non_linear ? ff_mpeg2_non_linear_qscale[code] : 2 * code;

            // The decoder multiplies by scale * weight / 16.
            if (type && scale)
                add_slice(frame, type,
                          log2(scale) + s->matrix[type != AV_PICTURE_TYPE_I] - 4, size);
        } else if (size && (unit[0] == MPEG2_START_PICTURE || unit[0] == MPEG2_START_EXTENSION ||
                            unit[0] == MPEG2_START_SEQUENCE_HEADER) &&
                   read_unit(s, unit[0], unit, size) >= 0) {
            const CodedBitstreamUnit *header = &s->fragment.units[0];

            if (unit[0] == MPEG2_START_PICTURE) {
                type = ((MPEG2RawPictureHeader *)header->content)->picture_coding_type;
                // There are D pictures in MPEG-1, and no slices without a sequence header.
                if (type > AV_PICTURE_TYPE_B || !mpeg2->vertical_size)
                    type = AV_PICTURE_TYPE_NONE;
                s->non_linear = 0;
                frame->is_second = frame->bytes > 0;
            } else {
                read_mpeg12_header(s, header);
            }
        }
    }
    ff_cbs_fragment_reset(&s->fragment);
    frame->width  = mpeg2->horizontal_size;
    frame->height = mpeg2->vertical_size;
    frame->depth  = 8;
}

/// Read a matrix of an MPEG-4 stream: from the first zero on the last weight is repeated.
static double read_mpeg4_matrix(GetBitContext *gb, double default_mean)
{
    uint8_t weight[64];
    int last = 0;

    if (!get_bits1(gb))
        return default_mean;
    for (int i = 0; i < 64; i++) {
        weight[i] = !i || last ? get_bits(gb, 8) : 0;
        last      = weight[i];
        if (!weight[i])
            weight[i] = i ? weight[i - 1] : 1;
    }
    return mean_log2(weight);
}

static void read_mpeg4_vol(QuantizerMetadataContext *s, GetBitContext *gb)
{
    int version = 1, resolution, width, height;

    s->vol.width = 0;
    skip_bits(gb, 1 + 8);               // random access, object type
    if (get_bits1(gb)) {
        version = get_bits(gb, 4);
        skip_bits(gb, 3);               // priority
    }
    if (get_bits(gb, 4) == 15)
        skip_bits(gb, 16);              // pixel aspect ratio
    if (get_bits1(gb)) {
        skip_bits(gb, 2 + 1);           // chroma format, low delay
        if (get_bits1(gb))
            skip_bits_long(gb, 79);     // VBV
    }
    if (get_bits(gb, 2))                // a shape other than a rectangle
        return;
    skip_bits1(gb);
    resolution = get_bits(gb, 16);
    if (!resolution)
        return;
    s->vol.time_increment_bits = av_log2(resolution - 1) + 1;
    skip_bits1(gb);
    if (get_bits1(gb))
        skip_bits(gb, s->vol.time_increment_bits);
    skip_bits1(gb);
    width  = get_bits(gb, 13);
    skip_bits1(gb);
    height = get_bits(gb, 13);
    skip_bits1(gb);
    s->vol.interlaced = get_bits1(gb);
    skip_bits1(gb);                     // OBMC
    // sprites, or other than 8 bits
    if (get_bits(gb, version == 1 ? 1 : 2) || get_bits1(gb))
        return;
    s->vol.mpeg_quant = get_bits1(gb);
    if (s->vol.mpeg_quant) {
        // mean_log2() of the default matrices (ISO/IEC 14496-2, 6.3.3)
        s->matrix[0] = read_mpeg4_matrix(gb, 4.7305);
        s->matrix[1] = read_mpeg4_matrix(gb, 4.5391);
    }
    if (version != 1)
        skip_bits1(gb);                 // quarter sample
    // complexity estimation, the fields of which are in pictures, too
    if (!get_bits1(gb) || get_bits_left(gb) < 0)
        return;
    s->vol.width  = width;
    s->vol.height = height;
}

static void read_mpeg4_vop(const QuantizerMetadataContext *s, GetBitContext *gb, size_t size,
                           CodedFrame *frame)
{
    static const enum AVPictureType types[] = {
        AV_PICTURE_TYPE_I, AV_PICTURE_TYPE_P, AV_PICTURE_TYPE_B,
    };
    const int type = get_bits(gb, 2);
    int scale;

    if (type == 3)                      // a sprite
        return;
    while (get_bits_left(gb) > 0 && get_bits1(gb)) // whole seconds
        ;
    skip_bits(gb, 1 + s->vol.time_increment_bits + 1);
    if (!get_bits1(gb))                 // not coded
        return;
    // rounding; threshold for intra DC; field order, scan
    skip_bits(gb, (type == 1) + 3 + 2 * s->vol.interlaced);
    scale = 2 * get_bits(gb, 5);
    if (!scale || get_bits_left(gb) < 0)
        return;
    add_slice(frame, types[type],
              log2(scale) + (s->vol.mpeg_quant ? s->matrix[type != 0] - 4 : 0), size);
    frame->width  = s->vol.width;
    frame->height = s->vol.height;
    frame->depth  = 8;
}

static void read_mpeg4(AVBSFContext *bsf, const AVPacket *pkt, const uint8_t *data, size_t size,
                       CodedFrame *frame)
{
    QuantizerMetadataContext *s = bsf->priv_data;
    const uint8_t *unit, *pos = data, *end = data + size;
    GetBitContext gb;

    while ((unit = next_unit(&pos, end, 0, &size))) {
        if (!size || init_get_bits8(&gb, unit + 1, FFMIN(size - 1, 256)) < 0)
            continue;
        if (unit[0] >= 0x20 && unit[0] <= 0x2F)
            read_mpeg4_vol(s, &gb);
        else if (unit[0] == (VOP_STARTCODE & 0xFF) && s->vol.width && !frame->bytes)
            read_mpeg4_vop(s, &gb, size, frame);
    }
}

static void read_mjpeg(AVBSFContext *bsf, const AVPacket *pkt, const uint8_t *data, size_t size,
                       CodedFrame *frame)
{
    QuantizerMetadataContext *s = bsf->priv_data;
    GetByteContext packet, segment;
    int table = -1;

    bytestream2_init(&packet, data, size);
    while (bytestream2_get_bytes_left(&packet) >= 4) {
        int marker, length;

        if (bytestream2_get_byte(&packet) != 0xFF)
            continue;
        marker = bytestream2_peek_byte(&packet);
        // none, a fill byte, or one without a length
        if (marker < SOF0 || marker == 0xFF || marker >= RST0 && marker <= EOI)
            continue;
        bytestream2_skip(&packet, 1);
        length = bytestream2_get_be16(&packet) - 2;
        if (length < 0 || length > bytestream2_get_bytes_left(&packet))
            return;
        bytestream2_init(&segment, packet.buffer, length);
        bytestream2_skip(&packet, length);
        switch (marker) {
        case SOF0:
        case SOF1:
        case SOF2:
            frame->depth  = bytestream2_get_byte(&segment);
            frame->height = bytestream2_get_be16(&segment);
            frame->width  = bytestream2_get_be16(&segment);
            // the number of components; the first one's id, sampling and table
            bytestream2_skip(&segment, 3);
            table = bytestream2_get_byte(&segment);
            break;
        case DQT:
            while (bytestream2_get_bytes_left(&segment) > 64) {
                const int which = bytestream2_get_byte(&segment);
                double sum = 0;

                for (int i = 0; i < 64; i++) {
                    const int step = which >> 4 ? bytestream2_get_be16(&segment)
                                                : bytestream2_get_byte(&segment);

                    sum += i ? log2(step) : 0;
                }
                s->table[which & 3] = sum / 63;
            }
            break;
        case SOS:
            if ((frame->depth == 8 || frame->depth == 12) && table >= 0 && table < 4 &&
                isfinite(s->table[table]))
                add_slice(frame, AV_PICTURE_TYPE_I, s->table[table] - (frame->depth - 8),
                          bytestream2_get_bytes_left(&packet));
            return;
        }
    }
}

/// Print a number with four digits after a point, in any locale.
static void print_fixed(AVBPrint *bp, const char *key, double value)
{
    const int fixed = lrint(fabs(value) * 10000);

    av_bprintf(bp, "%s=%s%d.%04d\n", key, fixed && value < 0 ? "-" : "",
               fixed / 10000, fixed % 10000);
}

/// Attach what is known of the frame, after the strings that the packet has already.
static int attach(AVPacket *pkt, const CodedFrame *frame, const Group *group,
                  const char *codec)
{
    const double mean     = frame->step / frame->bytes;
    const double variance = frame->square / frame->bytes - mean * mean;
    AVDictionary *strings = NULL;
    const uint8_t *old;
    uint8_t *packed;
    size_t size = 0;
    AVBPrint bp;
    int ret;

    av_bprint_init(&bp, 0, AV_BPRINT_SIZE_AUTOMATIC);
    av_bprintf(&bp, KEY "codec=%s\n", codec);
    print_fixed(&bp, KEY "step", mean);
    av_bprintf(&bp, KEY "pict_type=%c\n" KEY "bytes=%"PRId64"\n" KEY "width=%d\n"
               KEY "height=%d\n" KEY "depth=%d\n", av_get_picture_type_char(frame->type),
               frame->bytes, frame->width, frame->height, frame->depth);
    print_fixed(&bp, KEY "gop_step", group->step / group->bytes);
    av_bprintf(&bp, KEY "gop_intra_bytes=%"PRId64"\n" KEY "gop_other_bytes=%"PRId64"\n"
               KEY "gop_frames=%d\n", group->intra_bytes, group->other_bytes, group->frames);
    // Each reference to a frame copies its metadata: what is mostly 0 is left out where it is 0.
    if (variance > 1e-8)
        print_fixed(&bp, KEY "spread", sqrt(variance));
    if (frame->film_grain)
        av_bprintf(&bp, KEY "film_grain=1\n");

    old = av_packet_get_side_data(pkt, AV_PKT_DATA_STRINGS_METADATA, &size);
    if ((ret = av_packet_unpack_dictionary(old, size, &strings)) >= 0 &&
        (ret = av_dict_parse_string(&strings, bp.str, "=", "\n", 0)) >= 0) {
        packed = av_packet_pack_dictionary(strings, &size);
        ret    = packed ? av_packet_add_side_data(pkt, AV_PKT_DATA_STRINGS_METADATA, packed, size)
                        : AVERROR(ENOMEM);
        if (packed && ret < 0)
            av_free(packed);
    }
    av_dict_free(&strings);
    return ret;
}

static int quantizer_metadata_filter(AVBSFContext *bsf, AVPacket *pkt)
{
    QuantizerMetadataContext *s = bsf->priv_data;
    CodedFrame frame = { 0 };
    Group group;
    int ret;

    ret = ff_bsf_get_packet_ref(bsf, pkt);
    if (ret < 0 || !s->codec || !pkt->size)
        return ret;

    if (av_packet_get_side_data(pkt, AV_PKT_DATA_NEW_EXTRADATA, NULL))
        read_extradata(bsf, pkt);
    s->codec->read(bsf, pkt, pkt->data, pkt->size, &frame);
    if (!frame.bytes || frame.width <= 0 || frame.height <= 0)
        return 0;
    group = add_to_group(s, &frame);
    if (attach(pkt, &frame, &group, avcodec_get_name(s->codec->id)) == AVERROR(ENOMEM)) {
        av_packet_unref(pkt);
        return AVERROR(ENOMEM);
    }
    return 0;
}

static const CodedBitstreamUnitType av1_units[] = {
    AV1_OBU_SEQUENCE_HEADER, AV1_OBU_TEMPORAL_DELIMITER,
    AV1_OBU_FRAME_HEADER,    AV1_OBU_TILE_GROUP,         AV1_OBU_FRAME,
};

static const Codec codecs[] = {
    { AV_CODEC_ID_H264,       AV_CODEC_ID_H264,       read_h2645,  RECORD       },
    { AV_CODEC_ID_HEVC,       AV_CODEC_ID_HEVC,       read_h2645,  RECORD       },
    { AV_CODEC_ID_AV1,        AV_CODEC_ID_AV1,        read_av1,    RECORD       },
    { AV_CODEC_ID_VP9,        AV_CODEC_ID_VP9,        read_vp9,    NO_EXTRADATA },
    { AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO, read_mpeg12, LIKE_PACKETS },
    { AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG2VIDEO, read_mpeg12, LIKE_PACKETS },
    { AV_CODEC_ID_MPEG4,      AV_CODEC_ID_NONE,       read_mpeg4,  LIKE_PACKETS },
    { AV_CODEC_ID_MJPEG,      AV_CODEC_ID_NONE,       read_mjpeg,  NO_EXTRADATA },
};

static av_cold int quantizer_metadata_init(AVBSFContext *bsf)
{
    QuantizerMetadataContext *s = bsf->priv_data;

    for (int i = 0; i < FF_ARRAY_ELEMS(codecs); i++)
        if (codecs[i].id == bsf->par_in->codec_id)
            s->codec = &codecs[i];
    if (!s->codec) {
        av_log(bsf, AV_LOG_WARNING, "Quantizers of %s cannot be read; packets are passed "
               "through unchanged.\n", avcodec_get_name(bsf->par_in->codec_id));
        return 0;
    }
    for (int i = 0; i < FF_ARRAY_ELEMS(s->table); i++)
        s->table[i] = NAN;
    if (s->codec->cbs_id) {
        int ret;

        s->unit = av_packet_alloc();
        if (!s->unit)
            return AVERROR(ENOMEM);
        s->log_level_offset = AV_LOG_DEBUG - AV_LOG_ERROR;
        ret = ff_cbs_init(&s->cbc, s->codec->cbs_id, s);
        if (ret < 0)
            return ret;
        if (s->codec->id == AV_CODEC_ID_AV1) {
            s->cbc->decompose_unit_types    = av1_units;
            s->cbc->nb_decompose_unit_types = FF_ARRAY_ELEMS(av1_units);
        }
    }
    read_extradata(bsf, NULL);
    return 0;
}

static av_cold void quantizer_metadata_close(AVBSFContext *bsf)
{
    QuantizerMetadataContext *s = bsf->priv_data;

    ff_cbs_fragment_free(&s->fragment);
    ff_cbs_close(&s->cbc);
    av_packet_free(&s->unit);
}

/// For the messages of CBS: those of the filter itself are the AVBSFContext's.
static const AVClass quantizer_metadata_class = {
    .class_name              = "quantizer_metadata_bsf",
    .item_name               = av_default_item_name,
    .version                 = LIBAVUTIL_VERSION_INT,
    .log_level_offset_offset = offsetof(QuantizerMetadataContext, log_level_offset),
};

const FFBitStreamFilter ff_quantizer_metadata_bsf = {
    .p.name         = "quantizer_metadata",
    .p.priv_class   = &quantizer_metadata_class,
    .priv_data_size = sizeof(QuantizerMetadataContext),
    .init           = quantizer_metadata_init,
    .filter         = quantizer_metadata_filter,
    .flush          = quantizer_metadata_flush,
    .close          = quantizer_metadata_close,
};
