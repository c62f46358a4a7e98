# Tests that need what FATE must not: a C++ compiler, GNU ld, a stand-in for the CUDA driver,
# libFuzzer. A build knows them where make is given EXTRA=yes. Then
#   fate-quality  runs the CUDA filters where there is no GPU, too: on the stand-in
#   fate-faults   lets calls fail, one after another: tests/extra/faults.sh
#   fuzzers       builds the fuzzers, which scripts/fuzz.sh runs

# The stand-in, and the kernels compiled for the CPU. They count through arrays of arrays as if
# these were one.
STAND_IN = tests/extra/libcuda.so.1
ON_CPU   = $(foreach F,bliinds blocksmooth mad mad_chirp mad_large ssim vmaf_adm vmaf_cambi vmaf_motion vmaf_speed vmaf_vif,tests/extra/vf_$(F)_cuda.o)
$(ON_CPU) $(addprefix tests/extra/,cuda_on_cpu.o fft_cuda.o): \
    CXXFLAGS += -O2 -fPIC -ffp-contract=off -fno-strict-aliasing -fno-aggressive-loop-optimizations
$(ON_CPU): CXXFLAGS += $(filter -I%,$(CFLAGS)) -I$(SRC_PATH)/libavfilter -include $(SRC_PATH)/tests/extra/cuda_on_cpu.h -x c++
$(filter-out %_chirp_cuda.o %_large_cuda.o,$(ON_CPU)): tests/extra/%.o: libavfilter/%.cu
	$(COMPILE_CXX)
tests/extra/vf_mad_chirp_cuda.o: CXXFLAGS += -DMAD_CHIRP
tests/extra/vf_mad_large_cuda.o: CXXFLAGS += -DMAD_LARGE
tests/extra/vf_mad_chirp_cuda.o tests/extra/vf_mad_large_cuda.o: libavfilter/vf_mad_cuda.cu
	$(COMPILE_CXX)
tests/extra/libcuda.o: CFLAGS += -fPIC -fvisibility=hidden
$(STAND_IN): tests/extra/libcuda.o tests/extra/cuda_on_cpu.o $(ON_CPU)
	$(CXX) -shared -Wl,-z,nodelete,-Bsymbolic -o $@ $^ -ldl -lm
$(FATE_HW_QUALITY-yes): $(STAND_IN)
$(FATE_HW_QUALITY-yes): export STAND_IN_FOLDER = $(CURDIR)/tests/extra

# The allocations that filter_faults lets fail are those of the static libraries.
WRAPPED = calloc realloc posix_memalign free fdopen fclose
FUZZERS = $(addprefix tests/extra/fuzz/,frames model quantizer)
EXTRA_PROGRAMS = tests/extra/filter_faults tests/extra/fft_cuda $(FUZZERS)
tests/extra/filter_faults$(EXESUF): EXTRA_LIBS = $(WRAPPED:%=-Xlinker --wrap=%)
$(FUZZERS:%=%$(EXESUF)):            EXTRA_LIBS = $(LIBFUZZER_PATH)
$(EXTRA_PROGRAMS:%=%$(EXESUF)): %$(EXESUF): %.o $(FF_DEP_LIBS)
	$(call LINK,$(LDFLAGS) $(LDEXEFLAGS) $(LD_O) $^ $(ELIBS) $(FF_EXTRALIBS) $(EXTRA_LIBS))
fuzzers: $(FUZZERS:%=%$(EXESUF))

OUTDIRS += tests/extra tests/extra/fuzz
EXTRA_OBJS = $(ON_CPU) $(EXTRA_PROGRAMS:%=%.o) $(addprefix tests/extra/,libcuda.o cuda_on_cpu.o)
$(EXTRA_OBJS): | tests/extra tests/extra/fuzz
-include $(wildcard $(EXTRA_OBJS:.o=.d))
# as FFmpeg's makefile does it for headers: one that is no more does not stop make
src/%.cuh src/%.cpp:
	@:
clean::
	$(RM) $(foreach D,tests/extra tests/extra/fuzz,$(CLEANSUFFIXES:%=$(D)/%)) $(STAND_IN) $(EXTRA_PROGRAMS:%=%$(EXESUF))

# The transforms of mad_cuda, compiled for the CPU.
$(eval $(call PROGRAM_TEST,mad-cuda-fft,fft_cuda,52 direct + 307 by a chirp + 311 large,tests/extra))
FATE_QUALITY-$(call WITH_ALL, MAD_CUDA_FILTER FFMPEG) += fate-mad-cuda-fft

# What fails, on the stand-in: tests of a filter each, and of some.
FAULTS_FILTERS = bliinds_cuda ssim_cuda mad_cuda blocksmooth_cuda
FAULTS_OF      = $(addprefix fate-faults-$(1)-,$(FAULTS_FILTERS) $(if $(filter changes,$(1)),,vmaf_cuda))
FAULTS_CUDA    = $(foreach T,in-flight changes driver,$(call FAULTS_OF,$(T))) \
                 $(addprefix fate-faults-,checked cropped devices many-changes others)
FAULTS         = $(FAULTS_CUDA) fate-faults-alloc
$(call FAULTS_OF,in-flight):   RUN = in_flight $(LAST)
$(call FAULTS_OF,in-flight):   REF = 36 runs of 30 and 7 frames
$(call FAULTS_OF,changes):     RUN = changes $(LAST) 20 3
$(call FAULTS_OF,changes):     REF = 63 frames
$(call FAULTS_OF,driver):      RUN = faults_driver $(LAST)
$(call FAULTS_OF,driver) fate-faults-alloc: REF = nothing went wrong
fate-faults-many-changes: RUN = changes bliinds_cuda 200 2 8 5
fate-faults-many-changes: REF = 402 frames
fate-faults-checked:      ON  = with_valgrind
fate-faults-checked:      REF = $(FAULTS_FILTERS:%=%: 0 for 10 frames)
fate-faults-cropped:      REF = $(patsubst %,%: same,$(filter-out blocksmooth_cuda,$(FAULTS_FILTERS)) vmaf_cuda)
fate-faults-devices:      REF = 6 errors are told
fate-faults-others:       REF = others are refused
fate-faults-alloc: NEED = MAD_FILTER BLOCKSMOOTH_FILTER VMAF_FILTER
$(FAULTS_CUDA): NEED = BLIINDS_CUDA_FILTER SSIM_CUDA_FILTER MAD_CUDA_FILTER VMAF_CUDA_FILTER \
                       BLOCKSMOOTH_CUDA_FILTER HWUPLOAD_CUDA_FILTER
$(FAULTS_CUDA): $(STAND_IN)
$(FAULTS): export STAND_IN_FOLDER = $(CURDIR)/tests/extra
$(FAULTS): FROM = extra/faults
$(FAULTS): CMD  = $(SHELL_TEST)
$(FAULTS): CMP  = oneline
$(FAULTS): tests/extra/filter_faults$(EXESUF) ffmpeg$(PROGSSUF)$(EXESUF)
FATE += $(FAULTS)
