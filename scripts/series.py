#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the overlay as a series of patches, as `git format-patch` does:
  series.py write SRC FOLDER          one patch a filter, into FOLDER
  series.py check SRC FOLDER OVERLAY  they apply, give the tree OVERLAY, and patcheck is content
  series.py build SRC FOLDER BUILD    each of them builds as BUILD was, and passes the tests that it brings
"""
import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from overlay import PATCHES, ROOT, die, left_by_a_build, patches, read, release_of, run, write
from register import our_files, registered, source_of, statements

WHO = {"GIT_AUTHOR_NAME": "overlay maintainers", "GIT_AUTHOR_EMAIL": "maintainers@users.noreply.example",
       "GIT_AUTHOR_DATE": "2026-11-22T12:00:00Z", "GIT_CONFIG_NOSYSTEM": "1"}
WHO = {name: os.environ.get(name, value) for name, value in WHO.items()}
WHO.update({name.replace("AUTHOR", "COMMITTER"): value for name, value in WHO.items()})
# Of what patcheck says: the rest are guesses.
COUNTS = re.compile("trailing whitespace|tabs|typos|simplified to \\+\\+|NULL_IF|missing whitespace|useless #if|useless if|"
                    "filetag|mergeable|doxygen|ifdefs that", re.I)
# Files that need all that they include.
CODE = r"\.(c|h|cu|cuh|asm)$"


@functools.lru_cache
def steps():
    """The names of what each patch adds."""
    lines = read(PATCHES, "series").splitlines()
    return [line.split() for line in lines if not line.startswith("#")]


def git(folder, *command):
    done = subprocess.run(["git", "-C", folder, "-c", "core.autocrlf=false", *command],
                          env={**os.environ, **WHO}, text=True, errors="replace",
                          capture_output=True)
    if done.returncode:
        die("git %s failed in %s" % (command[0], folder), done.stdout + done.stderr)
    return done.stdout


# ---- which file goes with which patch ----

def step_by_name(file):
    found = [(len(name), i) for i, names in enumerate(steps()) for name in names
             if re.search(r"(^|/)(vf_)?%s([_./]|$)" % name, file.replace("-", "_"))]
    return max(found)[1] if found else None


def needs(file, ours):
    """What a file includes, and if it is a script or a Makefile, what it names."""
    text = read(source_of(file))
    if re.search(CODE, file):
        names = re.findall(r'[#%]include "([^"]+)"', text)
    elif re.search(r"\.(mak|sh)$", file):
        names = re.findall(r"[\w./-]+", text) + ["tests/fate/metrics.mak"]
        words = {os.path.basename(name) for name in names}
        names += [name for name in ours if name.startswith("tests/oracle/") and
                  words & {os.path.basename(name), os.path.basename(name).split(".")[0]}]
    else:
        return set()
    folders = os.path.dirname(file), "", "libavfilter", "tests"
    # a name may come after a variable and a slash
    return {path for name in names
            for path in (os.path.normpath(os.path.join(folder, name.lstrip("/"))) for folder in folders)
            if path in ours and path != file}


def objects():
    """The files that Makefile.snippet lists for each filter."""
    for statement in statements():
        kind = re.search(r"^(OBJS|TESTPROGS)-\$\(CONFIG_(\w+)_FILTER\)(.*)", statement, re.M | re.S)
        for word in re.findall(r"[\w./-]+", kind[3]) if kind else ():
            folder = "libavfilter/" + ("tests/" if kind[1] == "TESTPROGS" else "")
            name = word[:-2] if word.endswith(".o") else word
            name = re.sub(r"\.ptx$", ".cu", name)
            for extension in ("",) if "." in name else (".c", ".cpp"):
                yield kind[2].lower(), folder + name + extension


@functools.lru_cache
def assign():
    """The number of the patch of each file."""
    ours, last = set(our_files()), len(steps()) - 1
    number = {name: i for i, names in enumerate(steps()) for name in names}
    named = {file: step_by_name(file) for file in ours}
    needed = {i: {file for file in ours if named[file] == i} for i in range(last + 1)}
    for name, file in objects():
        if file in ours:
            needed[number[name]].add(file)
    result = {}
    for i in range(last + 1):
        todo = {file for file in needed[i] if named[file] in (None, i) or not file.startswith("libavfilter/tests")}
        while todo:
            file = todo.pop()
            if file in result:
                continue
            result[file] = i
            code = re.search(CODE, file)
            todo |= {other for other in needs(file, ours) if code or named[other] in (None, i)}
    return {file: result.get(file, last) for file in ours}


# ---- the series ----

def without_dangling(texts):
    """References to sections of later patches are plain words until these are there."""
    manual = {file: text for file, text in texts.items() if file.endswith(".texi")}
    there = set(re.findall(r"@anchor\{([^}]*)\}", "".join(manual.values())))
    ours = glob.glob(os.path.join(ROOT, "doc/*.texi"))
    for name in set(re.findall(r"@anchor\{([^}]*)\}", "".join(map(read, ours)))) - there:
        manual = {file: text.replace("@ref{%s}" % name, name) for file, text in manual.items()}
    return {**texts, **manual}


def files_of(src, number):
    """What the patches up to a number make of FFmpeg's files, and what they add."""
    assigned = assign()
    there = {file for file in assigned if assigned[file] <= number}
    texts = without_dangling(registered(src, there))
    added = steps()[:number + 1]
    of = {library: sum(os.path.exists(os.path.join(ROOT, form % names[0])) for names in added)
          for library, form in (("libavfilter", "libavfilter/vf_%s.c"), ("libavcodec", "libavcodec/bsf/%s.c"))}
    for library, count in of.items():
        header = library + "/version.h"
        text = re.sub(r"(VERSION_MINOR +)(\d+)", lambda m: m[1] + str(int(m[2]) + count), read(src, header))
        texts[header] = re.sub(r"(VERSION_MICRO +)\d+", r"\g<1>100", text) if count else text
    log = "".join("- %s\n" % title(names[0])[1] for names in added)
    texts["Changelog"] = read(src, "Changelog").replace("\n\n", "\n\nversion <next>:\n%s\n\n" % log, 1)
    for file in there:
        texts[file] = read(source_of(file))
    return texts


