"""How a program checks what its calls return, so that calls which are put in are checked alike.

A check is the text of a statement around its one call: a macro or function, with all its arguments
(`CHECK(call, "text")`, `check(call, __FILE__, __LINE__)`), a comparison (`assert(call == cudaSuccess)`), an `if` with
what it does, or an assignment whose result the next statement looks at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from streamsan.cuda_syntax.tree import (
    Assign,
    Block,
    Call,
    Cast,
    Class,
    Expression,
    ExpressionStatement,
    Function,
    If,
    Lambda,
    Literal_,
    Macro,
    Name,
    Span,
    Statement,
    Variable,
)
from streamsan.cuda_syntax.walk import nodes, parts
from streamsan.edits.cpp.calls import ASKING, api_name, is_status_call
from streamsan.edits.cpp.layout import CppLayout
from streamsan.edits.cpp.places import CppPlace
from streamsan.edits.cpp.scope import Scope, names_in
from streamsan.edits.layout import NoPlaceError
from streamsan.platforms import CUDA

MOST_LINES = 8
"""A check that takes more lines is not copied."""
_FORMAT = re.compile(r"%[-+ #0-9.*]*[a-zA-Z]|\{[^{}]*\}")
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"[A-Za-z_]\w*")
_DECLARED = re.compile(r"[A-Za-z_]\w*[\s*&]+([A-Za-z_]\w*)\s*(?:=(?!=)|\{|\()")


class Check(Struct, frozen=True):
    """The text around a call."""

    api: str
    """the call that it stands around"""
    pieces: tuple[str, ...]
    """the text, with CALL for the call and LABEL for a string that names it"""

    def around(self, call: str) -> list[str]:
        """Return the lines that make a call and check it."""
        name = call.partition("(")[0]
        made = {CALL: call, LABEL: f'"{name}"'}
        return "".join(made.get(piece) or self._renamed(piece, name) for piece in self.pieces).split("\n")

    def _renamed(self, piece: str, name: str) -> str:
        """A message that names the call names the new one."""
        return re.sub(rf"\b{self.api}\b", name, piece) if self.api else piece

    def hides(self, macros: Mapping[str, Macro]) -> frozenset[str]:
        """Return the names that mean something else where the call stands: what the check, or its macro, declares."""
        texts, known = ["".join(self.pieces)], set[str]()
        found = set[str]()
        while texts:
            text = texts.pop()
            found.update(_DECLARED.findall(text))
            for word in _WORD.findall(text):
                if word in macros and word not in known:
                    known.add(word)
                    texts.append(macros[word].text)
        return frozenset(found)

    @property
    def key(self) -> str:
        """What is the same for all checks of a sort."""
        return _SPACE.sub(" ", "".join(self.pieces).replace(self.api, ""))


CALL = "\0call"
LABEL = "\0label"
BARE = Check("", (CALL, ";"))


def check_at(place: CppPlace, driver: bool, layout: CppLayout, scope: Scope) -> Check:
    """Return the check of a call that is put in at a place: that of the statement, or of most calls around it."""
    every: list[tuple[Statement, Check]] = []
    local = _locals(place)
    for statement, api, pieces, used in _checks(place.body.body, layout) if place.body.body is not None else ():
        if CUDA.is_low_level(api) != driver:
            continue
        check = Check(api, tuple(pieces))
        if all(name not in local or scope.has(name) for name in used):
            every.append((statement, check))
    own = next((check for statement, check in every if statement is place.statement), None)
    if own is not None:
        return own
    before = [check for statement, check in every if statement.span[1:3] <= place.span[1:3]]
    known = before or [check for _, check in every]
    checks = [check for check in known if check.key != BARE.key]
    if not checks or len(checks) * 2 < len(known):
        return BARE
    keys = [check.key for check in checks]
    best = max(dict.fromkeys(keys), key=keys.count)
    return next(check for check in reversed(checks) if check.key == best)


def _locals(place: CppPlace) -> set[str]:
    """Return the names that are declared in a function: they are not visible everywhere in it."""
    found = {parameter.name for parameter in place.body.parameters}
    for node in nodes(place.body.body):
        if isinstance(node, Variable):
            found.add(node.name)
            found.update(node.bindings)
    return found


def _checks(root: Block, layout: CppLayout) -> Iterator[tuple[Statement, str, list[str], list[str]]]:
    """Yield the statements of a function that check a call: with the call, their pieces, and the names they use."""
    pending: list[object] = [root]
    while pending:
        node = pending.pop(0)
        if isinstance(node, Lambda | Function | Class):
            continue
        if isinstance(node, Block):
            for index, statement in enumerate(node.body):
                following = node.body[index + 1] if index + 1 < len(node.body) else None
                found = _check_of(statement, following, layout)
                if found is not None:
                    yield statement, *found
        elif isinstance(node, Statement):
            for child in parts(node):
                if isinstance(child, ExpressionStatement):
                    found = _check_of(child, None, layout)
                    if found is not None:
                        yield child, *found
        pending.extend(child for child in parts(node) if isinstance(child, Statement))


def _check_of(
    statement: Statement, following: Statement | None, layout: CppLayout
) -> tuple[str, list[str], list[str]] | None:
    try:
        if isinstance(statement, ExpressionStatement):
            return _of_expression(statement, following, layout)
        if isinstance(statement, If):
            return _of_if(statement, layout)
        if isinstance(statement, Variable):
            return _of_variable(statement, following, layout)
    except NoPlaceError:
        return None
    return None


def _of_expression(
    statement: ExpressionStatement, following: Statement | None, layout: CppLayout
) -> tuple[str, list[str], list[str]] | None:
    expression = statement.expression
    plain = expression.operand if isinstance(expression, Cast) else expression
    name = api_name(plain)
    if name is not None:
        return (name, [CALL, ";"], []) if is_status_call(plain) and name not in ASKING else None
    call = _only_call(expression)
    if call is None:
        return None
    if isinstance(expression, Assign) and expression.operator == "=":
        return _with_question(expression.target, call, following, layout)
    pieces = _pieces(statement.span, call, _labels(expression, call), layout)
    return str(api_name(call)), _ended(pieces), list(_used(expression, call))


def _with_question(
    target: Expression, call: Call, following: Statement | None, layout: CppLayout
) -> tuple[str, list[str], list[str]] | None:
    """`status = call; if (status != cudaSuccess) ...`."""
    if not isinstance(target, Name) or not isinstance(following, If) or following.otherwise is not None:
        return None
    asked = list(names_in(following.condition))
    if target.name not in asked or _calls_of(following):
        return None
    question = "\n".join(_lines(following.span, layout))
    pieces = [f"{target.name} = ", CALL, f";\n{question}"]
    return str(api_name(call)), pieces, [target.name, *_used(following, call)]


def _of_variable(
    statement: Variable, following: Statement | None, layout: CppLayout
) -> tuple[str, list[str], list[str]] | None:
    call = statement.initializer
    if not isinstance(call, Call) or api_name(call) is None or not is_status_call(call) or statement.type.const:
        return None
    return _with_question(Name(statement.span, statement.name), call, following, layout)


def _of_if(statement: If, layout: CppLayout) -> tuple[str, list[str], list[str]] | None:
    call = _only_call(statement)
    if call is None or statement.otherwise is not None or _holds(statement.then, call):
        return None
    pieces = _pieces(statement.span, call, [], layout)
    return str(api_name(call)), _ended(pieces), list(_used(statement, call))


def _holds(node: object, wanted: object) -> bool:
    return any(each is wanted for each in nodes(node))


def _only_call(node: object) -> Call | None:
    """Return the one call in a statement whose status it looks at; None where there is none, or more."""
    calls = _calls_of(node)
    if any(isinstance(each, Call) and not is_status_call(each) and api_name(each) and _holds(each, calls[0])
           for each in nodes(node) if calls):  # fmt: skip
        # `puts(cudaGetErrorString(cudaGetLastError()))` checks nothing.
        return None
    return calls[0] if len(calls) == 1 and not any(isinstance(each, Lambda) for each in nodes(node)) else None


def _calls_of(node: object) -> list[Call]:
    return [each for each in nodes(node) if isinstance(each, Call) and is_status_call(each)]


def _labels(expression: Expression, call: Call) -> list[Span]:
    """Return the strings beside a call that tell what it does, each with the values that fill it."""
    if not isinstance(expression, Call):
        return []
    found: list[Span] = []
    behind = False
    for argument in expression.arguments:
        behind = behind or _holds(argument, call)
        if not isinstance(argument, Literal_) or not isinstance(argument.value, str):
            continue
        if behind and _FORMAT.search(argument.value):
            last = expression.arguments[-1].span
            return [*found, argument.span._replace(end_line=last.end_line, end_column=last.end_column)]
        found.append(argument.span)
    return found


def _used(node: object, call: Call) -> Iterator[str]:
    """Yield the names that a statement uses around a call, less those that it declares."""
    own = {each.name for each in nodes(node) if isinstance(each, Variable)}
    pending = [node]
    while pending:
        each = pending.pop()
        if each is call:
            continue
        if isinstance(each, Name) and each.name not in own:
            yield each.name
        pending.extend(parts(each))


def _pieces(span: Span, call: Call, labels: Sequence[Span], layout: CppLayout) -> list[str]:
    """Cut a statement's text at its call and at the strings that tell of it."""
    lines = _lines(span, layout)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    indent = _cut_away(span, layout)

    def offset(line: int, column: int) -> int:
        row = line - span.line
        return starts[row] + (column - span.column if row == 0 else max(0, column - 1 - indent[row]))

    text = "\n".join(lines)
    holes = [(offset(*call.span[1:3]), offset(*call.span[3:5]), CALL)]
    holes += [(offset(*label[1:3]), offset(*label[3:5]), LABEL) for label in labels]
    pieces: list[str] = []
    last = 0
    for begin, end, what in sorted(holes):
        pieces += [text[last:begin], what]
        last = end
    pieces.append(text[last:])
    return [piece for piece in pieces if piece]


def _lines(span: Span, layout: CppLayout) -> list[str]:
    """Return the lines of a statement, without the indentation of its first one. Raises NoPlaceError."""
    lines = layout.lines_of(span)
    if len(lines) > MOST_LINES or any(
        "//" in line or line.rstrip().endswith("\\") or line.lstrip().startswith("#") for line in lines
    ):
        raise NoPlaceError("the check around the calls cannot be copied")
    cut = _cut_away(span, layout)
    return [lines[0], *(line[cut[number] :] for number, line in enumerate(lines[1:], 1))]


def _cut_away(span: Span, layout: CppLayout) -> list[int]:
    """Return how many characters of indentation go from each line."""
    indent = layout.indentation(span)
    return [0 if number == 0 or not line.startswith(indent) else len(indent)
            for number, line in enumerate(layout.lines_of(span))]  # fmt: skip


def _ended(pieces: list[str]) -> list[str]:
    last = pieces[-1].rstrip()
    return pieces if last.endswith((";", "}")) else [*pieces, ";"]
