"""Declarations that macros make: their invocations outside functions are replaced by what they stand for.

Inside functions invocations stay: there `macro_bodies` follows them. All that comes of an invocation is at its place in
the file, but for arguments in braces, which are code that stands there. What would be a statement is left as it is:
the file may be a fragment of a program.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from streamsan.cuda_syntax import macro_substitution
from streamsan.cuda_syntax.declaration_text import declares, may_declare
from streamsan.cuda_syntax.macro_history import MacrosInForce
from streamsan.cuda_syntax.preprocess import MacroText
from streamsan.cuda_syntax.scanner import RAW_STRING, STRING
from streamsan.cuda_syntax.source_code import Code
from streamsan.cuda_syntax.text_repairs import arguments_at
from streamsan.cuda_syntax.tree import Problem, Span
from streamsan.patterns.late_pattern import late_pattern

MOST_ROUNDS: Final = 24
"""how deep invocations may stand in what comes of others"""
MOST_TEXT: Final = 1 << 20
"""characters that may come of the invocations of a file"""
MOST_INVOCATIONS: Final = 8_000
"""those of a file that come of others"""

CUDA_WORD: Final = late_pattern(r"\bcu(?:da)?[A-Z]\w*|<<<|__global__")
_WORD: Final = late_pattern(r"[^\W\d]\w*")
_BRACKETS: Final = late_pattern(rf"{RAW_STRING}|{STRING}|(?P<bracket>[()\[\]{{}}])")
_MARKS: Final = late_pattern(
    rf"{RAW_STRING}|{STRING}|(?P<mark>[()\[\]{{}};=])|(?P<label>\b(?:public|private|protected)\s*:(?!:))"
    r"|(?P<template>\btemplate\s*<)|(?P<word>[^\W\d]\w*)"
)
_OPENING: Final = frozenset("namespace class struct union enum extern".split())  # noqa: SIM905
_STATEMENTS: Final = frozenset("return if else for while do switch case goto delete throw".split())  # noqa: SIM905
_ATTRIBUTES: Final = frozenset(
    "__align__ __builtin_align__ alignas __attribute__ __declspec __launch_bounds__ decltype noexcept".split()  # noqa: SIM905
)
_BEFORE_NAME: Final = late_pattern(r"(?:([^\W\d]\w*)|[*&>)\]\"])\s*\Z")
_LAST_WORD: Final = late_pattern(r"[^\W\d]\w*\Z")
_BEFORE_DECLARATION: Final = (*';{}>)]*&:"', "")
_CLOSER: Final = {"(": ")", "[": "]", "{": "}"}


class Expanded(Struct):
    """What came of the invocations of a file."""

    code: Code
    expansions: dict[Span, bool]
    """where they stand, and whether what came of them holds a word of CUDA"""
    unread: list[Problem]
    """invocations that were left, and hold a word of CUDA"""


class _Invocation(Struct, frozen=True):
    """A macro's name outside functions, with its arguments."""

    macro: MacroText
    start: int
    end: int
    arguments: list[tuple[int, int]]
    first: bool
    """a declaration would begin with it"""


class _Origin(Struct, frozen=True):
    """A range of the code that came of macros: their names stand for nothing in it."""

    start: int
    end: int
    names: frozenset[str]


def expanded(code: Code, macros: MacrosInForce) -> Expanded:
    """Replace the invocations outside functions in the code of a file, and those that come of them."""
    result = Expanded(code, {}, [])
    names = _candidates(macros, code.ascii)
    if not names:
        return result
    try:
        _Rounds(result, macros, names).run()
    except _TooMuchError:
        result = Expanded(code, {}, [])
        _Rounds(result, macros, names).leave_all()
    return result


class _TooMuchError(Exception):
    """More came of the invocations than is read."""


def _candidates(macros: MacrosInForce, text: str) -> set[str]:
    """Return the names of macros that may make declarations; none where the text has no place for them."""
    known = macros.history
    if not known:
        return set()
    mentioned = _declaring(known, known.keys() & set(_WORD.findall(text)))
    if not mentioned:
        return set()
    if not any(match[0] in mentioned and _may_begin(text, match.start()) for match in _WORD.finditer(text)):
        return set()
    return _declaring(known, known.keys())