def title(name):
    """The subject of a patch, and its line in the Changelog."""
    if os.path.exists(os.path.join(ROOT, "libavfilter/vf_%s.c" % name)):
        return "avfilter: add the %s filter" % name, "%s filter" % name
    return "avcodec/bsf: add %s" % name, "%s bitstream filter" % name


def body(name):
    """The first paragraph of a filter's section."""
    file = os.path.join(ROOT, "doc", name + ".texi")
    if not os.path.exists(file):
        return "It is %s on CUDA frames.\n" % name.removesuffix("_cuda")
    text = re.sub(r"(?m)^@.*\n", "", read(file)).strip().split("\n\n")[0]
    return re.sub(r"@\w+\{([^}]*)\}", r"\1", text) + "\n"


def begin(src, folder, files=()):
    """A repository with those of FFmpeg's files that change."""
    git(folder, "init", "-q", ".")
    # what has returns at the ends of its lines would lose them in a mail
    write(os.path.join(folder, ".git/info/attributes"), "*.p?m binary\ntests/extra/fuzz/seeds/** binary\n")
    for file in files:
        os.makedirs(os.path.join(folder, os.path.dirname(file)), exist_ok=True)
        shutil.copy(os.path.join(src, file), os.path.join(folder, file))
    git(folder, "add", "-Af", ".")
    git(folder, "commit", "-q", "-m", "FFmpeg")


def changed_files(src):
    texts = files_of(src, len(steps()) - 2)
    return [file for file in texts if os.path.exists(os.path.join(src, file))] + [
        file for patch in patches(release_of(src)) for file in re.findall(r"(?m)^\+\+\+ b/(.*)", read(patch))]


