# Tests of the video quality filters, what they do is in tests/quality.sh. All
# but fate-bliinds-yuv compare with numbers from outside (tests/oracle) or with
# what the documentation says: their references are not to be made with GEN=1.

include $(SRC_PATH)/tests/fuzz/fuzz.mak

# A test that NEEDs what this build lacks passes as skipped, see there: fate-quality counts
# these at its end.
QUALITY_LACKS = $(strip $(foreach C, BLIINDS_FILTER METADATA_FILTER NULL_MUXER WRAPPED_AVFRAME_ENCODER \
                                     FILE_PROTOCOL PIPE_PROTOCOL $(NEED),                              \
                                     $(if $(call CHKCFG,CONFIG_$(C)),,$(C))))
QUALITY_RUN   = . $(SRC_PATH)/tests/quality.sh; \
                $(if $(QUALITY_LACKS),skip not built with $(QUALITY_LACKS),$(ON) $(RUN))

QUALITY_PICTURE = IMAGE2_DEMUXER PGM_DECODER
QUALITY_RAW     = RAWVIDEO_DEMUXER RAWVIDEO_DECODER
QUALITY_SOURCE  = LAVFI_INDEV TESTSRC2_FILTER FORMAT_FILTER

# The 24 features of pictures, by the authors' release.
BLIINDS_ORACLE = rose_70x46 camera_crop_4x4 camera_crop_5x5 camera_crop_16x9 camera_crop_7x64       \
                 camera_crop_300x240 camera_jpegq10_512x512 chelsea_451x300 chessboard_200x200      \
                 flat0_64x64 flat128_64x64 ramp_h_128x96 stripes_v_128x96

FATE_BLIINDS_ORACLE      = $(BLIINDS_ORACLE:%=fate-bliinds-oracle-%)
FATE_BLIINDS_CUDA_ORACLE = $(BLIINDS_ORACLE:%=fate-bliinds-cuda-oracle-%)
$(FATE_BLIINDS_ORACLE) $(FATE_BLIINDS_CUDA_ORACLE): NEED = $(QUALITY_PICTURE)
$(FATE_BLIINDS_ORACLE) $(FATE_BLIINDS_CUDA_ORACLE): RUN  = oracle $(lastword $(subst oracle-, ,$@))
$(FATE_BLIINDS_ORACLE) $(FATE_BLIINDS_CUDA_ORACLE): CMP  = oneline
$(FATE_BLIINDS_ORACLE) $(FATE_BLIINDS_CUDA_ORACLE): REF  = 24 features agree

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

# The choice of the worst blocks, of made-up statistics, against a sort.
fate-bliinds-pool: libavfilter/tests/bliinds_pool$(EXESUF)
fate-bliinds-pool: RUN = run libavfilter/tests/bliinds_pool$(EXESUF)
fate-bliinds-cuda-pool: libavfilter/tests/bliinds_pool_cuda$(EXESUF)
fate-bliinds-cuda-pool: RUN = run libavfilter/tests/bliinds_pool_cuda$(EXESUF)
fate-bliinds-pool fate-bliinds-cuda-pool: CMP = oneline
fate-bliinds-pool fate-bliinds-cuda-pool: REF = all as by a sort
FATE_BLIINDS      += fate-bliinds-pool
FATE_BLIINDS_CUDA += fate-bliinds-cuda-pool

# A fixture, made with GEN=1, of all features; double precision (numpy) agrees with
# it to 5e-7, that is with the band energies and phases, too.
FATE_BLIINDS += fate-bliinds-yuv
fate-bliinds-yuv: NEED = $(QUALITY_SOURCE)
fate-bliinds-yuv: RUN  = cmp_metadata bliinds=features=1 yuv420p 0.000001

FATE_BLIINDS += fate-bliinds-sizes
fate-bliinds-sizes fate-bliinds-cuda-sizes: NEED = $(QUALITY_PICTURE) $(QUALITY_SOURCE) CROP_FILTER COLOR_FILTER
fate-bliinds-sizes fate-bliinds-cuda-sizes: RUN  = sizes

FATE_BLIINDS += fate-bliinds-formats
fate-bliinds-formats: NEED = $(QUALITY_RAW) FORMAT_FILTER
fate-bliinds-formats: RUN  = formats

FATE_BLIINDS += fate-bliinds-ranges
fate-bliinds-ranges: NEED = $(QUALITY_RAW) SETRANGE_FILTER
fate-bliinds-ranges: RUN  = ranges

FATE_BLIINDS += fate-bliinds-letterbox
fate-bliinds-letterbox fate-bliinds-cuda-letterbox: NEED = $(QUALITY_RAW)
fate-bliinds-letterbox fate-bliinds-cuda-letterbox: RUN  = letterbox

FATE_BLIINDS += fate-bliinds-valid
fate-bliinds-valid fate-bliinds-cuda-valid: NEED = $(QUALITY_RAW) $(QUALITY_PICTURE) $(QUALITY_SOURCE) COLOR_FILTER CROP_FILTER
fate-bliinds-valid fate-bliinds-cuda-valid: RUN  = validity

FATE_BLIINDS += fate-bliinds-threads
fate-bliinds-threads: NEED = $(QUALITY_SOURCE)
fate-bliinds-threads: RUN  = threads

FATE_BLIINDS += fate-bliinds-which-frames
fate-bliinds-which-frames fate-bliinds-cuda-which-frames: NEED = $(QUALITY_SOURCE)
fate-bliinds-which-frames fate-bliinds-cuda-which-frames: RUN  = which_frames

FATE_BLIINDS += fate-bliinds-passthrough
fate-bliinds-passthrough: NEED = $(QUALITY_SOURCE) SCALE_FILTER SETPTS_FILTER RAWVIDEO_ENCODER FRAMEMD5_MUXER
fate-bliinds-passthrough: RUN  = passthrough

FATE_BLIINDS += fate-bliinds-resize
fate-bliinds-resize: NEED = $(QUALITY_PICTURE) SCALE_FILTER
fate-bliinds-resize: RUN  = resize

FATE_BLIINDS += fate-bliinds-rebuild
fate-bliinds-rebuild: NEED = $(QUALITY_SOURCE) PGM_ENCODER PGM_DECODER IMAGE2_MUXER IMAGE2_DEMUXER FRAMECRC_MUXER \
                             FPS_FILTER LOOP_FILTER NULL_FILTER REVERSE_FILTER YADIF_FILTER
fate-bliinds-rebuild: RUN  = rebuild

FATE_BLIINDS += fate-bliinds-consumers
fate-bliinds-consumers: NEED = $(QUALITY_PICTURE) $(QUALITY_RAW) LAVFI_INDEV MOVIE_FILTER DRAWGRAPH_FILTER \
                               RAWVIDEO_ENCODER FRAMEMD5_MUXER FFPROBE
fate-bliinds-consumers: RUN  = consumers
ifdef CONFIG_FFPROBE
fate-bliinds-consumers: ffprobe$(PROGSSUF)$(EXESUF)
endif

FATE_BLIINDS += fate-bliinds-models
fate-bliinds-models fate-bliinds-cuda-models: NEED = $(QUALITY_PICTURE)
fate-bliinds-models fate-bliinds-cuda-models: RUN  = models

FATE_BLIINDS += fate-bliinds-basis
fate-bliinds-basis fate-bliinds-cuda-basis: NEED = $(QUALITY_PICTURE) LOOP_FILTER
fate-bliinds-basis fate-bliinds-cuda-basis: RUN  = basis

FATE_BLIINDS += fate-bliinds-basis-outside
fate-bliinds-basis-outside: NEED = $(QUALITY_PICTURE) LOOP_FILTER
fate-bliinds-basis-outside: RUN  = basis_outside

FATE_BLIINDS += fate-bliinds-model-errors
fate-bliinds-model-errors: NEED = $(QUALITY_PICTURE)
fate-bliinds-model-errors: RUN  = model_errors

