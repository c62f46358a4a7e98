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
# The tools keep together with what they read; their names in bin are links.
tools=${DESTDIR:-}$PREFIX/share/ffmpeg/quality
install -D -t "${DESTDIR:-}$PREFIX/bin" "$dir/tools/quality_merge"
install -D -t "$tools" "$root"/tools/quality-{farm,gate,report}
install -D -t "$tools/farm" "$root/tools/farm/task"
install -D -m 644 -t "$tools" "$root"/tools/quality_{logs.py,report.html,report.js} \
    "$root"/doc/quality-alerts{,-test}.yml
for tool in quality-farm quality-gate quality-report; do
    ln -sfn "../share/ffmpeg/quality/$tool" "${DESTDIR:-}$PREFIX/bin/$tool"
done
say "try: ${DESTDIR:-}$PREFIX/bin/ffmpeg -h filter=bliinds"
