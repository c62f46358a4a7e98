# The tools around the filters.

# By pytest, of tests/tools.
FATE_PYTEST = $(addprefix fate-tools-,common compare docs farm ffcrf gate logs recipes report)
$(FATE_PYTEST): RUN = tools_test $(LAST)
$(FATE_PYTEST): CMP = oneline
$(FATE_PYTEST): REF = all tests pass
fate-tools-farm: NEED = QUANTIZER_METADATA_BSF

FATE_SCORE_TOOLS = fate-report-install $(addprefix fate-tools-,common compare docs ffcrf gate logs recipes report)
$(FATE_SCORE_TOOLS): NEED = LIBX264_ENCODER MP2_ENCODER PNG_ENCODER
# or else it would build what others are building
fate-report-install: all

fate-tools-report: NEED += XPSNR_FILTER
fate-tools-compare fate-tools-docs fate-tools-recipes: NEED += MAD_FILTER VMAF_FILTER XPSNR_FILTER BLEND_FILTER QUANTIZER_METADATA_BSF
# the README's live stream, and other sources
fate-tools-docs: NEED += UDP_PROTOCOL HTTP_PROTOCOL FD_PROTOCOL MPEGTS_DEMUXER HLS_DEMUXER HLS_MUXER FFPROBE
fate-tools-recipes: NEED += UDP_PROTOCOL MPEGTS_DEMUXER FFPROBE LIBX265_ENCODER HEVC_DECODER PRORES_KS_ENCODER AAC_ENCODER NOISE_FILTER
fate-tools-docs fate-tools-recipes: $(FFCRF)

FATE_QUALITY-$(call WITH_ALL, BLIINDS_FILTER FFMPEG) += $(sort $(FATE_PYTEST) $(FATE_SCORE_TOOLS))