FATE_BLIINDS += fate-bliinds-default-model
fate-bliinds-default-model fate-bliinds-cuda-default-model: NEED = $(QUALITY_PICTURE)
fate-bliinds-default-model fate-bliinds-cuda-default-model: RUN  = default_model

FATE_BLIINDS += fate-bliinds-log-json
fate-bliinds-log-json fate-bliinds-cuda-log-json: NEED = $(QUALITY_SOURCE) DRAWBOX_FILTER
fate-bliinds-log-json fate-bliinds-cuda-log-json: RUN  = log_json

FATE_BLIINDS += fate-bliinds-log-forms
fate-bliinds-log-forms fate-bliinds-cuda-log-forms: NEED = $(QUALITY_SOURCE) DRAWBOX_FILTER SPLIT_FILTER
fate-bliinds-log-forms fate-bliinds-cuda-log-forms: RUN  = log_forms

FATE_BLIINDS += fate-bliinds-log-xml
fate-bliinds-log-xml fate-bliinds-cuda-log-xml: NEED = $(QUALITY_SOURCE) DRAWBOX_FILTER
fate-bliinds-log-xml fate-bliinds-cuda-log-xml: RUN  = log_xml

FATE_BLIINDS += fate-bliinds-log-stdout
fate-bliinds-log-stdout fate-bliinds-cuda-log-stdout: NEED = $(QUALITY_PICTURE)
fate-bliinds-log-stdout fate-bliinds-cuda-log-stdout: RUN  = log_stdout

FATE_BLIINDS += fate-bliinds-log-end
fate-bliinds-log-end fate-bliinds-cuda-log-end: NEED = $(QUALITY_SOURCE) TRIM_FILTER
fate-bliinds-log-end fate-bliinds-cuda-log-end: RUN  = log_end

FATE_BLIINDS += fate-bliinds-log-rebuild
fate-bliinds-log-rebuild fate-bliinds-cuda-log-rebuild: NEED = $(QUALITY_PICTURE) SETPTS_FILTER
fate-bliinds-log-rebuild fate-bliinds-cuda-log-rebuild: RUN  = log_rebuild

FATE_BLIINDS += fate-bliinds-log-writers
fate-bliinds-log-writers fate-bliinds-cuda-log-writers: NEED = $(QUALITY_SOURCE) SPLIT_FILTER
fate-bliinds-log-writers fate-bliinds-cuda-log-writers: RUN  = log_writers

FATE_BLIINDS += fate-bliinds-log-hosts fate-bliinds-log-locale
fate-bliinds-log-hosts fate-bliinds-log-locale: libavfilter/tests/score_log$(EXESUF)
fate-bliinds-log-hosts:  RUN = log_hosts
fate-bliinds-log-locale: RUN = log_locale

FATE_BLIINDS += fate-bliinds-log-memory
fate-bliinds-log-memory: NEED = $(QUALITY_SOURCE)
fate-bliinds-log-memory: RUN  = log_memory
fate-bliinds-log-memory: CMP  = oneline
fate-bliinds-log-memory: REF  = the same

FATE_BLIINDS += fate-bliinds-log-pool
fate-bliinds-log-pool: libavfilter/tests/score_pool$(EXESUF)
fate-bliinds-log-pool: RUN = run libavfilter/tests/score_pool$(EXESUF)
fate-bliinds-log-pool: CMP = oneline
fate-bliinds-log-pool: REF = 576 rows of values

FATE_BLIINDS += fate-bliinds-log-x87
fate-bliinds-log-x87: RUN = log_x87

FATE_BLIINDS += fate-bliinds-log-errors
fate-bliinds-log-errors fate-bliinds-cuda-log-errors: NEED = $(QUALITY_SOURCE)
fate-bliinds-log-errors fate-bliinds-cuda-log-errors: RUN  = log_errors

FATE_BLIINDS += fate-bliinds-summary
fate-bliinds-summary fate-bliinds-cuda-summary: NEED = $(QUALITY_SOURCE) TRIM_FILTER DRAWBOX_FILTER AVGBLUR_FILTER
fate-bliinds-summary fate-bliinds-cuda-summary: RUN  = summary

# The reduced-reference loss: rr_write and rr_read.
FATE_BLIINDS_RR = $(addprefix fate-bliinds-rr-,energies known round blur match other json cut errors live flush)
FATE_BLIINDS_CUDA_RR = $(filter-out %-flush,$(FATE_BLIINDS_RR:fate-bliinds-%=fate-bliinds-cuda-%))
$(FATE_BLIINDS_RR) $(FATE_BLIINDS_CUDA_RR): NEED = $(QUALITY_PICTURE) $(QUALITY_RAW) $(QUALITY_SOURCE) $(RR_NEED)
fate-bliinds-rr-round fate-bliinds-cuda-rr-round: RR_NEED = SCALE_FILTER
fate-bliinds-rr-blur fate-bliinds-cuda-rr-blur: RR_NEED = GBLUR_FILTER
fate-bliinds-rr-match fate-bliinds-cuda-rr-match: RR_NEED = TRIM_FILTER SETTB_FILTER SETPTS_FILTER SELECT_FILTER FPS_FILTER FRAMESTEP_FILTER
fate-bliinds-rr-other fate-bliinds-cuda-rr-other: RR_NEED = PNG_DECODER CROP_FILTER GBLUR_FILTER LUT_FILTER NULL_FILTER SCALE_FILTER
fate-bliinds-rr-errors fate-bliinds-cuda-rr-errors: RR_NEED = LOOP_FILTER SCALE_FILTER
fate-bliinds-rr-live fate-bliinds-cuda-rr-live: RR_NEED = RAWVIDEO_ENCODER RAWVIDEO_DECODER
$(FATE_BLIINDS_RR) $(FATE_BLIINDS_CUDA_RR): RUN = rr_$(lastword $(subst -, ,$@))

FATE_BLIINDS += fate-bliinds-memory
fate-bliinds-memory: NEED = $(QUALITY_PICTURE) $(QUALITY_RAW)
fate-bliinds-memory: RUN  = memory

FATE_BLIINDS_SEI      = $(addprefix fate-bliinds-,sei-h264 sei-hevc)
FATE_BLIINDS_CUDA_SEI = $(addprefix fate-bliinds-cuda-,sei-h264 sei-hevc)
$(FATE_BLIINDS_SEI) $(FATE_BLIINDS_CUDA_SEI): NEED = $(QUALITY_SOURCE) DRAWBOX_FILTER SHOWINFO_FILTER $(CODEC)
fate-bliinds-sei-h264 fate-bliinds-cuda-sei-h264: CODEC = LIBX264_ENCODER H264_MUXER H264_DEMUXER H264_PARSER H264_DECODER
fate-bliinds-sei-h264 fate-bliinds-cuda-sei-h264: RUN   = sei libx264 h264 "-preset ultrafast -bf 2"
fate-bliinds-sei-hevc fate-bliinds-cuda-sei-hevc: CODEC = LIBX265_ENCODER HEVC_MUXER HEVC_DEMUXER HEVC_PARSER HEVC_DECODER
fate-bliinds-sei-hevc fate-bliinds-cuda-sei-hevc: RUN   = sei libx265 hevc "-preset ultrafast"

FATE_BLIINDS += $(FATE_BLIINDS_ORACLE) $(FATE_BLIINDS_RR) $(FATE_BLIINDS_SEI)
$(FATE_BLIINDS): CMD = $(QUALITY_RUN)
$(FATE_BLIINDS): ffmpeg$(PROGSSUF)$(EXESUF)

# The GPU's filter on a GPU, see on_cuda. Its twins of the tests above have their
# references: the bits are to be the same.
FATE_BLIINDS_CUDA_TWINS = $(addprefix fate-bliinds-cuda-,                                              \
                          yuv sizes letterbox valid which-frames models basis default-model log-json         \
                          log-forms log-xml log-stdout log-end log-errors log-rebuild     \
                          log-writers summary)
