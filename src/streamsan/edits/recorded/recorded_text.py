"""The text of a recorded Python program: only where each recorded line is still what it was."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from msgspec import Struct

from streamsan.cuda_syntax.tree import Span
from streamsan.edits.python.module_text import PythonText
from streamsan.edits.python.places import PythonPlace, blocks
from streamsan.edits.source_text import EditError
from streamsan.findings.suppressions import PYTHON_SUFFIXES
from streamsan.rules.case import Names
from streamsan.trace.own_code import is_own_source
from streamsan.trace.site import Site
from streamsan.trace.source_lines import LONGEST_LINE

Read = Callable[[str], bytes]
"""the bytes of a file. Raises OSError"""


class Frame(Struct, frozen=True):
    """One call of a chain that is in the program's own Python text."""

    site: Site
    number: int
    """the site's id"""
    place: PythonPlace


class RecordedTexts:
    """The texts of one recording's program."""

    def __init__(self, names: Names, read: Read) -> None:
        self._names = names
        self._read = read
        self.texts: dict[str, PythonText] = {}
        self.refused: dict[str, str] = {}
        """file -> why it is not edited"""
        self._frames: dict[int, list[Frame]] = {}

    def text(self, file: str) -> PythonText | None:
        """Return the text of one of the program's own modules, None where there is none to edit."""
        if file not in self.texts and file not in self.refused:
            try:
                self.texts[file] = self._unchanged(file)
            except EditError as error:
                self.refused[file] = str(error)
            except (OSError, ValueError):
                self.refused[file] = f"{file} is not here"
        return self.texts.get(file)

    def frames(self, number: int) -> list[Frame]:
        """Return the calls of a site's chain that are in texts to edit, the innermost first."""
        if number not in self._frames:
            self._frames[number] = list(self._found(number))
        return self._frames[number]

    def why_not(self, number: int) -> str:
        """Return why no call of a site's chain can be edited, "" where one can."""
        if self.frames(number):
            return ""
        reason = "no line of a Python source is known of it"
        while number:
            site = self._names.site(number)
            reason = self.refused.get(site.file, reason)
            number = site.caller
        return reason

    def _unchanged(self, file: str) -> PythonText:
        """Return a text that is what was recorded. Raises EditError, OSError."""
        if not file.endswith(PYTHON_SUFFIXES) or not is_own_source(file):
            raise EditError(f"{file} is no Python source of the program")
        stored = self._names.source_lines.get(file)
        if not stored:
            raise EditError(f"the recording has no lines of {file} to hold its text against")
        text = PythonText(file, self._read(file))
        for number, line in sorted(stored.items()):
            if number > len(text.lines) or not _is_same(line, text.lines[number - 1][:LONGEST_LINE]):
                raise EditError(f"line {number} of {file} is not what was recorded")
        return text

    def _found(self, number: int) -> Iterator[Frame]:
        level = 0
        while number:
            site = self._names.site(number)
            text = self.text(site.file) if site.file.endswith(PYTHON_SUFFIXES) and is_own_source(site.file) else None
            place = place_at(text, site.line, site.column, level) if text is not None else None
            if place is not None:
                yield Frame(site, number, place)
                level += 1
            number = site.caller


def _is_same(recorded: str, line: str) -> bool:
    """Tell whether a line is what was recorded; a comment behind it may have come or gone."""
    shorter, longer = sorted((recorded.rstrip(), line.rstrip()), key=len)
    rest = longer.removeprefix(shorter)
    return longer.startswith(shorter) and (not rest or (rest[0].isspace() and rest.lstrip().startswith("#")))


def place_at(text: PythonText, line: int, column: int, level: int = 0) -> PythonPlace | None:
    """Return the place of a call that begins at a line and column: a recorded stack does not say where it ends."""
    if not line or not column:
        return None
    best: tuple[ast.AST, ...] | None = None
    for path in _paths(text, (text.tree,), line, column):
        # The outermost expression that begins there; else the statement.
        if best is None or (isinstance(best[-1], ast.stmt) and isinstance(path[-1], ast.expr)):
            best = path
    if best is None:
        return None
    own = text.span(best[-1])
    inner = next((node for node in reversed(best) if isinstance(node, ast.stmt | ast.Lambda)), None)
    statement = inner if isinstance(inner, ast.stmt) else None
    around = (block for node in best for block in blocks(node) if any(each is statement for each in block))
    return PythonPlace(
        span=Span(text.name, *own[1:]),
        path=best,
        statement=statement,
        block=next(around, None),
        level=level,
        text=text,
    )


def _paths(text: PythonText, path: tuple[ast.AST, ...], line: int, column: int) -> Iterator[tuple[ast.AST, ...]]:
    for child in ast.iter_child_nodes(path[-1]):
        if not hasattr(child, "lineno"):
            yield from _paths(text, (*path, child), line, column)
            continue
        first = min((child.lineno, *(each.lineno for each in getattr(child, "decorator_list", ()))))
        if not first <= line <= (child.end_lineno or 0):  # type: ignore[attr-defined]
            continue
        own = text.span(child)
        if (own.line, own.column) == (line, column) and isinstance(child, ast.expr | ast.stmt):
            yield (*path, child)
        yield from _paths(text, (*path, child), line, column)


def is_simple(statement: ast.stmt | None) -> bool:
    """Tell whether a statement has no statements inside: code before it is before all that it does."""
    return statement is not None and not any(True for _ in blocks(statement))


def is_alone(place: PythonPlace) -> bool:
    """Tell whether a call, or a check around it (`check(call())`), is all of its statement."""
    statement = place.statement
    if not isinstance(statement, ast.Expr):
        return False
    node = statement.value
    while node is not place.node and isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        node = node.args[0]
    return node is place.node and isinstance(node, ast.Call)
