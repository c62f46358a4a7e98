# ssimulacra2. Scores in exact arithmetic come from tests/oracle/ssimulacra2.c.

FATE_SSIMULACRA2 = $(addprefix fate-ssimulacra2-,errors exact layouts logs tags threads)
$(FATE_SSIMULACRA2): RUN  = parsed=ssimulacra2; $(NAMED)
$(FATE_SSIMULACRA2): FROM = filters/ssimulacra2

FATE_QUALITY-$(call WITH_ALL, SSIMULACRA2_FILTER FFMPEG) += $(FATE_SSIMULACRA2)
