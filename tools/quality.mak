# The tools around the filters. In their folder they keep together with what they read; their
# names beside ffmpeg are links.

ifdef CONFIG_BLIINDS_FILTER
QUALITY_TOOLS   = bliinds-convert-release farm/quality-farm report/quality-compare report/quality-gate report/quality-report
QUALITY_MODULES = quality_common.py quality_ffmpeg.py quality_logs.py
QUALITY_DIR     = $(DATADIR)/quality

# manual pages
COMPONENTS-yes += $(notdir $(basename $(wildcard $(SRC_PATH)/doc/quality-*.texi)))

install: install-quality
install-quality:
	$(Q)mkdir -p "$(BINDIR)" "$(QUALITY_DIR)/farm" "$(QUALITY_DIR)/report"
	$(INSTALL) -c -m 755 $(SRC_PATH)/tools/farm/quality-farm \
		"$(QUALITY_DIR)/farm"
	$(INSTALL) -c -m 755 $(patsubst %,$(SRC_PATH)/tools/%,$(filter report/%,$(QUALITY_TOOLS))) \
		"$(QUALITY_DIR)/report"
	$(INSTALL) -c -m 755 $(SRC_PATH)/tools/bliinds-convert-release "$(QUALITY_DIR)"
	$(INSTALL) -c -m 644 $(addprefix $(SRC_PATH)/tools/report/page,.html .js) "$(QUALITY_DIR)/report"
	$(INSTALL) -c -m 644 $(QUALITY_MODULES:%=$(SRC_PATH)/tools/%) $(SRC_PATH)/tools/quality.version \
		"$(QUALITY_DIR)"
	$(Q)ln -srf $(QUALITY_TOOLS:%="$(QUALITY_DIR)/%") "$(BINDIR)"

uninstall: uninstall-quality
uninstall-quality:
	$(RM) $(patsubst %,"$(BINDIR)/%",$(notdir $(QUALITY_TOOLS)))
	$(RM) -r "$(QUALITY_DIR)"
endif