def _declaring(known: Mapping[str, list[tuple[int, MacroText | None]]], names: Iterable[str]) -> set[str]:
    return {name for name in names if any(macro is not None and may_declare(macro, known) for _, macro in known[name])}


def _may_begin(text: str, at: int) -> bool:
    """Whether a declaration may begin, or go on, with a name at an offset: it is no part of an expression."""
    before = text[max(0, at - 200) : at].rstrip()
    word = _LAST_WORD.search(before)
    if word is not None:
        return word[0] not in _STATEMENTS
    return before[-1:] in _BEFORE_DECLARATION


class _Rounds:
    """Replaces invocations, then those in what came of them, until none is left."""

    def __init__(self, result: Expanded, macros: MacrosInForce, names: set[str]) -> None:
        self._result = result
        self._macros = macros
        self._names = names
        self._origins: list[_Origin] = []
        self._room = MOST_TEXT
        self._left = MOST_INVOCATIONS

    def run(self) -> None:
        for _ in range(MOST_ROUNDS):
            if not self._round():
                return
        raise _TooMuchError

    def leave_all(self) -> None:
        """Replace none of them."""
        code = self._result.code
        for found in _invocations(code.ascii, self._names, self._definition):
            self._leave(found, code)

    def _round(self) -> bool:
        """Replace the invocations in the code as it is now; tell whether there were some."""
        result = self._result
        code = result.code
        text = code.ascii
        parts: list[tuple[int, int, str | None]] = []
        origins: list[_Origin] = []
        at = shift = 0
        result.unread = []
        for found in _invocations(text, self._names, self._definition):
            pieces = self._replacement(found, code, text)
            if pieces is None:
                self._leave(found, code)
                continue
            size = sum(end - start if piece is None else len(piece) for start, end, piece in pieces)
            hidden = self._hidden(found.start)
            self._left -= bool(hidden)
            self._room -= size
            if self._left < 0 or self._room < 0:
                raise _TooMuchError
            if found.start > at:
                parts.append((at, found.start, None))
            self._kept(at, found.start, shift, origins)
            names = hidden | {found.macro.name}
            origins.append(_Origin(found.start + shift, found.start + shift + size, names))
            parts.extend(pieces)
            shift += size - (found.end - found.start)
            at = found.end
            shown = "".join(code.shown[start:end] if piece is None else piece for start, end, piece in pieces)
            span = code.span_of(found.start, found.end)
            result.expansions[span] = CUDA_WORD.search(shown) is not None or result.expansions.get(span, False)
        if not parts and at == 0:
            return False
        self._kept(at, len(text), shift, origins)
        parts.append((at, len(text), None))
        self._origins = origins
        result.code = code.cut([part for part in parts if part[2] is not None or part[1] > part[0]])
        return True

    def _definition(self, name: str, offset: int) -> MacroText | None:
        if name not in self._names or name in self._hidden(offset):
            return None
        macro = self._macros.at(name, self._result.code.origin(offset))
        return macro if macro is not None and may_declare(macro, self._macros.history) else None

    def _hidden(self, offset: int) -> frozenset[str]:
        index = bisect_right(self._origins, offset, key=lambda origin: origin.start) - 1
        if index >= 0 and offset < self._origins[index].end:
            return self._origins[index].names
        return frozenset()

    def _kept(self, start: int, end: int, shift: int, origins: list[_Origin]) -> None:
        """Keep what is known of a range of the old code."""
        known = self._origins
        index = max(0, bisect_right(known, start, key=lambda origin: origin.start) - 1)
        while index < len(known) and known[index].start < end:
            first, last = max(start, known[index].start), min(end, known[index].end)
            if first < last:
                origins.append(_Origin(first + shift, last + shift, known[index].names))
            index += 1

    def _replacement(self, found: _Invocation, code: Code, text: str) -> list[tuple[int, int, str | None]] | None:
        """Return what an invocation stands for; None where that is nothing to put outside functions, or too much."""
        origin = code.origin(found.start)
        given = [code.shown[start:end] for start, end in found.arguments]
        pieces = macro_substitution.substituted(found.macro, given, lambda name: self._macros.at(name, origin))
        if pieces is None:
            return None
        made: list[tuple[int, int, str | None]] = []
        shown = []
        for piece in pieces:
            if isinstance(piece, int):
                start, end = found.arguments[piece]
                made.append((start, end, None))
                shown.append(code.shown[start:end])
            else:
                made.append((found.start, found.end, piece))
                shown.append(piece)
        whole = "".join(shown)
        if found.first and not declares(whole, text[found.end : found.end + 80].lstrip(), self._is_macro):
            return None
        return made

    def _is_macro(self, name: str) -> bool:
        return name in self._names

    def _leave(self, found: _Invocation, code: Code) -> None:
        span = code.span_of(found.start, found.end)
        unread = self._result.unread
        if unread and unread[-1].span == span:
            return
        if CUDA_WORD.search(code.shown, found.start, found.end) is not None or self._is_of_cuda(found.macro):
            unread.append(Problem(span, f"what macro {found.macro.name} makes is not read"))

    def _is_of_cuda(self, macro: MacroText) -> bool:
        """Tell whether the text of a macro, or of one that it mentions, holds a word of CUDA."""
        seen = {macro.name}
        pending = [macro]
        while pending:
            text = pending.pop().text
            if CUDA_WORD.search(text) is not None:
                return True
            for name in set(_WORD.findall(text)) & self._macros.history.keys() - seen:
                seen.add(name)
                pending += [each for _, each in self._macros.history[name] if each is not None]
        return False


