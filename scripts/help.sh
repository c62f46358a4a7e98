#!/usr/bin/env bash
# Says what the Makefile's targets and variables are.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

cat << END
make run [VIDEO=file]       builds what is needed and scores a video: log, report and plot in results/
make check                  builds FFmpeg $(all_series | sed -n 1p) and runs the tests
make check-all              tests FFmpeg $(all_series | xargs), the series, training, fuzzers and mutants, too
make mutants                tests the tests: each of a hundred errors in the code must be seen (an hour)
make fuzz [SECONDS=n]       runs each fuzzer for n seconds (default 60); inputs that fail go to results/fuzz/
make build                  builds FFmpeg with the filters, in build/
make install [PREFIX=dir]   installs what make run built (default /usr/local); DESTDIR is honoured
make install-full           builds all of FFmpeg and installs that
make uninstall [PREFIX=dir] takes it away again
make package                writes tarballs and the sources: results/packages/
make deb                    writes Debian packages there that leave the system's FFmpeg alone
make release                the check-list of a release: tree, VERSION, CHANGELOG.md, tests, packages
make report [LOG=files] [VIDEO=file] [REPORT=file]
                            makes a page of quality logs, by default of the last make run's: report.html
make model MEDIA=dir VMAF_MODELS=dir
                            trains a model on encodes of pristine shots: results/model/
make apply FFMPEG_SRC=dir   puts the overlay into a source tree of your own
make unapply FFMPEG_SRC=dir takes it out again
make series                 writes patches for a mailing list, one a filter: build/series/
make series-check           builds and tests each of these patches (hours without a compiler cache)
make mingw                  builds the filters for Windows, and tries them by wine
make clean                  removes what was built; keeps downloads and results
make distclean              removes all of build/; keeps results

Variables, on the command line or in the environment:
VIDEO=file            the video that make run scores, without it a clip from a Debian package; for
                      make report the video of the log
FFMPEG_VERSION=$(all_series | head -n 1)    a series ($(all_series | xargs)) or an exact release of one
FFMPEG_SRC=dir        an FFmpeg source tree of your own; only make apply changes it
FFMPEG_CONFIGURE=...  more flags for FFmpeg's configure
PROFILE=lean|full     what make build builds (default lean)
LICENCES=lgpl|gpl     which of the two make package and make deb make (default both)
PREFIX=dir            where make install installs
MEDIA=dir             the sources of make model: OWNER/REPOSITORY/PATH, as its list names them
VMAF_MODELS=dir       the models of libvmaf for make model, in it or in folders of it
CONTENTS=file         a list of shots for make model (default tools/train/contents.txt)
FAMILIES="name..."    the families of encodes that make model makes (default all of tools/train/encodes.py)
NAME=word             what make model calls its model (default model)
LICENCE=text          of what make model makes, for the model file (default not stated)
JOBS=n                how many encodes make model makes at a time (default: one a core)
WORK=dir              where make model keeps shots, encodes and records (default build/model)
RESULTS=dir           where make model writes the model and its report (default results/model)
FFMPEG=program        an FFmpeg with our filters and libvmaf for make model, instead of a build of its own
CACHE=dir             where downloads are kept (default build/cache)
END
