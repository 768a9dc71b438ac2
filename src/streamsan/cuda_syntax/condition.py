"""The value of an `#if` condition."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from streamsan.cuda_syntax import literals
from streamsan.patterns.late_pattern import late_pattern

_TOKEN = late_pattern(
    r"\s+|(?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)|(?P<name>[^\W\d]\w*)|(?P<text>[uUL]?'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<symbol><<|>>|<=|>=|==|!=|&&|\|\||::|\#\#|\.\.\.|[-+*/%<>!~&|^()?:,.#<>{}\[\];=@$\\`])|(?P<other>.)",
    re.S,
)
_MAX_TOKENS: Final = 20_000
_MAX_DEPTH: Final = 30
_BINARY: Final = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)


class ConditionError(ValueError):
    """A condition that is no constant expression; the text says why."""


class Definition(Struct, frozen=True):
    """What the preprocessor needs of a macro: its parameters (None: object-like) and the text of its body."""

    parameters: list[str] | None
    text: str
    variadic: bool = False


def tokens(text: str) -> list[str]:
    """The preprocessing tokens of a line."""
    found = [m[0] for m in _TOKEN.finditer(text) if m.lastgroup is not None]
    if len(found) > _MAX_TOKENS:
        raise ConditionError("the condition is too long")
    return found


def expand(line: list[str], macros: Mapping[str, Definition], hidden: frozenset[str], budget: list[int]) -> list[str]:
    """Replaces macros in the tokens of a condition."""
    out: list[str] = []
    at = 0
    while at < len(line):
        word = line[at]
        at += 1
        budget[0] -= 1
        if budget[0] < 0 or len(hidden) > _MAX_DEPTH:
            raise ConditionError("macros in the condition expand without end")
        definition = macros.get(word)
        if definition is None or word in hidden:
            out.append(word)
            continue
        if definition.parameters is None:
            out.extend(expand(tokens(definition.text), macros, hidden | {word}, budget))
            continue
        if at >= len(line) or line[at] != "(":
            out.append(word)
            continue
        arguments, at = _arguments(line, at)
        given = [expand(a, macros, hidden, budget) for a in arguments]
        bound = dict(zip(definition.parameters, given, strict=False))
        if definition.variadic:
            rest = given[len(definition.parameters) - 1 :]
            bound[definition.parameters[-1]] = [t for i, a in enumerate(rest) for t in ([",", *a] if i else a)]
        body: list[str] = []
        for token in tokens(definition.text):
            body.extend(bound.get(token, [token]))
        while "##" in body:
            i = body.index("##")
            left, right = body[i - 1 : i], body[i + 1 : i + 2]
            body[max(0, i - 1) : i + 2] = ["".join(left + right)]
        out.extend(expand(body, macros, hidden | {word}, budget))
    return out


def _arguments(line: list[str], at: int) -> tuple[list[list[str]], int]:
    """The arguments of a macro call whose `(` stands at `at`; and where the call ends."""
    depth = 0
    arguments: list[list[str]] = [[]]
    while at < len(line):
        word = line[at]
        at += 1
        if word == "(":
            depth += 1
            if depth == 1:
                continue
        elif word == ")":
            depth -= 1
            if depth == 0:
                return arguments, at
        elif word == "," and depth == 1:
            arguments.append([])
            continue
        arguments[-1].append(word)
    raise ConditionError("a macro call in the condition has no end")


class _Evaluator:
    def __init__(self, line: list[str]) -> None:
        self.line = line
        self.at = 0
        self.depth = 0

    def peek(self) -> str:
        return self.line[self.at] if self.at < len(self.line) else ""

    def take(self) -> str:
        word = self.peek()
        self.at += 1
        return word

    def conditional(self) -> int:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise ConditionError("the condition is nested too deeply")
        value = self.binary(0)
        if self.peek() == "?":
            self.take()
            then = self.conditional()
            if self.take() != ":":
                raise ConditionError("`?` without `:`")
            otherwise = self.conditional()
            value = then if value else otherwise
        self.depth -= 1
        return value

    def binary(self, level: int) -> int:
        if level == len(_BINARY):
            return self.unary()
        value = self.binary(level + 1)
        while self.peek() in _BINARY[level]:
            operator = self.take()
            value = _apply(operator, value, self.binary(level + 1))
        return value

    def unary(self) -> int:
        prefix: list[str] = []
        while self.peek() in ("!", "-", "+", "~", "not", "compl"):
            prefix.append(self.take())
        value = self.primary()
        for operator in reversed(prefix):
            if operator in ("!", "not"):
                value = int(not value)
            elif operator == "-":
                value = -value
            elif operator in ("~", "compl"):
                value = ~value
        return value

    def primary(self) -> int:
        word = self.take()
        if word == "(":
            value = self.conditional()
            if self.take() != ")":
                raise ConditionError("missing `)`")
            return value
        if word[:1].isdigit():
            number, _ = literals.number(word)
            if number is None:
                raise ConditionError(f"`{word[:40]}` is no integer")
            return int(number) if number == number and abs(number) < 2**200 else 0
        if word[:1] == "'":
            character = literals.character(word)
            return character if isinstance(character, int) else 0
        if word == "true":
            return 1
        if word[:1].isalpha() or word[:1] == "_":
            if self.peek() == "(":  # a call of something nobody defined
                depth = 0
                while self.at < len(self.line):
                    token = self.take()
                    depth += (token == "(") - (token == ")")
                    if not depth:
                        break
            return 0
        raise ConditionError("the condition ends early" if not word else f"`{word[:40]}` is out of place")


def _apply(operator: str, left: int, right: int) -> int:
    match operator:
        case "||":
            return int(bool(left) or bool(right))
        case "&&":
            return int(bool(left) and bool(right))
        case "|":
            return left | right
        case "^":
            return left ^ right
        case "&":
            return left & right
        case "==":
            return int(left == right)
        case "!=":
            return int(left != right)
        case "<":
            return int(left < right)
        case ">":
            return int(left > right)
        case "<=":
            return int(left <= right)
        case ">=":
            return int(left >= right)
        case "<<":
            return _wrap(left << right) if 0 <= right < 64 else 0
        case ">>":
            return left >> right if 0 <= right < 64 else 0
        case "+":
            return _wrap(left + right)
        case "-":
            return _wrap(left - right)
        case "*":
            return _wrap(left * right)
        case _:
            if right == 0:
                return 0  # an error in C++, unless short-circuited; the branch is then not taken
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            return quotient if operator == "/" else left - quotient * right


def _wrap(value: int) -> int:
    return value if -(2**63) <= value < 2**64 else value % 2**64


def evaluate(text: str, macros: Mapping[str, Definition], has_include: Callable[[str], bool]) -> int:
    """The value of a condition. Raises ConditionError if it has none. Unknown identifiers are 0."""
    line = tokens(text)
    ready: list[str] = []
    at = 0
    while at < len(line):
        word = line[at]
        at += 1
        if word == "defined":
            parenthesis = at < len(line) and line[at] == "("
            at += parenthesis
            if at >= len(line):
                raise ConditionError("`defined` without a name")
            ready.append("1" if line[at] in macros else "0")
            at += 1
            if parenthesis:
                if at >= len(line) or line[at] != ")":
                    raise ConditionError("`defined(` without `)`")
                at += 1
        elif word in ("__has_include", "__has_include_next") and at < len(line) and line[at] == "(":
            arguments, at = _arguments(line, at)
            ready.append(str(int(has_include("".join(arguments[0])))))
        elif word in ("__has_cpp_attribute", "__has_attribute", "__has_builtin", "__has_feature") and at < len(line):
            if line[at] == "(":
                _, at = _arguments(line, at)
            ready.append("0")
        else:
            ready.append(word)
    evaluator = _Evaluator(expand(ready, macros, frozenset(), [_MAX_TOKENS]))
    value = evaluator.conditional()
    if evaluator.at < len(evaluator.line):
        raise ConditionError(f"`{evaluator.peek()[:40]}` is out of place")
    return value
