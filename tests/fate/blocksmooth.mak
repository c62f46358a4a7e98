# blocksmooth, and blocksmooth_cuda against it. The numbers are compared with an independent form of
# the arithmetic, in awk. The references of formats and options were made by the filter, with GEN=1.

FATE_BLOCKSMOOTH      = $(addprefix fate-blocksmooth-,changes errors formats numbers options)
FATE_BLOCKSMOOTH_CUDA = $(addprefix fate-blocksmooth-cuda-,errors formats options sizes writable)
$(FATE_BLOCKSMOOTH_CUDA) fate-blocksmooth-cuda-same-options: RUN = $(subst -,_,$(@:fate-blocksmooth-cuda-%=blocksmooth_cuda_%))

NEED_BLOCKSMOOTH = BLOCKSMOOTH_FILTER $(NEED_SOURCE) SCALE_FILTER NOISE_FILTER NULL_FILTER NULLSRC_FILTER GEQ_FILTER \
                   CROP_FILTER SENDCMD_FILTER RAWVIDEO_ENCODER
$(FATE_BLOCKSMOOTH):  NEED = $(NEED_BLOCKSMOOTH) $(NEED_RAW) RAWVIDEO_MUXER FRAMECRC_MUXER
$(FATE_BLOCKSMOOTH_CUDA): NEED = $(NEED_BLOCKSMOOTH) SPLIT_FILTER HWUPLOAD_FILTER HWDOWNLOAD_FILTER FRAMEMD5_MUXER \
                             LUTYUV_FILTER
$(FATE_BLOCKSMOOTH_CUDA): ON   = on_cuda
fate-blocksmooth-cuda-same-options: NEED = BLOCKSMOOTH_FILTER

FATE_QUALITY-$(call ALLYES, BLOCKSMOOTH_FILTER FFMPEG)     += $(FATE_BLOCKSMOOTH)
FATE_QUALITY-$(call ALLYES, BLOCKSMOOTH_CUDA_FILTER FFMPEG)    += fate-blocksmooth-cuda-same-options $(call PTX_TESTS,blocksmooth)
FATE_HW_QUALITY-$(call ALLYES, BLOCKSMOOTH_CUDA_FILTER FFMPEG) += $(FATE_BLOCKSMOOTH_CUDA)
