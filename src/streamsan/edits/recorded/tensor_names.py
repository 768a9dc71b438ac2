"""Where a recorded program can name a tensor whose block a pool handed out, used and took back at known lines.

A name is that of the tensor where the statement that made the block assigns what is left of it, where `del x` or
`x = ...` gave the block back, and where such a variable is handed to the function that uses it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from streamsan.edits.python.places import Function
from streamsan.edits.recorded.name_scopes import is_bound, is_stored, is_stored_once, root_of
from streamsan.edits.recorded.recorded_text import Frame, RecordedTexts, is_simple
from streamsan.edits.recorded.rows_of_text import CodePut
from streamsan.edits.recorded.stream_names import parameters_of
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.order.facts import Operation
from streamsan.vocabulary import OperationKind


class NamedThere(Struct, frozen=True):
    """A place before or behind a statement where a variable has the tensor."""

    name: str
    frame: Frame
    behind: bool


def named_places(
    trace: EditableTrace, texts: RecordedTexts, made: Operation | None, used: Operation, dropped: Operation
) -> Iterator[NamedThere]:
    """Yield where the tensor has a name: behind its use first, then where it is dropped."""
    known = [*_made(trace, texts, made), *_deleted(texts, dropped)]
    frames = texts.frames(used.site)
    for name, frame in known:
        level = next((n for n, each in enumerate(frames) if each.place.body is frame.place.body), None)
        # Of two values of a variable it is not known which one is used.
        if level is not None and is_stored_once(name, frame.place.body):
            yield from _used(name, frames[: level + 1])
    yield from _bound_anew(texts, dropped)
    for name, frame in _deleted(texts, dropped):
        yield NamedThere(name, frame, behind=False)


def _made(trace: EditableTrace, texts: RecordedTexts, made: Operation | None) -> Iterator[tuple[str, Frame]]:
    """Yield the variable that takes what the statement makes whose only block that is left is the tensor's."""
    frames = texts.frames(made.site) if made is not None else []
    if made is None or not frames or frames[0].number != made.site or not _is_all_that_is_left(trace, frames[0], made):
        return
    for frame in frames:
        statement, node = frame.place.statement, frame.place.node
        if isinstance(statement, ast.Return) and statement.value is node:
            continue  # the caller has it
        if isinstance(statement, ast.Assign) and statement.value is node and len(statement.targets) == 1:
            target = statement.targets[0]
            if root_of(target):
                yield ast.unparse(target), frame
        return


def _is_all_that_is_left(trace: EditableTrace, frame: Frame, made: Operation) -> bool:
    """Tell whether a block is the only one that its statement makes and does not give back."""
    row = trace.row(made)
    if row is None or not is_simple(frame.place.statement):
        return False
    firsts, lasts = CodePut(frame).rows(trace), CodePut(frame, behind=True).rows(trace)
    run = next(((first, last) for first, last in zip(firsts, lasts, strict=True) if first <= row <= last), None)
    if run is None:
        return False
    slots = trace.slots
    left: list[int] = []
    same = trace.starts & (slots["api"] == made.api) & (slots["kind"] == OperationKind.ALLOC)
    freed = trace.starts & (slots["kind"] == OperationKind.FREE)
    for each in np.flatnonzero((same | freed)[: run[1] + 1]).tolist():
        if each < run[0]:
            continue
        address = int(slots["address"][each])
        if same[each]:
            left.append(address)
        elif address in left:
            left.remove(address)
    return left == [int(slots["address"][row])]


def _deleted(texts: RecordedTexts, dropped: Operation) -> Iterator[tuple[str, Frame]]:
    """Yield the variable whose `del` gave the block back."""
    for frame in texts.frames(dropped.site)[:1]:
        if isinstance(frame.place.statement, ast.Delete) and isinstance(frame.place.node, ast.Name):
            yield frame.place.node.id, frame


def _bound_anew(texts: RecordedTexts, dropped: Operation) -> Iterator[NamedThere]:
    """Yield the variable of a loop that gets the next tensor where the one before is given back."""
    for frame in texts.frames(dropped.site)[:1]:
        statement, node, body = frame.place.statement, frame.place.node, frame.place.body
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or statement.targets[0] is not node:
            continue
        # What is called may return None at the end.
        plain = isinstance(node, ast.Name) and root_of(statement.value) and isinstance(body, Function)
        if isinstance(node, ast.Name) and plain and is_stored_once(node.id, body):
            yield NamedThere(node.id, frame, behind=True)


def _used(name: str, frames: list[Frame]) -> Iterator[NamedThere]:
    """Yield a variable of the outermost of some frames behind the use, by the name that each function has for it."""
    *inner, outermost = frames
    if not inner:
        statement = outermost.place.statement
        if is_simple(statement) and statement is not None and _has(statement, name):
            yield NamedThere(name, outermost, behind=not isinstance(statement, ast.Return))
        return
    body = inner[-1].place.body
    for parameter, given in parameters_of(inner[-1].place, outermost.place):
        if ast.unparse(given) == name and isinstance(parameter, ast.Name) and not is_stored(parameter.id, body):
            yield from _used(parameter.id, inner)
    statement = outermost.place.statement
    if statement is None or isinstance(statement, ast.Return) or not is_simple(statement):
        return
    if _has(statement, name) and is_bound(name.partition(".")[0], outermost.place):
        yield NamedThere(name, outermost, behind=True)


def _has(statement: ast.stmt, name: str) -> bool:
    return any(isinstance(node, ast.expr) and ast.unparse(node) == name for node in ast.walk(statement))
