"""Brackets and statement boundaries without a grammar: for text in which the grammar stumbled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

STRING: Final = r'"(?:[^"\\\n]|\\[\s\S])*+"?|(?<![0-9a-fA-F])\'(?:[^\'\\\n]|\\[\s\S])*+\'?'
RAW_STRING: Final = r'\b(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s"]{0,16})\([\s\S]*?(?:\)(?P=delimiter)"|\Z)'
_TOKEN: Final = re.compile(
    rf"{RAW_STRING}|{STRING}|(?P<bracket>[()\[\]{{}}])|(?P<end>;)|(?P<hole>\.\.\.)|(?P<word>[^\W\d]\w*)|[^\s]"
)
_BRACKETS: Final = re.compile(rf"{RAW_STRING}|{STRING}|(?P<bracket>[()\[\]{{}}])")
_CLOSER: Final = {"(": ")", "[": "]", "{": "}"}
_NO_BRACKETS: Final = str.maketrans({i: None for i in range(128) if chr(i) not in "()[]{}"})
_ATTRIBUTES: Final = frozenset(("__align__", "__builtin_align__", "alignas", "__attribute__", "__declspec"))
_CLASS_WORDS: Final = frozenset(("struct", "class", "union", "enum"))
_GOES_ON: Final = frozenset((";", ",", ")", "."))
_WORD: Final = re.compile(r"\s*([^\W\d]\w*)")


@dataclass(frozen=True, slots=True)
class Group:
    """A pair of braces: offsets of `{` and of the character after `}`."""

    start: int
    end: int
    closed: bool


@dataclass(slots=True)
class Item:
    """A statement or declaration by its brackets, with the outermost brace groups in it (also inside parentheses)."""

    start: int
    end: int
    groups: list[Group]
    stray: bool = False
    """a closing bracket that closes nothing"""
    hole: bool = False
    """`...` standing as a statement"""


def too_deep(text: str, limit: int) -> bool:
    """Whether brackets may nest deeper than the limit. Strings are not told apart, so True is a suspicion."""
    brackets = text.translate(_NO_BRACKETS)
    for _ in range(limit):
        shorter = brackets.replace("()", "").replace("[]", "").replace("{}", "")
        if len(shorter) == len(brackets):
            break
        brackets = shorter
    return len(brackets) > limit // 2


def deep_regions(text: str, limit: int) -> list[tuple[int, int]]:
    """The insides of brackets that are nested deeper than the limit, as offsets."""
    found: list[tuple[int, int]] = []
    stack: list[str] = []
    begin = -1
    for match in _BRACKETS.finditer(text):
        bracket = match["bracket"]
        if bracket is None:
            continue
        if bracket in _CLOSER:
            stack.append(_CLOSER[bracket])
            if len(stack) == limit:
                begin = match.end()
        elif stack and bracket in stack[-1:]:
            stack.pop()
            if len(stack) == limit - 1 and begin >= 0:
                if match.start() > begin:
                    found.append((begin, match.start()))
                begin = -1
    if begin >= 0:
        found.append((begin, len(text)))
    return found


def items(text: str, start: int, end: int) -> Iterator[Item]:
    """Splits text into statements and declarations at its own level.

    A `}` without `{` is an item of its own; a `)` or `]` that closes nothing is passed over; a `{` that nothing
    closes takes the rest.
    """
    begin = -1
    stack: list[tuple[str, int]] = []
    groups: list[Group] = []
    braces = 0
    class_like = False
    plain_words = True
    starts_do = False
    previous = ""
    block = False
    lambda_like = for_like = False
    for match in _TOKEN.finditer(text, start, end):
        kind = match.lastgroup
        at = match.start()
        token = match[0]
        if begin < 0:
            if kind == "end":
                continue
            if kind == "bracket" and token in ")]":
                continue
            if kind == "bracket" and token == "}":
                yield Item(at, match.end(), [], stray=True)
                continue
            begin, groups, class_like, plain_words, previous, block = at, [], False, True, "", False
            lambda_like = False
            starts_do = token == "do"
            if kind == "hole":
                yield Item(at, match.end(), [], hole=True)
                begin = -1
                continue
        if kind == "word" and not stack:
            if token in _CLASS_WORDS and plain_words:
                class_like = True
        elif kind == "bracket":
            if token in _CLOSER:
                if not stack:
                    for_like = "for" in previous.lower()
                if token == "(" and not stack and previous not in _ATTRIBUTES:
                    plain_words = False
                    class_like = False
                if not stack and token in "({" and previous == "]":
                    lambda_like = True
                if token == "{":
                    if not stack:
                        block = not class_like and opens_block(previous)
                    braces += 1
                stack.append((token, at))
            elif token == "}":
                if not braces:
                    if begin < at:
                        yield Item(begin, at, groups)
                    yield Item(at, match.end(), [], stray=True)
                    begin, stack = -1, []
                    continue
                while stack[-1][0] != "{":  # a bracket inside that nothing closed
                    stack.pop()
                opened = stack.pop()[1]
                braces -= 1
                if not braces:
                    groups.append(Group(opened, match.end(), True))
                if stack and not braces and _ends_definition(text, at, match.end()):
                    stack, block = [], True  # `void f( {`: the parenthesis was never closed
                if not stack and block:
                    following = _WORD.match(text, match.end(), end)
                    word = following[1] if following is not None else ""
                    if word in ("else", "catch") or (word == "while" and starts_do):
                        previous = token
                        continue
                    after = text[match.end() : match.end() + 40].lstrip()[:1]
                    if after in _GOES_ON or (after == "(" and lambda_like):
                        previous = token
                        continue
                    yield Item(begin, match.end(), groups)
                    begin = -1
            elif stack and _CLOSER[stack[-1][0]] == token:
                stack.pop()
        elif kind == "end" and stack and not braces and not for_like:
            stack = []  # `f(a; g();`: the parenthesis was never closed
            yield Item(begin, match.end(), groups)
            begin = -1
        elif kind == "end" and not stack:
            following = _WORD.match(text, match.end(), end)
            if following is not None and following[1] == "else":
                previous = token
                continue
            if starts_do and not groups:
                starts_do = False
                continue
            yield Item(begin, match.end(), groups)
            begin = -1
        previous = token
    if begin >= 0:
        if braces:
            first = next(at for bracket, at in stack if bracket == "{")
            groups.append(Group(first, end, False))
        yield Item(begin, end, groups)


def _ends_definition(text: str, at: int, end: int) -> bool:
    """Whether a `}` stands first in its line and nothing after it says that a call goes on."""
    return (at == 0 or text[at - 1] == "\n") and text[end : end + 40].lstrip()[:1] not in (")", ",", ";", "]", ".")


def unclosed(text: str) -> str:
    """The `)` and `]` that are missing at the end of a text; braces are not counted."""
    stack: list[str] = []
    for match in _BRACKETS.finditer(text):
        bracket = match["bracket"]
        if bracket is None:
            continue
        if bracket in "([":
            stack.append(_CLOSER[bracket])
        elif stack and stack[-1] == bracket:
            stack.pop()
    return "".join(reversed(stack)) if len(stack) < 20 else ""


def opens_block(previous: str) -> bool:
    """Whether a `{` after this token opens statements (or members), not a list of initial values."""
    return previous not in ("=", ",", "(", "[", "return", "<", "?", "+", "-", "*", "/", "==", "&", "|", "!")
