# blocksmooth. The numbers are compared with an independent form of
# the arithmetic, in awk. The references of formats and options were made by the filter, with GEN=1.

FATE_BLOCKSMOOTH = $(addprefix fate-blocksmooth-,errors formats numbers options)

FATE_QUALITY-$(call WITH_ALL, BLOCKSMOOTH_FILTER FFMPEG) += $(FATE_BLOCKSMOOTH)
