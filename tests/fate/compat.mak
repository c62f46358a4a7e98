# libvmaf and libvmaf_cuda by the command lines of other programs. The scores are those of libvmaf's plain
# C, by its tool of commit f85a8536.

FATE_VMAF_COMPAT = fate-vmaf-compat fate-vmaf-compat-planes
$(FATE_VMAF_COMPAT): RUN  = . $(SRC_PATH)/tests/filters/compat.sh; $(NAMED)
$(FATE_VMAF_COMPAT): FROM = filters/vmaf
fate-vmaf-compat-planes: NEED = EXTRACTPLANES_FILTER

FATE_QUALITY-$(call WITH_ALL, VMAF_COMPAT_FILTER FFMPEG) += $(FATE_VMAF_COMPAT)
