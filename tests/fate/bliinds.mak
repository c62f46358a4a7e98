# bliinds and bliinds_cuda.

# The 24 features of pictures, by the authors' release.
BLIINDS_ORACLE = rose_70x46 camera_crop_4x4 camera_crop_5x5 camera_crop_16x9 camera_crop_7x64       \
                 camera_crop_300x240 camera_jpegq10_512x512 chelsea_451x300 chessboard_200x200      \
                 flat0_64x64 flat128_64x64 ramp_h_128x96 stripes_v_128x96
FATE_BLIINDS_ORACLE      = $(BLIINDS_ORACLE:%=fate-bliinds-oracle-%)
FATE_BLIINDS_CUDA_ORACLE = $(BLIINDS_ORACLE:%=fate-bliinds-cuda-oracle-%)
$(FATE_BLIINDS_ORACLE) $(FATE_BLIINDS_CUDA_ORACLE): RUN = oracle $(lastword $(subst oracle-, ,$@))
$(FATE_BLIINDS_ORACLE) $(FATE_BLIINDS_CUDA_ORACLE): REF = 24 features agree

# These also run on a GPU, with the same references: the bits are the same.
BLIINDS_TWINS = yuv sizes letterbox valid which-frames models basis bands default-model log-json  \
                log-stdout log-end log-errors log-rebuild summary sei-h264 sei-hevc
FATE_BLIINDS  = $(addprefix fate-bliinds-,$(BLIINDS_TWINS) rebuild \
                consumers model-errors log-hosts log-locale log-x87)
FATE_BLIINDS_TWINS = $(BLIINDS_TWINS:%=fate-bliinds-cuda-%)
$(FATE_BLIINDS):       RUN = $(subst -,_,$(@:fate-bliinds-%=%))
$(FATE_BLIINDS_TWINS): RUN = $(subst -,_,$(@:fate-bliinds-cuda-%=%))
$(FATE_BLIINDS_TWINS): REF = $(call REF_OF,bliinds-cuda-%,bliinds-%)

# A fixture, made with GEN=1, of all features; double precision (numpy) agrees with
# it to 5e-7, that is with the band energies and phases, too.
fate-bliinds-yuv:      RUN = cmp_metadata bliinds=features=1 yuv420p 0.000001
fate-bliinds-cuda-yuv: RUN = cmp_metadata hwupload_cuda,bliinds_cuda=features=1 yuv420p 0.000001

# Shapes, level images and the statistics of each block.
fate-bliinds-blocks: libavfilter/tests/bliinds$(EXESUF)
fate-bliinds-blocks: RUN = run libavfilter/tests/bliinds$(EXESUF) \
                           $(addprefix $(SRC_PATH)/tests/oracle/,rose_70x46.maps camera_crop_16x9.maps stripes_v_128x96.maps) \
                           $(SRC_PATH)/libavfilter/models/vmaf1_est1.txt

fate-bliinds-log-hosts fate-bliinds-log-locale: libavfilter/tests/filter_matrix$(EXESUF)
fate-bliinds-log-x87: NEED_ALSO = DETAILLOSS_FILTER

fate-bliinds-sei-h264 fate-bliinds-cuda-sei-h264: NEED_ALSO = LIBX264_ENCODER
fate-bliinds-sei-h264 fate-bliinds-cuda-sei-h264: RUN        = sei libx264 h264 "-preset ultrafast -bf 2"
fate-bliinds-sei-hevc fate-bliinds-cuda-sei-hevc: NEED_ALSO = LIBX265_ENCODER HEVC_MUXER HEVC_DEMUXER HEVC_PARSER HEVC_DECODER
fate-bliinds-sei-hevc fate-bliinds-cuda-sei-hevc: RUN        = sei libx265 hevc "-preset ultrafast"

# More pictures, and the scores by the published model, where they are at hand.
fate-bliinds-oracle-all:    RUN = oracle_all
fate-bliinds-oracle-all:    REF = all features agree
fate-bliinds-oracle-scores: RUN = oracle_scores
fate-bliinds-oracle-scores: REF = all scores agree
fate-bliinds-log-memory:    RUN = log_memory bliinds=features=1
fate-bliinds-log-memory:    REF = the same

BLIINDS_ONELINE = $(FATE_BLIINDS_ORACLE) $(addprefix fate-bliinds-,oracle-all oracle-scores log-memory)
$(BLIINDS_ONELINE) $(FATE_BLIINDS_CUDA_ORACLE): CMP = oneline

# Formats, ranges, layouts in memory and threads, sizes that change.
$(eval $(call FORMATS_TEST,bliinds-formats,formats bliinds=features=1 70x46))
$(eval $(call PROGRAM_TEST,bliinds-ranges,filter_matrix ranges bliinds=features=1 70x46,13 cases))
$(eval $(call PROGRAM_TEST,bliinds-black,filter_matrix black bliinds=features=1 70x46 321x243,10 cases))
$(eval $(call PROGRAM_TEST,bliinds-layouts,filter_matrix layouts bliinds=features=1 321x243 70x46 4x4,168 cases))

# The choice of the worst blocks, of made-up statistics, against a sort.
$(eval $(call PROGRAM_TEST,bliinds-cuda-pool,bliinds_cuda,all as by a sort))
fate-bliinds-cuda-pool: RUN = run libavfilter/tests/bliinds_cuda$(EXESUF) pool
$(eval $(call PROGRAM_TEST,bliinds-cuda-api,bliinds_cuda,the same scores))

FATE_BLIINDS += $(BLIINDS_ONELINE) $(addprefix fate-bliinds-,black blocks formats layouts ranges)
FATE_BLIINDS_CUDA = $(FATE_BLIINDS_TWINS) $(FATE_BLIINDS_CUDA_ORACLE) \
                    $(addprefix fate-bliinds-cuda-,api pool)

$(FATE_BLIINDS):      NEED = FFPROBE PNG_DECODER $(NEED_ALSO)
$(FATE_BLIINDS_CUDA): NEED = FFPROBE PNG_DECODER $(NEED_ALSO) HWUPLOAD_CUDA_FILTER
$(FATE_BLIINDS_CUDA): ON   = on_cuda
fate-bliinds-cuda-pool: ON = takes_long=1; on_cuda

FATE_QUALITY-$(call WITH_ALL, BLIINDS_FILTER FFMPEG) += $(FATE_BLIINDS)
FATE_HW_QUALITY-$(call WITH_ALL, BLIINDS_CUDA_FILTER FFMPEG) += $(FATE_BLIINDS_CUDA)
