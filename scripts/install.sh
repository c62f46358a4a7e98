#!/usr/bin/env bash
# Builds the full profile and installs it to PREFIX.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

PREFIX=$(realpath -m "${PREFIX:-/usr/local}")
export PREFIX
dir=$(PROFILE=full "$scripts/build.sh")
say "installing to ${DESTDIR:-}$PREFIX"
logged "make install" "$dir/install.log" make -C "$dir" install
# The farm keeps together; its name in bin is a link.
tools=${DESTDIR:-}$PREFIX/share/ffmpeg/quality
install -D -t "${DESTDIR:-}$PREFIX/bin" "$dir/tools/quality_merge"
install -D -t "$tools" "$root/tools/quality-farm"
install -D -t "$tools/farm" "$root/tools/farm/task"
ln -sfn ../share/ffmpeg/quality/quality-farm "${DESTDIR:-}$PREFIX/bin/quality-farm"
say "try: ${DESTDIR:-}$PREFIX/bin/ffmpeg -h filter=bliinds"
