"""Inline suppressions: `// streamsan: ignore[SS501] reason`, on the line of the finding or alone on the line before.

In Python the comment begins with `#`.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from streamsan.findings.finding import Finding
from streamsan.patterns.late_pattern import late_pattern

_MARK = late_pattern(r"streamsan:\s*ignore\b[ \t]*(\[[^\]\n]*\]?)?[ \t]*([^\n]*)")
_CODE = late_pattern(r"SS\d{3}\Z")
PYTHON_SUFFIXES = (".py", ".pyw")


class Comment(Struct, frozen=True):
    """A comment of a source: its words, the lines it covers, and whether it stands alone on its line."""

    text: str
    line: int
    end_line: int
    alone: bool

    def moved(self, lines: int) -> Comment:
        """Return the comment so many lines further down."""
        return replace(self, line=self.line + lines, end_line=self.end_line + lines)


class Suppression(Struct):
    """One suppression: where it is written, and what it hides."""

    file: str
    line: int
    codes: tuple[str, ...]
    reason: str
    used: set[str] = field(default_factory=set)
    """codes that hid a finding"""

    @property
    def unused(self) -> tuple[str, ...]:
        """Codes that hid nothing."""
        return tuple(code for code in self.codes if code not in self.used)


class Rejected(Struct, frozen=True):
    """A suppression that cannot be read, and why."""

    file: str
    line: int
    reason: str


class Suppressions:
    """All suppressions of some files. A file that was added before is not read again."""

    def __init__(self, known_codes: Iterable[str]) -> None:
        self._known = frozenset(known_codes)
        self._files: set[str] = set()
        self._entries: list[Suppression] = []
        self._by_line: dict[tuple[str, int], list[Suppression]] = {}
        self.rejected: list[Rejected] = []

    def add(self, files: Mapping[str, str]) -> None:
        """Read the suppressions of these files: path to text."""
        for file, text in files.items():
            if file in self._files:
                continue
            self._files.add(file)
            if "streamsan:" in text:
                found = python_comments(text) if file.endswith(PYTHON_SUFFIXES) else comments(text)
                self._enter(file, text, found, 1)

    def add_lines(self, files: Mapping[str, Mapping[int, str]]) -> None:
        """Read the suppressions of files of which only some lines are known: path to line to text.

        A comment speaks of a line behind it only where all between are known.
        """
        for file, lines in files.items():
            if file in self._files:
                continue
            self._files.add(file)
            for first, run in _runs(lines):
                if "streamsan:" in run:
                    self._enter(file, run, _comments_of_part(file, run), first)

    def _enter(self, file: str, text: str, words: Iterable[Comment], first: int) -> None:
        """Enter the suppressions among the comments of a text whose first line has the number `first`."""
        blank = {number for number, line in enumerate(text.split("\n"), first) if not line.strip()}
        found = [comment.moved(first - 1) for comment in words]
        covered = {line for c in found if c.alone for line in range(c.line, c.end_line + 1)} | blank
        for comment in found:
            match = _MARK.search(comment.text)
            if match is None:
                continue
            line = comment.line + comment.text.count("\n", 0, match.start())
            codes, problem = self._codes(match.group(1))
            if problem:
                self.rejected.append(Rejected(file, line, problem))
            if not codes:
                continue
            target = comment.end_line
            if comment.alone:
                # Alone on its line it speaks of the next line of code, past blank lines and further comments.
                target += 1
                while target in covered:
                    target += 1
            entry = Suppression(file, line, codes, _reason(match.group(2)))
            self._entries.append(entry)
            self._by_line.setdefault((file, target), []).append(entry)

    def _codes(self, brackets: str | None) -> tuple[tuple[str, ...], str]:
        if brackets is None or brackets.strip("[] ") == "":
            return (), "`streamsan: ignore` names no code: write `streamsan: ignore[SS501] reason`"
        if not brackets.endswith("]"):
            return (), "`streamsan: ignore[` has no closing bracket"
        words = [word.strip() for word in brackets.strip("[]").split(",") if word.strip()]
        good = tuple(dict.fromkeys(word for word in words if _CODE.match(word) and word in self._known))
        bad = [word for word in words if word not in good]
        return good, f"`streamsan: ignore` of an unknown code: {', '.join(bad)[:60]}" if bad else ""

    def keep(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings that no suppression hides, and remember which suppressions hid one."""
        return [finding for finding in findings if not self._hidden(finding)]

    def _hidden(self, finding: Finding) -> bool:
        location = finding.location
        # A call may span lines, and the comment stands at its end; the call's own lines are few.
        last = min(max(location.line, location.end_line), location.line + 50)
        hidden = False
        for line in range(location.line, last + 1):
            for entry in self._by_line.get((location.file, line), ()):
                if finding.code in entry.codes:
                    entry.used.add(finding.code)
                    hidden = True
        return hidden

    def unused(self) -> list[Suppression]:
        """Return the suppressions of which at least one code hid nothing, by place."""
        return sorted((entry for entry in self._entries if entry.unused), key=lambda entry: (entry.file, entry.line))


def _runs(lines: Mapping[int, str]) -> Iterator[tuple[int, str]]:
    """Yield lines that follow each other as texts, with the number of the first."""
    run: list[str] = []
    first = 0
    for number in sorted(lines):
        if run and number != first + len(run):
            yield first, "\n".join(run)
            run = []
        if not run:
            first = number
        run.append(lines[number])
    if run:
        yield first, "\n".join(run)


def _comments_of_part(file: str, text: str) -> Iterator[Comment]:
    """Yield the comments of some lines of a file."""
    if not file.endswith(PYTHON_SUFFIXES):
        yield from comments(text)
        return
    # A part of a Python text is none: its lines are read one by one.
    for number, line in enumerate(text.split("\n")):
        for comment in python_comments(line.lstrip()):
            yield comment.moved(number)


def _reason(text: str) -> str:
    return text.removesuffix("*/").strip()


def comments(text: str) -> Iterator[Comment]:
    """Yield the comments of C or C++ text. Strings, raw strings and character literals hide what looks like one."""
    position, line, line_start = 0, 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", position, match.start())
        newline = text.rfind("\n", position, match.start())
        line_start = newline + 1 if newline >= 0 else line_start
        position = match.start()
        token = match.group()
        if token.startswith(("//", "/*")):
            end_line = line + token.count("\n")
            after = text.find("\n", match.end())
            rest = text[match.end() : after if after >= 0 else len(text)]
            alone = not text[line_start : match.start()].strip() and not rest.strip()
            yield Comment(token, line, end_line, alone)


def python_comments(text: str) -> Iterator[Comment]:
    """Yield the comments of Python text, up to where it stops being Python."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                line, column = token.start
                yield Comment(token.string, line, line, not token.line[:column].strip())
    except (tokenize.TokenError, SyntaxError, ValueError):
        return


_TOKEN = late_pattern(
    r"""
    //(?:[^\n\\]|\\(?:\r?\n|.)|\\\Z)*                              # line comment; a backslash continues it
  | /\*.*?(?:\*/|\Z)                                               # block comment, or one that never ends
  | \b(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)"|\Z)   # raw string
  | "(?:[^"\\\n]|\\.)*(?:"|$)                                      # string
  | (?<![0-9A-Za-z_])'(?:[^'\\\n]|\\.)*(?:'|$)                     # character; not a digit separator (1'000)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
