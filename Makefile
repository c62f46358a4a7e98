# The front door. Each target is one script in scripts/; `make help` tells.
# Variables given on the command line reach the scripts through the environment.

help:
	@scripts/help.sh

run:
	@scripts/run.sh

check:
	@scripts/check.sh

fuzz:
	@scripts/fuzz.sh $(SECONDS)

build:
	@scripts/build.sh

install:
	@scripts/install.sh

model:
	@scripts/model.sh

report:
	@scripts/report.sh

apply:
	@scripts/overlay.py apply "$(FFMPEG_SRC)"

unapply:
	@scripts/overlay.py unapply "$(FFMPEG_SRC)"

clean:
	@scripts/clean.sh

distclean:
	@scripts/clean.sh all

.PHONY: help run check fuzz build install model report apply unapply clean distclean
