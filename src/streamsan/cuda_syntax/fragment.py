"""Fragments of programs: statements that stand outside any function get a function around them."""

from __future__ import annotations

from streamsan.cuda_syntax import tree
from streamsan.patterns.late_pattern import late_pattern

_DECLARATIONS = (tree.Function, tree.Class, tree.Enum, tree.Alias, tree.UsingNamespace, tree.Variable)
_WORD = late_pattern(r"[^\W\d]\w*")
_API = late_pattern(r"\bcu(?:da)?[A-Z]\w*\s*\(|<<<")


def wrap(found: list[tree.Statement], file: str, text: str) -> tuple[list[tree.Statement], bool]:
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
    has_functions = any(isinstance(s, tree.Function) and s.body is not None for s in found)
    evidence = [s for s in loose if _is_code(s, lines, has_functions)]
    if not evidence:
        return [s for s in found if isinstance(s, _DECLARATIONS)], False
    mentioned: set[str] = set()
    for declared in found:
        if isinstance(declared, tree.Function | tree.Class) and declared.span.file == file:
            mentioned.update(_WORD.findall(_text(declared.span, lines)))
    kept: list[tree.Statement] = []
    body: list[tree.Statement] = []
    for statement in found:
        if not isinstance(statement, _DECLARATIONS) or _is_local(statement, file, mentioned):
            body.append(statement)
        else:
            kept.append(statement)
    first, last = body[0].span, body[-1].span
    span = tree.Span(first.file, first.line, first.column, last.end_line, last.end_column)
    return [*kept, tree.Function(span, "", [], tree.Type("void"), tree.Block(span, body))], True


def _text(span: tree.Span, lines: list[str]) -> str:
    if span.line == span.end_line:
        return "".join(lines[span.line - 1 : span.line])[span.column - 1 : span.end_column - 1]
    taken = lines[span.line - 1 : span.end_line]
    return "\n".join([taken[0][span.column - 1 :], *taken[1:]]) if taken else ""


def _is_local(statement: tree.Statement, file: str, mentioned: set[str]) -> bool:
    if not isinstance(statement, tree.Variable) or statement.span.file != file:
        return False
    if statement.static or statement.extern or statement.device or "::" in statement.name:
        return False
    return mentioned.isdisjoint([statement.name, *statement.bindings])


def _is_code(statement: tree.Statement, lines: list[str], has_functions: bool) -> bool:
    """Whether a statement at file scope means that this is the inside of some function."""
    if isinstance(statement, tree.UnparsedStatement):
        return bool(statement.children) and _API.search(_text(statement.span, lines)) is not None
    if not isinstance(statement, tree.ExpressionStatement):
        return True
    value = statement.expression
    if _API.search(_text(statement.span, lines)) is not None:
        return True
    if isinstance(value, tree.Assign):
        return True
    return isinstance(value, tree.Call) and not has_functions and not _is_macro_like(value.callee)


def _is_macro_like(callee: tree.Expression) -> bool:
    return isinstance(callee, tree.Name) and callee.name.upper() == callee.name
