#!/usr/bin/env bash
# Writes the overlay as patches for a mailing list, one a filter, for each release or for
# FFMPEG_VERSION: series.sh; `series.sh series-check` builds and tests each patch of it, too.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

lock
export PKG_CONFIG_PATH=$build/ffnvcodec/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
"$scripts/deps.sh" build series
for version in ${FFMPEG_VERSION:-$(all_series)}; do
    export FFMPEG_VERSION=$version
    src=$("$scripts/fetch.sh" ffmpeg)
    "$scripts/series.py" write "$src" "$build/series/$version"
    if [ "${1:-}" = series-check ]; then
        built=$(PROFILE=small "$scripts/build.sh")
        nice "$scripts/series.py" build "$src" "$build/series/$version" "$built"
    fi
done
