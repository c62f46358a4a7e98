# The tools around the filters. In their folder they keep together with what they read; their
# names beside ffmpeg are links.

ifdef CONFIG_BLIINDS_FILTER
FFCRF         = ffcrf
QUALITY_TOOLS = bliinds-convert-release ffcrf $(addprefix quality-,compare farm gate report)
QUALITY_FILES = quality_common.py quality_logs.py \
                $(addsuffix .py,$(addprefix ffcrf_,encode options search)) \
                $(addprefix quality-report.,html js) quality.version
QUALITY_DIR   = $(DATADIR)/quality

# manual pages
COMPONENTS-yes += ffcrf $(notdir $(basename $(wildcard $(SRC_PATH)/doc/quality-*.texi)))

# beside ffmpeg, which it runs
all: $(FFCRF)
$(FFCRF): $(SRC_PATH)/tools/ffcrf
	$(Q)ln -sf "$(realpath $<)" $@

install: install-quality
install-quality:
	$(Q)mkdir -p "$(BINDIR)" "$(QUALITY_DIR)"
	$(INSTALL) -c -m 755 $(QUALITY_TOOLS:%=$(SRC_PATH)/tools/%) "$(QUALITY_DIR)"
	$(INSTALL) -c -m 644 $(QUALITY_FILES:%=$(SRC_PATH)/tools/%) "$(QUALITY_DIR)"
	$(Q)ln -srf $(QUALITY_TOOLS:%="$(QUALITY_DIR)/%") "$(BINDIR)"

uninstall: uninstall-quality
uninstall-quality:
	$(RM) $(QUALITY_TOOLS:%="$(BINDIR)/%")
	$(RM) -r "$(QUALITY_DIR)"

clean::
	$(RM) $(FFCRF)
endif
