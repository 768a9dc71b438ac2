"""What an invocation of a macro stands for, as the preprocessor of C++ says it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from streamsan.cuda_syntax.preprocess import MacroText
from streamsan.cuda_syntax.scanner import STRING
from streamsan.cuda_syntax.text_repairs import arguments_at
from streamsan.patterns.late_pattern import late_pattern

MOST_TEXT: Final = 1 << 20
MOST_DEPTH: Final = 24
_NUMBER: Final = r"\.?\d(?:[eEpP][+-]|[\w.'])*"
_TOKEN: Final = late_pattern(
    rf"(?P<string>{STRING})|(?P<paste>\#\#|%:%:)|(?P<stringize>\#|%:)|{_NUMBER}|(?P<word>[^\W\d]\w*)"
)
_PASTE_FOLLOWS: Final = late_pattern(r"\s*(?:##|%:%:)")
_WORD_FOLLOWS: Final = late_pattern(r"\s*([^\W\d]\w*)")
_OPTIONAL: Final = "__VA_OPT__"

Definitions = Callable[[str], MacroText | None]


def substituted(macro: MacroText, given: list[str], definitions: Definitions) -> list[str | int] | None:
    """Return the text of a macro with its parameters replaced: pieces of text, and numbers of arguments as they stand.

    Such an argument is one in braces: code, which keeps its place. None where the arguments are not as many as the
    parameters, or too much comes of them.
    """
    bound = _bound(macro, given)
    if bound is None:
        return None
    try:
        return _pieces(macro, bound, given, definitions, frozenset(), 0)
    except _TooMuchError:
        return None


class _TooMuchError(Exception):
    """Text that grows beyond what is read."""


def _bound(macro: MacroText, given: list[str]) -> dict[str, str] | None:
    names = macro.parameters or []
    if not names:
        return {} if not "".join(given).strip() else None
    if macro.variadic:
        fixed = len(names) - 1
        if len(given) < fixed:
            return None
        return {**dict(zip(names, given[:fixed], strict=False)), names[-1]: ",".join(given[fixed:])}
    return dict(zip(names, given, strict=True)) if len(given) == len(names) else None


def _pieces(
    macro: MacroText,
    bound: dict[str, str],
    given: list[str],
    definitions: Definitions,
    hidden: frozenset[str],
    depth: int,
) -> list[str | int]:
    body = _without_options(" ".join(macro.text.split("\n")), macro, bound)
    out: list[str | int] = [" "]
    at = size = 0
    pasting = stringizing = False
    known: dict[str, str] = {}
    for match in _TOKEN.finditer(body):
        between = body[at : match.start()]
        if between.strip() or not (pasting or stringizing):
            out.append(between)
            if between.strip():
                pasting = stringizing = False
        at = match.end()
        word = match["word"]
        if match["paste"]:
            _strip_end(out)
            pasting = True
            continue
        if match["stringize"]:
            following = _WORD_FOLLOWS.match(body, at)
            stringizing = following is not None and following[1] in bound
            if not stringizing:
                out.append(match[0])
            continue
        made: str | int = match[0]
        if word is not None and word in bound:
            argument = bound[word].strip()
            pasted = pasting or _PASTE_FOLLOWS.match(body, at) is not None
            if stringizing:
                made = _quoted(argument)
            elif pasted:
                if pasting and not argument and macro.variadic and word == (macro.parameters or [""])[-1]:
                    _drop_comma(out)
                made = argument
            elif argument.startswith("{") and bound[word] in given:
                made = given.index(bound[word])
            else:
                if word not in known:
                    known[word] = _expanded(argument, definitions, hidden, depth + 1)
                made = known[word]
        pasting = stringizing = False
        size += len(made) if isinstance(made, str) else 0
        if size > MOST_TEXT:
            raise _TooMuchError
        out.append(made)
    out += [body[at:], " "]
    return _joined(out)


def _without_options(body: str, macro: MacroText, bound: dict[str, str]) -> str:
    """`__VA_OPT__(x)` is `x` where there are variable arguments, else nothing."""
    if _OPTIONAL not in body or not macro.variadic:
        return body
    present = bool(bound[(macro.parameters or [""])[-1]].strip())
    for _ in range(100):
        at = body.find(_OPTIONAL)
        found = arguments_at(body, at + len(_OPTIONAL)) if at >= 0 else None
        if found is None:
            break
        places, end = found
        body = body[:at] + (body[places[0][0] : places[-1][1]] if present else "") + body[end:]
    return body


def _expanded(text: str, definitions: Definitions, hidden: frozenset[str], depth: int) -> str:
    """Return an argument with the macros in it replaced."""
    if depth >= MOST_DEPTH:
        raise _TooMuchError
    parts: list[str] = []
    at = size = 0
    for match in _TOKEN.finditer(text):
        word = match["word"]
        if word is None or match.start() < at or word in hidden:
            continue
        macro = definitions(word)
        if macro is None:
            continue
        end = match.end()
        given: list[str] = []
        if macro.parameters is not None:
            called = arguments_at(text, end)
            if called is None:
                continue
            given, end = [text[start:stop] for start, stop in called[0]], called[1]
        bound = _bound(macro, given)
        if bound is None:
            continue
        pieces = _pieces(macro, bound, given, definitions, hidden, depth)
        body = "".join(piece if isinstance(piece, str) else given[piece] for piece in pieces).strip()
        parts += [text[at : match.start()], _expanded(body, definitions, hidden | {word}, depth + 1)]
        at = end
        size += len(parts[-1])
        if size > MOST_TEXT:
            raise _TooMuchError
    return "".join([*parts, text[at:]])


def _quoted(argument: str) -> str:
    """Return the string that `#x` is: quotes in strings of the argument are escaped, runs of spaces are one."""
    text = " ".join(argument.split())
    return '"' + _TOKEN.sub(lambda m: re.sub(r'(["\\])', r"\\\1", m[0]) if m["string"] else m[0], text) + '"'


def _strip_end(out: list[str | int]) -> None:
    while out and isinstance(out[-1], str) and not out[-1].strip():
        out.pop()
    if out and isinstance(out[-1], str):
        out[-1] = out[-1].rstrip()


def _drop_comma(out: list[str | int]) -> None:
    """`, ## __VA_ARGS__` without variable arguments: the comma goes."""
    if out and isinstance(out[-1], str) and out[-1].rstrip().endswith(","):
        out[-1] = out[-1].rstrip()[:-1]


def _joined(pieces: list[str | int]) -> list[str | int]:
    """Return the pieces with texts beside each other as one."""
    found: list[str | int] = []
    for piece in pieces:
        if isinstance(piece, str) and found and isinstance(found[-1], str):
            found[-1] += piece
        else:
            found.append(piece)
    return found
