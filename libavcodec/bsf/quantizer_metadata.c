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
 * Bitstream filter that attaches coding parameters, above all the quantizer step, to each packet.
 *
 * The parameters are side data of type AV_PKT_DATA_STRINGS_METADATA, which decoders turn into
 * metadata of the frame. doc/quantizer_metadata.texi lists the keys.
 *
 * The quantizer step has one unit for all codecs: log2 of the step of a uniform quantizer for the
 * coefficients of an orthonormal transform of 8-bit samples. Samples of higher depth are scaled to
 * 8 bits.
 *
 * AVVideoEncParams, exported by some decoders, does not serve: HEVC, AV1 and hardware decoders do
 * not export it, nor does VP9 for hidden frames, and filters get it only with frames they receive.
 *
 * Data flow of a packet: read_packet() splits it into units, with the coded bitstream framework
 * (CBS), and calls the codec's read function for each, which fills in a CodedFrame from the
 * headers. gop_add_frame() accumulates it into the GOPStats of the group of pictures (GOP),
 * estimate_loss() predicts the loss of VMAF from these, and attach_strings() writes the strings.
 *
 * Only headers are read. A packet with a broken header gets no keys; in AV1 and VP9, neither do the
 * packets up to the next key frame. Errors are logged at debug level, as the decoder reports them.
 */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "libavutil/bprint.h"
#include "libavutil/common.h"
#include "libavutil/dict.h"
#include "libavutil/file_open.h"
#include "libavutil/intreadwrite.h"
#include "libavutil/log.h"
#include "libavutil/opt.h"
#include "libavutil/thread.h"
#include "libavutil/timestamp.h"

#include "libavcodec/bsf.h"
#include "libavcodec/bsf_internal.h"
#include "libavcodec/cbs.h"
#include "libavcodec/cbs_av1.h"
#include "libavcodec/cbs_h264.h"
#include "libavcodec/cbs_h265.h"
#include "libavcodec/cbs_h266.h"
#include "libavcodec/cbs_jpeg.h"
#include "libavcodec/cbs_mpeg2.h"
#include "libavcodec/cbs_vp8.h"
#include "libavcodec/cbs_vp9.h"
#include "libavcodec/get_bits.h"
#include "libavcodec/h2645_parse.h"
#include "libavcodec/mpeg4videodefs.h"
#include "libavcodec/mpegvideodata.h"
#include "libavcodec/startcode.h"
#include "libavcodec/vp9data.h"
#include "libavcodec/vp8data.h"     // its macros have names of enumerators of vp9.h

#define KEY "lavc.quantizer."

/// Bytes of a NAL unit of H.264, HEVC or VVC that are read; parameter sets and slice headers fit.
#define NAL_HEAD 4096

/// Number of frames of a GOP after which its sums are halved, as some streams have one endless GOP.
#define MAX_GOP_FRAMES 1000

/// Sums over a group of pictures up to and including the current frame, in coding order.
typedef struct GOPStats {
    int     nb_frames;
    int     has_intra;          ///< the GOP began with an I frame
    int64_t intra_bytes;        ///< size of the I frame, else of the largest frame so far
    int64_t other_bytes;        ///< size of all P and B frames
    double  bytes;              ///< size of all frames
    double  step_sum;           ///< sum of log2(step) * bytes over the frames
    int     lossy;              ///< at least one frame is not lossless
} GOPStats;

/// Coding parameters of a frame; unknown if bytes is 0.
typedef struct CodedFrame {
    int64_t bytes;              ///< size of all slices
    double  step_sum;           ///< sum of log2(step) * bytes over the slices
    double  step_sq_sum;        ///< sum of log2(step)^2 * bytes over the slices
    double  chroma;             ///< log2 of the chroma step over the luma step, as signalled
    enum AVPictureType type;    ///< B if there is a B slice, else P if there is a P slice, else I
    enum AVPictureType first_field_type;    ///< type of the first of two fields, else NONE
    int     width, height;      ///< coded size after cropping, in luma samples
    int     depth;              ///< bits per luma sample
    int     film_grain;         ///< the decoder adds film grain
    int     lossless;           ///< the last slice is lossless
    int     hidden;             ///< AV1, VP8, VP9: the packet read so far does not show the frame
    int     fields;             ///< H.264: bit 0 top field, bit 1 bottom field; 3 for a frame
    int     frame_num;          ///< H.264: frame_num, which both fields of a frame share
    int     split_fields;       ///< H.264: the first field was in an earlier packet
    double  superres;           ///< AV1: log2 of the output width over the coded width
    int     no_picture;         ///< the packet has only parameter sets, SEI or nothing
} CodedFrame;

/// Context of the filter for one stream.
typedef struct QuantizerMetadataContext {
    const AVClass *class;       ///< log context of CBS, and options
    int log_level_offset;       ///< lowers errors of CBS to debug level

    // options
    char *stats_file;
    int shown_height;

    FILE *stats;                ///< open stats_file, else NULL
    int64_t nb_frames;
    int64_t nb_with_loss;       ///< number of frames with an estimated loss
    double loss_sum;            ///< sum of the estimated losses

    const struct Codec *codec;  ///< NULL if the stream's codec is not supported
    CodedBitstreamContext *cbc;
    CodedBitstreamFragment fragment;
    const void *header;         ///< last picture header; points into fragment
    GOPStats gop;

    size_t unit_size;           ///< bytes of the current NAL unit, or of the packet in other codecs

    // H.264
    CodedFrame field;           ///< first field whose second field is in another packet
    GOPStats gop_before_field;  ///< GOP without the frame of that field

    // AV1, VP9, VP8
    CodedFrame cur;                         ///< AV1: frame being read
    CodedFrame ref[AV1_NUM_REF_FRAMES];     ///< reference slots; VP8: [0] is the last key frame

    // MPEG-1, MPEG-2, MPEG-4
    double mean_log2_weight[2]; ///< mean log2 of the AC weights of the intra and non-intra matrix
    int non_linear;             ///< MPEG-2: q_scale_type

    // MPEG-4
    struct {
        int width, height;      ///< width is 0 if pictures of this layer cannot be read
        int time_increment_bits;
        int interlaced;
        int warping_points;     ///< no_of_sprite_warping_points, for global motion compensation
    } vol;

    // MJPEG
    double dqt_step[4];         ///< geometric mean of the AC steps of a table; 0 if not defined
    int container_height;       ///< height of the stream in rows; 0 if unknown
} QuantizerMetadataContext;

