"""Values of literals, as C++ writes them."""

from __future__ import annotations

import re
from typing import Final

from streamsan.patterns.late_pattern import late_pattern

_NUMBER = late_pattern(
    r"(?P<hexfloat>0[xX][\da-fA-F]*\.?[\da-fA-F]*[pP][+-]?\d+)"
    r"|(?P<hex>0[xX][\da-fA-F]+)"
    r"|(?P<binary>0[bB][01]+)"
    r"|(?P<float>\d*\.\d+(?:[eE][+-]?\d+)?|\d+\.(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)"
    r"|(?P<integer>\d+)"
)
_SUFFIX = late_pattern(r"(?:[uU]|[lL]{1,2}|[zZ]|[fF](?:16|32|64|128)?|[bB][fF]16|i|j)*")
_ESCAPE = late_pattern(r"\\(?:x([\da-fA-F]+)|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{1,3})|([\s\S]))")
_SIMPLE: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\n": ""}
_MAX_DIGITS: Final = 400
"""longer numbers are no numbers anybody means, and int() takes quadratic time on them"""


def number(text: str) -> tuple[int | float | None, str]:
    """The value of a number and its user-defined suffix; None when it is not one."""
    plain = text.replace("'", "")
    if plain[:1] in ("-", "+"):  # the grammar takes the sign of a number into it
        size, ending = number(plain[1:]) if plain[1:2] not in ("-", "+") else (None, "")
        return (-size if plain[0] == "-" and size is not None else size), ending
    if len(plain) > _MAX_DIGITS:
        return None, ""
    value: int | float | None
    match = _NUMBER.match(plain)
    if match is None:
        return None, ""
    digits = match[0]
    kind = match.lastgroup
    rest = plain[match.end() :]
    try:
        if kind == "hexfloat":
            value = float.fromhex(digits)
        elif kind == "float":
            value = float(digits)
        elif kind == "hex":
            value = int(digits, 16)
        elif kind == "binary":
            value = int(digits, 2)
        elif len(digits) > 1 and digits[0] == "0":
            value = int(digits, 8)
        else:
            value = int(digits)
    except (ValueError, OverflowError):
        return None, ""
    if _SUFFIX.fullmatch(rest) is not None:
        if rest and kind == "integer" and rest[0] in "fF":
            value = float(value)
        return value, ""
    return (value, rest) if rest[0] == "_" or rest.isidentifier() else (None, "")


def _escape(match: re.Match[str]) -> str:
    for group, base in ((1, 16), (2, 16), (3, 16), (4, 8)):
        if match[group]:
            code = int(match[group][-8:], base)
            return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
    return _SIMPLE.get(match[5], match[5])


def unescape(text: str) -> str:
    """The characters that the inside of a string or character literal stands for."""
    return _ESCAPE.sub(_escape, text) if "\\" in text else text


def string(text: str) -> tuple[str, str]:
    """The value of a string literal with its quotes and prefix, raw or not, and its user-defined suffix."""
    prefix, quote, rest = text.partition('"')
    if not quote:
        return text, ""
    if prefix.endswith("R"):
        delimiter, _, body = rest.partition("(")
        body, closing, suffix = body.rpartition(f'){delimiter}"')
        return (body, suffix) if closing else (rest, "")
    body, closing, suffix = rest.rpartition('"')
    return (unescape(body), suffix) if closing else (unescape(rest), "")


def character(text: str) -> int | str:
    """The value of a character literal; its text when it has none."""
    inside = text.partition("'")[2].rpartition("'")[0]
    value = unescape(inside)
    return ord(value) if len(value) == 1 else text
