"""What a program's functions can name when they call CUDA: which expressions are its streams, modules and nodes.

Nothing of the program runs for this: only variables, and attributes and elements that are stored, are looked at.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any

from streamsan.trace.builder import TraceBuilder

PREFIX = "names."
"""Files in the folder of a run that begin so hold a line of JSON for each look."""
MOST_OF_CHAIN = 16
"""looks at one chain of calls"""
MOST_LOOKS = 4000
"""looks in one process"""
MOST_OBJECTS = 600
"""objects that are looked at for one frame"""
MOST_ELEMENTS = 8
DEEPEST = 3
"""attributes and elements in one expression"""
KINDS = {
    "cudaStream_t": "stream",
    "CUstream": "stream",
    "cudaEvent_t": "event",
    "CUevent": "event",
    "cudaGraphNode_t": "node",
    "CUgraphNode": "node",
}
MODULES = {"cuda.bindings.runtime": "runtime", "cuda.bindings.driver": "driver"}
OLD_MODULES = {"cuda.cudart": "runtime", "cuda.cuda": "driver"}
LOCAL = "local"
"""kind of a function's variable, whatever it is"""
SMALLEST_HANDLE = 1 << 12
"""Integers below are not taken for handles."""
_CLEARS_LOCALS = sys.version_info < (3, 13)
"""A frame keeps the dictionary that it gives out, and so all variables alive: it is emptied again."""
_FOREIGN = sys.stdlib_module_names | {"numpy", "cuda", "streamsan", "scipy", "torch", "pytest", "_pytest"}

Seen = list[list[str | int]]
"""[expression, kind, value] of each thing that can be named"""