/// Codec that the filter can read.
typedef struct Codec {
    enum AVCodecID id;
    enum AVCodecID cbs_id;
    /// read the header of a unit of a packet or of extradata, and update frame
    void (*read)(QuantizerMetadataContext *s, const CodedBitstreamUnit *unit, CodedFrame *frame);
    const double *loss_coeffs;              ///< [6], see estimate_loss(); NULL without a model
    const CodedBitstreamUnitType *unit;     ///< types of units that CBS parses; NULL for all
    int nb_units;
    int has_ref_slots;                      ///< a packet may show a frame of an earlier packet
    int last_slice, last_nal;               ///< last NAL unit type of slices, and of all units read
} Codec;

/// Add a slice to the sums of a frame; step is log2 of the quantizer step.
static void add_slice(CodedFrame *frame, enum AVPictureType type, double step, size_t bytes)
{
    frame->bytes       += bytes;
    frame->step_sum    += step * bytes;
    frame->step_sq_sum += step * step * bytes;
    // the values of I, P and B ascend
    frame->type         = FFMAX(frame->type, type);
    frame->hidden       = 0;
}

/// Read the units that CBS has split; ret is the return value of CBS. @return ret
static int read_units(QuantizerMetadataContext *s, CodedFrame *frame, int ret)
{
    s->header = NULL;
    // CBS itself keeps the parameter sets of H.264, HEVC and VVC that extradata contain
    for (int i = 0; ret >= 0 && !s->codec->last_nal && i < s->fragment.nb_units; i++)
        s->codec->read(s, &s->fragment.units[i], frame);
    ff_cbs_fragment_reset(&s->fragment);
    return ret;
}

// ---- H.264, HEVC, VVC ----

/// @name Coefficients of estimate_loss(); `tools/train/train.py loss` fits them
/// @{
static const double h264_loss[] = { 3.241, -0.936, 1.084, -7.368, 5.007, 3.141 };
static const double hevc_loss[] = { 22.530, -12.899, 1.997, -15.558, 5.332, 3.839 };
/// @}

/// Units of cropping: size of a chroma sample in luma samples, by chroma_format_idc.
static const uint8_t crop_unit_x[] = { 1, 2, 2, 1 }, crop_unit_y[] = { 1, 2, 1, 1 };

/// Add a slice with a QP of any depth: one more bit lowers the minimum QP by 6 and halves the unit.
static void add_qp_slice(const QuantizerMetadataContext *s, CodedFrame *frame,
                         enum AVPictureType type, int qp, int cb_offset, int cr_offset)
{
    add_slice(frame, type, (qp - 4) / 6., s->unit_size);
    frame->chroma = (cb_offset + cr_offset) / 12.;
}

/// Read the NAL units of a packet. CBS gets only the head of each, as it parses all bytes it gets.
static void read_nals(QuantizerMetadataContext *s, const AVPacket *pkt, CodedFrame *frame)
{
    CodedBitstreamH2645Context *common = s->cbc->priv_data;
    const CodedBitstreamUnit *unit;
    const uint8_t *nal, *next, *pos = pkt->data, *end = pos + pkt->size;
    uint8_t head[4 + NAL_HEAD];
    int size, prefix;

    // some AVI files have start codes despite avcC extradata; FFmpeg's decoder has the same rule
    if (pkt->size > 8 && AV_RB32(pos) == 1 && AV_RB32(pos + 5) > pkt->size)
        common->mp4 = 0;
    prefix = common->mp4 ? common->nal_length_size : 3;
    frame->no_picture = 1;
    for (; pos < end; pos = nal + size) {
        int begin = 0, type, layer = 0, ret;
        uint32_t head_size;

        if (common->mp4) {
            size = get_nalsize(prefix, pos, end - pos, &begin, s->cbc->log_ctx);
            if (size < 0)
                break;
            nal  = pos + begin;
        } else {
            uint32_t code = -1;

            nal  = avpriv_find_start_code(pos, end, &code) - 1;
            code = -1;
            next = avpriv_find_start_code(nal, end, &code);
            size = (code >> 8 == 1 ? next - 4 : end) - nal;
        }
        if (size < 2)
            continue;
        type = s->codec->id == AV_CODEC_ID_H264 ? nal[0] & 31 :
               s->codec->id == AV_CODEC_ID_HEVC ? nal[0] >> 1 : nal[1] >> 3;
        if (s->codec->id != AV_CODEC_ID_H264)
            layer = s->codec->id == AV_CODEC_ID_HEVC ? nal[0] & 1 || nal[1] >> 3 : nal[0] & 63;
        // skip other layers, whose parameter sets may have equal ids, and units such as SEI
        if (layer || type > s->codec->last_nal)
            continue;
        // trailing zeros belong to the next start code
        s->unit_size = size;
        while (s->unit_size && !nal[s->unit_size - 1])
            s->unit_size--;
        head_size = FFMIN(s->unit_size, NAL_HEAD);
        AV_WB32(head, (common->mp4 ? head_size : 1) << 8 * (4 - prefix));
        memcpy(head + prefix, nal, head_size);
        ret  = ff_cbs_read(s->cbc, &s->fragment, NULL, head, prefix + head_size);
        unit = s->fragment.units;
        if (type <= s->codec->last_slice) {
            frame->no_picture = 0;
            // after a broken start code or length, CBS may find another unit
            if (ret >= 0 && s->fragment.nb_units && unit->type == type && unit->content)
                s->codec->read(s, unit, frame);
        }
        ff_cbs_fragment_reset(&s->fragment);
    }
}

/// Read a slice header of H.264.
static void read_h264(QuantizerMetadataContext *s, const CodedBitstreamUnit *unit,
                      CodedFrame *frame)
{
    static const enum AVPictureType types[] = {
        AV_PICTURE_TYPE_P, AV_PICTURE_TYPE_B, AV_PICTURE_TYPE_I,
        AV_PICTURE_TYPE_P, AV_PICTURE_TYPE_I,   // SP and SI
    };
    const CodedBitstreamH264Context *h264 = s->cbc->priv_data;
    const H264RawSliceHeader *slice = &((H264RawSlice *)unit->content)->header;
    const H264RawPPS *pps = h264->pps[slice->pic_parameter_set_id];
    const H264RawSPS *sps = h264->sps[pps->seq_parameter_set_id];
    const int fields = slice->field_pic_flag ? 1 << slice->bottom_field_flag : 3;
    const int qp = 26 + pps->pic_init_qp_minus26 + slice->slice_qp_delta;

    if (slice->redundant_pic_cnt)
        return;
    // continue the frame of a first field, under the conditions of FFmpeg's decoder
    if (!frame->fields && s->field.fields + fields == 3 && slice->frame_num == s->field.frame_num)
        *frame = s->field;
    if (frame->fields && !(frame->fields & fields))
        frame->first_field_type = frame->type;
    frame->fields   |= fields;
    frame->frame_num = slice->frame_num;
    add_qp_slice(s, frame, types[slice->slice_type % 5], qp,
                 pps->chroma_qp_index_offset, pps->second_chroma_qp_index_offset);
    frame->lossless = sps->qpprime_y_zero_transform_bypass_flag &&
                      qp == -6 * sps->bit_depth_luma_minus8;
    frame->width  = (sps->pic_width_in_mbs_minus1 + 1) * 16 - crop_unit_x[sps->chroma_format_idc] *
                    (sps->frame_crop_left_offset + sps->frame_crop_right_offset);
    frame->height = ((sps->pic_height_in_map_units_minus1 + 1) * 16 -
                     crop_unit_y[sps->chroma_format_idc] *
                     (sps->frame_crop_top_offset + sps->frame_crop_bottom_offset)) *
                    (2 - sps->frame_mbs_only_flag);
    frame->depth  = sps->bit_depth_luma_minus8 + 8;
}

