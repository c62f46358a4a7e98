#!/usr/bin/env bash
# Builds the full profile and installs it to PREFIX.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

lock
PREFIX=$(realpath -m "${PREFIX:-/usr/local}")
export PREFIX
dir=$(PROFILE=full "$scripts/build.sh")
say "installing to ${DESTDIR:-}$PREFIX"
logged "make install" "$dir/install.log" make -C "$dir" install
say "try: ${DESTDIR:-}$PREFIX/bin/ffmpeg -h filter=bliinds"
