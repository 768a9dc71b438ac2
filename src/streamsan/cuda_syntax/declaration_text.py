"""Whether text that macros stand for declares something, or does something."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import Final

from streamsan.cuda_syntax.preprocess import MacroText
from streamsan.cuda_syntax.scanner import STRING
from streamsan.cuda_syntax.text_repairs import arguments_at
from streamsan.patterns.late_pattern import late_pattern

LONGEST: Final = 200_000
_STATEMENT: Final = late_pattern(
    r"\s*(?:(?:do|if|else|for|while|switch|return|goto|delete|throw|case|break|continue|new|sizeof|co_\w+)\b|[({\"'\d<>=?!+\-|^.,%/])"
)
_TWO_WORDS: Final = late_pattern(
    r"\s*(?:::\s*)?[^\W\d]\w*(?:\s*::\s*[^\W\d]\w*)*(?:\s*<[^<>;]*(?:<[^<>]*>[^<>;]*)*>(?:\s*::\s*\w+)*)?[\s*&]+"
    r"(?:[^\W\d~]|[~(*&:]|\.\.\.)"
)
_HEAD: Final = late_pattern(
    r"\s*(?:template\s*<|__attribute__|__declspec|__launch_bounds__|__align__|alignas|static_assert|_Static_assert|asm\b"
    r"|decltype|extern\b|\[\[|~|__\w+__\b|(?:namespace|struct|class|union|enum)\b|using\b|typedef\b|_Pragma\b)"
)
_CALLED: Final = late_pattern(r"\s*(?P<name>[^\W\d]\w*(?:\s*::\s*~?\w+)*)\s*(?=\()")
_LABEL: Final = late_pattern(r"\s*(?:public|private|protected)\s*:(?!:)")
_SPACE: Final = late_pattern(r"\s*")
_NAME: Final = late_pattern(r"\s*(?:##\s*)?[\w:]+(?:\s*##\s*\w+)*(?:\s*[*&])*\s*\Z")
_SPLIT: Final = late_pattern(rf"{STRING}|(?P<mark>[()\[\]{{}};])")
_DEFINED: Final = late_pattern(r"\s*(?:[{:]|const\b|noexcept\b|=\s*(?:delete|default|0)\b)")


def may_declare(macro: MacroText, macros: Container[str]) -> bool:
    """Whether a macro's text may be a declaration, or part of one. Cheap: most macros are no such ones."""
    body = macro.text
    if not body or len(body) > LONGEST or _STATEMENT.match(body) is not None:
        return False
    called = _CALLED.match(body)
    if called is not None and called["name"] not in macros and called["name"] not in (macro.parameters or ()):
        arguments = arguments_at(body, called.end())
        if arguments is not None and arguments[1] == len(body):
            return _HEAD.match(body) is not None
    if macro.parameters is None and called is None and "{" not in body and ";" not in body:
        return False  # a constant, or a qualifier
    names = frozenset(macro.parameters or ())
    return declares(body, "x", lambda name: name in names or name in macros)


def declares(text: str, following: str, is_macro: Callable[[str], bool]) -> bool:
    """Whether text at the begin of a declaration declares something, with what follows it."""
    for item, complete in _items(text):
        while (label := _LABEL.match(item)) is not None:
            item = item[label.end() :]
        if not item.strip() or _is_declaration(item, complete, following, is_macro):
            continue
        return False
    return True


def _is_declaration(item: str, complete: bool, following: str, is_macro: Callable[[str], bool]) -> bool:
    at = 0
    while True:
        if _STATEMENT.match(item, at) is not None:
            return False
        if _HEAD.match(item, at) is not None:
            return True
        called = _CALLED.match(item, at)
        if called is None:
            break
        arguments = arguments_at(item, called.end())
        end = len(item) if arguments is None else arguments[1]
        ended = _SPACE.match(item, end).end() == len(item)  # type: ignore[union-attr]
        defined = _DEFINED.match(following) if ended else _DEFINED.match(item, end)
        if defined is not None and _TWO_WORDS.match(item, at) is None:
            return True
        if not is_macro(called["name"]):
            break
        if ended:
            return True
        at = end  # what an invocation of another macro stands for is looked at when that is replaced
    if _TWO_WORDS.match(item, at) is not None:
        return True
    # A lone name is a type that the text behind goes on with, or a macro that makes declarations.
    if is_macro(item[at:].strip()):
        return True
    return not complete and _NAME.match(item, at) is not None and following[:1].isidentifier()


def _items(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the declarations of a text by its brackets, and whether each has its end."""
    depth = begin = 0
    for match in _SPLIT.finditer(text):
        mark = match["mark"]
        if mark is None:
            continue
        if mark == ";":
            if not depth:
                yield text[begin : match.start()], True
                begin = match.end()
        elif mark in "([{":
            depth += 1
        else:
            depth = max(0, depth - 1)
            if mark == "}" and not depth and "=" not in text[begin : match.start()].partition("{")[0]:
                yield text[begin : match.end()], True
                begin = match.end()
    yield text[begin:], False