$(FATE_BLIINDS_CUDA_TWINS) $(FATE_BLIINDS_CUDA_RR) $(FATE_BLIINDS_CUDA_SEI): \
    REF = $(SRC_PATH)/tests/ref/fate/$(@:fate-bliinds-cuda-%=bliinds-%)

fate-bliinds-cuda-yuv: NEED = $(QUALITY_SOURCE)
fate-bliinds-cuda-yuv: RUN  = cmp_metadata hwupload_cuda,bliinds_cuda=features=1 yuv420p 0.000001

FATE_BLIINDS_CUDA += fate-bliinds-cuda-formats
fate-bliinds-cuda-formats: NEED = $(QUALITY_RAW) HWUPLOAD_FILTER
fate-bliinds-cuda-formats: RUN  = cuda_formats

FATE_BLIINDS_CUDA += fate-bliinds-cuda-ranges
fate-bliinds-cuda-ranges: NEED = $(QUALITY_RAW) SETRANGE_FILTER HWUPLOAD_FILTER
fate-bliinds-cuda-ranges: RUN  = cuda_ranges

FATE_BLIINDS_CUDA += fate-bliinds-cuda-queue
fate-bliinds-cuda-queue: NEED = $(QUALITY_SOURCE)
fate-bliinds-cuda-queue: RUN  = cuda_queue

FATE_BLIINDS_CUDA += fate-bliinds-cuda-passthrough
fate-bliinds-cuda-passthrough: NEED = $(QUALITY_SOURCE) SETPTS_FILTER HWDOWNLOAD_FILTER RAWVIDEO_ENCODER FRAMEMD5_MUXER
fate-bliinds-cuda-passthrough: RUN  = cuda_passthrough

FATE_BLIINDS_CUDA += fate-bliinds-cuda-instances
fate-bliinds-cuda-instances: NEED = $(QUALITY_SOURCE) SPLIT_FILTER HWDOWNLOAD_FILTER
fate-bliinds-cuda-instances: RUN  = cuda_instances

FATE_BLIINDS_CUDA += fate-bliinds-cuda-api
fate-bliinds-cuda-api: libavfilter/tests/bliinds_cuda$(EXESUF)
fate-bliinds-cuda-api: RUN = run libavfilter/tests/bliinds_cuda$(EXESUF)
fate-bliinds-cuda-api: CMP = oneline
fate-bliinds-cuda-api: REF = the same scores

FATE_BLIINDS_CUDA += fate-bliinds-cuda-end
fate-bliinds-cuda-end: NEED = $(QUALITY_SOURCE) TRIM_FILTER
fate-bliinds-cuda-end: RUN  = cuda_end

FATE_BLIINDS_CUDA += fate-bliinds-cuda-resize
fate-bliinds-cuda-resize: NEED = $(QUALITY_PICTURE)
fate-bliinds-cuda-resize: RUN  = cuda_resize

FATE_BLIINDS_CUDA += fate-bliinds-cuda-errors
fate-bliinds-cuda-errors: NEED = $(QUALITY_SOURCE)
fate-bliinds-cuda-errors: RUN  = cuda_errors

FATE_BLIINDS_CUDA += $(FATE_BLIINDS_CUDA_TWINS) $(FATE_BLIINDS_CUDA_ORACLE) $(FATE_BLIINDS_CUDA_RR) $(FATE_BLIINDS_CUDA_SEI)
$(FATE_BLIINDS_CUDA): NEED += BLIINDS_CUDA_FILTER HWUPLOAD_CUDA_FILTER SCALE_FILTER FORMAT_FILTER
$(FATE_BLIINDS_CUDA): ON   = on_cuda
$(FATE_BLIINDS_CUDA): CMD  = $(QUALITY_RUN)
$(FATE_BLIINDS_CUDA): ffmpeg$(PROGSSUF)$(EXESUF)

# What can be told of it without a GPU.
FATE_BLIINDS_CUDA_BUILD += fate-bliinds-cuda-options
fate-bliinds-cuda-options: RUN = cuda_options

FATE_BLIINDS_CUDA_PTX = $(addprefix fate-bliinds-cuda-ptx-,clang-14 clang-19 nvcc)
FATE_DEBLOCK_CUDA_PTX = $(addprefix fate-deblock-cuda-ptx-,clang-14 clang-19 nvcc)
FATE_DETAILLOSS_CUDA_PTX = $(addprefix fate-detailloss-cuda-ptx-,clang-14 clang-19 nvcc)
FATE_SSIM_CUDA_PTX    = $(addprefix fate-ssim-cuda-ptx-,clang-14 clang-19 nvcc)
FATE_MAD_CUDA_PTX     = $(addprefix fate-mad-cuda-ptx-,clang-14 clang-19 nvcc)
FATE_CUDA_PTX         = $(FATE_BLIINDS_CUDA_PTX) $(FATE_DEBLOCK_CUDA_PTX) $(FATE_DETAILLOSS_CUDA_PTX) $(FATE_MAD_CUDA_PTX) $(FATE_SSIM_CUDA_PTX)

# The filter and the compiler of a test's name.
PTX_TEST = $(subst -ptx-, ,$(@:fate-%=%))
PTX      = ptx $(subst -,_,$(firstword $(PTX_TEST))) $(lastword $(PTX_TEST))
$(FATE_CUDA_PTX): RUN = $(if $(CONFIG_CUDA_LLVM),$(PTX) $(NVCCFLAGS) $(QUALITY_CLANGFLAGS),skip built with nvcc)
$(filter %-nvcc,$(FATE_CUDA_PTX)): RUN = $(PTX) $(QUALITY_NVCCFLAGS)
$(FATE_CUDA_PTX): CMP = oneline
$(FATE_CUDA_PTX): REF = good PTX

FATE_BLIINDS_CUDA_BUILD += $(FATE_BLIINDS_CUDA_PTX)
$(FATE_BLIINDS_CUDA_BUILD): CMD = $(QUALITY_RUN)
$(FATE_BLIINDS_CUDA_BUILD): ffmpeg$(PROGSSUF)$(EXESUF)

# The farm: many files, and long ones in parts, against the filter by itself.
FATE_FARM = $(addprefix fate-quality-farm-,av1 basis damage docs failures gpu h264 hevc merge names resume slurm split vp9)
fate-quality-farm-av1:  CODEC = LIBSVTAV1_ENCODER LIBDAV1D_DECODER AV1_FRAME_SPLIT_BSF
fate-quality-farm-vp9:  CODEC = LIBVPX_VP9_ENCODER VP9_DECODER VP9_SUPERFRAME_SPLIT_BSF
fate-quality-farm-h264: CODEC = MP2_ENCODER LIBX264_ENCODER H264_DECODER H264_PARSER
fate-quality-farm-hevc: CODEC = LIBX265_ENCODER HEVC_DECODER HEVC_PARSER
FATE_FARM += fate-quality-run-script
$(FATE_FARM): RUN  = $(subst -,_,$(@:fate-quality-%=%))
$(FATE_FARM): NEED = FFPROBE $(QUALITY_SOURCE) NULL_FILTER SCALE_FILTER SELECT_FILTER SINE_FILTER TRIM_FILTER          \
                     PCM_S16LE_ENCODER PCM_S16LE_DECODER MPEGVIDEO_PARSER MPEG4VIDEO_PARSER                          \
                     FFV1_ENCODER FFV1_DECODER MJPEG_ENCODER MJPEG_DECODER MPEG2VIDEO_ENCODER MPEG2VIDEO_DECODER     \
                     MPEG4_ENCODER MPEG4_DECODER AVI_MUXER AVI_DEMUXER MATROSKA_MUXER MATROSKA_DEMUXER MOV_DEMUXER   \
                     QUANTIZER_METADATA_BSF MP4_MUXER MPEG2VOB_MUXER MPEGPS_DEMUXER MPEGTS_MUXER MPEGTS_DEMUXER $(CODEC)
$(FATE_FARM): CMD  = $(QUALITY_RUN)
$(FATE_FARM): ffmpeg$(PROGSSUF)$(EXESUF) tools/quality_merge$(EXESUF)
ifdef CONFIG_FFPROBE
$(FATE_FARM): ffprobe$(PROGSSUF)$(EXESUF)
endif

