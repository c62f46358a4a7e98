# mad. It is compared with the authors' release, or double precision by numpy,
# or FFmpeg's ssim for how frames are brought together.

MAD_ORACLE = $(addprefix oracle-,camera_crop_300x240_blur camera_crop_300x240_jpeg15 camera_crop_300x240_jpeg60 \
                                 camera_crop_300x240_noise chelsea_451x300_blur)
FATE_MAD_ORACLE = $(MAD_ORACLE:%=fate-mad-%)
$(FATE_MAD_ORACLE): RUN = mad_oracle $(lastword $(subst oracle-, ,$@))
$(FATE_MAD_ORACLE): REF = 3 values agree

# More of them, where they are at hand.
fate-mad-oracle-all: RUN = mad_oracle_all
fate-mad-oracle-all: REF = all values agree
$(FATE_MAD_ORACLE) fate-mad-oracle-all: CMP = oneline

FATE_MAD_RUN = $(addprefix fate-mad-,cases errors logs ranges sync)
$(FATE_MAD_RUN): RUN = parsed=mad; $(NAMED)
fate-mad-logs:   RUN = parsed=mad; mad_logs score

$(eval $(call PROGRAM_TEST,mad-tx,mad_tx,341 transforms))
$(eval $(call FORMATS_TEST,mad-formats,formats mad 64x64))
$(eval $(call PROGRAM_TEST,mad-range-of,filter_matrix ranges mad 64x64,13 cases))
$(eval $(call PROGRAM_TEST,mad-layouts,filter_matrix layouts mad 70x66,56 cases))

FATE_MAD = $(FATE_MAD_ORACLE) $(FATE_MAD_RUN) $(addprefix fate-mad-,formats layouts oracle-all range-of tx)
$(FATE_MAD): NEED = PNG_DECODER

FATE_QUALITY-$(call WITH_ALL, MAD_FILTER FFMPEG) += $(FATE_MAD)
