#!/usr/bin/env bash
# Writes what is released to results/packages: package.sh [deb]
# Tarballs that run wherever they are unpacked, one under the LGPL and one with x264 and x265 under
# the GPL, and the sources. With deb, Debian packages of the two instead. LICENCES has one or both.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

name=ffmpeg-quality
version=$(cat "$root/VERSION")
packages=$root/results/packages
work=$build/package
licences=${LICENCES:-gpl lgpl}
oldest_glibc=2.36       # of Debian 12
programs=(ffmpeg ffprobe)
# A release has the same bytes each time: files have the time of its commit.
epoch=$(own_git log -1 --format=%ct 2> /dev/null || stat -c %Y "$root/VERSION")
export SOURCE_DATE_EPOCH=$epoch

# A bare system has gzip, and no xz.
tarball() { # folder, which is at its top
    local tarball=$packages/${1##*/}.tar.gz
    tar -C "${1%/*}" -I 'gzip -9n' --sort=name --owner=0 --group=0 --numeric-owner \
        --mtime="@$epoch" -cf "$tarball" "${1##*/}"
    say "$tarball: $(du -m "$tarball" | cut -f 1) MB"
}

# What FFmpeg's make installs, without what only those need who link with the libraries.
install_files() { # build-folder stage
    local installed=$work/installed
    rm -rf "$installed" "$2"
    mkdir -p "$work"
    logged "make install" "$work/install.log" make -C "$1" DESTDIR="$installed" \
        install-progs install-man install-quality
    mv "$installed$(sed -n 's/^prefix=//p' "$1/ffbuild/config.mak")" "$2"
    rm -rf "$2/share/man/man3" "$2/share/doc"
    mkdir -p "$2/share/ffmpeg/quality/models"
    cp "$root"/models/* "$2/share/ffmpeg/quality/models"
}

# Libraries that a bare system lacks: all but glibc. The loader finds them from where a program is.
add_libraries() { # stage
    local program library path
    mkdir -p "$1/lib"
    for program in "${programs[@]}"; do
        ldd "$1/bin/$program" | awk '$3 ~ "^/" { print $1, $3 }' > "$work/libraries"
        ! ldd "$1/bin/$program" | grep 'not found' || die "$program lacks a library"
        while read -r library path; do
            case $library in
            libc.so* | libm.so* | libmvec.so* | libdl.so* | libpthread.so* | librt.so* | libresolv.so*)
                continue ;;
            esac
            cp -L "$path" "$1/lib"
            echo "$path"
        done < "$work/libraries"
        # shellcheck disable=SC2016
        patchelf --set-rpath '$ORIGIN/../lib' "$1/bin/$program"
    done | sort -u > "$work/paths"
    chmod 644 "$1"/lib/*
    # shellcheck disable=SC2016
    patchelf --set-rpath '$ORIGIN' "$1"/lib/*
}

# The Debian packages that the libraries are of: package, version, source, source's version.
packages_of_libraries() {
    local path package
    while read -r path; do
        # it is known by its place of before /lib became a link, or by that after
        path=$(readlink -f "$path")
        package=$(dpkg -S "$path" "${path#/usr}" 2> /dev/null | sed -n '1s/:.*//p') || true
        [ "$package" ] || die "$path is of no package, so it cannot be passed on" \
            "its licence and its sources are not known"
        # shellcheck disable=SC2016
        dpkg-query -W -f '${Package} ${Version} ${source:Package} ${source:Version}\n' "$package"
    done < "$work/paths" | sort -u
}

add_documents() { # build-folder stage licence
    local doc=$2/share/doc/$name package wanted
    mkdir -p "$doc/licences"
    cp "$root"/{README,CHANGELOG,SECURITY}.md "$root/doc/install.md" "$doc"
    cp "$root/COPYING.LGPLv2.1" "$1/src/LICENSE.md" "$doc/licences"
    [ "$3" = lgpl ] || cp "$1/src/COPYING.GPLv2" "$doc/licences"
    packages_of_libraries > "$work/libraries.list"
    mapfile -t wanted < <(awk '{ print $3 "=" $4 }' "$work/libraries.list" | sort -u)
    [ ! "$library_sources" ] ||
        "$scripts/fetch.sh" libraries "$library_sources" "${wanted[@]}" || library_sources=
    while read -r package _; do
        cp -L "/usr/share/doc/$package/copyright" "$doc/licences/$package"
    done < "$work/libraries.list"
    {
        cat << END
The programs in bin/ are FFmpeg $ffmpeg_version with the filters and tools of this project, $version.
They are under the $([ "$3" = lgpl ] && echo "LGPL 2.1" || echo "GPL 2"), or later; no part is nonfree. The libraries in lib/ are
those of Debian, unchanged but for where they look for each other. licences/ has the texts of all.

The sources are in $name-$version-sources.tar.gz: FFmpeg's own, this project with the scripts that
built the programs, and the headers for NVIDIA's driver. FFmpeg was configured with

$(sed -n 's/^FFMPEG_CONFIGURATION=/    /p' "$1/ffbuild/config.mak")

The sources of the libraries are these source packages of Debian${library_sources:+,
in $name-$version-library-sources.tar.gz}:

END
        awk '{ printf "    %-14s %-24s has %s\n", $3, $4, $1 }' "$work/libraries.list"
        cat << END

Whoever gave you this must give you these sources, too, when you ask for it within three years, on a
usual medium and for no more than what the copy costs.
END
    } > "$doc/SOURCES"
}

# The programs are what the licence says, and run where we say.
check_stage() { # stage licence
    local flags newest
    flags=$("$1/bin/ffmpeg" -v quiet -buildconf)
    [[ $flags != *nonfree* ]] || die "$1/bin/ffmpeg is nonfree"
    [[ $2 = gpl || $flags != *--enable-gpl* ]] || die "$1/bin/ffmpeg is under the GPL"
    newest=$(objdump -T "${programs[@]/#/$1/bin/}" "$1"/lib/* | grep -o 'GLIBC_[0-9.]*' |
        sed 's/.*_//' | sort -Vu | tail -n 1)
    [ "$(printf '%s\n' "$oldest_glibc" "$newest" | sort -V | tail -n 1)" = "$oldest_glibc" ] ||
        say "note: this needs glibc $newest; what is built on Debian 12 needs $oldest_glibc"
    echo "$newest" > "$work/glibc"
}

sources() {
    local folder=$work/$name-$version-sources
    rm -rf "$folder"
    mkdir -p "$folder/project"
    # a checkout that was downloaded as a tarball has no .git
    (cd "$root" && { own_git ls-files -z 2> /dev/null ||
        find . -name __pycache__ -prune -o \( -path ./build -o -path ./results \) -prune -o ! -type d -print0; } |
        xargs -0 cp --parents -t "$folder/project")
    cp -rL "$src" "$folder/ffmpeg-$ffmpeg_version"
    cp -rL "$("$scripts/fetch.sh" nv-codec-headers)" "$folder/nv-codec-headers"
    tarball "$folder"
}

lock
"$scripts/deps.sh" build package
src=$("$scripts/fetch.sh" ffmpeg)
ffmpeg_version=$(cat "$src/VERSION" 2> /dev/null || basename "$src")
mkdir -p "$packages"
# empty if some of them cannot be had
library_sources=$work/$name-$version-library-sources
for licence in $licences; do
    dir=$(PROFILE=$licence "$scripts/build.sh")
    stage=$work/$name-$version-x86_64-linux-$licence
    install_files "$dir" "$stage"
    add_libraries "$stage"
    add_documents "$dir" "$stage" "$licence"
    check_stage "$stage" "$licence"
    if [ "${1:-}" = deb ]; then
        "$root/packaging/debian/pack.sh" "$stage" "$licence" "$(cat "$work/glibc")" "$packages"
    else
        tarball "$stage"
    fi
done
[ "${1:-}" != deb ] || exit 0
sources
if [ "$library_sources" ]; then
    tarball "$library_sources"
else
    say "note: the sources of the libraries are not packed; who passes the programs on has to offer" \
        "what share/doc/$name/SOURCES names"
fi
