# ffcrf, the search for a CRF, as a program beside ffmpeg, where there is POSIX.

ifdef CONFIG_FFMPEG
ifdef HAVE_SYSCONF
FFCRF      = ffcrf$(PROGSSUF)$(EXESUF)
OBJS-ffcrf = $(addprefix tools/crf/,encode.o ffcrf.o search.o ui.o)

PROGS          += $(FFCRF)
COMPONENTS-yes += ffcrf

ffcrf$(PROGSSUF)_g$(EXESUF): $(OBJS-ffcrf)

all: $(FFCRF)

install: install-ffcrf
install-ffcrf: $(FFCRF)
	$(Q)mkdir -p "$(BINDIR)"
	$(INSTALL) -c -m 755 $(FFCRF) "$(BINDIR)"

uninstall: uninstall-ffcrf
uninstall-ffcrf:
	$(RM) "$(BINDIR)/$(FFCRF)"
endif
endif

FFCRF_TEST = tests/ffcrf_search$(EXESUF)
OUTDIRS   += tools/crf tests

QUALITY_VERSION = $(addprefix $(SRC_PATH)/,tools/quality.version)
tools/crf/ffcrf.o: CFLAGS += -DQUALITY_VERSION='"$(shell cat $(QUALITY_VERSION))"'
tools/crf/ffcrf.o: $(QUALITY_VERSION)
$(OBJS-ffcrf): | tools/crf
$(FFCRF_TEST:%$(EXESUF)=%.o): | tests
$(FFCRF_TEST): %$(EXESUF): %.o
	$(LD) $(LDFLAGS) $(LDEXEFLAGS) $(LD_O) $^ $(ELIBS) -lm

clean::
	$(RM) ffcrf$(PROGSSUF)$(EXESUF) ffcrf$(PROGSSUF)_g$(EXESUF) $(FFCRF_TEST)
	$(RM) $(CLEANSUFFIXES:%=tools/crf/%) $(CLEANSUFFIXES:%=tests/ffcrf_search%)

-include $(wildcard tools/crf/*.d tests/ffcrf_search.d)
