# The inputs of the metric filters: formats that they read alike, and what they refuse. See tests/filters/inputs.sh.

FATE_INPUTS = $(addprefix fate-inputs-,changed converted formats hdr refused rgb)
fate-inputs-changed: NEED_ALSO = LIBX264_ENCODER
$(FATE_INPUTS): NEED = BLIINDS_FILTER BLOCKSMOOTH_FILTER MAD_FILTER VMAF_FILTER $(NEED_ALSO)
FATE_QUALITY-$(CONFIG_VMAF_FILTER) += $(FATE_INPUTS)

FATE_INPUTS_CUDA = fate-inputs-hdr-cuda fate-inputs-refused-cuda
$(FATE_INPUTS_CUDA): ON   = on_cuda
$(FATE_INPUTS_CUDA): NEED = BLIINDS_CUDA_FILTER MAD_CUDA_FILTER SSIM_CUDA_FILTER VMAF_CUDA_FILTER HWUPLOAD_CUDA_FILTER
FATE_HW_QUALITY-$(CONFIG_VMAF_CUDA_FILTER) += $(FATE_INPUTS_CUDA)
