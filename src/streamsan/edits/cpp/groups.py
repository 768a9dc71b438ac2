"""Statements that go together when one is moved: a release with its wait, and with what sets its pointer to null."""

from __future__ import annotations

from collections.abc import Iterator

from streamsan.cuda_syntax.tree import (
    Assign,
    Block,
    Call,
    Cast,
    Delete,
    DoWhile,
    Expression,
    ExpressionStatement,
    For,
    If,
    Lambda,
    Literal_,
    Name,
    RangeFor,
    Return,
    Statement,
    Try,
    Unary,
    Variable,
    While,
)
from streamsan.cuda_syntax.walk import nodes
from streamsan.edits.cpp.calls import api_name, is_status_call
from streamsan.edits.cpp.places import CppPlace
from streamsan.edits.cpp.scope import names_in, names_in_statement
from streamsan.edits.language import Group
from streamsan.effects.roles import Effect
from streamsan.platforms import CUDA

_WAITS = (Effect.STREAM_SYNCHRONIZE, Effect.EVENT_SYNCHRONIZE, Effect.CONTEXT_SYNCHRONIZE)
_RELEASES = (*_WAITS, Effect.FREE, Effect.HANDLE_DESTROY, Effect.EVENT_DESTROY, Effect.STREAM_DESTROY)


def groups_at(place: CppPlace) -> Iterator[Group]:
    """Yield what may be moved for the call at a place: its statement with what belongs to it, loops of releases."""
    path = place.path
    begin = next((i for i, node in enumerate(path) if node is place.statement), None)
    if begin is None or place.statement is None:
        return
    for index in range(begin, 0, -1):
        node, parent = path[index], path[index - 1]
        if isinstance(node, Lambda) or not isinstance(node, Statement):
            return
        if not isinstance(parent, Block):
            continue
        if node is place.statement:
            if not _may_move(node, place.call):
                continue
        elif not _only_releases(node, place.call):
            return
        blocks = tuple(_enclosing(path, index - 1))
        number = next(i for i, each in enumerate(parent.body) if each is node)
        end = number + 1
        if isinstance(node, ExpressionStatement) and isinstance(node.expression, Assign):
            if end >= len(parent.body) or not isinstance(parent.body[end], If):
                return
            end += 1
        own = set(names_in_statement(node))
        while end < len(parent.body) and _sets_to_null(parent.body[end], own):
            end += 1
        yield Group(tuple(parent.body[number:end]), blocks)


def does_nothing_else(place: CppPlace) -> bool:
    """Tell whether the function around a place waits, releases and destroys, and has no other effect.

    Who calls it may do so later: a size that it sets, or a line that it prints, would come later too.
    """
    body = place.body.body
    if body is None:
        return False
    own = place.call
    # A release takes others along, and a record of an event nothing.
    alone = own is not None and api_name(own) is not None and not _releases(own, None)
    status = ""
    for each in body.body:
        looks = status and isinstance(each, If) and status in names_in(each.condition)
        does = is_plain_call(each, own) if alone else _only_releases(each, own)
        if not (looks or does or _only_ends(each)):
            return False
        status = each.name if isinstance(each, Variable) else status
    return True


def _only_ends(statement: Statement) -> bool:
    return isinstance(statement, Return) and not any(isinstance(each, Call) for each in nodes(statement))


def _enclosing(path: tuple[object, ...], index: int) -> Iterator[Block]:
    """Yield a block, and those around it into which its statements may go: not out of a condition or a function."""
    for node in path[index::-1]:
        if isinstance(node, Block):
            yield node
        elif not isinstance(node, Try | For | RangeFor | While | DoWhile):
            return


def is_plain_call(statement: Statement, call: Expression | None) -> bool:
    """Tell whether a call, or a check around it, is all of a statement."""
    if not isinstance(statement, ExpressionStatement) or call is None:
        return False
    expression: Expression = statement.expression
    if isinstance(expression, Cast):
        expression = expression.operand
    while expression is not call:
        if not isinstance(expression, Call) or not any(_within(each, call) for each in expression.arguments):
            return False
        expression = next(each for each in expression.arguments if _within(each, call))
        if not isinstance(expression, Call):
            # `assert(call == cudaSuccess)`
            return True
    return True


