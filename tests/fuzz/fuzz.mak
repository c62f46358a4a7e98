# The fuzzers, which scripts/fuzz.sh builds with clang and runs.

FUZZERS = $(addprefix tests/fuzz/,cache frames model options quantizer)

fuzzers: $(FUZZERS:%=%$(EXESUF))

$(FUZZERS:%=%$(EXESUF)): %$(EXESUF): %.o $(FF_DEP_LIBS)
	$(call LINK,$(LDFLAGS) $(LDEXEFLAGS) $(LD_O) $^ $(ELIBS) $(FF_EXTRALIBS) $(LIBFUZZER_PATH))

OUTDIRS += tests/fuzz
$(FUZZERS:%=%.o): | tests/fuzz

clean::
	$(RM) $(CLEANSUFFIXES:%=tests/fuzz/%) $(FUZZERS:%=%$(EXESUF))

-include $(wildcard tests/fuzz/*.d)

.PHONY: fuzzers
