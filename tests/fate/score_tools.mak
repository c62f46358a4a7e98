# The tools around the filters.

# By pytest, of tests/tools. Those of the farm that wait much are tests of their own.
FARM_WAITS  = examples reference resume slurm
FATE_FARM   = $(addprefix fate-tools-farm,$(FARM_WAITS:%=-%) -rest)
FATE_PYTEST = $(FATE_FARM) $(addprefix fate-tools-,compare docs gate logs pool report)
$(FATE_PYTEST): RUN = tools_test $(LAST)
$(FATE_FARM):   RUN = tools_test farm test_$(LAST)
fate-tools-farm-rest: RUN = tools_test farm "test_ $(FARM_WAITS:%=and not test_%)"
$(FATE_PYTEST): CMP = oneline
$(FATE_PYTEST): REF = all tests pass
fate-tools-pool: libavfilter/tests/score_pool$(EXESUF)
$(FATE_FARM): NEED = FFPROBE MP2_ENCODER MPEG2VOB_MUXER MPEGPS_DEMUXER QUANTIZER_METADATA_BSF

FATE_SCORE_TOOLS = fate-report-install $(addprefix fate-tools-,compare docs gate logs report)
$(FATE_SCORE_TOOLS): NEED = LIBX264_ENCODER MP2_ENCODER PNG_ENCODER FFPROBE
# or else it would build what others are building
fate-report-install: all

fate-tools-compare: NEED += MAD_FILTER QUANTIZER_METADATA_BSF

FATE_QUALITY-$(call WITH_ALL, BLIINDS_FILTER FFMPEG) += $(sort $(FATE_PYTEST) $(FATE_SCORE_TOOLS))
