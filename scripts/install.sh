#!/usr/bin/env bash
# Installs to PREFIX what make run has built, or builds it; `install.sh install-full` builds and
# installs all of FFmpeg, `install.sh uninstall` removes either. What is installed of the
# tools is listed in tools/quality.mak.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

lock
target=${1:-install}
PREFIX=$(realpath -m "${PREFIX:-/usr/local}")
targets=("$target")
if [ "$target" = install-full ]; then
    export PREFIX PROFILE=full
    targets=(install)
else
    # the build is that of make run: its programs do not know where they are
    [ "$target" = uninstall ] || targets=(install-progs install-man install-quality)
    targets+=("prefix=$PREFIX")
    export -n PREFIX
fi
dir=$("$scripts/build.sh")
say "$target: ${DESTDIR:-}$PREFIX"
logged "make $target" "$dir/$target.log" make -C "$dir" "${targets[@]}"
[ "$target" = uninstall ] || say "try: ${DESTDIR:-}$PREFIX/bin/ffmpeg -h filter=bliinds"
