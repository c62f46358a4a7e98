# Tests of the video quality filters, what they do is in tests/quality.sh. All
# but fate-bliinds-yuv compare with numbers from outside (tests/oracle) or with
# what the documentation says: their references are not to be made with GEN=1.

# A test that NEEDs what this build lacks passes as skipped, see there.
QUALITY_LACKS = $(strip $(foreach C, BLIINDS_FILTER METADATA_FILTER NULL_MUXER WRAPPED_AVFRAME_ENCODER \
                                     FILE_PROTOCOL PIPE_PROTOCOL $(NEED),                              \
                                     $(if $(call CHKCFG,CONFIG_$(C)),,$(C))))
QUALITY_RUN   = . $(SRC_PATH)/tests/quality.sh; $(if $(QUALITY_LACKS),skip not built with $(QUALITY_LACKS),$(RUN))

QUALITY_PICTURE = IMAGE2_DEMUXER PGM_DECODER
QUALITY_RAW     = RAWVIDEO_DEMUXER RAWVIDEO_DECODER
QUALITY_SOURCE  = LAVFI_INDEV TESTSRC2_FILTER FORMAT_FILTER

# The 24 features of pictures, by the authors' release.
BLIINDS_ORACLE = rose_70x46 camera_crop_4x4 camera_crop_5x5 camera_crop_16x9 camera_crop_7x64       \
                 camera_crop_300x240 camera_jpegq10_512x512 chelsea_451x300 chessboard_200x200      \
                 flat0_64x64 flat128_64x64 ramp_h_128x96 stripes_v_128x96

FATE_BLIINDS_ORACLE = $(BLIINDS_ORACLE:%=fate-bliinds-oracle-%)
$(FATE_BLIINDS_ORACLE): NEED = $(QUALITY_PICTURE)
$(FATE_BLIINDS_ORACLE): RUN  = oracle $(@:fate-bliinds-oracle-%=%)
$(FATE_BLIINDS_ORACLE): CMP  = oneline
$(FATE_BLIINDS_ORACLE): REF  = 24 features agree

# More of them, and the scores by the published model, where they are at hand.
FATE_BLIINDS += fate-bliinds-oracle-all
fate-bliinds-oracle-all: NEED = $(QUALITY_PICTURE)
fate-bliinds-oracle-all: RUN  = oracle_all
fate-bliinds-oracle-all: CMP  = oneline
fate-bliinds-oracle-all: REF  = all features agree

FATE_BLIINDS += fate-bliinds-oracle-scores
fate-bliinds-oracle-scores: NEED = $(QUALITY_PICTURE)
fate-bliinds-oracle-scores: RUN  = oracle_scores
fate-bliinds-oracle-scores: CMP  = oneline
fate-bliinds-oracle-scores: REF  = all scores agree

# Shapes, level images and the statistics of each block.
FATE_BLIINDS += fate-bliinds-blocks
fate-bliinds-blocks: libavfilter/tests/bliinds$(EXESUF)
fate-bliinds-blocks: RUN = run libavfilter/tests/bliinds$(EXESUF) \
                           $(addprefix $(SRC_PATH)/tests/oracle/,rose_70x46.maps camera_crop_16x9.maps stripes_v_128x96.maps)

# A fixture, made with GEN=1, of all features; double precision (numpy) agrees with
# it to 5e-7, that is with the band energies and phases, too.
FATE_BLIINDS += fate-bliinds-yuv
fate-bliinds-yuv: NEED = $(QUALITY_SOURCE)
fate-bliinds-yuv: RUN  = cmp_metadata bliinds=features=1 yuv420p 0.000001

FATE_BLIINDS += fate-bliinds-sizes
fate-bliinds-sizes: NEED = $(QUALITY_PICTURE) $(QUALITY_SOURCE) CROP_FILTER COLOR_FILTER
fate-bliinds-sizes: RUN  = sizes

FATE_BLIINDS += fate-bliinds-formats
fate-bliinds-formats: NEED = $(QUALITY_RAW) FORMAT_FILTER
fate-bliinds-formats: RUN  = formats

FATE_BLIINDS += fate-bliinds-ranges
fate-bliinds-ranges: NEED = $(QUALITY_RAW) SETRANGE_FILTER
fate-bliinds-ranges: RUN  = ranges

FATE_BLIINDS += fate-bliinds-letterbox
fate-bliinds-letterbox: NEED = $(QUALITY_RAW)
fate-bliinds-letterbox: RUN  = letterbox

FATE_BLIINDS += fate-bliinds-valid
fate-bliinds-valid: NEED = $(QUALITY_RAW) $(QUALITY_PICTURE) $(QUALITY_SOURCE) COLOR_FILTER CROP_FILTER
fate-bliinds-valid: RUN  = validity

FATE_BLIINDS += fate-bliinds-threads
fate-bliinds-threads: NEED = $(QUALITY_SOURCE)
fate-bliinds-threads: RUN  = threads

