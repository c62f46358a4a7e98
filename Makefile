# The front door. Each target is one script in scripts/. Variables given on the command line
# reach the scripts through the environment, with each dollar as it was typed. Lines with #: are what
# make help prints.
$(foreach V,$(.VARIABLES),$(if $(findstring command line,$(origin $V)),\
    $(eval override export $V := $$(value $V))))

help:
	@sed -n 's/^#: \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

#: make run [VIDEO=file]       builds what is needed and scores a video: log, report and page in
#:                             results/. Without VIDEO it is a clip from a Debian package
run:
	@scripts/run.sh

#: make check                  installs packages for the tests, builds FFmpeg 9.0 and runs them
#: make check-all              tests FFmpeg 8.1, the series, training, Slurm, faults, fuzzers,
#:                             mutants, Windows and packages, too (hours)
check:
	@scripts/check.sh
check-all:
	@scripts/check.sh all

#: make mutants                tests the tests: a hundred errors in the code must be seen (an hour)
mutants:
	@tests/extra/broken.sh

#: make fuzz [SECONDS=60]      runs each fuzzer for so long; inputs that fail go to results/fuzz/
fuzz:
	@scripts/fuzz.sh $(SECONDS)

#: make build                  builds FFmpeg with the filters, in build/
build:
	@scripts/build.sh

#: make install [PREFIX=dir]   installs what make run built, and manual pages (default /usr/local);
#:                             takes DESTDIR
#: make install-full           builds all of FFmpeg and installs that
#: make uninstall [PREFIX=dir] takes it away again
install install-full uninstall:
	@scripts/install.sh $@

#: make package                writes tarballs and the sources: results/packages/
#: make deb                    writes Debian packages that leave the system's FFmpeg alone
package:
	@scripts/package.sh
deb:
	@scripts/package.sh deb

#: make release                the check-list of a release: tree, change log, tests, packages
release:
	@scripts/release.sh

#: make model MEDIA=dir        trains a model on encodes of pristine shots: results/model/
model:
	@scripts/model.sh

#: make apply FFMPEG_SRC=dir   puts the overlay into a source tree of your own
#: make unapply FFMPEG_SRC=dir takes it out again
apply unapply:
	@scripts/overlay.sh $@ "$$FFMPEG_SRC"

#: make series                 writes patches for a mailing list, one a filter: build/series/
#: make series-check           builds and tests each of them (hours without a compiler cache)
series series-check:
	@scripts/series.sh $@

#: make mingw                  builds the filters for Windows, and tries them by wine
mingw:
	@scripts/mingw.sh

#: make clean                  removes what was built; keeps downloads and results
#: make distclean              removes all of build/; keeps results
clean:
	@scripts/clean.sh
distclean:
	@scripts/clean.sh all

#:
#: Variables, on the command line or in the environment:
#: FFMPEG_VERSION=9.0    a series (9.0, 8.1) or an exact release of one
#: FFMPEG_SRC=dir        an FFmpeg source tree of your own; only make apply changes it
#: FFMPEG_CONFIGURE=...  more flags for FFmpeg's configure
#: PROFILE=lean|full     what make build builds (default lean)
#: LICENCES=lgpl|gpl     which of the two make package and make deb make (default both)
#: CACHE=dir             where downloads are kept (default build/cache)
#: For make model:
#: MEDIA=dir             the sources: OWNER/REPOSITORY/PATH, as its list names them
#: CONTENTS=file         a list of shots, in the form of the default, tools/train/contents.txt
#: FAMILIES="name..."    the families of encodes (default all of tools/train/encodes.py)
#: NAME=word, LICENCE=text    of the model, for its file (default model, not stated)
#: JOBS=n                how many encodes are made at a time (default: one a core)
#: WORK=dir, RESULTS=dir where its work (build/model) and the model (results/model) are kept
#: FFMPEG=program        an FFmpeg with our filters and all encoders, instead of a build of its own

.PHONY: help run check check-all mutants fuzz build install install-full uninstall package deb \
        release model apply unapply series series-check mingw clean distclean
