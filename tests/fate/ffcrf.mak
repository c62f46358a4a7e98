# The search for a CRF: its choice of CRFs, and tests/ffcrf.sh.

fate-ffcrf-choice: tools/crf/tests/search$(EXESUF)
fate-ffcrf-choice: RUN = run tools/crf/tests/search$(EXESUF)
fate-ffcrf-choice: CMP = oneline
fate-ffcrf-choice: REF = all end at the best CRF

FATE_FFCRF_SEARCH = $(addprefix fate-ffcrf-,libx265 search svtav1)
$(FATE_FFCRF_SEARCH): RUN = crf_search $(CODEC)
fate-ffcrf-search:  CODEC = "-c:v libx264 -preset veryfast"
fate-ffcrf-libx265: CODEC = "-c:v libx265 -preset ultrafast"
fate-ffcrf-svtav1:  CODEC = "-c:v libsvtav1 -preset 10" 2 8
FATE_FFCRF_RUN = $(addprefix fate-ffcrf-,abav1 alone audio cache change completion damage disk docs encode encoders hwaccel json leaks \
                                         memory metrics part predict reference resume samples status step told vfr vmaf xpsnr)
$(FATE_FFCRF_RUN): RUN = crf_$(LAST)
FATE_FFCRF = $(FATE_FFCRF_SEARCH) $(FATE_FFCRF_RUN)

fate-ffcrf-libx265: NEED_ALSO = LIBX265_ENCODER HEVC_DECODER
fate-ffcrf-svtav1:  NEED_ALSO = LIBSVTAV1_ENCODER LIBDAV1D_DECODER
fate-ffcrf-abav1:   NEED_ALSO = LIBSVTAV1_ENCODER LIBAOM_AV1_ENCODER LIBDAV1D_DECODER
fate-ffcrf-docs:    NEED_ALSO = LIBX265_ENCODER HEVC_DECODER LIBSVTAV1_ENCODER LIBDAV1D_DECODER
fate-ffcrf-vmaf:    NEED_ALSO = LIBVMAF_FILTER
$(FATE_FFCRF): NEED = LIBX264_ENCODER MOVTEXT_ENCODER SRT_DEMUXER SUBRIP_DECODER MAD_FILTER FFPROBE $(NEED_ALSO)
$(FATE_FFCRF): FROM = ffcrf
$(FATE_FFCRF): ON   = need jq &&
$(FATE_FFCRF): $(FFCRF)

FATE_QUALITY-$(CONFIG_BLIINDS_FILTER)          += fate-ffcrf-choice
FATE_QUALITY-$(if $(FFCRF),$(CONFIG_FFMPEG)) += $(FATE_FFCRF)
