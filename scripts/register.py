# SPDX-License-Identifier: LGPL-2.1-or-later
"""FFmpeg's own files with our lines in them: for all of our files, or for some."""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = ("libavcodec", "libavfilter", "tests", "tools", "doc")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8", errors="surrogateescape", newline="") as file:
        return file.read()


def is_section(file):
    """Of FFmpeg's manual: it becomes a part of that, and no file of its own."""
    return file.endswith(".texi") and not read(ROOT, file).startswith("\\input")


def our_files():
    """What is laid over FFmpeg's tree, as it is called there."""
    files = []
    for folder in FOLDERS:
        for path, folders, names in os.walk(os.path.join(ROOT, folder)):
            folders[:] = [name for name in folders if name != "__pycache__"]
            path = os.path.relpath(path, ROOT)
            files += [os.path.join(path, name) for name in names
                      if not name.startswith(".") and not name.endswith("~")]
    files += ["libavfilter/models/" + name for name in os.listdir(os.path.join(ROOT, "models"))]
    files.append("tools/quality.version")
    return sorted(file for file in files if not is_section(file))


def source_of(file):
    """Where a file of ours is here."""
    file = re.sub("^libavfilter/models/", "models/", file)
    return os.path.join(ROOT, re.sub(r"^tools/quality\.version$", "VERSION", file))


def rules():
    for paragraph in read(ROOT, "configure-patch/registrations").split("\n\n")[1:]:
        rule = {"after": "", "text": ""}
        for line in paragraph.strip("\n").split("\n"):
            key, value = line[:6].rstrip(), line[6:]
            rule[key] = rule["text"] + value + "\n" if key == "text" else value
        yield rule


def first(lines, form):
    form = re.compile(form)
    return next((i for i, line in enumerate(lines) if form.match(line)), None)


def sort_in(lines, name, text, among, after=""):
    """Inserts text among the lines of a form, which have names; false if there are none."""
    place, before, previous, among_form = None, "", "", re.compile(among)
    for i in range(first(lines, after), len(lines)):
        match = among_form.match(lines[i])
        if match:
            # FFmpeg's own are not all in order: the place is behind the nearest one
            if before <= previous <= name.lower() < match[1].lower():
                place, before = i, previous
            previous = match[1].lower()
            last = i
    if not previous and among[-2:] != "()":
        return False
    if place is None:
        place = last + 1
        while lines[place - 1].endswith("\\\n"):
            place += 1
    while lines[place - 1].startswith("@anchor"):
        place -= 1
    lines[place:place] = text.splitlines(keepends=True)
    return True


def section(file, lines, after):
    """A section, as deep as those about it."""
    text = read(ROOT, file).strip("\n") + "\n\n"
    start = first(lines, after)
    if lines[start + first(lines[start:], "@(sub)?section")].startswith("@sub"):
        text = re.sub(r"(?m)^@((?:sub)*section)", r"@sub\1", text)
    return text


def statements():
    """Of Makefile.snippet. Each has its comment before it, its continuations and its recipe; lists of
    objects are written out."""
    statement, lists = "", {}
    for line in read(ROOT, "Makefile.snippet").splitlines(keepends=True) + ["\n"]:
        goes_on = statement.endswith("\\\n") or line.startswith("\t") or \
            line.strip() and statement.splitlines()[-1:] and statement.splitlines()[-1].startswith("#")
        if not goes_on:
            defined = re.match(r"(\w+_OBJS)\s*=\s*(.*)", statement, re.S)
            for name, objects in lists.items():
                statement = statement.replace("$(%s)" % name, objects)
            if defined:
                lists[defined[1]] = re.sub(r"[\s\\]+", " ", statement.split("=")[1]).strip()
            elif re.search("^[^#\n]", statement, re.M):
                yield re.sub(r"\A(.*?[+:]?=)(.*)\Z", wrapped, statement, flags=re.S) \
                    if statement.startswith("OBJS-") else statement
            statement = ""
        statement += line if line.strip() else ""


def wrapped(match):
    """A statement in FFmpeg's columns, with each word once."""
    head, sign = re.match(r"(.*?)(\s*\+?=|:)$", match[1], re.S).groups()
    lines, line = [], (head.ljust(45) + "+=" if "OBJS-" in head else head + sign)
    for word in dict.fromkeys(match[2].replace("\\\n", " ").split()):
        if len(line) + 1 + len(word) > 90:
            lines.append(line + " \\\n")
            line = " " * (47 if sign != ":" else 3)
        line += " " + word
    return "".join(lines) + line + "\n"


