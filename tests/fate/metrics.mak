# Tests of the metric filters and their tools. What they compare with comes from outside
# (tests/oracle) or from the documentation, unless a comment says that GEN=1 made it.

# Some of FFmpeg's own parts, all of which the tests use: who lacks one has told configure to
# leave out most.
NEED_ALWAYS = LAVFI_INDEV TESTSRC2_FILTER GEQ_FILTER NOISE_FILTER METADATA_FILTER SSIM_FILTER \
              CODECVIEW_FILTER H264_DECODER MPEG2VIDEO_ENCODER FFV1_ENCODER PGM_DECODER \
              MATROSKA_DEMUXER MPEGTS_MUXER IMAGE2_MUXER FRAMEMD5_MUXER NOISE_BSF PIPE_PROTOCOL

# That, and what a test NEEDs beside: where a build lacks it, the test passes as skipped, and
# fate-quality counts it.
LACKS = $(strip $(foreach C,$(NEED_ALWAYS) $(NEED),$(if $(CONFIG_$(C)),,$(C))))

# As ALLYES, for filters, too, that come with later patches: yes if all are in the build.
WITH_ALL = $(if $(strip $(foreach C,$(1),$(if $(CONFIG_$(C)),,$(C)))),,yes)

# A test RUNs a function of tests/filters, or of the file that it is FROM, maybe ON something. The
# function has the name of the test, if no other is given.
SHELL_TEST = . $(SRC_PATH)/tests/filters/common.sh; $(FROM:%=. $(SRC_PATH)/tests/%.sh;) \
             $(if $(LACKS),skip not built with $(LACKS),$(ON) $(RUN))
NAMED      = $(subst -,_,$(@:fate-%=%))
RUN        = $(NAMED)
LAST       = $(lastword $(subst -, ,$@))

# The reference of a test is that of another: $(call REF_OF,this,other), patterns of names.
REF_OF = $(SRC_PATH)/tests/ref/fate/$(@:fate-$(1)=$(2))

# What prints a line: $(call ONELINE_TEST,test,command,line).
define ONELINE_TEST
fate-$(1): RUN = $(2)
fate-$(1): CMP = oneline
fate-$(1): REF = $(3)
endef

# A program of libavfilter/tests, or of another folder, that does:
# $(call PROGRAM_TEST,test,program [arguments],line[,folder]).
PROGRAM = $(or $(4),libavfilter/tests)/$(firstword $(2))$(EXESUF)
define PROGRAM_TEST
fate-$(1): $(PROGRAM)
$(call ONELINE_TEST,$(1),run $(PROGRAM) $(wordlist 2,99,$(2)),$(3))
endef

# A filter by formats, whose list is the same for all: $(call FORMATS_TEST,test,arguments of filter_matrix).
define FORMATS_TEST
fate-$(1): libavfilter/tests/filter_matrix$(EXESUF)
fate-$(1): RUN = matrix_of_formats $(2)
fate-$(1): REF = $(SRC_PATH)/tests/ref/fate/metric-formats
endef

# Kernels by each compiler, which are in the test's name with those: $(call PTX_TESTS,filter).
KERNELS_OF_mad  = mad mad_chirp mad_large
KERNELS_OF_vmaf = $(addprefix vmaf_,adm cambi motion speed vif)
PTX_TESTS = $(foreach F,$(or $(KERNELS_OF_$(1)),$(1)),fate-$(F)-cuda-ptx-built \
                $(if $(filter mad_chirp,$(F)),,$(addprefix fate-$(F)-cuda-ptx-,clang-14 nvcc)))
PTX       = ptx $(subst -cuda-ptx-,_cuda ,$(@:fate-%=%))

include $(wildcard $(addprefix $(SRC_PATH)/tests/fate/,bliinds.mak blocksmooth.mak cambi.mak compat.mak \
                    ffcrf.mak inputs.mak mad.mak cuda.mak pairs.mak quantizer.mak score_tools.mak \
                    ssimulacra2.mak vmaf.mak))

