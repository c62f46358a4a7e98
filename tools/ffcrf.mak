# ffcrf, the search for a CRF, as a program beside ffmpeg, where there is POSIX.

ifdef CONFIG_DETAILLOSS_FILTER
ifdef HAVE_SYSCONF
FFCRF      = ffcrf$(PROGSSUF)$(EXESUF)
OBJS-ffcrf = tools/ffcrf.o tools/ffcrf_cache.o tools/ffcrf_command.o \
             tools/ffcrf_media.o tools/ffcrf_score.o tools/ffcrf_search.o

PROGS          += $(FFCRF)
COMPONENTS-yes += ffcrf

ffcrf$(PROGSSUF)_g$(EXESUF): $(OBJS-ffcrf)
$(OBJS-ffcrf): | tools

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

clean::
	$(RM) ffcrf$(PROGSSUF)$(EXESUF) ffcrf$(PROGSSUF)_g$(EXESUF)
