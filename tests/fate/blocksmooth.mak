# blocksmooth, and deblock_cuda against it. The numbers are compared with an independent form of
# the arithmetic, in awk. The references of formats and options were made by the filter, with GEN=1.

FATE_BLOCKSMOOTH  = $(addprefix fate-blocksmooth-,changes errors formats numbers options)
FATE_DEBLOCK_CUDA = $(addprefix fate-deblock-cuda-,errors formats options sizes writable)
$(FATE_DEBLOCK_CUDA) fate-deblock-cuda-same-options: RUN = $(subst -,_,$(@:fate-deblock-cuda-%=deblock_%))

NEED_BLOCKSMOOTH = BLOCKSMOOTH_FILTER $(NEED_SOURCE) SCALE_FILTER NOISE_FILTER NULL_FILTER NULLSRC_FILTER GEQ_FILTER \
                   CROP_FILTER SENDCMD_FILTER RAWVIDEO_ENCODER
$(FATE_BLOCKSMOOTH):  NEED = $(NEED_BLOCKSMOOTH) $(NEED_RAW) RAWVIDEO_MUXER FRAMECRC_MUXER
$(FATE_DEBLOCK_CUDA): NEED = $(NEED_BLOCKSMOOTH) SPLIT_FILTER HWUPLOAD_FILTER HWDOWNLOAD_FILTER FRAMEMD5_MUXER \
                             LUTYUV_FILTER
$(FATE_DEBLOCK_CUDA): ON   = on_cuda
fate-deblock-cuda-same-options: NEED = BLOCKSMOOTH_FILTER

FATE_QUALITY-$(call ALLYES, BLOCKSMOOTH_FILTER FFMPEG)     += $(FATE_BLOCKSMOOTH)
FATE_QUALITY-$(call ALLYES, DEBLOCK_CUDA_FILTER FFMPEG)    += fate-deblock-cuda-same-options $(call PTX_TESTS,deblock)
FATE_HW_QUALITY-$(call ALLYES, DEBLOCK_CUDA_FILTER FFMPEG) += $(FATE_DEBLOCK_CUDA)