/// Read a slice header of HEVC.
static void read_hevc(QuantizerMetadataContext *s, const CodedBitstreamUnit *unit,
                      CodedFrame *frame)
{
    const CodedBitstreamH265Context *h265 = s->cbc->priv_data;
    const H265RawSliceHeader *slice = &((H265RawSlice *)unit->content)->header;
    const H265RawPPS *pps = h265->pps[slice->slice_pic_parameter_set_id];
    const H265RawSPS *sps = h265->sps[pps->pps_seq_parameter_set_id];
    const int qp = 26 + pps->init_qp_minus26 + slice->slice_qp_delta;

    if (slice->dependent_slice_segment_flag) {
        // a dependent segment continues a slice; use the mean of the slices so far
        if (frame->bytes)
            add_slice(frame, frame->type, frame->step_sum / frame->bytes, s->unit_size);
        return;
    }
    // B, P, I
    add_qp_slice(s, frame, AV_PICTURE_TYPE_B - slice->slice_type, qp,
                 pps->pps_cb_qp_offset + slice->slice_cb_qp_offset,
                 pps->pps_cr_qp_offset + slice->slice_cr_qp_offset);
    // the header permits lossless coding units, without saying which; x265 codes them with QP 4
    frame->lossless = pps->transquant_bypass_enabled_flag && qp <= 4;
    frame->width  = sps->pic_width_in_luma_samples - crop_unit_x[sps->chroma_format_idc] *
                    (sps->conf_win_left_offset + sps->conf_win_right_offset);
    frame->height = sps->pic_height_in_luma_samples - crop_unit_y[sps->chroma_format_idc] *
                    (sps->conf_win_top_offset + sps->conf_win_bottom_offset);
    frame->depth  = sps->bit_depth_luma_minus8 + 8;
}

/// Read a slice header of VVC.
static void read_vvc(QuantizerMetadataContext *s, const CodedBitstreamUnit *unit,
                     CodedFrame *frame)
{
    const H266RawSlice *slice = unit->content;
    const H266RawSliceHeader *header = &slice->header;
    const H266RawPPS *pps = slice->pps;
    const H266RawSPS *sps = slice->sps;
    const int qp_delta = pps->pps_qp_delta_info_in_ph_flag ? slice->ph->ph_qp_delta :
                                                             header->sh_qp_delta;

    // B, P, I
    add_qp_slice(s, frame, AV_PICTURE_TYPE_B - header->sh_slice_type,
                 26 + pps->pps_init_qp_minus26 + qp_delta,
                 pps->pps_cb_qp_offset + header->sh_cb_qp_offset,
                 pps->pps_cr_qp_offset + header->sh_cr_qp_offset);
    frame->width  = pps->pps_pic_width_in_luma_samples - crop_unit_x[sps->sps_chroma_format_idc] *
                    (pps->pps_conf_win_left_offset + pps->pps_conf_win_right_offset);
    frame->height = pps->pps_pic_height_in_luma_samples - crop_unit_y[sps->sps_chroma_format_idc] *
                    (pps->pps_conf_win_top_offset + pps->pps_conf_win_bottom_offset);
    frame->depth  = sps->sps_bitdepth_minus8 + 8;
}

// ---- AV1, VP9, VP8 ----

/// @name Coefficients of estimate_loss(); `tools/train/train.py loss` fits them
/// @{
static const double av1_loss[] = { 11.771, -7.103, 1.439, -12.293, 5.206, 3.480 };
static const double vp9_loss[] = { 13.448, -8.174, 1.675, -14.632, 6.738, 3.478 };
/// @}

static const CodedBitstreamUnitType av1_units[] = {
    AV1_OBU_SEQUENCE_HEADER, AV1_OBU_TEMPORAL_DELIMITER,
    AV1_OBU_FRAME_HEADER,    AV1_OBU_TILE_GROUP,         AV1_OBU_FRAME,
};

/// Return log2 of the step of a quantizer index of AV1 or VP9.
static double qindex_to_step(int index, int depth)
{
    // coefficients of AV1 and VP9 are 8 times those of an orthonormal transform
    return log2(ff_vp9_ac_qlookup[(depth - 8) / 2][index] / 8.) - (depth - 8);
}

/**
 * Store a coded frame in the reference slots that it refreshes, and make it the frame of the packet
 * if it is shown or the packet has not shown one.
 *
 * @param refresh bit mask of the slots
 */
static void update_ref_slots(QuantizerMetadataContext *s, const CodedFrame *coded, int refresh,
                             int show, CodedFrame *frame)
{
    for (int i = 0; i < FF_ARRAY_ELEMS(s->ref); i++)
        if (refresh & 1 << i)
            s->ref[i] = *coded;
    if (show || frame->hidden) {
        *frame = *coded;
        frame->hidden = !show;
    }
}

