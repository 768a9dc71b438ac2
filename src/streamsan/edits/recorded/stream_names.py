"""What a recorded program calls its streams: shown by the lines whose calls ran on them, never guessed.

`with torch.cuda.stream(self.copies):` around a copy that ran on a stream says that this is `self.copies`; so do
`a.wait_stream(b)`, `queue.finish()`, and `s = cupy.cuda.Stream()` where one stream was made. A name that stood for
several streams in the recording stands for none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from streamsan.edits.python.calls import EVENTS, STREAMS, may_be_repeated, parameter_of
from streamsan.edits.python.places import Function, PythonPlace, With
from streamsan.edits.recorded.frameworks import Framework
from streamsan.edits.recorded.name_scopes import Scope, is_bound, is_current, root_of, scope_of
from streamsan.edits.recorded.recorded_text import Frame, RecordedTexts
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.vocabulary import OperationKind

WORK = (OperationKind.LAUNCH, OperationKind.COPY, OperationKind.MEMSET)
_ROUNDS = 3
"""how often names are handed on: from a function to its caller, to an attribute, to another method"""


class StreamNames:
    """The names of the streams of one recording."""

    def __init__(self, trace: EditableTrace, texts: RecordedTexts) -> None:
        self._trace = trace
        self._known: dict[Scope, set[int]] = {}
        self._texts = texts
        self._calls: dict[tuple[int, int], tuple[PythonPlace, PythonPlace]] = {}
        self._bodies: dict[int, PythonPlace] = {}
        current = trace.slots["object"][trace.starts & (trace.slots["kind"] == OperationKind.CONTEXT_CURRENT)]
        self._has_devices = len(np.unique(current[current != 0])) > 1
        self._collect()
        for _ in range(_ROUNDS):
            self._hand_on()

    def of(self, handle: int, place: PythonPlace, framework: Framework) -> list[str]:
        """Return how a stream may be written at a place, the best first."""
        found: dict[str, ast.expr] = {}
        for (_, text), handles in self._known.items():
            if handles == {handle}:
                found[text] = ast.parse(text, mode="eval").body
        usable = [text for text, node in found.items() if self._is_usable(text, node, place, handle)]
        usable.sort(key=lambda text: ("(" not in text, text.count("."), len(text), text))
        default = framework.default_stream(place) if handle == framework.default_handle else ""
        if handle == framework.default_handle and self._has_devices:
            return []  # each device has one, under the same handle
        return [*usable, default] if default and default not in usable else usable

    def _is_usable(self, text: str, node: ast.expr, place: PythonPlace, handle: int) -> bool:
        scope = scope_of(text, node, place.path)
        if scope is None or self._known.get(scope) != {handle}:
            return False
        assert not isinstance(node, ast.Call) or isinstance(node.func, ast.expr)
        return is_bound(root_of(node.func if isinstance(node, ast.Call) else node), place)

    # -- what the recording shows -----------------------------------------------------------------

    def _collect(self) -> None:
        slots = self._trace.slots[self._trace.starts]
        rows = np.unique(slots[["site", "kind", "stream", "object"]])
        made: dict[int, set[int]] = {}
        recorded: list[tuple[PythonPlace, int, int]] = []
        for site, kind, stream, handle in rows.tolist():
            frames = self._texts.frames(int(site)) if site else []
            if not frames:
                continue
            self._note_calls(frames)
            if kind == OperationKind.STREAM_CREATE:
                made.setdefault(int(site), set()).add(int(handle))
                continue
            place = frames[0].place
            if kind == OperationKind.EVENT_RECORD:
                recorded.append((place, int(stream), int(handle)))
            for node in _named(place, int(kind)) if stream else ():
                self._add(node, place, int(stream))
            for types, value in ((STREAMS, int(stream)), (EVENTS, int(handle))):
                given = _given_to_binding(place, types) if value else None
                if given is not None:
                    self._add(given, place, value)
        for site, handles in made.items():
            # A framework may make many streams at once, for later.
            place = self._texts.frames(site)[0].place
            target = _target(place)
            if len(handles) == 1 and target is not None:
                self._add(target, place, *handles)
        for place, stream, event in recorded:
            self._note_record(place, stream, event)

    def _note_record(self, place: PythonPlace, stream: int, event: int) -> None:
        """Note the names of `event.record(stream)`, and of CuPy's `stream.record(event)`, which looks the same."""
        call = place.call
        if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "record" or not call.args:
            return
        receiver, given = call.func.value, call.args[0]
        if _imports(place, "torch") or self._is_known(given, place, stream):
            self._add(given, place, stream)
            self._add(receiver, place, event)
        elif self._is_known(receiver, place, stream):
            self._add(given, place, event)

    def _is_known(self, node: ast.expr, place: PythonPlace, handle: int) -> bool:
        scope = scope_of(ast.unparse(node), node, place.path)
        return scope is not None and self._known.get(scope) == {handle}

    def _note_calls(self, frames: list[Frame]) -> None:
        for frame in frames:
            self._bodies[id(frame.place.body)] = frame.place
        for inner, outer in pairwise(frames):
            if isinstance(inner.place.body, Function) and outer.place.call is not None:
                key = id(inner.place.body), id(outer.place.call)
                self._calls[key] = inner.place, outer.place

    def _add(self, node: ast.expr, place: PythonPlace, handle: int) -> bool:
        if not is_current(node) and not (may_be_repeated(node) and root_of(node)):
            return False
        text = ast.unparse(node)
        scope = scope_of(text, node, place.path)
        if scope is None:
            return False
        self._known.setdefault(scope, set()).add(handle)
        return True

    # -- names that mean the same -----------------------------------------------------------------

    def _hand_on(self) -> None:
        for inner, outer in self._calls.values():
            for name, given in parameters_of(inner, outer):
                self._same(name, inner, given, outer)
                self._same(given, outer, name, inner)
        for place in self._bodies.values():
            for statement in ast.walk(place.body):
                if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and root_of(statement.value):
                    path = place.path[: place.path.index(place.body) + 1]
                    self._same(statement.value, path, statement.targets[0], path)

    def _same(
        self,
        known: ast.expr,
        of: PythonPlace | tuple[ast.AST, ...],
        other: ast.expr,
        there: PythonPlace | tuple[ast.AST, ...],
    ) -> None:
        """Let an expression have the stream of another one, where that has but one."""
        if not root_of(known) or not root_of(other):
            return
        paths = [each.path if isinstance(each, PythonPlace) else each for each in (of, there)]
        scopes = [scope_of(ast.unparse(node), node, path) for node, path in zip((known, other), paths, strict=True)]
        if scopes[0] is None or scopes[1] is None:
            return
        handles = self._known.get(scopes[0], set())
        if len(handles) == 1:
            self._known.setdefault(scopes[1], set()).update(handles)