def _invocations(
    text: str, names: set[str], definition: Callable[[str, int], MacroText | None]
) -> Iterator[_Invocation]:
    """Yield the invocations that stand outside functions, initialisers and parentheses, in order of text."""
    begin = at = 0
    """where the declaration under way begins"""
    opening = False
    """a word came with which braces hold declarations"""
    passed = False
    """parentheses came, as a function has them"""
    over = False
    """a `=` or a statement's word came: nothing of this declaration matters any more"""
    while (match := _MARKS.search(text, at)) is not None:
        before, at = at, match.end()
        mark, word = match["mark"], match["word"]
        if match["label"]:
            begin = at
        elif match["template"]:
            at = _after_template(text, at)
        elif word in _OPENING:
            opening = opening or word != "extern" or text[at : at + 20].lstrip().startswith('"')
            passed = False  # what was in parentheses was an invocation of its own
            if word == "enum":
                over = True
        elif word in _STATEMENTS:
            over = True
        elif word is not None:
            if word not in names:
                continue
            first = begin == before and not text[begin : match.start()].strip()
            if over or not (first or _goes_before_name(text, match.start())):
                continue
            macro = definition(word, match.start())
            if macro is None:
                continue
            arguments: list[tuple[int, int]] = []
            if macro.parameters is not None:
                called = arguments_at(text, at)
                if called is None:
                    if text[at : at + 80].lstrip().startswith("("):
                        return  # nothing closes it: it takes the rest
                    continue
                arguments, at = called
            yield _Invocation(macro, match.start(), at, arguments, first)
            if first:
                begin = at
        elif mark == "=":
            over = True
        elif mark in (";", "}") or (mark == "{" and opening and not passed and not over):
            begin, opening, passed, over = at, False, False, False
        elif mark is not None and mark in _CLOSER:
            name = _BEFORE_NAME.search(text, max(0, match.start() - 60), match.start())
            attribute = name is not None and name[1] in _ATTRIBUTES
            at = _after_group(text, at)
            if mark == "{" and text[at : at + 80].lstrip()[:1] not in (";", ",", ")", "("):
                begin, opening, passed, over = at, False, False, False
            elif mark == "(" and not attribute:
                passed = True


def _goes_before_name(text: str, at: int) -> bool:
    """Whether a name at an offset may go on with a declaration: it stands behind a type, a qualifier, an attribute."""
    return _BEFORE_NAME.search(text, max(0, at - 60), at) is not None


def _after_group(text: str, at: int) -> int:
    """Return where the brackets end whose first one ends at an offset."""
    depth = 1
    for match in _BRACKETS.finditer(text, at):
        bracket = match["bracket"]
        if bracket is None:
            continue
        depth += 1 if bracket in _CLOSER else -1
        if not depth:
            return match.end()
    return len(text)


_ANGLES: Final = late_pattern(rf"{STRING}|[<>;{{]")


def _after_template(text: str, at: int) -> int:
    depth = 1
    for match in _ANGLES.finditer(text, at):
        if match[0] in ";{":
            return match.start()
        depth += {"<": 1, ">": -1}.get(match[0], 0)
        if not depth:
            return match.end()
    return at