def _within(node: object, wanted: object) -> bool:
    return any(each is wanted for each in nodes(node))


def _may_move(statement: Statement, call: Expression | None) -> bool:
    """Tell whether a statement does no more than call: nothing is looked at before its new place."""
    if isinstance(statement, ExpressionStatement):
        made = statement.expression
        return isinstance(made, Call | Delete | Cast | Assign) and not _changes_something(made)
    return isinstance(statement, If) and _only_releases(statement, call)


def _changes_something(expression: Expression) -> bool:
    """Tell whether an expression counts or assigns beside what it is: `cudaFree(slots[--top])`."""
    return any(
        (isinstance(each, Assign) and each is not expression)
        or (isinstance(each, Unary) and each.operator in ("++", "--", "post++", "post--"))
        for each in nodes(expression)
    )


def _only_releases(statement: Statement, call: Expression | None) -> bool:
    """Tell whether a compound statement waits, releases and destroys, and does nothing else."""
    if isinstance(statement, Variable) and isinstance(statement.initializer, Call):
        return _releases(statement.initializer, call)
    if isinstance(statement, Block):
        return all(_only_releases(each, call) for each in statement.body)
    if isinstance(statement, If):
        parts = [statement.then, *([statement.otherwise] if statement.otherwise is not None else [])]
        made = [each for each in nodes(statement.condition) if isinstance(each, Call) and api_name(each)]
        if statement.init is not None:
            made += [each for each in nodes(statement.init) if isinstance(each, Call) and api_name(each)]
        if made:
            # `if (auto status = cudaFree(p); status != cudaSuccess) ...`
            return len(made) == 1 and _releases(made[0], call) and not _calls_in(parts)
        return all(_only_releases(each, call) for each in parts)
    if isinstance(statement, RangeFor | For | While | DoWhile):
        return _only_releases(statement.body, call)
    if not isinstance(statement, ExpressionStatement):
        return False
    expression = statement.expression
    if isinstance(expression, Delete) or _null_assigned(statement) is not None:
        return True
    found = [each for each in nodes(expression) if isinstance(each, Call)]
    return bool(found) and any(_releases(each, call) for each in found) and not isinstance(expression, Assign)


def releases_something(statement: Statement) -> bool:
    """Tell whether a statement frees or destroys something."""
    made = [node for node in nodes(statement) if isinstance(node, Call | Delete)]
    return any(isinstance(each, Delete) or _releases(each, None) for each in made)


def _calls_in(statements: list[Statement]) -> bool:
    return any(is_status_call(node) for each in statements for node in nodes(each) if isinstance(node, Call))


def _releases(made: Expression, call: Expression | None) -> bool:
    if made is call:
        return True
    name = api_name(made)
    api = CUDA.effects.find(name) if name is not None else None
    return api is not None and api.effect in _RELEASES


def is_wait(statement: Statement) -> bool:
    """Tell whether a wait of the host is all that a statement does."""
    if not isinstance(statement, ExpressionStatement):
        return False
    for node in nodes(statement.expression):
        name = api_name(node) if isinstance(node, Call) else None
        api = CUDA.effects.find(name) if name is not None else None
        if (
            api is not None
            and api.effect in _WAITS
            and is_plain_call(statement, node if isinstance(node, Call) else None)
        ):
            return True
    return False


def _null_assigned(statement: Statement) -> str | None:
    if not isinstance(statement, ExpressionStatement) or not isinstance(statement.expression, Assign):
        return None
    value = statement.expression.value
    null = isinstance(value, Literal_) and (value.value is None or value.value == 0)
    null = null or (isinstance(value, Name) and value.name == "NULL")
    names = list(names_in(statement.expression.target))
    return names[0] if null and names else None


def _sets_to_null(statement: Statement, names: set[str]) -> bool:
    name = _null_assigned(statement)
    return name is not None and name in names