/// Read a frame header OBU, tile group OBU or frame OBU.
static void read_av1(QuantizerMetadataContext *s, const CodedBitstreamUnit *unit,
                     CodedFrame *frame)
{
    const CodedBitstreamAV1Context *av1 = s->cbc->priv_data;
    const int has_header = unit->type == AV1_OBU_FRAME_HEADER || unit->type == AV1_OBU_FRAME;
    const int has_tiles  = unit->type == AV1_OBU_TILE_GROUP   || unit->type == AV1_OBU_FRAME;
    const int depth      = av1->bit_depth;
    const AV1RawOBU *obu = unit->content;
    const AV1RawFrameHeader *header;
    int q, denominator = AV1_SUPERRES_NUM;

    if (obu && has_header)
        s->header = has_tiles ? &obu->obu.frame.header : &obu->obu.frame_header;
    header = s->header;
    if (!obu || !header)
        return;
    if (header->use_superres)
        denominator = header->coded_denom + AV1_SUPERRES_DENOM_MIN;
    q = header->base_q_idx;
    if (has_header)
        s->cur = header->show_existing_frame ? s->ref[header->frame_to_show_map_idx] :
                                                 (CodedFrame) {
            .width      = ((header->frame_width_minus_1 + 1) * AV1_SUPERRES_NUM +
                           denominator / 2) / denominator,
            .superres   = log2(denominator / (double)AV1_SUPERRES_NUM),
            .height     = header->frame_height_minus_1 + 1,
            .depth      = depth,
            .chroma     = (qindex_to_step(av_clip_uint8(q + header->delta_q_u_ac), depth) +
                           qindex_to_step(av_clip_uint8(q + header->delta_q_v_ac), depth)) / 2 -
                          qindex_to_step(q, depth),
            .film_grain = header->film_grain.apply_grain,
            .lossless   = !(q | header->use_superres | header->segmentation_enabled |
                            header->delta_q_y_dc | header->delta_q_u_dc | header->delta_q_u_ac |
                            header->delta_q_v_dc | header->delta_q_v_ac),
        };
    // the values of inter and switch frames are odd
    if (has_tiles && !header->show_existing_frame)
        add_slice(&s->cur, header->frame_type & 1 ? AV_PICTURE_TYPE_P : AV_PICTURE_TYPE_I,
                  qindex_to_step(q, depth), unit->data_size);
    // decoders output the highest spatial layer of the first operating point
    update_ref_slots(s, &s->cur, header->refresh_frame_flags,
                     (header->show_frame || header->show_existing_frame) && obu->header.spatial_id >=
                     av_log2(av1->sequence_header->operating_point_idc[0] >> 8), frame);
}

/// Read a frame header of VP9.
static void read_vp9(QuantizerMetadataContext *s, const CodedBitstreamUnit *unit,
                     CodedFrame *frame)
{
    const VP9RawFrameHeader *header = &((VP9RawFrame *)unit->content)->header;
    const int intra = header->frame_type == VP9_KEY_FRAME || header->intra_only;
    CodedFrame coded = {
        .width  = header->frame_width_minus_1  + 1,
        .height = header->frame_height_minus_1 + 1,
        .depth  = header->profile_high_bit ? 10 + 2 * header->ten_or_twelve_bit : 8,
    };

    if (header->show_existing_frame) {
        update_ref_slots(s, &s->ref[header->frame_to_show_map_idx], 0, 1, frame);
        return;
    }
    for (int i = VP9_REFS_PER_FRAME - 1; !intra && i >= 0; i--) {
        const CodedFrame *ref = &s->ref[header->ref_frame_idx[i]];

        coded.depth = ref->depth;
        // the first reference with found_ref gives the size, hence the descending loop
        if (header->found_ref[i]) {
            coded.width  = ref->width;
            coded.height = ref->height;
        }
    }
    if (coded.depth)
        add_slice(&coded, intra ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_P,
                  qindex_to_step(header->base_q_idx, coded.depth), unit->data_size);
    coded.lossless = !(header->base_q_idx | header->delta_q_y_dc |
                       header->delta_q_uv_dc | header->delta_q_uv_ac);
    update_ref_slots(s, &coded, header->refresh_frame_flags, header->show_frame, frame);
}

/// Read a frame header of VP8.
static void read_vp8(QuantizerMetadataContext *s, const CodedBitstreamUnit *unit,
                     CodedFrame *frame)
{
    const VP8RawFrameHeader *header = &((VP8RawFrame *)unit->content)->header;
    const int intra = header->frame_type == VP8_KEY_FRAME;

    if (header->first_partition_length_in_bytes + (intra ? 10 : 3) > s->unit_size)
        return;
    if (intra)
        s->ref[0] = (CodedFrame){ .width = header->width, .height = header->height, .depth = 8 };
    *frame = s->ref[0];
    // coefficients of VP8 are twice those of an orthonormal transform
    add_slice(frame, intra ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_P,
              log2(vp8_ac_qlookup[header->base_qindex] / 2.), s->unit_size);
    frame->hidden = !header->show_frame;
}

// ---- MPEG-1, MPEG-2, MPEG-4, MJPEG ----

/// @name Coefficients of estimate_loss(); `tools/train/train.py loss` fits them
/// @{
static const double mpeg2_loss[] = { 15.322, -9.125, 1.679, -19.376, 6.255, 5.207 };
static const double mpeg4_loss[] = { 18.062, -11.864, 2.336, -15.296, 5.656, 5.270 };
static const double mjpeg_loss[] = { 25.233, -12.911, 1.813, -27.358, 8.964, 5.523 };
/// @}

/// Return the mean log2 of the AC weights of a matrix if it was loaded, else the given mean.
static double mean_log2(int loaded, const uint8_t weight[64], double mean)
{
    double sum = 0;

    for (int i = 1; loaded && i < 64; i++)
        sum += log2(weight[i]);
    return loaded ? sum / 63 : mean;
}

/// Add a slice or picture of MPEG-1, -2 or -4, whose step is scale * weight / 16.
static void add_mpeg_slice(const QuantizerMetadataContext *s, const CodedBitstreamUnit *unit,
                           CodedFrame *frame, int type, int scale, int width, int height)
{
    add_slice(frame, type, log2(scale) + s->mean_log2_weight[type != AV_PICTURE_TYPE_I] - 4,
              unit->data_size);
    frame->width  = width;
    frame->height = height;
    frame->depth  = 8;
}

