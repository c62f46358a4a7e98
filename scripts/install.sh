#!/usr/bin/env bash
# Builds the full profile and installs it to PREFIX; `install.sh uninstall` takes it away again. What
# is installed is listed in tools/quality.mak and tools/crf/ffcrf.mak.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

lock
target=${1:-install}
PREFIX=$(realpath -m "${PREFIX:-/usr/local}")
export PREFIX
dir=$(PROFILE=full "$scripts/build.sh")
say "$target: ${DESTDIR:-}$PREFIX"
logged "make $target" "$dir/$target.log" make -C "$dir" "$target"
[ "$target" = uninstall ] || say "try: ${DESTDIR:-}$PREFIX/bin/ffmpeg -h filter=bliinds"
