# How the frames of two files are paired by the README's command: tests/pairs.sh.

FATE_PAIRS_WITH = $(addprefix fate-pairs-,docs identity recipe)
$(FATE_PAIRS_WITH): ON = with_readme

# The pairs and the warnings of the GPU's filters are the same.
FATE_PAIRS_CUDA = $(addprefix fate-pairs-,mad-cuda ssim-cuda)
$(FATE_PAIRS_CUDA): RUN = pairs_warning $(subst -,_,$(@:fate-pairs-%=%)) ,hwupload
$(FATE_PAIRS_CUDA): REF = $(SRC_PATH)/tests/ref/fate/pairs-warning
fate-pairs-nearest-cuda: RUN = pairs_nearest mad_cuda ,hwupload
fate-pairs-nearest-cuda: REF = $(SRC_PATH)/tests/ref/fate/pairs-nearest
$(FATE_PAIRS_CUDA) fate-pairs-nearest-cuda: ON = on_cuda
fate-pairs-nearest: RUN = pairs_nearest mad
fate-pairs-warning: RUN = pairs_warning mad

FATE_PAIRS = $(FATE_PAIRS_WITH) $(addprefix fate-pairs-,nearest warning)
$(FATE_PAIRS): NEED = MAD_FILTER LIBX264_ENCODER
$(FATE_PAIRS) $(FATE_PAIRS_CUDA) fate-pairs-nearest-cuda: FROM = pairs

FATE_QUALITY-$(call WITH_ALL, MAD_FILTER FFMPEG) += $(FATE_PAIRS)
FATE_HW_QUALITY-$(call WITH_ALL, MAD_CUDA_FILTER FFMPEG)  += fate-pairs-mad-cuda fate-pairs-nearest-cuda
FATE_HW_QUALITY-$(call WITH_ALL, SSIM_CUDA_FILTER FFMPEG) += fate-pairs-ssim-cuda