/// Read a sequence header, picture header, extension or slice of MPEG-1 or MPEG-2.
static void read_mpeg12(QuantizerMetadataContext *s, const CodedBitstreamUnit *unit,
                        CodedFrame *frame)
{
    const CodedBitstreamMPEG2Context *mpeg2 = s->cbc->priv_data;
    const MPEG2RawPictureHeader *picture    = s->header;
    const MPEG2RawSequenceHeader *sequence  = unit->content;
    const MPEG2RawExtensionData *extension  = unit->content;
    const MPEG2RawSlice *slice              = unit->content;

    if (unit->type == MPEG2_START_PICTURE) {
        s->header     = unit->content;
        s->non_linear = 0;
        frame->first_field_type = frame->type;
    // type 4: D pictures of MPEG-1
    } else if (MPEG2_START_IS_SLICE(unit->type) && picture &&
               picture->picture_coding_type <= AV_PICTURE_TYPE_B) {
        const int code = slice->header.quantiser_scale_code;

        add_mpeg_slice(s, unit, frame, picture->picture_coding_type,
                       s->non_linear ? ff_mpeg2_non_linear_qscale[code] : 2 * code,
                       mpeg2->horizontal_size, mpeg2->vertical_size);
    } else if (unit->type == MPEG2_START_SEQUENCE_HEADER) {
        // defaults: mean_log2() of the intra matrix (ISO/IEC 13818-2, 6.3.11), and log2(16)
        s->mean_log2_weight[0] = mean_log2(sequence->load_intra_quantiser_matrix,
                                           sequence->intra_quantiser_matrix, 4.9725);
        s->mean_log2_weight[1] = mean_log2(sequence->load_non_intra_quantiser_matrix,
                                           sequence->non_intra_quantiser_matrix, 4);
    } else if (unit->type == MPEG2_START_EXTENSION) {
        const MPEG2RawQuantMatrixExtension *matrix = &extension->data.quant_matrix;

        if (extension->extension_start_code_identifier == MPEG2_EXTENSION_PICTURE_CODING)
            s->non_linear = extension->data.picture_coding.q_scale_type;
        if (extension->extension_start_code_identifier != MPEG2_EXTENSION_QUANT_MATRIX)
            return;
        s->mean_log2_weight[0] = mean_log2(matrix->load_intra_quantiser_matrix,
                                           matrix->intra_quantiser_matrix, s->mean_log2_weight[0]);
        s->mean_log2_weight[1] = mean_log2(matrix->load_non_intra_quantiser_matrix,
                                           matrix->non_intra_quantiser_matrix, s->mean_log2_weight[1]);
    }
}

/// Read a matrix of an MPEG-4 stream; a zero repeats the last weight to the end. @return mean log2
static double read_mpeg4_matrix(GetBitContext *gb, double default_mean)
{
    const int loaded = get_bits1(gb);
    uint8_t weight[64];

    for (int i = 0, last = loaded; i < 64; i++) {
        last      = last ? get_bits(gb, 8) : 0;
        weight[i] = last ? last : i ? weight[i - 1] : 1;
    }
    return mean_log2(loaded, weight, default_mean);
}

/// Read a video object layer header. CBS has no MPEG-4, and FFmpeg's parser stops before vop_quant.
static void read_mpeg4_vol(QuantizerMetadataContext *s, GetBitContext *gb)
{
    int version, resolution, width, sprite;

    s->vol.width = s->vol.warping_points = 0;
    skip_bits(gb, 1 + 8);               // random_accessible_vol, video_object_type_indication
    version = get_bits1(gb) ? get_bits(gb, 4 + 3) >> 3 : 1;     // skips the priority
    if (get_bits(gb, 4) == 15)
        skip_bits(gb, 16);              // pixel aspect ratio
    if (get_bits1(gb)) {
        skip_bits(gb, 2 + 1);           // chroma_format, low_delay
        if (get_bits1(gb))
            skip_bits_long(gb, 79);     // vbv_parameters
    }
    if (get_bits(gb, 2))                // not rectangular
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
    width             = get_bits(gb, 13 + 1) >> 1;              // skips a marker
    s->vol.height     = get_bits(gb, 13 + 1) >> 1;
    s->vol.interlaced = get_bits(gb, 1 + 1) >> 1;               // skips obmc_disable
    sprite = get_bits(gb, version == 1 ? 1 : 2);
    if (sprite == 2) {
        s->vol.warping_points = get_bits(gb, 6);
        skip_bits(gb, 2);               // sprite_warping_accuracy
        sprite = get_bits1(gb);         // sprite_brightness_change
    }
    if (sprite || get_bits1(gb))        // static sprite or brightness change; not_8_bit
        return;
    s->mean_log2_weight[0] = s->mean_log2_weight[1] = 4;    // H.263 quantization: 16
    if (get_bits1(gb)) {
        // mean_log2() of the default matrices (ISO/IEC 14496-2, 6.3.3)
        s->mean_log2_weight[0] = read_mpeg4_matrix(gb, 4.7305);
        s->mean_log2_weight[1] = read_mpeg4_matrix(gb, 4.5391);
    }
    if (version != 1)
        skip_bits1(gb);                 // quarter sample
    // complexity estimation must be disabled: its fields would precede vop_quant
    if (get_bits1(gb) && get_bits_left(gb) >= 0)
        s->vol.width = width;
}

/// Skip sprite_trajectory(): for x and y of each point a length code, as many bits, and a marker.
static void skip_sprite_trajectory(GetBitContext *gb, int nb_points)
{
    for (int i = 0; i < 2 * nb_points; i++) {
        int length = get_bits(gb, 2);       // length codes: 00, 010..110, 1110, 11110, ...

        length = length ? 2 * length + get_bits1(gb) - 1 : 0;
        while (length >= 6 && length < 14 && get_bits1(gb))
            length++;
        skip_bits(gb, length + 1);
    }
}

/// Read a video object layer or a VOP. Only the first VOP of a packet counts.
static void read_mpeg4(QuantizerMetadataContext *s, const CodedBitstreamUnit *unit,
                       CodedFrame *frame)
{
    GetBitContext gb;
    int type, scale;

    if (init_get_bits8(&gb, unit->data + 1, FFMIN(unit->data_size - 1, 256)) < 0)
        return;
    if (unit->type >= 0x20 && unit->type <= 0x2F)
        read_mpeg4_vol(s, &gb);
    if (unit->type != (VOP_STARTCODE & 0xFF) || !s->vol.width || frame->bytes)
        return;
    type = AV_PICTURE_TYPE_I + get_bits(&gb, 2);
    while (get_bits_left(&gb) > 0 && get_bits1(&gb)) // modulo_time_base
        ;
    skip_bits(&gb, 1 + s->vol.time_increment_bits + 1);
    frame->no_picture = !get_bits1(&gb);
    if (frame->no_picture)              // vop_coded is 0
        return;
    // vop_rounding_type; intra_dc_vlc_thr; top_field_first, alternate_vertical_scan_flag
    skip_bits(&gb, (type == AV_PICTURE_TYPE_P || type == AV_PICTURE_TYPE_S) + 3 +
                   2 * s->vol.interlaced);
    if (type == AV_PICTURE_TYPE_S) {
        skip_sprite_trajectory(&gb, s->vol.warping_points);
        type = AV_PICTURE_TYPE_P;       // an S-VOP refers to the past only
    }
    scale = 2 * get_bits(&gb, 5);
    if (scale && get_bits_left(&gb) >= 0)
        add_mpeg_slice(s, unit, frame, type, scale, s->vol.width, s->vol.height);
}

