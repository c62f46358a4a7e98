# Tests of blocksmooth. fate-blocksmooth-numbers compares samples with those of an independent
# implementation, tests/oracle/blocksmooth.py. The filter itself made the references of formats and
# options, with GEN=1.

FATE_BLOCKSMOOTH = $(addprefix fate-blocksmooth-,errors formats numbers options)

FATE_QUALITY-$(call WITH_ALL, BLOCKSMOOTH_FILTER FFMPEG) += $(FATE_BLOCKSMOOTH)
