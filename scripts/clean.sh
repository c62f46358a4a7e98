#!/usr/bin/env bash
# Removes what was built: clean.sh, or clean.sh all with the downloads.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

lock
if [ "${1:-}" = all ]; then
    rm -rf "$build"
elif [ -d "$build" ]; then
    find "$build" -mindepth 1 -maxdepth 1 ! -name cache ! -name src -exec rm -rf {} +
fi
