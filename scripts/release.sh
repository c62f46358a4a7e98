#!/usr/bin/env bash
# The check-list of a release: a clean tree, VERSION and CHANGELOG.md that agree, tests that pass,
# packages that start where nothing else is installed.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

version=$(cat "$root/VERSION")
head=$(own_git rev-parse HEAD) || die "this is no git checkout"
passed=$build/check.passed      # the commit that make check-all has passed on

[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || die "VERSION has \"$version\"" "it must be like 1.2.3"
newest=$(sed -n 's/^## //p' "$root/CHANGELOG.md" | sed -n 1p)
[[ $newest =~ ^"$version - "[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]] ||
    die "CHANGELOG.md begins with \"$newest\"" "it must begin with the section \"$version - $(date +%F)\""
[ "${newest##* }" = "$(date +%F)" ] || say "note: CHANGELOG.md has another date than today's: ${newest##* }"
changes=$(own_git status --porcelain)
[ -z "$changes" ] || die "the tree is not clean" "$changes"
! own_git rev-parse -q --verify "refs/tags/v$version" > /dev/null ||
    die "there is a tag v$version already" "VERSION must be a new one"
say "VERSION and CHANGELOG.md agree, and the tree is clean"

if [ "$(cat "$passed" 2> /dev/null)" = "$head" ]; then
    say "make check-all has passed on this commit"
else
    "$scripts/check.sh" all >&2 || die "make check-all failed"
fi
"$scripts/package.sh"
"$scripts/package.sh" deb
"$root/tests/package.sh" "$root/results/packages/"*[-_]"$version"[-_]{x86_64-linux-*.tar.gz,*.deb} ||
    die "the packages do not do"
say "ready. What is left:" "git tag -s v$version && git push origin v$version," \
    "and put what is in results/packages there"
