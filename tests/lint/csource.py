"""A look at C source that is good enough for the project's own checks: comments and strings out, braces counted."""

import re

BLANK = re.compile(r"[^\n]")
TOKEN = re.compile(
    r"""/\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' """, re.S | re.X
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.M)


def blank(text):
    """The same text as blanks, newlines kept, so that offsets and line numbers stay true."""
    return BLANK.sub(" ", text)


def without_comments(text, strings=False):
    """Comments blanked; strings as well when asked, their quotes kept."""

    def replace(match):
        token = match.group()
        if token[0] == "/":
            return blank(token)
        return token[0] + blank(token[1:-1]) + token[-1] if strings else token

    return TOKEN.sub(replace, text)


def without_directives(code):
    """Preprocessor lines blanked, continuations included. Takes text that has lost its comments."""
    return DIRECTIVE.sub(lambda match: blank(match.group()), code)


def directives(code):
    """(first line, last line, text) of each preprocessor directive; lines count from 0."""
    for match in DIRECTIVE.finditer(code):
        first = code.count("\n", 0, match.start())
        yield first, first + match.group().count("\n"), match.group()


def closing(code, at):
    """Where the bracket opened at `at` closes; the end of the text when it never does."""
    depth = 0
    for match in re.compile(r"[][(){}]").finditer(code, at):
        depth += 1 if match.group() in "([{" else -1
        if depth == 0:
            return match.start()
    return len(code)


def line_of(code, at):
    """The line number, from 0, of an offset."""
    return code.count("\n", 0, at)


class Function:
    """One function definition: its name, and the lines (from 0) of its head, its opening and its closing brace."""

    def __init__(self, code, head, opening, name):
        self.name = name
        self.head = line_of(code, head)
        self.opening = opening
        self.closing = closing(code, opening)
        self.first = line_of(code, opening)
        self.last = line_of(code, self.closing)

    @property
    def lines(self):
        """How long it is, from the line of its head to that of its closing brace."""
        return self.last - self.head + 1


HEAD = re.compile(r"([A-Za-z_]\w*)\s*\(")


def functions(code):
    """The function definitions of a text that has lost comments, strings and directives."""
    at, start = 0, 0
    mark = re.compile(r"[;{}]")
    while match := mark.search(code, at):
        at = match.end()
        if match.group() == "{":
            head = code[start : match.start()]
            name = HEAD.search(head)
            end = closing(code, match.start())
            if head.rstrip().endswith(")") and name:
                first = start + len(head) - len(head.lstrip())
                yield Function(code, first, match.start(), name.group(1))
                start = at = end + 1
            else:
                at = end + 1
            continue
        start = at