FATE_QUALITY-$(call ALLYES, BLIINDS_FILTER FFMPEG) += $(FATE_FARM)

# MAD. What it compares with is the authors' release, or double precision by numpy,
# or FFmpeg's ssim for how frames are brought together.
FATE_MAD_ORACLE = $(addprefix fate-mad-oracle-,camera_crop_300x240_blur camera_crop_300x240_jpeg15    \
                                               camera_crop_300x240_jpeg60 camera_crop_300x240_noise   \
                                               chelsea_451x300_blur)
$(FATE_MAD_ORACLE): RUN = mad_oracle $(lastword $(subst oracle-, ,$@))
$(FATE_MAD_ORACLE): CMP = oneline
$(FATE_MAD_ORACLE): REF = 3 values agree

# More of them, where they are at hand.
FATE_MAD += fate-mad-oracle-all
fate-mad-oracle-all: RUN = mad_oracle_all
fate-mad-oracle-all: CMP = oneline
fate-mad-oracle-all: REF = all values agree

FATE_MAD_RUN = $(addprefix fate-mad-,cases errors formats logs maps memory passthrough ranges sync threads)
$(FATE_MAD_RUN): RUN = parsed=mad; $(subst -,_,$(@:fate-%=%))
fate-mad-logs:   RUN = parsed=mad; mad_logs score hi lo

fate-mad-tx: libavfilter/tests/mad_tx$(EXESUF)
fate-mad-tx: RUN = run libavfilter/tests/mad_tx$(EXESUF)
fate-mad-tx: CMP = oneline
fate-mad-tx: REF = 682 transforms

FATE_MAD += $(FATE_MAD_ORACLE) $(FATE_MAD_RUN) fate-mad-tx
$(FATE_MAD): NEED = MAD_FILTER $(QUALITY_PICTURE) $(QUALITY_RAW) $(QUALITY_SOURCE) PNG_DECODER RAWVIDEO_ENCODER     \
                    RAWVIDEO_MUXER FRAMEMD5_MUXER AVGBLUR_FILTER COLOR_FILTER CROP_FILTER FPS_FILTER HFLIP_FILTER   \
                    HSTACK_FILTER LUT_FILTER NEGATE_FILTER NULL_FILTER NULLSINK_FILTER SCALE_FILTER SETPTS_FILTER   \
                    SELECT_FILTER SETRANGE_FILTER SPLIT_FILTER SSIM_FILTER TRIM_FILTER
$(FATE_MAD): CMD = $(QUALITY_RUN)
$(FATE_MAD): ffmpeg$(PROGSSUF)$(EXESUF)

# The detail loss: what is in tests/detailloss.sh. Its numbers are compared with those of a program
# in double precision; how frames are brought together, with FFmpeg's ssim.
FATE_DETAILLOSS_RUN = $(addprefix fate-detailloss-,errors formats limits memory numbers ranges subsample threads)
$(FATE_DETAILLOSS_RUN): RUN = parsed=detailloss; $(subst -,_,$(@:fate-%=%))
fate-detailloss-logs:        RUN = parsed=detailloss; mad_logs loss sigma detail added chroma motion
fate-detailloss-passthrough: RUN = parsed=detailloss; mad_passthrough
fate-detailloss-sync:        RUN = parsed=detailloss; mad_sync
fate-detailloss-passthrough fate-detailloss-sync: REF = $(SRC_PATH)/tests/ref/fate/$(@:fate-detailloss-%=mad-%)

FATE_DETAILLOSS = $(FATE_DETAILLOSS_RUN) $(addprefix fate-detailloss-,logs passthrough sync)
$(FATE_DETAILLOSS): NEED = DETAILLOSS_FILTER $(QUALITY_PICTURE) $(QUALITY_RAW) $(QUALITY_SOURCE) IMAGE_PPM_PIPE_DEMUXER \
                           PNG_DECODER PPM_DECODER PPM_ENCODER PGM_ENCODER MPEG4_ENCODER MPEG4_DECODER MJPEG_ENCODER \
                           MJPEG_DECODER AVI_MUXER AVI_DEMUXER IMAGE2_MUXER RAWVIDEO_ENCODER RAWVIDEO_MUXER          \
                           FRAMEMD5_MUXER AVGBLUR_FILTER COLOR_FILTER CROP_FILTER FPS_FILTER GBLUR_FILTER            \
                           HFLIP_FILTER LOOP_FILTER LUT_FILTER LUTYUV_FILTER NEGATE_FILTER NOISE_FILTER NULL_FILTER  \
                           PAD_FILTER SCALE_FILTER SELECT_FILTER SETPTS_FILTER SETRANGE_FILTER SPLIT_FILTER          \
                           SSIM_FILTER TRIM_FILTER
DETAILLOSS_RUN = . $(SRC_PATH)/tests/quality.sh; . $(SRC_PATH)/tests/detailloss.sh; \
                 $(if $(QUALITY_LACKS),skip not built with $(QUALITY_LACKS),$(ON) $(RUN))
$(FATE_DETAILLOSS): CMD = $(DETAILLOSS_RUN)
$(FATE_DETAILLOSS): ffmpeg$(PROGSSUF)$(EXESUF)

# How the frames of two files are paired by the README's command: what is in tests/pairs.sh.
PAIRS_CONTAINERS = mkv mp4 ts
FATE_PAIRS_OF    = $(foreach E,$(PAIRS_CONTAINERS),$(foreach S,$(PAIRS_CONTAINERS),fate-pairs-$(E)-of-$(S)))
FATE_PAIRS       = $(FATE_PAIRS_OF) $(addprefix fate-pairs-,docs part rates start vfr warning warning-detailloss)
$(FATE_PAIRS): RUN = pairs_$(lastword $(subst -, ,$@))
$(FATE_PAIRS_OF): RUN = pairs_of $(subst -of-, ,$(@:fate-pairs-%=%))
fate-pairs-warning: RUN = pairs_warning mad
fate-pairs-warning-detailloss: RUN  = pairs_warning detailloss
fate-pairs-warning-detailloss: REF  = $(SRC_PATH)/tests/ref/fate/pairs-warning
$(filter-out fate-pairs-warning%,$(FATE_PAIRS)): ON = with_readme
$(FATE_PAIRS): NEED = DETAILLOSS_FILTER MAD_FILTER SSIM_FILTER $(QUALITY_SOURCE) $(QUALITY_RAW) RAWVIDEO_ENCODER RAWVIDEO_MUXER       \
                      FPS_FILTER NOISE_FILTER NULL_FILTER SELECT_FILTER SETPTS_FILTER SETTB_FILTER SINE_FILTER      \
                      SPLIT_FILTER TRIM_FILTER AAC_ENCODER AAC_DECODER MP2_ENCODER LIBX264_ENCODER H264_DECODER     \
                      H264_PARSER MATROSKA_MUXER MATROSKA_DEMUXER MP4_MUXER MOV_DEMUXER MPEGTS_MUXER MPEGTS_DEMUXER
PAIRS_RUN = . $(SRC_PATH)/tests/quality.sh; . $(SRC_PATH)/tests/pairs.sh; \
            $(if $(QUALITY_LACKS),skip not built with $(QUALITY_LACKS),$(ON) $(RUN))

# The warnings of the GPU's filters are the same.
FATE_PAIRS_CUDA = $(addprefix fate-pairs-,detailloss-cuda mad-cuda ssim-cuda)
fate-pairs-detailloss-cuda: RUN = pairs_warning detailloss_cuda ,hwupload
fate-pairs-detailloss-cuda: ON  = on_cuda
fate-pairs-mad-cuda:  RUN = pairs_warning mad_cuda ,hwupload
fate-pairs-mad-cuda:  ON  = on_cufft
fate-pairs-ssim-cuda: RUN = pairs_warning ssim_cuda ,hwupload
fate-pairs-ssim-cuda: ON  = on_cuda
$(FATE_PAIRS_CUDA): REF  = $(SRC_PATH)/tests/ref/fate/pairs-warning
$(FATE_PAIRS_CUDA): NEED = $(QUALITY_SOURCE) FPS_FILTER NULL_FILTER SETPTS_FILTER SETTB_FILTER TRIM_FILTER HWUPLOAD_FILTER

