#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lays this project over an FFmpeg source tree:
  overlay.py tree SRC FARM  makes a tree of links to build from, SRC unchanged
  overlay.py apply SRC      copies and patches into the user's own tree
  overlay.py unapply SRC    undoes that
  overlay.py release SRC    prints the series of a tree, such as 9.0
"""
import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile

from register import ROOT, our_files, read, registered, source_of

# By libavfilter's major version.
RELEASES = {major: release for release, major in
            re.findall(r"(?m)^(?:series_table=')?(\d+\.\d+) (\d+)", read(ROOT, "scripts/common.sh"))}
SUPPORTED = "supported releases: " + " ".join(RELEASES.values())
PATCHES = os.path.join(ROOT, "configure-patch")


def die(what, *more):
    sys.exit("\n       ".join(["error: " + what, *more]))


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **options)


def release_of(src):
    """By its libavfilter: RELEASE and VERSION are missing or free-form in a git checkout."""
    try:
        major = re.search(r"VERSION_MAJOR +(\d+)", read(src, "libavfilter/version_major.h"))[1]
    except OSError:
        die(src + " is not an FFmpeg source tree", "FFMPEG_SRC must name one", SUPPORTED)
    return RELEASES.get(major) or die("%s has libavfilter %s, which is not known" % (src, major), SUPPORTED)


def patches(release):
    """In the order of their names; a release may have its own form of one."""
    files = {name: os.path.join(folder, name) for folder in (PATCHES, os.path.join(PATCHES, release))
             if os.path.isdir(folder) for name in os.listdir(folder) if name.endswith(".patch")}
    return [files[name] for name in sorted(files)]


def patch_copies(src, copies):
    """FFmpeg's files that change, as they become: by the patches, and by the registrations."""
    for patch in patches(release_of(src)):
        for file in re.findall(r"(?m)^\+\+\+ b/(.*)", read(patch)):
            os.makedirs(os.path.join(copies, os.path.dirname(file)), exist_ok=True)
            shutil.copy(os.path.join(src, file), os.path.join(copies, file))
        # Fuzz would let a line land where it does not belong.
        report = run("patch", "-d", copies, "-p1", "-N", "-F0", "--no-backup-if-mismatch", "-r", "-", "-i", patch)
        if report.returncode:
            die("%s does not apply to %s" % (os.path.basename(patch), src), report.stdout, SUPPORTED)
    try:
        texts = registered(src)
    except (LookupError, OSError) as error:
        die("%s has no place for our lines" % src, str(error), SUPPORTED)
    for file, text in texts.items():
        copy = os.path.join(copies, file)
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copy(os.path.join(src, file), copy)
        write(copy, text)
    return sorted(os.path.relpath(os.path.join(path, name), copies)
                  for path, _, names in os.walk(copies) for name in names)


def left_by_a_build(path, names):
    """It would stop a build outside of that tree."""
    return [name for name in names
            if re.search(r"\.[oda]$|\.so|^config(_components)?\.(h|asm)$|^config\.mak$|^\.git$", name)]


