# How the frames of two files are paired by the README's command: tests/pairs.sh.

FATE_PAIRS_WITH = $(addprefix fate-pairs-,docs recipe)
$(FATE_PAIRS_WITH): ON = with_readme

# The warnings of the GPU's filters are the same.
FATE_PAIRS_CUDA = $(addprefix fate-pairs-,mad-cuda ssim-cuda)
$(FATE_PAIRS_CUDA): RUN = pairs_warning $(subst -,_,$(@:fate-pairs-%=%)) ,hwupload
$(FATE_PAIRS_CUDA): ON  = on_cuda
$(FATE_PAIRS_CUDA): REF = $(SRC_PATH)/tests/ref/fate/pairs-warning
fate-pairs-warning: RUN = pairs_warning mad

FATE_PAIRS = $(FATE_PAIRS_WITH) fate-pairs-warning
$(FATE_PAIRS): NEED = MAD_FILTER LIBX264_ENCODER
$(FATE_PAIRS) $(FATE_PAIRS_CUDA): FROM = pairs

FATE_QUALITY-$(call WITH_ALL, MAD_FILTER FFMPEG) += $(FATE_PAIRS)
FATE_HW_QUALITY-$(call WITH_ALL, MAD_CUDA_FILTER FFMPEG)  += fate-pairs-mad-cuda
FATE_HW_QUALITY-$(call WITH_ALL, SSIM_CUDA_FILTER FFMPEG) += fate-pairs-ssim-cuda
