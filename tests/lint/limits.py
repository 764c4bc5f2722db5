#!/usr/bin/env python3
"""docs/LIMITS.md: every limit of the program, from where it stands. `limits.py [ROOT]` writes the page.

A limit is a macro FL_... of src/ that is a decimal number, or made of such: bytes, a time, a count. Each has a comment,
behind it or above it, which those below it without one of their own share. A comment above a declaration is the
declaration's.
"""

import pathlib
import re
import sys

PAGE = "docs/LIMITS.md"
UNITS = "src/base/units.h"  # what limits are measured in is none
HEAD = """# Limits

`./dev format` writes this page from the sources; each limit stands in the file that is named beside it.
"""
DEFINE = re.compile(r"#define (FL_\w+)[ \t]+(\S.*)")
WORD = re.compile(r"[A-Za-z_]\w*|\d\w*|\S")
TIMES = [("h", 3600 * 10**9), ("min", 60 * 10**9), ("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)]
SIZES = [("MiB", 1 << 20), ("KiB", 1 << 10), ("bytes", 1)]


class Limit:
    def __init__(self, name, path, line, text, comment):
        self.name, self.path, self.line, self.text, self.comment = name, path, line, text, comment


def plain(comment):
    """What stands between /* and */, on one line."""
    words = re.sub(r"\n[ \t]*\*?", " ", comment.strip()[2:-2])
    return " ".join(words.split())


def defined(path, text):
    """The macros of one file that may be limits, in their order."""
    found, shared, sharing, lines = [], "", [], text.split("\n")
    at = 0
    while at < len(lines):
        first, line = at, lines[at]
        while "/*" in line and "*/" not in line[line.rindex("/*"):] and at + 1 < len(lines):
            at += 1
            line += "\n" + lines[at]
        at += 1
        match = DEFINE.match(line)
        if match:
            value, _, behind = match.group(2).partition("/*")
            limit = Limit(match.group(1), path, first, value.strip(), plain(line[line.index("/*"):]) if behind else shared)
            found.append(limit)
            sharing = [] if behind else [*sharing, limit]
            shared = "" if behind else shared
        elif line.startswith("/*") and line.rstrip().endswith("*/"):
            shared, sharing = plain(line), []
        else:
            if line.strip():  # the comment was this one's
                for limit in sharing:
                    limit.comment = ""
            shared, sharing = "", []
    return found


class Limits:
    """Of all sources of a checkout: {path: text}."""

    def __init__(self, sources):
        found = [limit for path in sorted(sources) if path.startswith("src/") for limit in defined(path, sources[path])]
        names = [limit.name for limit in found]
        self.known = {limit.name: limit for limit in found if names.count(limit.name) == 1}  # others are switches
        self.values = {}
        self.all = [limit for limit in self.known.values() if limit.path != UNITS and self.value(limit.name) is not None]

    def value(self, name):
        """(number, "time", "size" or "count"), or None: no limit."""
        if name not in self.values:
            self.values[name] = None  # for one that is made of itself
            self.values[name] = self.evaluated(self.known[name]) if name in self.known else None
        return self.values[name]

    def evaluated(self, limit):
        words, kind = WORD.findall(limit.text), "count"
        for at, word in enumerate(words):
            if word.startswith("FL_"):
                value = self.value(word)
                if value is None:
                    return None
                words[at], kind = str(value[0]), value[1] if value[1] != "count" else kind
            elif limit.path == UNITS and re.fullmatch(r"\d+ull", word):
                words[at] = word[:-3]
            elif word == "/":
                words[at] = "//"
            elif not re.fullmatch(r"0|[1-9]\d*|[-+*()]", word):
                return None
        if limit.path == UNITS:
            kind = "time" if "_NS_" in limit.name else "size"
        try:
            number = eval("".join(words), {"__builtins__": {}})  # digits and + - * / ( ) alone
        except (SyntaxError, TypeError, ZeroDivisionError):
            return None
        return (number, kind) if isinstance(number, int) and number > 0 else None

    def shown(self, limit):
        number, kind = self.value(limit.name)
        if kind == "count":
            return f"{number:,}"
        for unit, one in TIMES if kind == "time" else SIZES:
            if number % one == 0:
                return f"{number // one:,} {unit}"
        return str(number)

    def without_reason(self):
        return [limit for limit in self.all if not limit.comment]

    def page(self):
        out, folder = [HEAD], None
        for limit in sorted(self.all, key=lambda limit: limit.path.rpartition("/")):
            if limit.path.rpartition("/")[0] != folder:
                folder = limit.path.rpartition("/")[0]
                out.append(f"\n## {folder}\n\n| Limit | Value | Reason | File |\n|---|---|---|---|\n")
            comment = limit.comment.replace("|", "\\|").replace("<", "\\<")
            out.append(f"| `{limit.name}` | {self.shown(limit)} | {comment} | `{limit.path[len(folder) + 1 :]}` |\n")
        return "".join(out)


def main(arguments):
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parents[2]
    sources = {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in sorted(root.glob("src/**/*.[ch]"))}
    page, to = Limits(sources).page(), root / PAGE
    if not to.is_file() or to.read_text(encoding="utf-8") != page:
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(page, encoding="utf-8")
        print(f"wrote {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