def write_series(src, folder):
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as repository:
        begin(src, repository, changed_files(src))
        git(repository, "am", "-q", *patches(release_of(src)))
        for number, (name, *_) in enumerate(steps()[:-1]):
            for file, text in files_of(src, number).items():
                path = os.path.join(repository, file)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                write(path, text)
                if os.path.exists(source_of(file)):
                    shutil.copymode(source_of(file), path)
            git(repository, "add", "-Af", ".")
            git(repository, "commit", "-q", "-m", title(name)[0] + "\n\n" + body(name))
        git(repository, "format-patch", "-q", "--binary", "-o", folder,
            git(repository, "rev-list", "--max-parents=0", "HEAD").strip() + "..HEAD")
    print("==> %d patches in %s" % (len(os.listdir(folder)), folder), file=sys.stderr)


def series_of(folder):
    return sorted(glob.glob(os.path.join(folder, "*.patch")))


# ---- its tests ----

def check(src, folder, farm):
    """They apply one after the other, and their files are those of the overlay."""
    with tempfile.TemporaryDirectory() as repository:
        begin(src, repository, changed_files(src))
        git(repository, "am", "-q", *series_of(folder))
        files = set(git(repository, "ls-files", "-z").split("\0")[:-1])
        ours = {file for file, number in assign().items() if number < len(steps()) - 1}
        wrong = [file for file in files & ours if read(repository, file) != read(farm, file)]
        missing = ours - files
        if wrong or missing:
            die("the series is not the overlay: " + " ".join(sorted(wrong + list(missing))))
        # the rest of patcheck takes an hour for a series: it looks for each variable in every line
        quick = read(src, "tools/patcheck").split("\nrm $TMP")[0]
        write(os.path.join(repository, "code.diff"), git(repository, "diff", "HEAD~%d" % len(series_of(folder)), "HEAD",
                                                         "--", "*.c", "*.h", "*.cu", "*.cuh"))
        report = run("sh", "-c", quick, "patcheck", "code.diff", cwd=repository, stdin=subprocess.DEVNULL).stdout
    findings = [part for part in report.split("\n\n")[1:] if COUNTS.search(part.split("\n")[0])]
    if findings:
        die("patcheck:", *findings)


def build_each(src, folder, configured):
    """Each patch builds, configured like a build that there is, and passes the tests that it brings."""
    tree, objects = os.path.join(folder, "tree"), os.path.join(folder, "build")
    for path in tree, objects:
        shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(src, tree, ignore=left_by_a_build)
    os.makedirs(objects)
    begin(src, tree)
    options = re.search(r"FFMPEG_CONFIGURATION=(.*)", read(configured, "ffbuild/config.mak"))[1]
    tests, failed, environment = set(), [], {**os.environ, "GIT_CEILING_DIRECTORIES": folder}
    for patch in series_of(folder):
        git(tree, "am", "-q", patch)
        for command in (tree + "/configure " + options, "make -j%d all" % os.cpu_count(), "make fate-list"):
            report = run("sh", "-c", command, cwd=objects, env=environment)
            if report.returncode:
                die("%s: %s failed" % (os.path.basename(patch), command), report.stdout[-4000:])
        brought = set(re.findall(r"(?m)^fate-\S+", report.stdout))
        new, tests = sorted(brought - tests) if tests else [], brought
        report = run("make", "-k", "-j%d" % os.cpu_count(), *new, cwd=objects, env=environment) if new else report
        skipped = len(re.findall("(?m)^SKIPPED", report.stdout))
        print("%s: builds, %d tests, %d skipped" % (os.path.basename(patch), len(new), skipped), flush=True)
        if report.returncode:
            failed.append(os.path.basename(patch))
            print("\n".join(line for line in report.stdout.splitlines() if "***" in line), flush=True)
    if failed:
        die("tests of these patches fail: " + " ".join(failed))


if __name__ == "__main__":
    command, source, where, *rest = sys.argv[1:]
    {"write": write_series, "check": check, "build": build_each}[command](
        os.path.realpath(source), os.path.abspath(where), *rest)