static const CodedBitstreamUnitType mjpeg_units[] = {
    JPEG_MARKER_SOF0, JPEG_MARKER_SOF1, JPEG_MARKER_SOF2, JPEG_MARKER_DQT,
};

/// Read a quantization table, frame header or scan of the first picture of a packet.
static void read_mjpeg(QuantizerMetadataContext *s, const CodedBitstreamUnit *unit,
                       CodedFrame *frame)
{
    const JPEGRawQuantisationTableSpecification *dqt = unit->content;
    const JPEGRawFrameHeader *header = s->header;

    if (frame->bytes)
        return;
    if (unit->type == JPEG_MARKER_DQT) {
        for (int j = 0; j < dqt->Lq / 65; j++) {
            double sum = 0;

            for (int k = 1; k < 64; k++)
                sum += log2(dqt->table[j].Q[k]);
            s->dqt_step[dqt->table[j].Tq] = exp2(sum / 63);
        }
    } else if (unit->type >= JPEG_MARKER_SOF0 && unit->type <= JPEG_MARKER_SOF2) {
        s->header     = header = unit->content;
        frame->width  = header->X;
        frame->height = header->Y;
        // one of two fields, by the rule of FFmpeg's decoder
        if (header->Y < s->container_height * 3LL / 4)
            frame->height *= 2;
        frame->depth  = header->P;
    } else if (unit->type == JPEG_MARKER_SOS && header) {
        // CBS has copied the unit: its header follows the marker in the packet, then comes the scan
        const uint8_t *scan = unit[-1].data + unit[-1].data_size + 2 + AV_RB16(unit->data);
        const uint8_t *end  = s->fragment.data + s->fragment.data_size;

        if (header->P >= 8 && s->dqt_step[header->Tq[0]] && scan < end) {
            add_slice(frame, AV_PICTURE_TYPE_I,
                      log2(s->dqt_step[header->Tq[0]]) - (header->P - 8), end - scan);
            if (header->Nf > 1 && s->dqt_step[header->Tq[1]])
                frame->chroma = log2(s->dqt_step[header->Tq[1]] / s->dqt_step[header->Tq[0]]);
        }
    }
}

// ---- the filter ----

static const CodedBitstreamUnitType no_units[1];

#define UNITS(codec) codec ## _units, FF_ARRAY_ELEMS(codec ## _units)

static const Codec codecs[] = {
    { AV_CODEC_ID_H264, AV_CODEC_ID_H264, read_h264, h264_loss,
      .last_slice = H264_NAL_IDR_SLICE, .last_nal = H264_NAL_PPS },
    { AV_CODEC_ID_HEVC, AV_CODEC_ID_HEVC, read_hevc, hevc_loss,
      .last_slice = HEVC_NAL_VPS - 1, .last_nal = HEVC_NAL_PPS },
    { AV_CODEC_ID_VVC,  AV_CODEC_ID_VVC,  read_vvc,
      .last_slice = VVC_GDR_NUT, .last_nal = VVC_PH_NUT },
    { AV_CODEC_ID_AV1,  AV_CODEC_ID_AV1,  read_av1,  av1_loss,  UNITS(av1),  .has_ref_slots = 1 },
    { AV_CODEC_ID_VP9,  AV_CODEC_ID_VP9,  read_vp9,  vp9_loss,               .has_ref_slots = 1 },
    { AV_CODEC_ID_VP8,  AV_CODEC_ID_VP8,  read_vp8 },
    { AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO, read_mpeg12, mpeg2_loss },
    { AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG2VIDEO, read_mpeg12, mpeg2_loss },
    // CBS has no MPEG-4; as MPEG-2, with the same start codes, it splits but parses no unit
    { AV_CODEC_ID_MPEG4, AV_CODEC_ID_MPEG2VIDEO, read_mpeg4, mpeg4_loss, no_units, 0 },
    { AV_CODEC_ID_MJPEG, AV_CODEC_ID_MJPEG, read_mjpeg, mjpeg_loss, UNITS(mjpeg) },
};

/// Return the GOP with a frame added. An I frame, or one whose first field is I, begins a new GOP.
static GOPStats gop_add_frame(GOPStats gop, const CodedFrame *frame)
{
    if (gop.nb_frames == MAX_GOP_FRAMES) {
        gop.nb_frames   /= 2;
        gop.other_bytes /= 2;
        gop.bytes       /= 2;
        gop.step_sum    /= 2;
    }
    if ((frame->first_field_type ? frame->first_field_type : frame->type) == AV_PICTURE_TYPE_I)
        gop = (GOPStats){ .has_intra = 1, .intra_bytes = frame->bytes };
    else
        gop.other_bytes += frame->bytes;
    if (!gop.has_intra)
        gop.intra_bytes = FFMAX(gop.intra_bytes, frame->bytes);
    gop.nb_frames++;
    gop.bytes += frame->bytes;
    gop.step_sum += frame->step_sum;
    gop.lossy |= !frame->lossless;
    return gop;
}

/// Read the new extradata of a packet, or, if pkt is NULL, those of the stream.
static void read_extradata(AVBSFContext *bsf, const AVPacket *pkt)
{
    QuantizerMetadataContext *s = bsf->priv_data;
    CodedFrame unused = { 0 };

    if (pkt || bsf->par_in->extradata_size)
        read_units(s, &unused, pkt ? ff_cbs_read_packet_side_data(s->cbc, &s->fragment, pkt) :
                                   ff_cbs_read_extradata(s->cbc, &s->fragment, bsf->par_in));
}

/// Forget all previous frames. Parameter sets remain, as in decoders.
static void quantizer_metadata_flush(AVBSFContext *bsf)
{
    QuantizerMetadataContext *s = bsf->priv_data;

    memset(s->ref, 0, sizeof(s->ref));
    s->gop = (GOPStats){ 0 };
    s->field = (CodedFrame){ 0 };
    if (s->codec && s->codec->id == AV_CODEC_ID_AV1) {
        // CBS keeps reference frames, too
        ff_cbs_flush(s->cbc);
        read_extradata(bsf, NULL);
    }
}

/**
 * Estimate the loss of VMAF of a GOP so far.
 *
 * The model is a polynomial of log2(step) and of log2(shown size / coded size), fitted to encodes:
 * see doc/model.md.
 *
 * @return loss in 0..100, or NAN if the codec has no model
 */
