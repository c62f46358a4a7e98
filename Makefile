# The front door. Each target is one script in scripts/; `make help` tells.
# Variables given on the command line reach the scripts through the environment.

help:
	@scripts/help.sh

run:
	@scripts/run.sh

check:
	@scripts/check.sh

check-all:
	@scripts/check.sh all

mutants:
	@tests/extra/broken.sh

fuzz:
	@scripts/fuzz.sh $(SECONDS)

build:
	@scripts/build.sh

install install-full uninstall:
	@scripts/install.sh $@

package:
	@scripts/package.sh

deb:
	@scripts/package.sh deb

release:
	@scripts/release.sh

model:
	@scripts/model.sh

report:
	@scripts/report.sh

apply unapply:
	@scripts/overlay.sh $@ "$(FFMPEG_SRC)"

series series-check:
	@scripts/series.sh $@

mingw:
	@scripts/mingw.sh

clean:
	@scripts/clean.sh

distclean:
	@scripts/clean.sh all

.PHONY: help run check check-all mutants fuzz build install install-full uninstall package deb release model report apply \
        unapply series series-check mingw clean distclean
