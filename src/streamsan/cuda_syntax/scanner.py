"""Brackets and statement boundaries without a grammar: for text in which the grammar stumbled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

from streamsan.patterns.late_pattern import late_pattern

STRING: Final = r'"(?:[^"\\\n]|\\[\s\S])*+"?|(?<![0-9a-fA-F])\'(?:[^\'\\\n]|\\[\s\S])*+\'?'
RAW_STRING: Final = r'\b(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s"]{0,16})\([\s\S]*?(?:\)(?P=delimiter)"|\Z)'
_TOKEN: Final = late_pattern(
    rf"{RAW_STRING}|{STRING}|(?P<bracket>[()\[\]{{}}])|(?P<end>;)|(?P<hole>\.\.\.)|(?P<word>[^\W\d]\w*)|[^\s]"
)
_BRACKETS: Final = late_pattern(rf"{RAW_STRING}|{STRING}|(?P<bracket>[()\[\]{{}}])")
_CLOSER: Final = {"(": ")", "[": "]", "{": "}"}
_NO_BRACKETS: Final = str.maketrans({i: None for i in range(128) if chr(i) not in "()[]{}"})
_ATTRIBUTES: Final = frozenset(("__align__", "__builtin_align__", "alignas", "__attribute__", "__declspec"))
_CLASS_WORDS: Final = frozenset(("struct", "class", "union", "enum"))
_GOES_ON: Final = frozenset((";", ",", ")", "."))
_WORD: Final = late_pattern(r"\s*([^\W\d]\w*)")


class Group(Struct, frozen=True):
    """A pair of braces: offsets of `{` and of the character after `}`."""

    start: int
    end: int
    closed: bool


class Item(Struct):
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
    return _Splitter(text, start, end).split()


class _Splitter(Struct):
    """What is known of the item under way while a text is split."""

    text: str
    start: int
    end: int
    begin: int = -1
    """where the item begins; -1 between items"""
    groups: list[Group] = field(default_factory=list)
    stack: list[tuple[str, int]] = field(default_factory=list)
    """the open brackets, and where each stands"""
    braces: int = 0
    """how many of them are braces"""
    previous: str = ""
    plain_words: bool = True
    """no parenthesis yet, so that `struct` would begin a class"""
    class_like: bool = False
    block: bool = False
    """the outermost `{` opens statements, or members"""
    lambda_like: bool = False
    for_like: bool = False
    """the outermost open bracket may be a loop's head: `;` in it ends nothing"""
    starts_do: bool = False

    def split(self) -> Iterator[Item]:
        for match in _TOKEN.finditer(self.text, self.start, self.end):
            kind, token = match.lastgroup, match[0]
            if self.begin < 0:
                if kind == "end" or token in (")", "]"):
                    continue
                if kind == "hole" or token == "}":
                    yield Item(match.start(), match.end(), [], stray=token == "}", hole=kind == "hole")
                    continue
                self._start(token, match.start())
            if kind == "word":
                if token in _CLASS_WORDS and self.plain_words and not self.stack:
                    self.class_like = True
            elif kind == "bracket":
                if token in _CLOSER:
                    self._open(token, match.start())
                elif token != "}":
                    if self.stack and _CLOSER[self.stack[-1][0]] == token:
                        self.stack.pop()
                elif not self.braces:
                    self.stack = []
                    yield self._item(match.start())
                    yield Item(match.start(), match.end(), [], stray=True)
                elif self._close_brace(match.start(), match.end()):
                    yield self._item(match.end())
            elif kind == "end" and self._ends(match.end()):
                yield self._item(match.end())
            self.previous = token
        if self.begin >= 0:
            if self.braces:
                first = next(at for bracket, at in self.stack if bracket == "{")
                self.groups.append(Group(first, self.end, False))
            yield self._item(self.end)

    def _start(self, token: str, at: int) -> None:
        self.begin = at
        self.groups = []
        self.previous = ""
        self.plain_words = True
        self.class_like = self.block = self.lambda_like = False
        self.starts_do = token == "do"

    def _item(self, end: int) -> Item:
        found = Item(self.begin, end, self.groups)
        self.begin = -1
        return found

    def _open(self, bracket: str, at: int) -> None:
        if not self.stack:
            self.for_like = "for" in self.previous.lower()
            if bracket == "(" and self.previous not in _ATTRIBUTES:
                self.plain_words = self.class_like = False
            if bracket != "[" and self.previous == "]":
                self.lambda_like = True
            if bracket == "{":
                self.block = not self.class_like and opens_block(self.previous)
        self.braces += bracket == "{"
        self.stack.append((bracket, at))

    def _close_brace(self, at: int, end: int) -> bool:
        """Closes the innermost `{`; tells whether the item ends with that."""
        while self.stack[-1][0] != "{":  # a bracket inside that nothing closed
            self.stack.pop()
        opened = self.stack.pop()[1]
        self.braces -= 1
        if not self.braces:
            self.groups.append(Group(opened, end, True))
            if self.stack and _ends_definition(self.text, at, end):
                self.stack, self.block = [], True  # `void f( {`: the parenthesis was never closed
        if self.stack or not self.block:
            return False
        word = self._word_after(end)
        if word in ("else", "catch") or (word == "while" and self.starts_do):
            return False
        after = self.text[end : end + 40].lstrip()[:1]
        return not (after in _GOES_ON or (after == "(" and self.lambda_like))

    def _ends(self, end: int) -> bool:
        """Tells whether a `;` ends the item."""
        if self.stack:
            if self.braces or self.for_like:
                return False
            self.stack = []  # `f(a; g();`: the parenthesis was never closed
            return True
        if self._word_after(end) == "else":
            return False
        if self.starts_do and not self.groups:
            self.starts_do = False
            return False
        return True

    def _word_after(self, at: int) -> str:
        following = _WORD.match(self.text, at, self.end)
        return following[1] if following is not None else ""


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