$(FATE_PAIRS) $(FATE_PAIRS_CUDA): CMD = $(PAIRS_RUN)
$(FATE_PAIRS) $(FATE_PAIRS_CUDA): ffmpeg$(PROGSSUF)$(EXESUF)

FATE_QUALITY-$(call ALLYES, MAD_FILTER FFMPEG) += $(FATE_PAIRS)
FATE_HW_QUALITY-$(call ALLYES, DETAILLOSS_CUDA_FILTER FFMPEG) += fate-pairs-detailloss-cuda
FATE_HW_QUALITY-$(call ALLYES, MAD_CUDA_FILTER FFMPEG)  += fate-pairs-mad-cuda
FATE_HW_QUALITY-$(call ALLYES, SSIM_CUDA_FILTER FFMPEG) += fate-pairs-ssim-cuda

# MAD on a GPU against the release, and against the CPU's filter on the same frames.
FATE_MAD_CUDA_ORACLE = $(FATE_MAD_ORACLE:fate-mad-%=fate-mad-cuda-%)
$(FATE_MAD_CUDA_ORACLE): RUN = mad_cuda_oracle $(lastword $(subst oracle-, ,$@))
$(FATE_MAD_CUDA_ORACLE): CMP = oneline
$(FATE_MAD_CUDA_ORACLE): REF = 3 values agree

FATE_MAD_CUDA_RUN = $(addprefix fate-mad-cuda-,end errors flat formats instances passthrough ranges sizes sync)
$(FATE_MAD_CUDA_RUN): RUN = $(subst -,_,$(@:fate-%=%))
fate-mad-cuda-errors: RUN = mad_cuda_errors 64

FATE_MAD_CUDA += $(FATE_MAD_CUDA_ORACLE) $(FATE_MAD_CUDA_RUN)
$(FATE_MAD_CUDA): NEED = $(QUALITY_PICTURE) $(QUALITY_SOURCE) PNG_DECODER MAD_FILTER HWUPLOAD_FILTER              \
                         HWUPLOAD_CUDA_FILTER HWDOWNLOAD_FILTER AVGBLUR_FILTER COLOR_FILTER CROP_FILTER LOOP_FILTER   \
                         NEGATE_FILTER NOISE_FILTER NULL_FILTER SCALE_FILTER SETPTS_FILTER SETRANGE_FILTER            \
                         SPLIT_FILTER TRIM_FILTER RAWVIDEO_ENCODER FRAMEMD5_MUXER
$(FATE_MAD_CUDA): ON   = on_cufft
$(FATE_MAD_CUDA): CMD  = $(QUALITY_RUN)
$(FATE_MAD_CUDA): ffmpeg$(PROGSSUF)$(EXESUF)

FATE_MAD_CUDA_BUILD += fate-mad-cuda-options
fate-mad-cuda-options: NEED = MAD_FILTER
fate-mad-cuda-options: RUN  = mad_cuda_options

FATE_MAD_CUDA_BUILD += fate-mad-cuda-cufft
fate-mad-cuda-cufft: NEED = $(QUALITY_SOURCE) SPLIT_FILTER
fate-mad-cuda-cufft: RUN  = mad_cuda_cufft

FATE_MAD_CUDA_BUILD += $(FATE_MAD_CUDA_PTX)
$(FATE_MAD_CUDA_BUILD): CMD = $(QUALITY_RUN)
$(FATE_MAD_CUDA_BUILD): ffmpeg$(PROGSSUF)$(EXESUF)

# The detail loss on a GPU against the CPU's filter on the same frames, byte by byte. Those of
# mad_cuda's tests that compare so have its references.
FATE_DETAILLOSS_CUDA_MAD = $(addprefix fate-detailloss-cuda-,end formats instances passthrough ranges sync)
FATE_DETAILLOSS_CUDA_RUN = $(addprefix fate-detailloss-cuda-,crop queue resize sizes)
$(FATE_DETAILLOSS_CUDA_MAD): RUN = mad_cuda_$(lastword $(subst -, ,$@))
$(FATE_DETAILLOSS_CUDA_MAD): REF = $(SRC_PATH)/tests/ref/fate/$(@:fate-detailloss-%=mad-%)
$(FATE_DETAILLOSS_CUDA_RUN): RUN = $(subst -,_,$(@:fate-%=%))
fate-detailloss-cuda-errors: RUN = mad_cuda_errors 16

FATE_DETAILLOSS_CUDA = $(FATE_DETAILLOSS_CUDA_MAD) $(FATE_DETAILLOSS_CUDA_RUN) fate-detailloss-cuda-errors
$(FATE_DETAILLOSS_CUDA): NEED = $(QUALITY_PICTURE) $(QUALITY_SOURCE) DETAILLOSS_FILTER HWUPLOAD_FILTER             \
                                HWUPLOAD_CUDA_FILTER HWDOWNLOAD_FILTER AVGBLUR_FILTER CROP_FILTER LOOP_FILTER      \
                                NOISE_FILTER NULL_FILTER SCALE_FILTER SETPTS_FILTER SETRANGE_FILTER SPLIT_FILTER   \
                                TRIM_FILTER PGM_ENCODER IMAGE2_MUXER RAWVIDEO_ENCODER FRAMEMD5_MUXER
$(FATE_DETAILLOSS_CUDA): ON   = on_cuda_exactly
$(FATE_DETAILLOSS_CUDA): CMD  = $(DETAILLOSS_RUN)
$(FATE_DETAILLOSS_CUDA): ffmpeg$(PROGSSUF)$(EXESUF)

FATE_DETAILLOSS_CUDA_BUILD += fate-detailloss-cuda-options $(FATE_DETAILLOSS_CUDA_PTX)
fate-detailloss-cuda-options: NEED = DETAILLOSS_FILTER
fate-detailloss-cuda-options: RUN  = mad=detailloss; mad_cuda_options
$(FATE_DETAILLOSS_CUDA_BUILD): CMD = $(QUALITY_RUN)
$(FATE_DETAILLOSS_CUDA_BUILD): ffmpeg$(PROGSSUF)$(EXESUF)

# The numbers are compared with an independent form of the arithmetic, in awk. The
# references of formats and options were made by the filter, with GEN=1.
FATE_BLOCKSMOOTH = $(addprefix fate-blocksmooth-,changes errors formats numbers options)
fate-blocksmooth-changes: RUN = blocksmooth_changes
fate-blocksmooth-errors:  RUN = blocksmooth_errors
fate-blocksmooth-formats: RUN = blocksmooth_formats
fate-blocksmooth-numbers: RUN = blocksmooth_numbers
fate-blocksmooth-options: RUN = blocksmooth_options

BLOCKSMOOTH_NEED = $(QUALITY_SOURCE) SCALE_FILTER NOISE_FILTER NULL_FILTER NULLSRC_FILTER GEQ_FILTER CROP_FILTER SENDCMD_FILTER RAWVIDEO_ENCODER
$(FATE_BLOCKSMOOTH): NEED = $(BLOCKSMOOTH_NEED) RAWVIDEO_DEMUXER RAWVIDEO_DECODER RAWVIDEO_MUXER FRAMECRC_MUXER
$(FATE_BLOCKSMOOTH): CMD  = $(QUALITY_RUN)
$(FATE_BLOCKSMOOTH): ffmpeg$(PROGSSUF)$(EXESUF)

# Blocks on a GPU against blocksmooth, of the same frames.
FATE_DEBLOCK_CUDA = $(addprefix fate-deblock-cuda-,errors formats options sizes writable)
fate-deblock-cuda-errors:   RUN = deblock_errors
fate-deblock-cuda-formats:  RUN = deblock_formats
fate-deblock-cuda-options:  RUN = deblock_options
fate-deblock-cuda-sizes:    RUN = deblock_sizes
fate-deblock-cuda-writable: RUN = deblock_writable