class Names:
    """Writes down, at each call of CUDA, what the frames on the stack can name."""

    def __init__(self, folder: str, builder: TraceBuilder) -> None:
        self._folder = folder
        self._builder = builder
        self._looks: dict[int, int] = {}
        self._left = MOST_LOOKS

    def note(self, site: int, frames: Sequence[FrameType]) -> None:
        """Look at the frames that a site stands for, innermost first."""
        count = self._looks.get(site, 0)
        if count >= MOST_OF_CHAIN or self._left <= 0:
            return
        self._looks[site] = count + 1
        self._left -= 1
        line: dict[str, Any] = {"sequence": self._builder.operations, "chain": self._chain(site)}
        line["frames"] = [seen_from(frame) for frame in frames]
        with open(os.path.join(self._folder, f"{PREFIX}{os.getpid()}"), "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def _chain(self, site: int) -> list[tuple[str, int, int]]:
        chain = []
        while site:
            place = self._builder.site_at(site)
            chain.append((place.file, place.line, place.column))
            site = place.caller
        return chain


def seen_from(frame: FrameType) -> Seen:
    """Return what a frame can name: the shortest expressions first."""
    code = frame.f_code
    optimized = bool(code.co_flags & inspect.CO_OPTIMIZED)
    local = variables_of(frame)
    own = {*code.co_varnames, *code.co_cellvars, *code.co_freevars} if optimized else set()
    roots = [(name, value) for name, value in local.items() if name.isidentifier()]
    if local is not frame.f_globals:
        known = {*own, *local}
        roots += [(name, value) for name, value in list(frame.f_globals.items()) if name not in known]
    names: Seen = [[name, LOCAL, 0] for name, _ in roots if name in local] if optimized else []
    return names + [[text, kind, value] for text, kind, value in _reached(roots)]


def variables_of(frame: FrameType) -> dict[str, object]:
    """Return a frame's local variables as they are now, and keep none of them alive in the frame."""
    given = frame.f_locals
    local = dict(given)
    if frame.f_code.co_flags & inspect.CO_OPTIMIZED and _CLEARS_LOCALS and type(given) is dict:
        given.clear()
    return local


def _reached(roots: Sequence[tuple[str, object]]) -> Iterator[tuple[str, str, int]]:
    queue: deque[tuple[str, object, int]] = deque((name, value, 0) for name, value in roots if name[:2] != "__")
    done: set[int] = set()
    left = MOST_OBJECTS + len(queue)
    while queue and left:
        left -= 1
        text, value, depth = queue.popleft()
        kind = type(value).__name__
        if kind in KINDS and type(value).__module__.startswith(("cuda.", "streamsan.")):
            yield text, KINDS[kind], int(value)  # type: ignore[call-overload]
        elif type(value) is int:
            if value >= SMALLEST_HANDLE:
                yield text, "int", value
        elif issubclass(type(value), ModuleType):
            stored = _stored(value)
            module = _cuda_module(stored.get("__name__"))
            if module:
                yield text, module, 0
            elif depth == 0 and _is_own(stored.get("__name__")):
                queue.extend((f"{text}.{name}", inner, 1) for name, inner in list(stored.items()) if _plain(name))
        elif depth < DEEPEST and id(value) not in done:
            done.add(id(value))
            queue.extend((inner, each, depth + 1) for inner, each in _parts(text, value))


def _cuda_module(name: object) -> str:
    if type(name) is not str:
        return ""
    found = MODULES.get(name) or OLD_MODULES.get(name)
    if found is None and name.startswith("streamsan.sim.bindings."):
        last = name.rpartition(".")[2]
        found = last if last in ("runtime", "driver") else None
    return f"module of {found}" if found else ""


def _parts(text: str, value: object) -> Iterator[tuple[str, object]]:
    kind = type(value)
    if kind in (list, tuple, deque):
        items: Any = value
        for number in range(min(len(items), MOST_ELEMENTS)):
            yield f"{text}[{number}]", items[number]
    elif issubclass(kind, dict):
        items = value
        for key, each in list(dict.items(items))[:MOST_ELEMENTS]:
            if type(key) in (str, int):
                yield f"{text}[{key!r}]", each
    elif issubclass(kind, tuple) and "_fields" in vars(kind):
        items = value
        for name, each in zip(vars(kind)["_fields"], tuple.__iter__(items), strict=False):
            yield f"{text}.{name}", each
    elif kind is FunctionType:
        # What a decorator left there.
        for name, each in list(_stored(value).items()):
            if _plain(name) and type(each) is not FunctionType:
                yield f"{text}.{name}", each
    elif _is_own(kind.__module__) and not issubclass(kind, type):
        for name, each in _attributes(value):
            if _plain(name):
                yield f"{text}.{name}", each
    elif kind is type and _is_own(_class_of(value).__module__):
        for name, each in list(vars(_class_of(value)).items()):
            if _plain(name) and type(each) is not FunctionType:
                yield f"{text}.{name}", each


def _attributes(value: object) -> Iterator[tuple[str, object]]:
    yield from list(dict.items(_stored(value)))
    for base in type(value).__mro__:
        for name, descriptor in list(vars(base).items()):
            if type(descriptor) is MemberDescriptorType and name != "__dict__":
                try:
                    yield name, descriptor.__get__(value)
                except AttributeError:
                    continue


def _stored(value: object) -> dict[str, object]:
    """Return what an object stores. No `__getattribute__` or `__class__` of its own is asked."""
    try:
        stored = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return stored if type(stored) is dict else {}


def _class_of(value: object) -> type:
    assert isinstance(value, type)
    return value


def _plain(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier() and not name.startswith("__")


def _is_own(module: object) -> bool:
    """Tell whether a module may be one of the program's."""
    return (isinstance(module, str) and module.partition(".")[0] not in _FOREIGN) or module == "__main__"


def read(folder: str) -> list[dict[str, Any]]:
    """Return all looks of a run. Lines that were cut off are left out."""
    looks = []
    for path in sorted(Path(folder).glob(f"{PREFIX}*")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                looks.append(json.loads(line))
            except ValueError:
                continue
    return looks
