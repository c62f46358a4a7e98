# cambi. The numbers are those of libvmaf's plain C for the same drawn clips, by its tool of commit
# f85a8536 with -n --feature cambi, for model=v1 with the options of the v1 models.

FATE_CAMBI = $(addprefix fate-cambi-,errors formats heatmap libvmaf logs vmaf)
$(FATE_CAMBI): RUN  = parsed=cambi; $(NAMED)
$(FATE_CAMBI): FROM = filters/vmaf filters/cambi
$(FATE_CAMBI): NEED = $(NEED_ALSO)
fate-cambi-vmaf: NEED_ALSO = VMAF_FILTER

$(eval $(call PROGRAM_TEST,cambi-layouts,filter_matrix layouts cambi 321x243 216x100,96 cases))
FATE_CAMBI += fate-cambi-layouts

FATE_QUALITY-$(call WITH_ALL, CAMBI_FILTER FFMPEG) += $(FATE_CAMBI)
