# blocksmooth. The numbers are compared with an independent form of
# the arithmetic, in awk. The references of formats and options were made by the filter, with GEN=1.

FATE_BLOCKSMOOTH = $(addprefix fate-blocksmooth-,changes errors formats numbers options)

NEED_BLOCKSMOOTH = BLOCKSMOOTH_FILTER $(NEED_SOURCE) SCALE_FILTER NOISE_FILTER NULL_FILTER NULLSRC_FILTER GEQ_FILTER \
                   CROP_FILTER SENDCMD_FILTER RAWVIDEO_ENCODER
$(FATE_BLOCKSMOOTH): NEED = $(NEED_BLOCKSMOOTH) $(NEED_RAW) RAWVIDEO_MUXER FRAMECRC_MUXER

FATE_QUALITY-$(call ALLYES, BLOCKSMOOTH_FILTER FFMPEG) += $(FATE_BLOCKSMOOTH)
