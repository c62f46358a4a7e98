# What the filters do where something fails: tests/faults.sh. The CUDA filters run on
# a stand-in for the driver.

# The stand-in, and the kernels compiled for the CPU: where there is no GPU, tests of the CUDA filters
# need them. Kernels count through arrays of arrays as if they were one.
STAND_IN = tests/faults/libcuda.so.1
ON_CPU_LINES = tests/faults/vf_mad_chirp_cuda.o tests/faults/vf_mad_large_cuda.o
ON_CPU_FILES = $(foreach F,bliinds blocksmooth detailloss mad ssim,tests/faults/vf_$(F)_cuda.o)
ON_CPU = $(ON_CPU_FILES) $(ON_CPU_LINES)
ON_CPU_FLAGS = $(CPPFLAGS) $(filter -I%,$(CFLAGS)) -std=c++11 -O2 -fPIC -ffp-contract=off -fno-strict-aliasing -fno-aggressive-loop-optimizations
tests/faults/vf_mad_chirp_cuda.o: ON_CPU_FLAGS += -DMAD_CHIRP
tests/faults/vf_mad_large_cuda.o: ON_CPU_FLAGS += -DMAD_LARGE
$(ON_CPU_FILES): tests/faults/%.o: $(SRC_PATH)/libavfilter/%.cu
$(ON_CPU_LINES): $(SRC_PATH)/libavfilter/vf_mad_cuda.cu
$(ON_CPU): $(addprefix $(SRC_PATH)/libavfilter/,tests/cuda_on_cpu.h)    \
           $(wildcard $(addprefix $(SRC_PATH)/libavfilter/,*.h cuda/*.h cuda/*.cuh))
	$(Q)mkdir -p $(@D)
	$(CXX) $(ON_CPU_FLAGS) -I$(SRC_PATH)/libavfilter -include $(SRC_PATH)/libavfilter/tests/cuda_on_cpu.h \
	    -x c++ -c -o $@ $(filter %.cu,$^)
tests/faults/cuda_on_cpu.o: $(addprefix $(SRC_PATH)/libavfilter/tests/cuda_on_cpu,.cpp .h)
	$(Q)mkdir -p $(@D)
	$(CXX) $(ON_CPU_FLAGS) -c -o $@ $<
tests/faults/libcuda.o: $(addprefix $(SRC_PATH)/,tests/faults/libcuda.c                             \
        libavfilter/cuda/fft.h libavfilter/detailloss_wavelet.h                                     \
        $(foreach F,bliinds blocksmooth detailloss mad ssim,libavfilter/vf_$(F)_cuda.h))
	$(Q)mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -c -o $@ $<
$(STAND_IN): tests/faults/libcuda.o tests/faults/cuda_on_cpu.o $(ON_CPU)
	$(CC) -shared -Wl,-z,nodelete -o $@ $^ -lm

FAULTS_CUDA   = $(addprefix fate-faults-,$(foreach T,in-flight in-parallel changes driver,      \
                    $(addprefix $(T)-,bliinds_cuda ssim_cuda detailloss_cuda mad_cuda blocksmooth_cuda)))
FAULTS_FILTER = $(LAST)
$(filter fate-faults-in-flight-%,$(FAULTS_CUDA)):   RUN = in_flight $(FAULTS_FILTER)
$(filter fate-faults-in-flight-%,$(FAULTS_CUDA)):   REF = 36 runs of 30 and 7 frames
$(filter fate-faults-in-parallel-%,$(FAULTS_CUDA)): RUN = in_parallel $(FAULTS_FILTER)
$(filter fate-faults-in-parallel-%,$(FAULTS_CUDA)): REF = 30 frames
$(filter fate-faults-changes-%,$(FAULTS_CUDA)):     RUN = changes $(FAULTS_FILTER) 20 3
$(filter fate-faults-changes-%,$(FAULTS_CUDA)):     REF = 63 frames
$(filter fate-faults-driver-%,$(FAULTS_CUDA)):      RUN = faults_driver $(FAULTS_FILTER)
$(filter fate-faults-driver-%,$(FAULTS_CUDA)):      REF = nothing went wrong
FAULTS_CUDA += $(addprefix fate-faults-,checked cropped devices many-changes ranges)
fate-faults-cropped:      RUN = cropped
fate-faults-cropped:      REF = bliinds_cuda: same ssim_cuda: same detailloss_cuda: same mad_cuda: same
fate-faults-ranges:       RUN = ranges
fate-faults-ranges:       REF = 10
fate-faults-checked:      RUN = checked
fate-faults-checked:      REF = $(strip $(foreach F,bliinds ssim detailloss mad blocksmooth,$(F)_cuda: 0 for 10 frames))
fate-faults-checked:      ON  = with_valgrind
fate-faults-many-changes: RUN = changes bliinds_cuda 200 2 8 5
fate-faults-many-changes: REF = 402 frames
fate-faults-devices:      RUN = devices
fate-faults-devices:      REF = 8 errors are told
$(FAULTS_CUDA): NEED = BLIINDS_CUDA_FILTER SSIM_CUDA_FILTER DETAILLOSS_CUDA_FILTER MAD_CUDA_FILTER BLOCKSMOOTH_CUDA_FILTER HWUPLOAD_CUDA_FILTER
$(FAULTS_CUDA): $(STAND_IN)

fate-faults-alloc: NEED = DETAILLOSS_FILTER MAD_FILTER BLOCKSMOOTH_FILTER
fate-faults-alloc: RUN  = faults_alloc
fate-faults-alloc: REF  = nothing went wrong

FAULTS = $(FAULTS_CUDA) fate-faults-alloc
$(FAULTS): FROM = faults
$(FAULTS): CMP  = oneline
$(FAULTS): libavfilter/tests/filter_faults$(EXESUF)

# Allocations can be made to fail where the libraries are linked in.
FATE_QUALITY-$(call WITH_ALL, BLIINDS_FILTER FFMPEG STATIC)      += fate-faults-alloc
FATE_QUALITY-$(call WITH_ALL, BLIINDS_CUDA_FILTER FFMPEG STATIC) += $(FAULTS_CUDA)

# The transforms of mad_cuda, compiled for the CPU.
$(eval $(call PROGRAM_TEST,mad-cuda-fft,fft_cuda,52 direct + 307 by a chirp + 311 large))
FATE_QUALITY-$(call WITH_ALL, MAD_CUDA_FILTER FFMPEG) += fate-mad-cuda-fft
