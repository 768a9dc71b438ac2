"""Kernels that macros with parameters make: their calls in a text are replaced by what they stand for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from streamsan.cuda_syntax.text_repairs import arguments_at

_DEFINE = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<name>[^\W\d]\w*)\((?P<parameters>[^)\n]*)\)(?P<body>(?:\\\r?\n|[^\n])*)",
    re.MULTILINE,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\r?\n|[^\n])*", re.MULTILINE)
_PASTE = re.compile(r"\s*##\s*")
_KERNEL = "__global__"
MOST_ROUNDS = 8
MOST_TEXT = 1 << 20
"""characters that may come of it"""


@dataclass(frozen=True, slots=True)
class _Macro:
    name: str
    parameters: tuple[str, ...]
    body: str


def expanded(text: str) -> str:
    """Return a text in which macros that make kernels are replaced, but for variadic ones and those defined twice."""
    macros = _makers(text)
    if not macros:
        return text
    # The definitions go: what is left of their calls is then an error of the text, not a kernel that may be there.
    result = _DEFINE.sub(lambda found: _blank(found[0]) if found["name"] in macros else found[0], text)
    for _ in range(MOST_ROUNDS):
        replaced = _replaced(result, macros)
        if len(replaced) > MOST_TEXT:
            return text
        if replaced == result:
            return result
        result = replaced
    return text


def _makers(text: str) -> dict[str, _Macro]:
    """Return the macros whose bodies hold kernels, or calls of such macros."""
    found: dict[str, _Macro] = {}
    twice = set()
    for match in _DEFINE.finditer(text):
        parameters = tuple(word.strip() for word in match["parameters"].split(","))
        if match["name"] in found or "..." in match["parameters"]:
            twice.add(match["name"])
        body = re.sub(r"\\\r?\n", " ", match["body"])
        found[match["name"]] = _Macro(match["name"], parameters, body)
    makers = {name for name, macro in found.items() if _KERNEL in macro.body}
    for _ in range(MOST_ROUNDS):
        makers |= {
            name for name, macro in found.items() if any(re.search(rf"\b{maker}\s*\(", macro.body) for maker in makers)
        }
    return {name: found[name] for name in makers - twice}


def _replaced(text: str, macros: dict[str, _Macro]) -> str:
    directives = [match.span() for match in _DIRECTIVE.finditer(text)]
    parts: list[str] = []
    at = 0
    for match in re.finditer(rf"\b({'|'.join(macros)})\b", text):
        inside = any(start <= match.start() < end for start, end in directives)
        call = None if inside or match.start() < at else arguments_at(text, match.end())
        if call is None:
            continue
        places, end = call
        macro = macros[match[1]]
        arguments = [text[start:stop].strip() for start, stop in places]
        if len(arguments) != len(macro.parameters):
            continue
        lines = "\n" * text.count("\n", match.start(), end)
        parts += [text[at : match.start()], _body(macro, arguments), lines]
        at = end
    return "".join([*parts, text[at:]])


def _body(macro: _Macro, arguments: list[str]) -> str:
    """Return a body with its parameters replaced, `#x` as text and `a##b` as one word."""
    given = dict(zip(macro.parameters, arguments, strict=True))

    def text_of(found: re.Match[str]) -> str:
        if found[1] not in given:
            return found[0]
        escaped = given[found[1]].replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'

    body = re.sub(r"(?<!#)#\s*([^\W\d]\w*)", text_of, macro.body)
    body = re.sub(r"\b[^\W\d]\w*\b", lambda found: given.get(found[0], found[0]), body)
    return _PASTE.sub("", body)


def _blank(text: str) -> str:
    return "\n" * text.count("\n")