FATE_BLIINDS += fate-bliinds-which-frames
fate-bliinds-which-frames: NEED = $(QUALITY_SOURCE)
fate-bliinds-which-frames: RUN  = which_frames

FATE_BLIINDS += fate-bliinds-passthrough
fate-bliinds-passthrough: NEED = $(QUALITY_SOURCE) SCALE_FILTER SETPTS_FILTER RAWVIDEO_ENCODER FRAMEMD5_MUXER
fate-bliinds-passthrough: RUN  = passthrough

FATE_BLIINDS += fate-bliinds-resize
fate-bliinds-resize: NEED = $(QUALITY_PICTURE) SCALE_FILTER
fate-bliinds-resize: RUN  = resize

FATE_BLIINDS += fate-bliinds-consumers
fate-bliinds-consumers: NEED = $(QUALITY_PICTURE) $(QUALITY_RAW) LAVFI_INDEV MOVIE_FILTER DRAWGRAPH_FILTER \
                               RAWVIDEO_ENCODER FRAMEMD5_MUXER FFPROBE
fate-bliinds-consumers: RUN  = consumers
ifdef CONFIG_FFPROBE
fate-bliinds-consumers: ffprobe$(PROGSSUF)$(EXESUF)
endif

FATE_BLIINDS += fate-bliinds-models
fate-bliinds-models: NEED = $(QUALITY_PICTURE)
fate-bliinds-models: RUN  = models

FATE_BLIINDS += fate-bliinds-model-errors
fate-bliinds-model-errors: NEED = $(QUALITY_PICTURE)
fate-bliinds-model-errors: RUN  = model_errors

FATE_BLIINDS += fate-bliinds-log-json
fate-bliinds-log-json: NEED = $(QUALITY_SOURCE) DRAWBOX_FILTER
fate-bliinds-log-json: RUN  = log_json

FATE_BLIINDS += fate-bliinds-log-forms
fate-bliinds-log-forms: NEED = $(QUALITY_SOURCE) DRAWBOX_FILTER SPLIT_FILTER
fate-bliinds-log-forms: RUN  = log_forms

FATE_BLIINDS += fate-bliinds-log-xml
fate-bliinds-log-xml: NEED = $(QUALITY_SOURCE) DRAWBOX_FILTER
fate-bliinds-log-xml: RUN  = log_xml

FATE_BLIINDS += fate-bliinds-log-stdout
fate-bliinds-log-stdout: NEED = $(QUALITY_PICTURE)
fate-bliinds-log-stdout: RUN  = log_stdout

FATE_BLIINDS += fate-bliinds-log-end
fate-bliinds-log-end: NEED = $(QUALITY_SOURCE) TRIM_FILTER
fate-bliinds-log-end: RUN  = log_end

FATE_BLIINDS += fate-bliinds-log-errors
fate-bliinds-log-errors: NEED = $(QUALITY_SOURCE)
fate-bliinds-log-errors: RUN  = log_errors

FATE_BLIINDS += fate-bliinds-summary
fate-bliinds-summary: NEED = $(QUALITY_SOURCE) TRIM_FILTER DRAWBOX_FILTER
fate-bliinds-summary: RUN  = summary

FATE_BLIINDS += fate-bliinds-memory
fate-bliinds-memory: NEED = $(QUALITY_PICTURE) $(QUALITY_RAW)
fate-bliinds-memory: RUN  = memory

FATE_BLIINDS_SEI = fate-bliinds-sei-h264 fate-bliinds-sei-hevc
$(FATE_BLIINDS_SEI): NEED = $(QUALITY_SOURCE) DRAWBOX_FILTER SHOWINFO_FILTER $(CODEC)
fate-bliinds-sei-h264: CODEC = LIBX264_ENCODER H264_MUXER H264_DEMUXER H264_PARSER H264_DECODER
fate-bliinds-sei-h264: RUN   = sei libx264 h264 "-preset ultrafast -bf 2"
fate-bliinds-sei-hevc: CODEC = LIBX265_ENCODER HEVC_MUXER HEVC_DEMUXER HEVC_PARSER HEVC_DECODER
fate-bliinds-sei-hevc: RUN   = sei libx265 hevc "-preset ultrafast"

FATE_BLIINDS += $(FATE_BLIINDS_ORACLE) $(FATE_BLIINDS_SEI)
$(FATE_BLIINDS): CMD = $(QUALITY_RUN)
$(FATE_BLIINDS): ffmpeg$(PROGSSUF)$(EXESUF)

FATE_QUALITY-$(call ALLYES, BLIINDS_FILTER FFMPEG) += $(FATE_BLIINDS)
FATE_QUALITY-$(CONFIG_BLIINDS_FILTER) += $(filter fate-checkasm-vf_bliinds,$(FATE_CHECKASM))

FATE += $(filter-out $(FATE_CHECKASM),$(FATE_QUALITY-yes))
fate-quality: $(FATE_QUALITY-yes)
