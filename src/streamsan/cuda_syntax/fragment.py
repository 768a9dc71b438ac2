"""Fragments of programs: statements that stand outside any function get a function around them."""

from __future__ import annotations

import re

from streamsan.cuda_syntax.tree import (
    Alias,
    Assign,
    Block,
    Call,
    Class,
    Enum,
    Expression,
    ExpressionStatement,
    Function,
    Name,
    Span,
    Statement,
    Type,
    UnparsedStatement,
    UsingNamespace,
    Variable,
)

_DECLARATIONS = (Function, Class, Enum, Alias, UsingNamespace, Variable)
_WORD = re.compile(r"[^\W\d]\w*")
_API = re.compile(r"\bcu(?:da)?[A-Z]\w*\s*\(|<<<")


def wrap(found: list[Statement], file: str, text: str) -> tuple[list[Statement], bool]:
    """The declarations of a unit, and whether it is a fragment: then its loose statements are in a function named ``.

    Macro calls at file scope that run nothing (`BENCHMARK(f);`, `PYBIND11_MODULE`) make no fragment. Variables of a
    fragment are locals of that function, unless another function mentions them.
    """
    # statements of included files were included into the middle of something: they are no sign of a fragment
    found = [s for s in found if isinstance(s, _DECLARATIONS) or s.span.file == file]
    loose = [s for s in found if not isinstance(s, _DECLARATIONS)]
    if not loose:
        return found, False
    lines = text.split("\n")
    has_functions = any(isinstance(s, Function) and s.body is not None for s in found)
    evidence = [s for s in loose if _is_code(s, lines, has_functions)]
    if not evidence:
        return [s for s in found if isinstance(s, _DECLARATIONS)], False
    mentioned: set[str] = set()
    for declared in found:
        if isinstance(declared, Function | Class) and declared.span.file == file:
            mentioned.update(_WORD.findall(_text(declared.span, lines)))
    kept: list[Statement] = []
    body: list[Statement] = []
    for statement in found:
        if not isinstance(statement, _DECLARATIONS) or _is_local(statement, file, mentioned):
            body.append(statement)
        else:
            kept.append(statement)
    first, last = body[0].span, body[-1].span
    span = Span(first.file, first.line, first.column, last.end_line, last.end_column)
    return [*kept, Function(span, "", [], Type("void"), Block(span, body))], True


def _text(span: Span, lines: list[str]) -> str:
    if span.line == span.end_line:
        return "".join(lines[span.line - 1 : span.line])[span.column - 1 : span.end_column - 1]
    taken = lines[span.line - 1 : span.end_line]
    return "\n".join([taken[0][span.column - 1 :], *taken[1:]]) if taken else ""


def _is_local(statement: Statement, file: str, mentioned: set[str]) -> bool:
    if not isinstance(statement, Variable) or statement.span.file != file:
        return False
    if statement.static or statement.extern or statement.device or "::" in statement.name:
        return False
    return mentioned.isdisjoint([statement.name, *statement.bindings])


def _is_code(statement: Statement, lines: list[str], has_functions: bool) -> bool:
    """Whether a statement at file scope means that this is the inside of some function."""
    if isinstance(statement, UnparsedStatement):
        return bool(statement.children) and _API.search(_text(statement.span, lines)) is not None
    if not isinstance(statement, ExpressionStatement):
        return True
    value = statement.expression
    if _API.search(_text(statement.span, lines)) is not None:
        return True
    if isinstance(value, Assign):
        return True
    return isinstance(value, Call) and not has_functions and not _is_macro_like(value.callee)


def _is_macro_like(callee: Expression) -> bool:
    return isinstance(callee, Name) and callee.name.upper() == callee.name