$(FATE_DEBLOCK_CUDA): NEED = $(BLOCKSMOOTH_NEED) BLOCKSMOOTH_FILTER SPLIT_FILTER HWUPLOAD_FILTER \
                             HWDOWNLOAD_FILTER FRAMEMD5_MUXER NOISE_FILTER LUTYUV_FILTER
$(FATE_DEBLOCK_CUDA): ON   = on_cuda
$(FATE_DEBLOCK_CUDA): CMD  = $(QUALITY_RUN)
$(FATE_DEBLOCK_CUDA): ffmpeg$(PROGSSUF)$(EXESUF)

FATE_DEBLOCK_CUDA_BUILD += fate-deblock-cuda-same-options $(FATE_DEBLOCK_CUDA_PTX)
fate-deblock-cuda-same-options: NEED = BLOCKSMOOTH_FILTER
fate-deblock-cuda-same-options: RUN  = deblock_same_options
$(FATE_DEBLOCK_CUDA_BUILD): CMD = $(QUALITY_RUN)
$(FATE_DEBLOCK_CUDA_BUILD): ffmpeg$(PROGSSUF)$(EXESUF)

# SSIM on a GPU against FFmpeg's ssim, of the same frames.
FATE_SSIM_CUDA = $(addprefix fate-ssim-cuda-,end errors formats instances passthrough sizes sync)
fate-ssim-cuda-end:         RUN = ssim_end
fate-ssim-cuda-errors:      RUN = ssim_errors
fate-ssim-cuda-formats:     RUN = ssim_formats
fate-ssim-cuda-instances:   RUN = ssim_instances
fate-ssim-cuda-passthrough: RUN = ssim_passthrough
fate-ssim-cuda-sizes:       RUN = ssim_sizes
fate-ssim-cuda-sync:        RUN = ssim_sync

$(FATE_SSIM_CUDA): NEED = $(QUALITY_SOURCE) SSIM_FILTER SPLIT_FILTER SCALE_FILTER HWUPLOAD_FILTER HWUPLOAD_CUDA_FILTER \
                          HWDOWNLOAD_FILTER GBLUR_FILTER AVGBLUR_FILTER HFLIP_FILTER NEGATE_FILTER NULL_FILTER      \
                          TRIM_FILTER FPS_FILTER SETPTS_FILTER RAWVIDEO_ENCODER FRAMEMD5_MUXER
$(FATE_SSIM_CUDA): ON   = on_cuda
$(FATE_SSIM_CUDA): CMD  = $(QUALITY_RUN)
$(FATE_SSIM_CUDA): ffmpeg$(PROGSSUF)$(EXESUF)

FATE_SSIM_CUDA_BUILD += fate-ssim-cuda-options
fate-ssim-cuda-options: NEED = SSIM_FILTER
fate-ssim-cuda-options: RUN  = ssim_options

# What the filters do where something fails: tests/faults.sh. The CUDA filters run on
# a stand-in for the driver and for cuFFT.
FAULTS_CUDA   = $(addprefix fate-faults-,$(foreach T,in-flight in-parallel changes driver,      \
                    $(addprefix $(T)-,bliinds_cuda ssim_cuda detailloss_cuda mad_cuda deblock_cuda)))
FAULTS_FILTER = $(lastword $(subst -, ,$@))
$(filter fate-faults-in-flight-%,$(FAULTS_CUDA)):   RUN = in_flight $(FAULTS_FILTER)
$(filter fate-faults-in-flight-%,$(FAULTS_CUDA)):   REF = 36 runs of 30 and 7 frames
$(filter fate-faults-in-parallel-%,$(FAULTS_CUDA)): RUN = in_parallel $(FAULTS_FILTER)
$(filter fate-faults-in-parallel-%,$(FAULTS_CUDA)): REF = 30 frames
$(filter fate-faults-changes-%,$(FAULTS_CUDA)):     RUN = changes $(FAULTS_FILTER) 20 3
$(filter fate-faults-changes-%,$(FAULTS_CUDA)):     REF = 63 frames
$(filter fate-faults-driver-%,$(FAULTS_CUDA)):      RUN = faults_driver $(FAULTS_FILTER)
$(filter fate-faults-driver-%,$(FAULTS_CUDA)):      REF = nothing went wrong
FAULTS_CUDA += $(addprefix fate-faults-,checked cropped devices many-changes)
fate-faults-cropped:      RUN = cropped
fate-faults-cropped:      REF = bliinds_cuda: same ssim_cuda: same detailloss_cuda: same mad_cuda: same
fate-faults-checked:      RUN = checked
fate-faults-checked:      REF = bliinds_cuda: ok ssim_cuda: ok detailloss_cuda: ok mad_cuda: ok deblock_cuda: ok
fate-faults-many-changes: RUN = changes bliinds_cuda 200 2
fate-faults-many-changes: REF = 402 frames
fate-faults-devices:      RUN = devices
fate-faults-devices:      REF = 8 errors are told

$(FAULTS_CUDA): NEED = $(QUALITY_SOURCE) $(QUALITY_PICTURE) IMAGE_PGM_PIPE_DEMUXER PGM_ENCODER IMAGE2_MUXER \
                       RAWVIDEO_ENCODER FRAMECRC_MUXER BLIINDS_CUDA_FILTER SSIM_CUDA_FILTER               \
                       DETAILLOSS_CUDA_FILTER MAD_CUDA_FILTER DEBLOCK_CUDA_FILTER HWUPLOAD_FILTER HWUPLOAD_CUDA_FILTER \
                       HWDOWNLOAD_FILTER SPLIT_FILTER NEGATE_FILTER SCALE_FILTER CROP_FILTER
$(FAULTS_CUDA): tests/faults/libcuda.so.1

FAULTS = $(FAULTS_CUDA) fate-faults-alloc
fate-faults-alloc: NEED = DETAILLOSS_FILTER MAD_FILTER BLOCKSMOOTH_FILTER NULLSINK_FILTER
fate-faults-alloc: RUN  = faults_alloc
fate-faults-alloc: REF  = nothing went wrong
$(FAULTS): CMP = oneline
$(FAULTS): CMD = . $(SRC_PATH)/tests/quality.sh; . $(SRC_PATH)/tests/faults.sh; \
                 $(if $(QUALITY_LACKS),skip not built with $(QUALITY_LACKS),$(RUN))
$(FAULTS): ffmpeg$(PROGSSUF)$(EXESUF) libavfilter/tests/quality_faults$(EXESUF)

tests/faults/libcuda.so.1: $(addprefix $(SRC_PATH)/,tests/faults/libcuda.c                      \
        libavfilter/cuda/cufft.h libavfilter/detailloss_wavelet.h                                     \
        $(foreach F,bliinds deblock detailloss mad ssim,libavfilter/vf_$(F)_cuda.h))
	$(Q)mkdir -p $(@D)
	$(M)$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -shared -Wl,-z,nodelete -o $@ $<
	$(Q)ln -sf $(@F) $(@D)/libcufft.so.12

FATE_SSIM_CUDA_BUILD += $(FATE_SSIM_CUDA_PTX)
$(FATE_SSIM_CUDA_BUILD): CMD = $(QUALITY_RUN)
$(FATE_SSIM_CUDA_BUILD): ffmpeg$(PROGSSUF)$(EXESUF)

# quality-report and quality-gate: pages and alarms of logs, of which most are made up. The
# references say what the documentation does, and the numbers of pages are those that the filter
# pools. Those with examples run what the documentation prints.
FATE_QUALITY_TOOLS = fate-quality-logs $(addprefix fate-gate-,alarms errors examples live prometheus) \
                     $(addprefix fate-report-,basis errors examples film install logs names readme search video worst)