FATE_PTX = $(foreach F,bliinds blocksmooth mad ssim vmaf,$(call PTX_TESTS,$(F)))
$(FATE_PTX): RUN = $(if $(CONFIG_CUDA_LLVM),$(PTX) $(NVCCFLAGS) $(KERNEL_CLANGFLAGS),skip built with nvcc)
$(filter %-built,$(FATE_PTX)): PTX += $(lastword $(NVCC))
$(filter %-nvcc,$(FATE_PTX)): RUN = $(PTX) $(KERNEL_NVCCFLAGS)
$(FATE_PTX): CMP = oneline
$(FATE_PTX): REF = good PTX

# Assembly, by FFmpeg's own rules.
FATE_QUALITY-yes += $(filter fate-checkasm-vf_bliinds fate-checkasm-vf_ssimulacra2 \
                    fate-checkasm-vf_vmaf,$(FATE_CHECKASM))

# All of them under a checker of memory.
fate-metric-memory: libavfilter/tests/filter_matrix$(EXESUF)
fate-metric-memory: ON   = with_valgrind
fate-metric-memory: NEED = BLIINDS_FILTER BLOCKSMOOTH_FILTER MAD_FILTER VMAF_FILTER
FATE_QUALITY-$(CONFIG_BLIINDS_FILTER) += fate-metric-memory

# FFmpeg's own filters, where a graph is rebuilt.
fate-metric-stock: RUN  = stock
fate-metric-stock: NEED = OVERLAY_FILTER TPAD_FILTER
FATE_QUALITY-$(CONFIG_FFMPEG) += fate-metric-stock

# What needs more than FATE may ask for.
include $(if $(EXTRA),$(SRC_PATH)/tests/extra/extra.mak)

FATE_QUALITY = $(FATE_QUALITY-yes) $(FATE_HW_QUALITY-yes)
$(filter-out $(FATE_CHECKASM),$(FATE_QUALITY)): CMD = $(SHELL_TEST)
$(FATE_QUALITY): ffmpeg$(PROGSSUF)$(EXESUF) $(if $(CONFIG_FFPROBE),ffprobe$(PROGSSUF)$(EXESUF))

FATE_HW-yes += $(FATE_HW_QUALITY-yes)
FATE += $(filter-out $(FATE_CHECKASM),$(FATE_QUALITY-yes))

# What may depend on the release of FFmpeg: make check runs all tests on the first one, and these on
# the others.
FATE_QUALITY_SERIES = $(filter fate-checkasm-% fate-%-formats fate-%-layouts fate-%-numbers \
    fate-%-options fate-%-ranges fate-%-rebuild fate-%-sync fate-bliinds-oracle fate-mad-oracle \
    fate-bliinds-sei-h264 fate-ffcrf-json fate-ffcrf-search fate-pairs-recipe fate-quantizer-h264 \
    fate-quantizer-mjpeg fate-quantizer-mpeg,$(FATE_QUALITY-yes))

fate-quality: $(FATE_QUALITY)
fate-quality-series: $(FATE_QUALITY_SERIES)
fate-faults: $(FAULTS)
fate-quality-list:        LISTED = $(FATE_QUALITY)
fate-quality-series-list: LISTED = $(FATE_QUALITY_SERIES)
fate-faults-list:         LISTED = $(FAULTS)
fate-quality-list fate-quality-series-list fate-faults-list:
	@printf '%s\n' $(patsubst fate-%,%,$(sort $(LISTED)))

fate-quality fate-quality-series fate-faults:
	@cat $(patsubst fate-%,tests/data/fate/%.skipped,$^) 2> /dev/null | awk '             \
	    { sub(/^[^:]*: /, ""); n[$$0]++ }                                                   \
	    END { for (why in n) printf("SKIPPED %d of $(words $^) tests, or parts: %s\n", n[why], why) }'
	@ls $(patsubst fate-%,tests/data/fate/%.on_cpu,$^) 2> /dev/null | awk '                 \
	    END { if (NR) printf("%d tests had no GPU: their kernels ran on the CPU\n", NR) }'
