# vmaf. The numbers are those of libvmaf's plain C for the same drawn clips, by its tool of commit
# f85a8536 with a model each; clips and figures are the same on every machine with glibc.

FATE_VMAF = $(addprefix fate-vmaf-,bits depth drawn errors json keys libvmaf log-formats motion still summary v0 v0-gray v0-sizes)
$(FATE_VMAF): RUN  = parsed=vmaf; $(NAMED)
$(FATE_VMAF): FROM = filters/vmaf

$(eval $(call PROGRAM_TEST,vmaf-layouts,filter_matrix layouts vmaf 321x243 218x217 160x216,120 cases))
fate-vmaf-log-memory: RUN = log_memory split,vmaf 216x216 100 1000
fate-vmaf-log-memory: CMP = oneline
fate-vmaf-log-memory: REF = all the same
$(eval $(call ONELINE_TEST,vmaf-rebuild,pair_rebuild vmaf,pairs of both sizes: same))
fate-vmaf-x87: RUN = x87 vmaf_ops
fate-vmaf-x87: REF = $(SRC_PATH)/tests/ref/fate/metric-x87
FATE_VMAF += $(addprefix fate-vmaf-,layouts log-memory rebuild x87)

FATE_QUALITY-$(call WITH_ALL, VMAF_FILTER FFMPEG) += $(FATE_VMAF)

# The same numbers of CUDA frames.
FATE_VMAF_CUDA = $(addprefix fate-vmaf-cuda-,bits depth drawn json motion still v0 v0-sizes)
$(FATE_VMAF_CUDA): RUN  = of_cuda vmaf_$(subst -,_,$(@:fate-vmaf-cuda-%=%))
$(FATE_VMAF_CUDA): FROM = filters/vmaf
$(FATE_VMAF_CUDA): REF  = $(call REF_OF,vmaf-cuda-%,vmaf-%)
$(FATE_VMAF_CUDA): NEED = HWUPLOAD_CUDA_FILTER
$(FATE_VMAF_CUDA): ON   = on_cuda

FATE_HW_QUALITY-$(call WITH_ALL, VMAF_CUDA_FILTER FFMPEG) += $(FATE_VMAF_CUDA)