def without(statement, files, ours):
    """A statement without what it says of files that are not there yet; "" if nothing is left."""
    def missing(word):
        name = re.sub(r"^.*\$\(SUBDIR\),?|\).*$", "", word)
        name = re.sub(r"\.ptx(\.o)?$", ".cu", re.sub(r"(?<!ptx)\.o$", ".c", name))
        return any(file in ours and file not in files
                   for file in ("libavfilter/" + name, folder + name + ".c"))

    kind = re.match(r"(?:#.*\n)*(\w+)-", statement)
    folder = {"TESTPROGS": "libavfilter/tests/", "EXTRALIBS": "libavfilter/tests/",
              "TOOLS": "tools/"}.get(kind and kind[1], "-")
    of = re.search(r"^\w+-(?:\$\(CONFIG_)?(\w+?)(?:_FILTER\))? ", statement, re.M)
    if of and (missing("vf_" + of[1].lower() + ".o") or missing(of[1])):
        return ""
    comment, head, sign, tail = re.match(r"((?:#[^\n]*\n)*)(.*?)(\s*\+?=|:)(.*)", statement, re.S).groups()
    kept = [[word for word in re.split(r"[\s\\]+", part) if word and not missing(word)] for part in (head, tail)]
    if len(kept[0] + kept[1]) == len(re.findall(r"[^\s\\]+", head + " " + tail)):
        return statement
    if not kept[0] or not kept[1]:
        return ""
    if sign == ":":
        return comment + " \\\n".join(kept[0]) + ": " + " ".join(kept[1]) + "\n"
    return comment + re.sub(r"\A(.*?=)(.*)\Z", wrapped, " ".join(kept[0]) + sign + " ".join(kept[1]), flags=re.S)


def add_snippet(lines, files, ours):
    """The lines of Makefile.snippet where FFmpeg has those of the kind, the rest at the end."""
    rest = []
    for statement in statements():
        statement = without(statement, files, ours)
        named = re.search(r"^(\w+)-\$\(CONFIG_(\w+?)(?:_FILTER)?\)", statement, re.M)
        if named and named[1] == "OBJS":
            sort_in(lines, named[2], statement, r"OBJS-\$\(CONFIG_(\w+)_FILTER\) +\+= vf_", "# video filters")
        elif named:
            sort_in(lines, named[2], statement, named[1] + r"-\$\(CONFIG_(\w+)_FILTER\)") or \
                sort_in(lines, named[2], statement, named[1] + "()")
        elif statement and "\n" in statement.strip():
            rest.append("\n" + statement)
        elif statement:
            rest.append(statement)
    rest = "".join(rest).strip("\n")
    place = first(lines, "clean::")
    lines[place:place] = (rest + "\n\n").splitlines(keepends=True) if rest else []


def registered(src, files=None):
    """FFmpeg's files that change, with their text."""
    ours = set(our_files())
    files = ours if files is None else files
    texts = {}

    def lines_of(file):
        return texts.setdefault(file, read(src, file).splitlines(keepends=True))

    done = set()
    for rule in rules():
        form = re.escape(rule["for"]).replace(r"\*", "(.+)")
        for file in sorted(files):
            match = re.fullmatch(form, file)
            if not match or (rule["file"], file) in done or \
                    first(lines_of(rule["file"]), rule["after"]) is None:
                continue
            lines = lines_of(rule["file"])
            done.add((rule["file"], file))
            name = (match.groups() or ("",))[0]
            text = rule["text"].replace("{name}", name).replace("{NAME}", name.upper())
            # the section of a filter on CUDA may be its twin's
            if text.startswith("<") and not os.path.exists(os.path.join(ROOT, text[1:].strip())):
                continue
            if text.startswith("<"):
                text = section(text[1:].strip(), lines, rule["after"])
            if rule["file"] == "libavfilter/allfilters.c" and first(lines, "extern const AVFilter ") is not None:
                text = text.replace("FFFilter", "AVFilter")
            if not sort_in(lines, name, text, rule["among"], rule["after"]):
                raise LookupError("%s has no line like %s" % (rule["file"], rule["among"]))
    add_snippet(lines_of("libavfilter/Makefile"), files, ours)
    texts = {file: "".join(lines) for file, lines in texts.items()}
    return {file: text for file, text in texts.items() if text != read(src, file)}