static double estimate_loss(const QuantizerMetadataContext *s, const GOPStats *gop,
                            const CodedFrame *frame)
{
    const double *c    = s->codec->loss_coeffs;
    const double scale = log2(FFMAX(s->shown_height, frame->height) / (double)frame->height) +
                         frame->superres;
    double step;

    if (!c)
        return NAN;
    if (!gop->lossy && !scale)
        return 0;
    // left of the minimum of the parabola, a finer step does not change the loss
    step = FFMAX(gop->step_sum / gop->bytes, -(c[1] + c[5] * scale) / (2 * c[2]));
    return av_clipd(c[0] + step * (c[1] + step * c[2]) +
                    scale * (c[3] + scale * c[4] + step * c[5]), 0, 100);
}

/// Print a number with four decimals, independent of the locale. @return text, or "nan"
static const char *print_fixed(char text[32], double value)
{
    const int64_t fixed = llrint(fabs(value) * 10000);

    snprintf(text, 32, "%s%"PRId64".%04d", fixed && value < 0 ? "-" : "",
             fixed / 10000, (int)(fixed % 10000));
    return isnan(value) ? "nan" : text;
}

#define FIXED(value) print_fixed((char[32]){ 0 }, value)

/// Attach the parameters of a frame to its packet, after the strings that it already has.
static int attach_strings(AVPacket *pkt, const CodedFrame *frame, const GOPStats *gop,
                          const char *codec, double loss)
{
    const double mean     = frame->step_sum / frame->bytes;
    const double variance = frame->step_sq_sum / frame->bytes - mean * mean;
    uint8_t *old, *strings = NULL;
    size_t old_size;
    AVBPrint bp;

    av_bprint_init(&bp, 0, AV_BPRINT_SIZE_UNLIMITED);
    old = av_packet_get_side_data(pkt, AV_PKT_DATA_STRINGS_METADATA, &old_size);
    if (old)
        av_bprint_append_data(&bp, old, old_size);
    av_bprintf(&bp, KEY "codec=%s\n" KEY "step=%s\n" KEY "pict_type=%c\n" KEY "bytes=%"PRId64"\n"
               KEY "width=%d\n" KEY "height=%d\n" KEY "depth=%d\n", codec, FIXED(mean),
               av_get_picture_type_char(frame->type), frame->bytes,
               frame->width, frame->height, frame->depth);
    av_bprintf(&bp, KEY "gop_step=%s\n" KEY "gop_intra_bytes=%"PRId64"\n"
               KEY "gop_other_bytes=%"PRId64"\n" KEY "gop_frames=%d\n",
               FIXED(gop->step_sum / gop->bytes), gop->intra_bytes, gop->other_bytes,
               gop->nb_frames);
    if (!isnan(loss))
        av_bprintf(&bp, KEY "loss=%s\n", FIXED(loss));
    // omit values that are mostly 0 if they are 0: each reference to a frame copies its metadata
    if (variance > 1e-8)
        av_bprintf(&bp, KEY "spread=%s\n", FIXED(sqrt(variance)));
    if (fabs(frame->chroma) > 1e-8)
        av_bprintf(&bp, KEY "chroma=%s\n", FIXED(frame->chroma));
    if (frame->film_grain)
        av_bprintf(&bp, KEY "film_grain=1\n");

    if (av_bprint_is_complete(&bp))
        strings = av_packet_new_side_data(pkt, AV_PKT_DATA_STRINGS_METADATA, bp.len);
    for (size_t i = 0; strings && i < bp.len; i++)
        strings[i] = i >= old_size && (bp.str[i] == '=' || bp.str[i] == '\n') ? 0 : bp.str[i];
    av_bprint_finalize(&bp, NULL);
    return strings ? 0 : AVERROR(ENOMEM);
}

/// Paths of all open stats files of the process: each belongs to one stream.
static AVDictionary *stats_files;
static AVMutex stats_mutex = AV_MUTEX_INITIALIZER;

/// Open stats_file, unless another stream has it open.
static av_cold int open_stats(AVBSFContext *bsf)
{
    QuantizerMetadataContext *s = bsf->priv_data;
    int ret = 0;

    ff_mutex_lock(&stats_mutex);
    if (av_dict_get(stats_files, s->stats_file, NULL, AV_DICT_MATCH_CASE)) {
        av_log(bsf, AV_LOG_ERROR, "'%s' is already the stats_file of another stream; set the filter "
               "for one stream with -bsf:v:0, or give each its own stats_file.\n", s->stats_file);
        ret = AVERROR(EINVAL);
    } else {
        s->stats = strcmp(s->stats_file, "-") ? avpriv_fopen_utf8(s->stats_file, "w") : stdout;
        ret = s->stats ? av_dict_set(&stats_files, s->stats_file, "", AV_DICT_MATCH_CASE) :
                         AVERROR(errno);
        if (!s->stats)
            av_log(bsf, AV_LOG_ERROR, "Cannot open '%s' for writing: %s.\n", s->stats_file,
                   av_err2str(ret));
    }
    ff_mutex_unlock(&stats_mutex);
    return ret;
}

static void close_stats(QuantizerMetadataContext *s)
{
    if (!s->stats)
        return;
    if (s->stats != stdout)
        fclose(s->stats);
    s->stats = NULL;
    ff_mutex_lock(&stats_mutex);
    av_dict_set(&stats_files, s->stats_file, NULL, AV_DICT_MATCH_CASE);
    ff_mutex_unlock(&stats_mutex);
}

/// Flush stats_file. After an error the file is closed, so that the error is returned once.
/// @return AVERROR_EOF, or the error
static int flush_stats(AVBSFContext *bsf)
{
    QuantizerMetadataContext *s = bsf->priv_data;
    int ret = AVERROR_EOF;

    errno = 0;
    if (s->stats && (fflush(s->stats) || ferror(s->stats))) {
        ret = errno ? AVERROR(errno) : AVERROR(EIO);
        av_log(bsf, AV_LOG_ERROR, "Cannot write '%s': %s; free some space or name another file.\n",
               s->stats_file, av_err2str(ret));
        close_stats(s);
    }
    return ret;
}

/// Count a frame, and write its line to stats_file; loss is NAN if unknown.
static void report(AVBSFContext *bsf, const AVPacket *pkt, double loss)
{
    QuantizerMetadataContext *s = bsf->priv_data;
    const double time = pkt->pts == AV_NOPTS_VALUE ? NAN : pkt->pts * av_q2d(bsf->time_base_in);

    s->nb_frames++;
    s->nb_with_loss += !isnan(loss);
    s->loss_sum     += isnan(loss) ? 0 : loss;
    if (s->stats)
        fprintf(s->stats, "n:%"PRId64" pts:%s pts_time:%s loss:%s\n", s->nb_frames,
                av_ts2str(pkt->pts), FIXED(time), FIXED(loss));
}

