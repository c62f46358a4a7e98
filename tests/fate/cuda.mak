# The CUDA filters against their twins on the CPU, of the same frames: tests/filters/cuda.sh.
# On a GPU, but for errors and options, which have references of their own.

CUDA_TESTS_bliinds     = errors formats instances memory noise queue tiles
CUDA_TESTS_blocksmooth = errors formats settings tiles writable
CUDA_TESTS_cambi       = errors formats instances memory queue tiles
CUDA_TESTS_mad         = errors flat formats instances maps queue tiles
CUDA_TESTS_ssim        = errors formats instances queue tiles
CUDA_TESTS_vmaf        = errors formats instances integers memory models queue tiles

# The largest width or height that is too small, for cuda_errors.
TOO_SMALL_bliinds      = 3
TOO_SMALL_blocksmooth  = 0
TOO_SMALL_cambi        = 64
TOO_SMALL_mad          = 63
TOO_SMALL_ssim         = 14
TOO_SMALL_vmaf         = 32

# $(call TWINS,filter,filter in capitals); the kernels of cambi_cuda are vmaf_cuda's
define TWINS
FATE_TWINS_$(1) = $(addprefix fate-$(1)-cuda-,$(filter-out errors,$(CUDA_TESTS_$(1))))
$$(FATE_TWINS_$(1)): CMP = oneline
$$(FATE_TWINS_$(1)): REF = all the same
$$(FATE_TWINS_$(1)) fate-$(1)-cuda-errors fate-$(1)-cuda-options: RUN  = cuda_$$(LAST) $(1) $(TOO_SMALL_$(1))
$$(FATE_TWINS_$(1)) fate-$(1)-cuda-errors fate-$(1)-cuda-options: NEED = $(2)_FILTER $(2)_CUDA_FILTER HWUPLOAD_CUDA_FILTER
$$(FATE_TWINS_$(1)) fate-$(1)-cuda-errors: ON = on_cuda
FATE_QUALITY-$$(call WITH_ALL, $(2)_CUDA_FILTER FFMPEG)    += fate-$(1)-cuda-options $$(call PTX_TESTS,$(filter-out cambi,$(1)))
FATE_HW_QUALITY-$$(call WITH_ALL, $(2)_CUDA_FILTER FFMPEG) += $$(FATE_TWINS_$(1)) fate-$(1)-cuda-errors
endef

$(eval $(call TWINS,bliinds,BLIINDS))
$(eval $(call TWINS,blocksmooth,BLOCKSMOOTH))
$(eval $(call TWINS,cambi,CAMBI))
$(eval $(call TWINS,mad,MAD))
$(eval $(call TWINS,ssim,SSIM))
$(eval $(call TWINS,vmaf,VMAF))

# Frames that wait for their pair when the graph is rebuilt.
fate-ssim-cuda-rebuild: RUN  = inputs_rebuild ssim_cuda All:1.000000 ,hwupload ,hwdownload,format=yuv444p
fate-ssim-cuda-rebuild: NEED = HWUPLOAD_CUDA_FILTER HWDOWNLOAD_FILTER
fate-ssim-cuda-rebuild: ON   = on_cuda
FATE_HW_QUALITY-$(call WITH_ALL, SSIM_CUDA_FILTER FFMPEG) += fate-ssim-cuda-rebuild

# mad_cuda by the release.
fate-mad-cuda-oracle: RUN  = mad_oracle $(SRC_PATH)/tests/oracle
fate-mad-cuda-oracle: REF  = $(SRC_PATH)/tests/ref/fate/mad-oracle
fate-mad-cuda-oracle: NEED = MAD_FILTER HWUPLOAD_CUDA_FILTER PNG_DECODER
fate-mad-cuda-oracle: ON   = on_cuda
FATE_HW_QUALITY-$(call WITH_ALL, MAD_CUDA_FILTER FFMPEG) += fate-mad-cuda-oracle
