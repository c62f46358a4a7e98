# detailloss. The numbers are compared with those of a program in double
# precision; how frames are brought together, with FFmpeg's ssim.

FATE_DETAILLOSS_RUN = $(addprefix fate-detailloss-,errors limits numbers subsample)
$(FATE_DETAILLOSS_RUN): RUN = parsed=detailloss; $(NAMED)
fate-detailloss-logs:        RUN = parsed=detailloss; mad_logs loss
fate-detailloss-log-memory: RUN = log_memory split,detailloss
fate-detailloss-log-memory: CMP = oneline
fate-detailloss-log-memory: REF = the same
fate-detailloss-sync:        RUN = parsed=detailloss; mad_sync
fate-detailloss-sync: REF = $(call REF_OF,detailloss-%,mad-%)

$(eval $(call FORMATS_TEST,detailloss-formats,formats-of-chroma detailloss 70x66))
$(eval $(call PROGRAM_TEST,detailloss-ranges,filter_matrix ranges detailloss 96x80,13 cases))
$(eval $(call PROGRAM_TEST,detailloss-layouts,filter_matrix layouts detailloss 321x243 16x16 17x48 131x64,224 cases))

FATE_DETAILLOSS = $(FATE_DETAILLOSS_RUN) $(addprefix fate-detailloss-,formats layouts log-memory logs ranges sync)
$(FATE_DETAILLOSS): NEED = PNG_DECODER
$(FATE_DETAILLOSS): FROM = detailloss

FATE_QUALITY-$(call WITH_ALL, DETAILLOSS_FILTER FFMPEG) += $(FATE_DETAILLOSS)