/// Read the coding parameters of the frame of a packet.
static void read_packet(AVBSFContext *bsf, const AVPacket *pkt, CodedFrame *frame)
{
    QuantizerMetadataContext *s = bsf->priv_data;
    // at the end of short VP8 frames decoders read zeros from the padding, where CBS would fail
    const int padding = s->codec->id == AV_CODEC_ID_VP8 ? AV_INPUT_BUFFER_PADDING_SIZE : 0;

    if (av_packet_get_side_data(pkt, AV_PKT_DATA_NEW_EXTRADATA, NULL))
        read_extradata(bsf, pkt);
    s->unit_size = pkt->size;
    if (s->codec->last_nal)
        read_nals(s, pkt, frame);
    else if (read_units(s, frame, ff_cbs_read(s->cbc, &s->fragment, pkt->buf, pkt->data,
                                              pkt->size + padding)) < 0 && s->codec->has_ref_slots)
        quantizer_metadata_flush(bsf);
}

/**
 * Count an H.264 frame once if its fields are in two packets.
 *
 * Decoders take the keys of the first packet. Its field therefore counts twice until the second
 * field replaces this estimate.
 */
static void join_fields(QuantizerMetadataContext *s, CodedFrame *frame)
{
    if (frame->split_fields)
        s->gop = s->gop_before_field;
    s->gop_before_field = s->gop;
    s->field            = (CodedFrame){ 0 };
    if (frame->fields == 1 || frame->fields == 2) {
        s->field = *frame;
        s->field.split_fields = 1;
        frame->bytes       *= 2;
        frame->step_sum    *= 2;
        frame->step_sq_sum *= 2;
    }
}

static int quantizer_metadata_filter(AVBSFContext *bsf, AVPacket *pkt)
{
    QuantizerMetadataContext *s = bsf->priv_data;
    CodedFrame frame = { .hidden = 1 };
    double loss = NAN;
    int ret;

    ret = ff_bsf_get_packet_ref(bsf, pkt);
    if (ret == AVERROR_EOF)
        return flush_stats(bsf);
    if (ret < 0 || !pkt->size)
        return ret;

    if (s->codec)
        read_packet(bsf, pkt, &frame);
    if (!frame.no_picture)
        join_fields(s, &frame);
    if (frame.bytes && frame.width > 0 && frame.height > 0) {
        const GOPStats gop = gop_add_frame(s->gop, &frame);

        loss = estimate_loss(s, &gop, &frame);
        ret  = attach_strings(pkt, &frame, &gop, avcodec_get_name(s->codec->id), loss);
        // hidden frames of AV1 and VP9 count when they are shown, so that the sums cover the frames
        // which a decoder outputs
        if (!frame.hidden)
            s->gop = gop;
    }
    if (ret < 0)
        av_packet_unref(pkt);
    else if (!frame.no_picture && !frame.split_fields && !(frame.bytes && frame.hidden) &&
             !(pkt->flags & AV_PKT_FLAG_DISCARD))
        report(bsf, pkt, loss);
    return ret;
}

static av_cold int quantizer_metadata_init(AVBSFContext *bsf)
{
    QuantizerMetadataContext *s = bsf->priv_data;
    const AVCodecParameters *par = bsf->par_in;
    int ret;

    if (par->codec_type != AVMEDIA_TYPE_VIDEO)
        return 0;
    if (s->stats_file && (ret = open_stats(bsf)) < 0)
        return ret;
    for (int i = 0; i < FF_ARRAY_ELEMS(codecs); i++)
        if (codecs[i].id == par->codec_id)
            s->codec = &codecs[i];
    if (!s->codec) {
        av_log(bsf, AV_LOG_WARNING, "Quantizers of %s cannot be read; passing packets through "
               "unchanged.\n", avcodec_get_name(par->codec_id));
        return 0;
    }
    if (s->stats && !s->codec->loss_coeffs)
        av_log(bsf, AV_LOG_WARNING, "Cannot estimate the loss for %s: it has no model. Its frames "
               "get all other keys.\n", avcodec_get_name(par->codec_id));
    s->container_height = par->height;
    // errors of CBS are for debugging only: the decoder reports broken streams
    s->log_level_offset = AV_LOG_DEBUG - AV_LOG_ERROR;
    ret = ff_cbs_init(&s->cbc, s->codec->cbs_id, s);
    if (ret < 0)
        return ret;
    s->cbc->decompose_unit_types    = s->codec->unit;
    s->cbc->nb_decompose_unit_types = s->codec->nb_units;
    read_extradata(bsf, NULL);
    return 0;
}

static av_cold void quantizer_metadata_close(AVBSFContext *bsf)
{
    QuantizerMetadataContext *s = bsf->priv_data;
    char shown[32] = "the coded height";

    if (s->shown_height)
        snprintf(shown, sizeof(shown), "%d lines", s->shown_height);
    if (s->stats_file && s->nb_frames && bsf->par_in->codec_type == AVMEDIA_TYPE_VIDEO)
        av_log(bsf, AV_LOG_INFO, "Headers-only estimate mean:%s frames:%"PRId64" unknown:%"PRId64
               " (0..100, lower is better, VMAF loss on a 2160p display, shown at %s)\n",
               FIXED(s->loss_sum / s->nb_with_loss), s->nb_frames,
               s->nb_frames - s->nb_with_loss, shown);
    flush_stats(bsf);
    close_stats(s);
    ff_cbs_fragment_free(&s->fragment);
    ff_cbs_close(&s->cbc);
}

#define OFFSET(x) offsetof(QuantizerMetadataContext, x)
#define FLAGS     (AV_OPT_FLAG_VIDEO_PARAM | AV_OPT_FLAG_BSF_PARAM)

static const AVOption quantizer_metadata_options[] = {
    { "stats_file", "write a line per frame to this file, - for stdout", OFFSET(stats_file),
      AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, FLAGS },
    { "shown_height", "set the display height in pixels (0 = coded height)", OFFSET(shown_height),
      AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 16384, FLAGS },
    { NULL }
};

static const AVClass quantizer_metadata_class = {
    .class_name              = "quantizer_metadata",
    .item_name               = av_default_item_name,
    .option                  = quantizer_metadata_options,
    .version                 = LIBAVUTIL_VERSION_INT,
    .log_level_offset_offset = OFFSET(log_level_offset),
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