def _named(place: PythonPlace, kind: int) -> Iterator[ast.expr]:
    """Yield the expressions of a call's line that are the stream that its operation is on."""
    call = place.call
    if kind in WORK:
        around = [each for each in place.path if isinstance(each, With | Function | ast.Module | ast.Lambda)]
        node = around[-1] if around else None
        if isinstance(node, With) and node is not place.statement and len(node.items) == 1:
            given = _argument_of_stream(node.items[0].context_expr)
            if given is not None:
                yield given
    if call is None or not isinstance(call.func, ast.Attribute | ast.Name):
        return
    name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    first = call.args[0] if call.args else None
    match kind, name:
        case (OperationKind.EVENT_RECORD, "wait_stream") | (OperationKind.STREAM_WAIT_EVENT, "wait"):
            if first is not None:
                yield first
        case (OperationKind.STREAM_WAIT_EVENT, "wait_stream" | "wait_event"):
            if receiver is not None:
                yield receiver
        case (OperationKind.EVENT_RECORD, "record_event") | (
            OperationKind.STREAM_SYNCHRONIZE,
            "synchronize" | "finish",
        ):
            if receiver is not None:
                yield receiver
        case _ if first is not None and (name.startswith("enqueue_") or kind == OperationKind.LAUNCH):
            # pyopencl's commands and kernels take the queue first.
            if _imports(place, "pyopencl"):
                yield first


def _argument_of_stream(context: ast.expr) -> ast.expr | None:
    """Return the stream of `torch.cuda.stream(...)`, None for another context."""
    if not isinstance(context, ast.Call) or not isinstance(context.func, ast.Attribute) or len(context.args) != 1:
        return None
    return context.args[0] if context.func.attr in ("stream", "StreamContext") else None


def _imports(place: PythonPlace, module: str) -> bool:
    return any(
        isinstance(node, ast.Import) and any(alias.name.partition(".")[0] == module for alias in node.names)
        for node in ast.walk(place.text.tree)
    )


def _given_to_binding(place: PythonPlace, types: tuple[str, ...]) -> ast.expr | None:
    """Return the argument of one of these types of a call of cuda.bindings."""
    call = place.call
    name = _name_of(call.func) if call is not None else ""
    if call is None or not name.startswith("cu") or "Create" in name:
        return None
    position = parameter_of(name, *types)
    if position is None or any(isinstance(each, ast.Starred) for each in call.args):
        return None
    return call.args[position] if position < len(call.args) else None


def _name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _target(place: PythonPlace) -> ast.expr | None:
    """Return the variable that takes what the call at a place makes: the last, where a status comes before it."""
    statement = place.statement
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return next((one for one, other in zip(target.elts, value.elts, strict=True) if other is place.node), None)
    while value is not place.node and isinstance(value, ast.Call) and len(value.args) == 1:
        value = value.args[0]  # `check(cudaStreamCreate())`
    if value is not place.node:
        return None
    return target.elts[-1] if isinstance(target, ast.Tuple) and target.elts else target


def parameters_of(inner: PythonPlace, outer: PythonPlace) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the parameters of a function with what a call gives for them."""
    function, call = inner.body, outer.call
    if not isinstance(function, Function) or call is None or any(isinstance(each, ast.Starred) for each in call.args):
        return
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if called != function.name and function.name != "__init__":
        return  # a library calls it, or a decorator's wrapper
    if names and (
        function.name == "__init__" or (names[0] in ("self", "cls") and isinstance(call.func, ast.Attribute))
    ):
        names = names[1:]
    pairs = [*zip(names, call.args, strict=False), *((each.arg or "", each.value) for each in call.keywords)]
    for name, given in pairs:
        if name:
            yield ast.Name(name, ast.Load()), given
