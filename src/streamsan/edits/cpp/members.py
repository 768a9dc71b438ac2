"""How a member of an object is written outside its class: by its name, a method that returns it, or a conversion."""

from __future__ import annotations

import re
from collections.abc import Iterator

from streamsan.cuda_syntax.tree import Class, Expression, Function, Member, Name, Return, Span, Unary, Unit
from streamsan.edits.cpp.places import Body, classes_of

_LABEL = re.compile(r"\b(public|private|protected)\s*:(?!:)")
_KEYWORD = re.compile(r"\b(class|struct|union)\b")
_OPERATOR = "operator "


def class_of(unit: Unit, body: Body) -> Class | None:
    """Return the class that a function is a method of."""
    if not isinstance(body, Function) or "::" not in body.name:
        return None
    return classes_of(unit).get(body.name.rpartition("::")[0])


def member_name(expression: Expression) -> str | None:
    """Return the name of a member that a method names: `stream_`, `this->stream_`."""
    if isinstance(expression, Name):
        return expression.name
    if isinstance(expression, Member) and isinstance(expression.object, Name) and expression.object.name == "this":
        return expression.member
    return None


def accessors(unit: Unit, owner: Class, member: str, arrow: bool) -> Iterator[str]:
    """Yield what to write behind an object (or, with `arrow`, a pointer to one) for a member of it."""
    field = next((each for each in owner.fields if each.name == member), None)
    if field is None:
        return
    dot = "->" if arrow else "."
    if _is_public(unit, owner, field.span):
        yield f"{dot}{member}"
    for method in owner.methods:
        name = method.name.rpartition("::")[2]
        if method.parameters or not _returns(method, member) or not _is_public(unit, owner, method.span):
            continue
        if not name.startswith("operator"):
            yield f"{dot}{name}()"
        elif name.startswith(_OPERATOR) and not arrow:
            yield ""


def _returns(method: Function, member: str) -> bool:
    body = method.body.body if method.body is not None else []
    if len(body) != 1 or not isinstance(body[0], Return) or body[0].value is None:
        return False
    value = body[0].value
    return not isinstance(value, Unary) and member_name(value) == member


def _is_public(unit: Unit, owner: Class, span: Span) -> bool:
    """Tell whether a declaration in a class is public, by the last label before it."""
    if span.file != owner.span.file or not owner.span.line <= span.line <= owner.span.end_line:
        return True
    lines = unit.files.get(span.file, "").split("\n")[owner.span.line - 1 : span.line]
    if not lines:
        return False
    lines[-1] = lines[-1][: span.column - 1] if len(lines) > 1 else lines[-1][owner.span.column - 1 : span.column - 1]
    text = "\n".join(line.partition("//")[0] for line in lines)
    labels = _LABEL.findall(text)
    keyword = _KEYWORD.search(text)
    return labels[-1] == "public" if labels else keyword is not None and keyword[1] != "class"