$(FATE_QUALITY_TOOLS): RUN = $(subst -,_,$(@:fate-%=%))
$(FATE_QUALITY_TOOLS): NEED = $(QUALITY_SOURCE) $(TOOL_NEED)
fate-report-logs: TOOL_NEED = DRAWBOX_FILTER
fate-report-install: TOOL_NEED = FFPROBE NULL_FILTER SELECT_FILTER SHOWINFO_FILTER SCALE_FILTER SETTB_FILTER TRIM_FILTER \
                                 MJPEG_ENCODER MJPEG_DECODER AVI_MUXER AVI_DEMUXER IMAGE2PIPE_MUXER
# or else it would build what others are building
fate-report-install: all tools/quality_merge$(EXESUF)
fate-report-video: TOOL_NEED = SELECT_FILTER SHOWINFO_FILTER SCALE_FILTER SETTB_FILTER SETPTS_FILTER SINE_FILTER     \
                               MPEG4_ENCODER MPEG4_DECODER MP2_ENCODER MP4_MUXER MOV_DEMUXER MPEGTS_MUXER         \
                               MPEGTS_DEMUXER MJPEG_ENCODER IMAGE2PIPE_MUXER FRAMECRC_MUXER
fate-report-examples fate-report-readme fate-gate-examples: TOOL_NEED =                                              \
                               AVGBLUR_FILTER NOISE_FILTER SELECT_FILTER SHOWINFO_FILTER SCALE_FILTER SETTB_FILTER SETPTS_FILTER \
                               SIGNALSTATS_FILTER SSIM_FILTER LIBX264_ENCODER H264_DECODER MP4_MUXER MOV_DEMUXER    \
                               MATROSKA_MUXER MJPEG_ENCODER PNG_ENCODER IMAGE2_MUXER IMAGE2PIPE_MUXER
$(FATE_QUALITY_TOOLS): CMD = $(QUALITY_RUN)
$(FATE_QUALITY_TOOLS): ffmpeg$(PROGSSUF)$(EXESUF)

# Encodes against their source: what is in tests/compare.sh.
FATE_COMPARE = $(addprefix fate-compare-,errors names offsets page values)
$(FATE_COMPARE): NEED = $(QUALITY_SOURCE) $(QUALITY_RAW) SSIM_FILTER PSNR_FILTER XPSNR_FILTER MAD_FILTER SCALE_FILTER SHOWINFO_FILTER \
                        SPLIT_FILTER TRIM_FILTER SETPTS_FILTER FPS_FILTER FRAMESTEP_FILTER LOOP_FILTER MANDELBROT_FILTER        \
                        DRAWBOX_FILTER SINE_FILTER LIBX264_ENCODER H264_DECODER FFV1_ENCODER FFV1_DECODER      \
                        MJPEG_ENCODER MJPEG_DECODER PCM_S16LE_ENCODER RAWVIDEO_ENCODER              \
                        RAWVIDEO_MUXER MATROSKA_MUXER MATROSKA_DEMUXER MP4_MUXER MOV_DEMUXER MPEGTS_MUXER MPEGTS_DEMUXER IMAGE2PIPE_MUXER       \
                        QUANTIZER_METADATA_BSF FFPROBE
$(FATE_COMPARE): RUN = compare_$(lastword $(subst -, ,$@))
$(FATE_COMPARE): CMD = . $(SRC_PATH)/tests/quality.sh; . $(SRC_PATH)/tests/compare.sh; \
                       $(if $(QUALITY_LACKS),skip not built with $(QUALITY_LACKS),$(RUN))
$(FATE_COMPARE): ffmpeg$(PROGSSUF)$(EXESUF)
ifdef CONFIG_FFPROBE
$(FATE_COMPARE): ffprobe$(PROGSSUF)$(EXESUF)
endif

# What frames were coded with: what is in tests/quantizer.sh.
FATE_QUANTIZER = $(addprefix fate-quantizer-,av1 h264 hevc mjpeg mpeg pass strings vp9)
fate-quantizer-av1:  QUANTIZER_NEED = LIBSVTAV1_ENCODER LIBDAV1D_DECODER AV1_FRAME_SPLIT_BSF TRACE_HEADERS_BSF \
                                      IVF_MUXER IVF_DEMUXER
fate-quantizer-h264: QUANTIZER_NEED = LIBX264_ENCODER H264_DECODER H264_PARSER H264_MUXER H264_DEMUXER \
                                      CODECVIEW_FILTER SIGNALSTATS_FILTER SCALE_FILTER
fate-quantizer-hevc: QUANTIZER_NEED = LIBX265_ENCODER HEVC_DECODER HEVC_PARSER HEVC_MUXER HEVC_DEMUXER SCALE_FILTER
fate-quantizer-mjpeg: QUANTIZER_NEED = MJPEG_ENCODER MJPEG_DECODER RAWVIDEO_MUXER
fate-quantizer-mpeg: QUANTIZER_NEED = MPEG1VIDEO_ENCODER MPEG1VIDEO_DECODER MPEG2VIDEO_ENCODER MPEG2VIDEO_DECODER \
                                      MPEG4_ENCODER MPEG4_DECODER MPEGVIDEO_PARSER MPEG4VIDEO_PARSER           \
                                      CODECVIEW_FILTER SIGNALSTATS_FILTER SHOWINFO_FILTER
fate-quantizer-vp9:  QUANTIZER_NEED = LIBVPX_VP9_ENCODER VP9_DECODER VP9_SUPERFRAME_SPLIT_BSF SHOWINFO_FILTER
fate-quantizer-pass fate-quantizer-strings: QUANTIZER_NEED = LIBX264_ENCODER LIBX265_ENCODER LIBSVTAV1_ENCODER         \
                                      MPEG2VIDEO_ENCODER MPEG4_ENCODER MJPEG_ENCODER FFV1_ENCODER H264_DECODER    \
                                      HEVC_DECODER LIBDAV1D_DECODER MPEG2VIDEO_DECODER MPEG4_DECODER MJPEG_DECODER \
                                      FFV1_DECODER H264_PARSER HEVC_PARSER AV1_PARSER MPEGVIDEO_PARSER            \
                                      FRAMEMD5_MUXER NOISE_BSF
$(FATE_QUANTIZER): NEED = QUANTIZER_METADATA_BSF $(QUALITY_SOURCE) MATROSKA_MUXER MATROSKA_DEMUXER MP4_MUXER MOV_DEMUXER \
                          MPEGTS_MUXER MPEGTS_DEMUXER AVI_MUXER AVI_DEMUXER $(QUANTIZER_NEED)
$(FATE_QUANTIZER): RUN = quantizer_$(lastword $(subst -, ,$@))
$(FATE_QUANTIZER): CMD = . $(SRC_PATH)/tests/quality.sh; . $(SRC_PATH)/tests/quantizer.sh; \
                         $(if $(QUALITY_LACKS),skip not built with $(QUALITY_LACKS),$(RUN))
$(FATE_QUANTIZER): ffmpeg$(PROGSSUF)$(EXESUF)

FATE_QUALITY-$(call ALLYES, QUANTIZER_METADATA_BSF FFMPEG) += $(FATE_QUANTIZER)

# The search for a CRF: its choice of CRFs, and what is in tests/ffcrf.sh.
fate-ffcrf-choice: libavfilter/tests/ffcrf_search$(EXESUF)
fate-ffcrf-choice: CMD = . $(SRC_PATH)/tests/quality.sh; run libavfilter/tests/ffcrf_search$(EXESUF)
fate-ffcrf-choice: CMP = oneline
fate-ffcrf-choice: REF = all end at the best CRF
FATE_QUALITY-$(CONFIG_BLIINDS_FILTER) += fate-ffcrf-choice
FATE_FFCRF = $(addprefix fate-ffcrf-,abav1 audio cache change completion damage disk docs encode encoders hwaccel json leaks \
                                     libx265 memory metrics part predict reference resume samples scan search status step \
                                     svtav1 told vfr vmaf xpsnr)
