# Tests of mad. Scores are compared with those of the authors' release or of numpy in double
# precision; the pairing of frames is compared with that of FFmpeg's ssim.

FATE_MAD_RUN = $(addprefix fate-mad-,cases errors logs maps oracle sync)
$(FATE_MAD_RUN): RUN = parsed=mad; $(NAMED)
fate-mad-oracle: RUN = mad_oracle $(SRC_PATH)/tests/oracle

# More pairs of the authors' release, if they are installed.
$(eval $(call ONELINE_TEST,mad-oracle-all,oracle_all mad_oracle mad 3,all values agree))

$(eval $(call PROGRAM_TEST,mad-tx,mad_tx,341 transforms))
$(eval $(call FORMATS_TEST,mad-formats,formats mad 64x64))
$(eval $(call PROGRAM_TEST,mad-range-of,filter_matrix ranges mad 64x64,13 cases))
$(eval $(call PROGRAM_TEST,mad-layouts,filter_matrix layouts mad 70x66,56 cases))

fate-mad-rebuild: RUN = inputs_rebuild mad score:0.000000000

FATE_MAD = $(FATE_MAD_RUN) $(addprefix fate-mad-,formats layouts oracle-all range-of rebuild tx)
$(FATE_MAD): NEED = PNG_DECODER

FATE_QUALITY-$(call WITH_ALL, MAD_FILTER FFMPEG) += $(FATE_MAD)