def tree(src, farm):
    """FFmpeg's files stay where they are, ours are links too, so that make sees an edit of either,
    and only the files that change are copies. What was there already is left alone."""
    ours, listed = our_files(), os.path.join(farm, ".overlay")
    for file in ours:
        if os.path.lexists(os.path.join(src, file)):
            die(file + " is a file of FFmpeg's, and ours has the same name")
    before = read(listed).split("\n") if os.path.exists(listed) else [""]
    # A folder newer than the farm tells that a file of FFmpeg's came or went. A listed file
    # that is not there tells of a farm that was damaged, or made by an older version.
    is_new = before[0] != src or \
        not all(os.path.lexists(os.path.join(farm, file)) for file in before[1:]) or \
        os.stat(listed).st_mtime < \
        max(os.stat(path).st_mtime for path, _, _ in os.walk(src) if "/.git" not in path)
    if is_new:
        shutil.rmtree(farm, ignore_errors=True)
        shutil.copytree(src, farm, copy_function=os.symlink, ignore=left_by_a_build)
        before = []
    with tempfile.TemporaryDirectory(dir=os.path.dirname(farm)) as copies:
        changed = patch_copies(src, copies)
        for file in set(before[1:]) - set(ours + changed):
            os.remove(os.path.join(farm, file))
            if os.path.exists(os.path.join(src, file)):
                os.symlink(os.path.join(src, file), os.path.join(farm, file))
        for file in changed:
            copy, place = os.path.join(copies, file), os.path.join(farm, file)
            if is_new:  # it is as old as its original: nothing needs a rebuild
                shutil.copystat(os.path.join(src, file), copy)
            if is_new or not filecmp.cmp(copy, place, shallow=False):
                os.replace(copy, place)
    for file in ours:
        place = os.path.join(farm, file)
        if not os.path.islink(place):
            os.makedirs(os.path.dirname(place), exist_ok=True)
            os.symlink(source_of(file), place)
    if before != [src] + changed + ours:
        write(listed, "\n".join([src] + changed + ours))


def write(path, text):
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(text)


def apply(src):
    """Two files remember what was done, so that it can be undone even when this project has
    moved on: .overlay.patch and .overlay.sums."""
    ours = our_files()
    if os.path.exists(os.path.join(src, ".overlay.sums")):
        die(src + " has the overlay already", "`make unapply FFMPEG_SRC=%s` takes it out" % src)
    for file in ours:
        if os.path.lexists(os.path.join(src, file)):
            die("%s/%s is there already; nothing was changed" % (src, file))
    with tempfile.TemporaryDirectory() as copies:
        changes = ""
        for file in patch_copies(src, copies):
            changes += run("diff", "-u", "--label", "a/" + file, "--label", "b/" + file,
                           os.path.join(src, file), os.path.join(copies, file)).stdout
    write(os.path.join(src, ".overlay.patch"), changes)
    run("patch", "-d", src, "-p1", "-s", "-i", ".overlay.patch", check=True)
    for file in ours:
        os.makedirs(os.path.join(src, os.path.dirname(file)), exist_ok=True)
        shutil.copy(source_of(file), os.path.join(src, file))
    write(os.path.join(src, ".overlay.sums"), run("sha256sum", *ours, cwd=src, check=True).stdout)
    print("==> %s (FFmpeg %s) has the overlay now; configure and build it as ever" % (src, release_of(src)))


def unapply(src):
    sums = os.path.join(src, ".overlay.sums")
    if not os.path.exists(sums):
        die(src + " does not have the overlay")
    edited = run("sha256sum", "--quiet", "-c", ".overlay.sums", cwd=src)
    if edited.returncode:
        die("files of ours were edited in %s; nothing was changed" % src, edited.stdout,
            "save the edits, bring these files back or remove their lines from .overlay.sums")
    undo = ["patch", "-d", src, "-p1", "-R", "-s", "-f", "-i", ".overlay.patch"]
    edited = run(*undo, "--dry-run")
    if edited.returncode:
        die("FFmpeg's own files were edited where we patched them; nothing was changed", edited.stdout)
    run(*undo, check=True)
    for line in read(sums).splitlines():
        file = os.path.join(src, line.split("  ", 1)[1])
        os.remove(file)
        if not os.listdir(os.path.dirname(file)):
            os.removedirs(os.path.dirname(file))
    os.remove(sums)
    os.remove(os.path.join(src, ".overlay.patch"))
    print("==> %s is as it was before" % src)


if __name__ == "__main__":
    command, source, *rest = sys.argv[1:]
    if not os.path.isdir(source):
        die("which tree?", "give it with FFMPEG_SRC=path-to-your-FFmpeg" +
            (": %s is not a folder" % source if source else ""))
    commands = {"tree": tree, "apply": apply, "unapply": unapply, "release": lambda src: print(release_of(src))}
    commands[command](os.path.realpath(source), *rest)
