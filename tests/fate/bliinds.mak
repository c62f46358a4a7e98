# bliinds and bliinds_cuda.

# Tests that also run on a GPU, with the same references: the results are identical bit by bit.
BLIINDS_TWINS = oracle yuv sizes letterbox valid damage which-frames motion models basis bands default-model \
                no-bitstream log-json log-stdout log-end log-errors log-owner log-rebuild log-reinit summary \
                sei-h264
FATE_BLIINDS  = $(addprefix fate-bliinds-,$(BLIINDS_TWINS) \
                model-errors log-hosts log-locale x87)
FATE_BLIINDS_TWINS = $(BLIINDS_TWINS:%=fate-bliinds-cuda-%)
$(FATE_BLIINDS):       RUN = $(subst -,_,$(@:fate-bliinds-%=%))
$(FATE_BLIINDS_TWINS): RUN = $(subst -,_,$(@:fate-bliinds-cuda-%=%))
$(FATE_BLIINDS_TWINS): REF = $(call REF_OF,bliinds-cuda-%,bliinds-%)

# The 24 BLIINDS-II features of pictures, computed by the authors' release.
fate-bliinds-oracle fate-bliinds-cuda-oracle: RUN = oracle $(SRC_PATH)/tests/oracle

# Reference of all features, generated with GEN=1. An implementation in double precision (numpy)
# agrees to 5e-7, including band energies and grid phases.
fate-bliinds-yuv:      RUN = cmp_metadata bliinds=model=vmaf1_est5:features=1 yuv420p 0.000001
fate-bliinds-cuda-yuv: RUN = cmp_metadata hwupload_cuda,bliinds_cuda=model=vmaf1_est5:features=1 yuv420p 0.000001

# Table of the generalised Gaussian, corner cases and the built-in model.
fate-bliinds-blocks: libavfilter/tests/bliinds$(EXESUF)
fate-bliinds-blocks: RUN = run libavfilter/tests/bliinds$(EXESUF) \
                           $(SRC_PATH)/libavfilter/models/vmaf1_est5.txt

fate-bliinds-x87: RUN = x87 bliinds_block
fate-bliinds-x87: REF = $(SRC_PATH)/tests/ref/fate/metric-x87

fate-bliinds-log-hosts fate-bliinds-log-locale: libavfilter/tests/filter_matrix$(EXESUF)

fate-bliinds-damage   fate-bliinds-cuda-damage:   NEED_ALSO = LIBX264_ENCODER SHOWINFO_FILTER
fate-bliinds-sei-h264 fate-bliinds-cuda-sei-h264: NEED_ALSO = LIBX264_ENCODER
fate-bliinds-sei-h264 fate-bliinds-cuda-sei-h264: RUN        = sei libx264 h264 "-preset ultrafast -bf 2"

# More pictures, if ORACLE names a folder of them.
$(eval $(call ONELINE_TEST,bliinds-oracle-all,oracle_all oracle bliinds 24,all values agree))
$(eval $(call ONELINE_TEST,bliinds-log-memory,log_memory bliinds=model=vmaf1_est5:features=1 44x44 1000 10000,\
    all the same))
$(eval $(call ONELINE_TEST,bliinds-rebuild,rebuild,65))

# Formats, ranges, memory layouts, numbers of threads.
$(eval $(call FORMATS_TEST,bliinds-formats,formats bliinds=model=vmaf1_est5:features=1 70x46))
$(eval $(call PROGRAM_TEST,bliinds-ranges,filter_matrix ranges bliinds=model=vmaf1_est5:features=1 70x46,13 cases))
$(eval $(call PROGRAM_TEST,bliinds-layouts,filter_matrix layouts bliinds=model=vmaf1_est5:features=1 321x243 70x46 4x4,168 cases))

# The 10 % percentile pooling of random statistics, compared with a sort.
$(eval $(call PROGRAM_TEST,bliinds-cuda-pool,bliinds_cuda pool,all as by a sort))
$(eval $(call PROGRAM_TEST,bliinds-cuda-api,bliinds_cuda,the same scores))

FATE_BLIINDS += $(addprefix fate-bliinds-, \
                blocks formats layouts log-memory oracle-all ranges rebuild)
FATE_BLIINDS_CUDA = $(FATE_BLIINDS_TWINS) $(addprefix fate-bliinds-cuda-,api pool)

$(FATE_BLIINDS):      NEED = FFPROBE PNG_DECODER $(NEED_ALSO)
$(FATE_BLIINDS_CUDA): NEED = FFPROBE PNG_DECODER $(NEED_ALSO) HWUPLOAD_CUDA_FILTER
$(FATE_BLIINDS_CUDA): ON   = on_cuda
fate-bliinds-cuda-pool: ON = takes_long=1; on_cuda

FATE_QUALITY-$(call WITH_ALL, BLIINDS_FILTER FFMPEG) += $(FATE_BLIINDS)
FATE_HW_QUALITY-$(call WITH_ALL, BLIINDS_CUDA_FILTER FFMPEG) += $(FATE_BLIINDS_CUDA)
