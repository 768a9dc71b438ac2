"""Names of native functions as a reader wants them: without parameters and return type."""

from __future__ import annotations

from functools import lru_cache

from streamsan.patterns.late_pattern import late_pattern

_OPENING = {")": "(", ">": "<", "]": "[", "}": "{"}
_ENDINGS = late_pattern(r"(?:\s*(?:const|volatile|&&?|noexcept|\[clone [^\]]*\]|\[abi:\w+\]|\(\.\w[^)]*\)))+$")
_OPERATOR = late_pattern(r"\boperator\b")


@lru_cache(maxsize=8192)
def short_name(name: str) -> str:
    """Return a demangled name without its parameters and its return type: `pool::Buffer<float>::release`."""
    text = _ENDINGS.sub("", name).rstrip()
    if text.endswith(")"):
        start = _start_of_group(text, len(text) - 1)
        if start > 0 and not text[:start].endswith("operator"):
            text = text[:start].rstrip()
    if not text:
        return name
    return text[_start_of_name(text) :]


def same_function(first: str, second: str) -> bool:
    """Tell whether two demangled names are of one function; one without parameters is of any overload."""
    if not first or not second:
        return False
    if first.endswith(")") and second.endswith(")"):
        return _packed(first) == _packed(second)
    return _packed(short_name(first)) == _packed(short_name(second))


def _packed(name: str) -> str:
    return name.replace(" ", "")


def _start_of_group(text: str, end: int) -> int:
    """Return where the bracket opens that `text[end]` closes; -1 when nowhere."""
    depth = 0
    for at in range(end, -1, -1):
        if text[at] == ")":
            depth += 1
        elif text[at] == "(":
            depth -= 1
            if depth == 0:
                return at
    return -1


def _start_of_name(text: str) -> int:
    """Return where the name begins behind a return type: behind the last blank outside of brackets."""
    operator = _OPERATOR.search(text)
    at = (operator.start() if operator else len(text)) - 1
    depth = 0
    while at >= 0:
        character = text[at]
        if character in _OPENING:
            depth += 1
        elif character in "(<[{":
            depth -= 1
        elif character == " " and depth == 0:
            return at + 1
        at -= 1
    return 0
