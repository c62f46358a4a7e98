# What frames were coded with: tests/quantizer.sh.

FATE_QUANTIZER = $(addprefix fate-quantizer-,av1 groups h264 hevc loss mjpeg mpeg pass strings vp9)
fate-quantizer-av1:  NEED_ALSO = LIBSVTAV1_ENCODER LIBDAV1D_DECODER AV1_FRAME_SPLIT_BSF IVF_MUXER IVF_DEMUXER
fate-quantizer-groups: NEED_ALSO = LIBX264_ENCODER BLIINDS_FILTER
fate-quantizer-h264: NEED_ALSO = LIBX264_ENCODER
fate-quantizer-hevc: NEED_ALSO = LIBX265_ENCODER HEVC_DECODER HEVC_PARSER HEVC_MUXER HEVC_DEMUXER
fate-quantizer-vp9:  NEED_ALSO = LIBVPX_VP9_ENCODER VP9_DECODER VP9_SUPERFRAME_SPLIT_BSF
fate-quantizer-loss fate-quantizer-pass fate-quantizer-strings: NEED_ALSO = LIBX264_ENCODER LIBX265_ENCODER HEVC_DECODER HEVC_PARSER \
                                                    LIBSVTAV1_ENCODER LIBDAV1D_DECODER AV1_PARSER
fate-quantizer-strings: NEED_ALSO += BLIINDS_FILTER
$(FATE_QUANTIZER): NEED = QUANTIZER_METADATA_BSF $(NEED_ALSO)
$(FATE_QUANTIZER): FROM = quantizer

FATE_QUALITY-$(call WITH_ALL, QUANTIZER_METADATA_BSF FFMPEG) += $(FATE_QUANTIZER)
