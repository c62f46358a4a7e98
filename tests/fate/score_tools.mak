# The tools around the filters.

# By pytest, of tests/tools.
FATE_PYTEST = fate-tools-farm fate-tools-pool
$(FATE_PYTEST): RUN = tools_test $(LAST)
$(FATE_PYTEST): CMP = oneline
$(FATE_PYTEST): REF = all tests pass
fate-tools-pool: libavfilter/tests/score_pool$(EXESUF)
fate-tools-farm: NEED = FFPROBE $(NEED_SOURCE) NULL_FILTER SELECT_FILTER SETPTS_FILTER SETTB_FILTER SINE_FILTER TRIM_FILTER \
                        PCM_S16LE_ENCODER MP2_ENCODER FFV1_ENCODER FFV1_DECODER MJPEG_ENCODER MJPEG_DECODER        \
                        MPEG2VIDEO_ENCODER MPEG2VIDEO_DECODER MPEG4_ENCODER MPEG4_DECODER MPEGVIDEO_PARSER         \
                        MPEG4VIDEO_PARSER AVI_MUXER AVI_DEMUXER MATROSKA_MUXER MATROSKA_DEMUXER MOV_DEMUXER        \
                        MP4_MUXER MPEG2VOB_MUXER MPEGPS_DEMUXER MPEGTS_MUXER MPEGTS_DEMUXER QUANTIZER_METADATA_BSF

# quality-report and quality-gate: pages and alarms of logs, of which most are made up. The
# references say what the documentation does, and the numbers of pages are those that the filter
# pools. Those with examples run what the documentation prints.
FATE_SCORE_TOOLS = fate-quality-logs $(addprefix fate-gate-,alarms errors examples live prometheus) \
                   $(addprefix fate-report-,basis errors examples film install logs names readme search video worst)
$(FATE_SCORE_TOOLS): NEED = $(NEED_SOURCE) AVGBLUR_FILTER DRAWBOX_FILTER NOISE_FILTER NULL_FILTER SCALE_FILTER SELECT_FILTER \
                            SETPTS_FILTER SETTB_FILTER SHOWINFO_FILTER SIGNALSTATS_FILTER SINE_FILTER SSIM_FILTER           \
                            TRIM_FILTER LIBX264_ENCODER H264_DECODER MJPEG_ENCODER MJPEG_DECODER MP2_ENCODER MPEG4_ENCODER  \
                            MPEG4_DECODER PNG_ENCODER AVI_MUXER AVI_DEMUXER FRAMECRC_MUXER IMAGE2_MUXER IMAGE2PIPE_MUXER    \
                            MATROSKA_MUXER MOV_DEMUXER MP4_MUXER MPEGTS_MUXER MPEGTS_DEMUXER FFPROBE
# or else it would build what others are building
fate-report-install: all

# Encodes against their source: tests/compare.sh.
FATE_COMPARE = $(addprefix fate-compare-,errors names offsets page values)
$(FATE_COMPARE): NEED = $(NEED_SOURCE) $(NEED_RAW) SSIM_FILTER PSNR_FILTER XPSNR_FILTER MAD_FILTER SCALE_FILTER SHOWINFO_FILTER \
                        SPLIT_FILTER TRIM_FILTER SETPTS_FILTER FPS_FILTER FRAMESTEP_FILTER LOOP_FILTER MANDELBROT_FILTER        \
                        DRAWBOX_FILTER SINE_FILTER LIBX264_ENCODER H264_DECODER FFV1_ENCODER FFV1_DECODER MJPEG_ENCODER         \
                        MJPEG_DECODER PCM_S16LE_ENCODER RAWVIDEO_ENCODER RAWVIDEO_MUXER MATROSKA_MUXER MATROSKA_DEMUXER         \
                        MP4_MUXER MOV_DEMUXER MPEGTS_MUXER MPEGTS_DEMUXER IMAGE2PIPE_MUXER QUANTIZER_METADATA_BSF FFPROBE
$(FATE_COMPARE): FROM = compare

FATE_QUALITY-$(call ALLYES, BLIINDS_FILTER FFMPEG) += $(FATE_PYTEST) $(FATE_SCORE_TOOLS) $(FATE_COMPARE)
