# The tools around the filters. In their folder they keep together with what they read; their
# names beside ffmpeg are links.

ifdef CONFIG_BLIINDS_FILTER
QUALITY_TOOLS = quality-compare quality-farm quality-gate quality-report
QUALITY_DATA  = tools/quality_logs.py tools/quality_report.html tools/quality_report.js \
                doc/quality-alerts.yml doc/quality-alerts-test.yml
QUALITY_DIR   = $(DATADIR)/quality

install: install-quality
install-quality: tools/quality_merge$(EXESUF)
	$(Q)mkdir -p "$(BINDIR)" "$(QUALITY_DIR)/farm"
	$(INSTALL) -c -m 755 tools/quality_merge$(EXESUF) "$(BINDIR)"
	$(INSTALL) -c -m 755 $(QUALITY_TOOLS:%=$(SRC_PATH)/tools/%) "$(QUALITY_DIR)"
	$(INSTALL) -c -m 755 $(SRC_PATH)/tools/farm/task "$(QUALITY_DIR)/farm"
	$(INSTALL) -c -m 644 $(QUALITY_DATA:%=$(SRC_PATH)/%) "$(QUALITY_DIR)"
	$(Q)ln -srf $(QUALITY_TOOLS:%="$(QUALITY_DIR)/%") "$(BINDIR)"

uninstall: uninstall-quality
uninstall-quality:
	$(RM) "$(BINDIR)/quality_merge$(EXESUF)" $(QUALITY_TOOLS:%="$(BINDIR)/%")
	$(RM) -r "$(QUALITY_DIR)"
endif