fate-ffcrf-libx265 fate-ffcrf-search fate-ffcrf-svtav1: RUN = crf_search $(CODEC)
fate-ffcrf-search:  CODEC = "-c:v libx264 -preset veryfast"
fate-ffcrf-libx265: CODEC = "-c:v libx265 -preset ultrafast"
fate-ffcrf-libx265: FFCRF_NEED = LIBX265_ENCODER HEVC_DECODER
fate-ffcrf-svtav1:  CODEC = "-c:v libsvtav1 -preset 10" 2 8
fate-ffcrf-svtav1:  FFCRF_NEED = LIBSVTAV1_ENCODER LIBDAV1D_DECODER
fate-ffcrf-vfr:     FFCRF_NEED = NUT_DEMUXER NUT_MUXER MPEGTS_DEMUXER MPEGTS_MUXER
fate-ffcrf-abav1:   FFCRF_NEED = LIBSVTAV1_ENCODER LIBAOM_AV1_ENCODER LIBDAV1D_DECODER FFPROBE
fate-ffcrf-audio:   FFCRF_NEED = AAC_ENCODER MP4_MUXER FFPROBE
fate-ffcrf-part:    FFCRF_NEED = MPEGTS_DEMUXER MPEGTS_MUXER
fate-ffcrf-metrics fate-ffcrf-xpsnr: FFCRF_NEED = XPSNR_FILTER LUTYUV_FILTER
fate-ffcrf-vmaf:    FFCRF_NEED = LIBVMAF_FILTER
fate-ffcrf-change:  FFCRF_NEED = H264_DEMUXER H264_MUXER
fate-ffcrf-damage:  FFCRF_NEED = SRT_DEMUXER SUBRIP_DECODER MP4_MUXER MPEGTS_DEMUXER MPEGTS_MUXER
fate-ffcrf-docs:    FFCRF_NEED = LIBX265_ENCODER HEVC_DECODER LIBSVTAV1_ENCODER LIBDAV1D_DECODER MP4_MUXER
fate-ffcrf-encode:  FFCRF_NEED = SRT_DEMUXER SUBRIP_DECODER MOVTEXT_ENCODER FFMETADATA_DEMUXER MP4_MUXER FFPROBE
$(filter-out %-libx265 %-search %-svtav1,$(FATE_FFCRF)): RUN = crf_$(lastword $(subst -, ,$@))
$(FATE_FFCRF): NEED = LIBX264_ENCODER H264_DECODER H264_PARSER FFV1_ENCODER FFV1_DECODER MATROSKA_MUXER MATROSKA_DEMUXER \
                      MOV_DEMUXER FRAMECRC_MUXER LAVFI_INDEV CROP_FILTER FORMAT_FILTER $(QUALITY_PICTURE) SSIM_FILTER MAD_FILTER      \
                      HFLIP_FILTER SETPTS_FILTER SETTB_FILTER SELECT_FILTER SCALE_FILTER SINE_FILTER COLOR_FILTER      \
                      PCM_S16LE_ENCODER PCM_S16LE_DECODER AAC_ENCODER $(FFCRF_NEED)
$(FATE_FFCRF): CMD = . $(SRC_PATH)/tests/quality.sh; . $(SRC_PATH)/tests/ffcrf.sh; \
                     need jq && { $(if $(QUALITY_LACKS),skip not built with $(QUALITY_LACKS),$(RUN)); }
$(FATE_FFCRF): ffmpeg$(PROGSSUF)$(EXESUF) $(FFCRF)
ifdef CONFIG_FFPROBE
$(FATE_FFCRF): ffprobe$(PROGSSUF)$(EXESUF)
endif

FATE_QUALITY-$(call ALLYES, BLIINDS_FILTER FFMPEG) += $(FATE_BLIINDS) $(FATE_QUALITY_TOOLS) $(FATE_COMPARE)
FATE_QUALITY-$(if $(FFCRF),$(CONFIG_FFMPEG)) += $(FATE_FFCRF)
# FFmpeg asks for the exit status alone, which is that of a program that does nothing, too.
fate-checkasm-vf_bliinds: CMD = . $(SRC_PATH)/tests/quality.sh; check_assembly vf_bliinds
fate-checkasm-vf_bliinds: CMP = grep
fate-checkasm-vf_bliinds: REF = ^checkasm: \(all [0-9]* tests passed\|no tests to perform\)
FATE_QUALITY-$(CONFIG_BLIINDS_FILTER) += $(filter fate-checkasm-vf_bliinds,$(FATE_CHECKASM))
FATE_QUALITY-$(call ALLYES, BLIINDS_CUDA_FILTER FFMPEG) += $(FATE_BLIINDS_CUDA_BUILD)
FATE_HW_QUALITY-$(call ALLYES, BLIINDS_CUDA_FILTER FFMPEG) += $(FATE_BLIINDS_CUDA)
FATE_QUALITY-$(call ALLYES, DETAILLOSS_FILTER FFMPEG) += $(FATE_DETAILLOSS)
FATE_QUALITY-$(call ALLYES, MAD_FILTER FFMPEG) += $(FATE_MAD)
# Allocations can be made to fail where the libraries are linked in.
FATE_QUALITY-$(call ALLYES, BLIINDS_FILTER FFMPEG STATIC) += fate-faults-alloc
FATE_QUALITY-$(call ALLYES, BLIINDS_CUDA_FILTER FFMPEG STATIC) += $(FAULTS_CUDA)

FATE_QUALITY-$(call ALLYES, DETAILLOSS_CUDA_FILTER FFMPEG) += $(FATE_DETAILLOSS_CUDA_BUILD)
FATE_HW_QUALITY-$(call ALLYES, DETAILLOSS_CUDA_FILTER FFMPEG) += $(FATE_DETAILLOSS_CUDA)
FATE_QUALITY-$(call ALLYES, MAD_CUDA_FILTER FFMPEG) += $(FATE_MAD_CUDA_BUILD)
FATE_HW_QUALITY-$(call ALLYES, MAD_CUDA_FILTER FFMPEG) += $(FATE_MAD_CUDA)
FATE_QUALITY-$(call ALLYES, BLOCKSMOOTH_FILTER FFMPEG) += $(FATE_BLOCKSMOOTH)
FATE_QUALITY-$(call ALLYES, DEBLOCK_CUDA_FILTER FFMPEG) += $(FATE_DEBLOCK_CUDA_BUILD)
FATE_HW_QUALITY-$(call ALLYES, DEBLOCK_CUDA_FILTER FFMPEG) += $(FATE_DEBLOCK_CUDA)
FATE_QUALITY-$(call ALLYES, SSIM_CUDA_FILTER FFMPEG) += $(FATE_SSIM_CUDA_BUILD)
FATE_HW_QUALITY-$(call ALLYES, SSIM_CUDA_FILTER FFMPEG) += $(FATE_SSIM_CUDA)

FATE_HW-yes += $(FATE_HW_QUALITY-yes)
FATE += $(filter-out $(FATE_CHECKASM),$(FATE_QUALITY-yes))
# What hardly depends on the release of FFmpeg: make check runs it on the first one only.
FATE_QUALITY_ONCE = $(FATE_QUALITY_TOOLS) fate-quality-logs $(FATE_FARM) $(FAULTS_CUDA) fate-faults-alloc \
                    $(FATE_CUDA_PTX) fate-bliinds-pool fate-checkasm-vf_bliinds fate-ffcrf-choice fate-ffcrf-scan \
                    fate-ffcrf-docs $(FATE_COMPARE)

fate-quality: $(FATE_QUALITY-yes) $(FATE_HW_QUALITY-yes)
fate-quality-series: $(filter-out $(FATE_QUALITY_ONCE),$(FATE_QUALITY-yes) $(FATE_HW_QUALITY-yes))
fate-quality fate-quality-series:
	@cat $(patsubst fate-%,tests/data/fate/%.skipped,$^) 2> /dev/null | awk '             \
	    { sub(/^[^:]*: /, ""); n[$$0]++ }                                                   \
	    END { for (why in n) printf("SKIPPED %d of $(words $^) tests, or parts: %s\n", n[why], why) }'
