# The search for a CRF, by tests/ffcrf.sh.

FATE_FFCRF_SEARCH = $(addprefix fate-ffcrf-,libx265 search svtav1)
$(FATE_FFCRF_SEARCH): RUN = crf_search $(CODEC)
fate-ffcrf-search:  CODEC = "-c:v libx264 -preset veryfast"
fate-ffcrf-libx265: CODEC = "-c:v libx265 -preset ultrafast"
fate-ffcrf-svtav1:  CODEC = "-c:v libsvtav1 -preset 10" 8
FATE_FFCRF_RUN = $(addprefix fate-ffcrf-,abav1 cache damage docs encoders json meter metrics options \
                                         output pairs refusals resume samples streams)
$(FATE_FFCRF_RUN): RUN = crf_$(LAST)
FATE_FFCRF = $(FATE_FFCRF_SEARCH) $(FATE_FFCRF_RUN)

FFCRF_X265   = LIBX265_ENCODER HEVC_DECODER
FFCRF_SVTAV1 = LIBSVTAV1_ENCODER LIBDAV1D_DECODER
fate-ffcrf-libx265 fate-ffcrf-abav1 fate-ffcrf-docs fate-ffcrf-output fate-ffcrf-refusals: NEED_ALSO += $(FFCRF_X265)
fate-ffcrf-svtav1 fate-ffcrf-abav1 fate-ffcrf-docs fate-ffcrf-refusals: NEED_ALSO += $(FFCRF_SVTAV1)
fate-ffcrf-metrics: NEED_ALSO = XPSNR_FILTER
fate-ffcrf-streams: NEED_ALSO = MOVTEXT_ENCODER SRT_DEMUXER SUBRIP_DECODER
$(FATE_FFCRF): NEED = LIBX264_ENCODER VMAF_FILTER MAD_FILTER FFPROBE $(NEED_ALSO)
$(FATE_FFCRF): FROM = ffcrf
$(FATE_FFCRF): ON   = need jq &&
$(FATE_FFCRF): $(FFCRF)

FATE_QUALITY-$(if $(FFCRF),$(CONFIG_FFMPEG)) += $(FATE_FFCRF)
