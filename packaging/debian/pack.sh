#!/usr/bin/env bash
# Makes a Debian package of what is in a tarball: pack.sh STAGE lgpl|gpl GLIBC FOLDER
# All is in /usr/lib/ffmpeg-quality; /usr/bin has only names that are ours, so that the system's
# FFmpeg stays what it is. The one under the GPL is ffmpeg-quality, the other ffmpeg-quality-lgpl.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/../../scripts/common.sh"

stage=$1 licence=$2 glibc=$3 folder=$4
name=ffmpeg-quality
version=$(sed 's/-/~/' "$root/VERSION")    # before the release of that number
case $licence in
gpl)  package=$name      other=$name-lgpl common=GPL-2    encoders="x264 and x265" ;;
lgpl) package=$name-lgpl other=$name      common=LGPL-2.1 encoders="neither x264 nor x265" ;;
esac
tree=$build/package/$package
lib=$tree/usr/lib/$name
doc=$tree/usr/share/doc/$package

rm -rf "$tree"
mkdir -p "$lib" "$tree/usr/bin" "$tree/usr/share/man/man1" "$tree/DEBIAN" "$doc"
cp -r "$stage/bin" "$stage/lib" "$lib"
mkdir "$lib/share"
cp -r "$stage/share/ffmpeg" "$lib/share"
cp -r "$stage/share/doc/$name/"* "$doc"
rm "$doc/licences/"COPYING.*

# These each Debian has under the same name, and mends.
depends=
for library in zlib1g:libz.so.1 libgcc-s1:libgcc_s.so.1 libstdc++6:libstdc++.so.6; do
    [ -f "$lib/lib/${library#*:}" ] || continue
    package_of=${library%:*}
    # shellcheck disable=SC2016
    of=$(dpkg-query -W -f '${Version}' "$package_of" | sed 's/\.dfsg.*//; s/-[^-]*$//')
    depends+=", $package_of (>= $of)"
    rm -f "$lib/lib/${library#*:}" "$doc/licences/$package_of"
    sed -i "/ has $package_of\$/d" "$doc/SOURCES"
done

# A tool looks for ffmpeg beside itself: it is started there.
for tool in "$stage"/bin/*; do
    tool=${tool##*/}
    case $tool in
    ffmpeg | ffprobe)
        page=$tool-quality
        ln -s "../lib/$name/bin/$tool" "$tree/usr/bin/$page" ;;
    *)
        page=$tool
        printf '#!/bin/sh\nexec /usr/lib/%s/bin/%s "$@"\n' "$name" "$tool" > "$tree/usr/bin/$tool"
        chmod 755 "$tree/usr/bin/$tool" ;;
    esac
    [ ! -f "$stage/share/man/man1/$tool.1" ] ||
        gzip -9nc "$stage/share/man/man1/$tool.1" > "$tree/usr/share/man/man1/$page.1.gz"
done
gzip -9nc "$stage/share/man/man1/ffmpeg-filters.1" > "$tree/usr/share/man/man1/$name-filters.1.gz"

cat > "$doc/copyright" << END
The programs are FFmpeg with more filters, and tools: copyright 2000-2026 the FFmpeg developers,
2026 the developers of the filters and tools. They are free software under the $common or,
at your option, any later version: /usr/share/common-licenses/$common.

licences/LICENSE.md beside this file has the licences of FFmpeg's parts, the files of packages'
names those of the libraries in /usr/lib/$name/lib. SOURCES names the sources.
END
cat > "$tree/DEBIAN/control" << END
Package: $package
Version: $version
Section: video
Priority: optional
Architecture: amd64
Maintainer: The FFmpeg quality project <ffmpeg-quality@localhost>
Installed-Size: $(du -sk --exclude=DEBIAN "$tree" | cut -f 1)
Depends: libc6 (>= $glibc)$depends, python3 (>= 3.11)
Recommends: python3-jinja2, libjs-dygraphs
Suggests: python3-prometheus-client, slurm-client
Conflicts: $other
Description: FFmpeg with filters that score video, and tools around them
 The filters vmaf, bliinds, mad and ssim_cuda score each frame of a video, with
 or without its source, on the CPU or on a GPU. ffcrf finds the CRF that reaches
 a quality; quality-report, quality-compare, quality-gate and quality-farm make
 pages, comparisons, alarms and job arrays.
 .
 Its ffmpeg is called $name, and the system's FFmpeg stays as it is.
 This build is under the $common, and has $encoders.
END
(cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum > DEBIAN/md5sums)
find "$tree" -type d -exec chmod 755 {} +
find "$tree" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
deb=$folder/${package}_${version}_amd64.deb
dpkg-deb --root-owner-group -Zxz --build "$tree" "$deb" >&2
say "$deb: $(du -m "$deb" | cut -f 1) MB"
