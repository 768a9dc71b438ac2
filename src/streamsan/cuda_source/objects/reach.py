"""Which memory the program can still reach: what is lost, and what unseen code gets hold of.

Memory is reached by its address, or by the handle of OpenCL's memory object.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType
from typing import Any

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    ArrayObject,
    BoundMethod,
    Cell,
    CellPointer,
    Closure,
    DevicePointer,
    ElementPointer,
    LibraryObject,
    StructObject,
    SymbolPointer,
    Term,
    Value,
)
from streamsan.cuda_source.values.frame import Completion, Frame
from streamsan.cuda_syntax.tree import Span
from streamsan.model.values import Handle, Pointer, Symbol
from streamsan.vocabulary import LostKind

LARGEST_WALK = 20_000
_LEADS_NOWHERE = frozenset({int, float, bool, str, NoneType, Term})
"""what most cells hold: told first, for there are many"""


class Reach:
    """Reachability in one path."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.escaped: set[int] = set()
        """Generations of allocations whose pointers unseen code or device memory may hold."""
        self.hidden: list[DevicePointer] = []
        """Pointers that were stored where nobody follows: what frees them may not be seen either."""
        self._lost: set[int] = set()
        self._protected: list[Any] = []
        self.complete = True
        """The last walk saw all that is reachable: it did not stop at the budget, as in a program of large arrays."""
        self.kept: list[Any] = []
        """Values that stay reachable outside the program's variables: threads' closures, exit handlers."""

    # -- walking -----------------------------------------------------------------------------------

    def _walk(self, roots: list[Any], *, through_pointers: bool = True) -> list[Any]:
        """Return every value reachable from the roots."""
        return list(self._reachable(roots, through_pointers=through_pointers))

    def _reachable(self, roots: list[Any], *, through_pointers: bool = True) -> Iterator[Any]:
        """Yield every value reachable from the roots, nearest to the last root first."""
        seen: set[int] = set()
        pending = list(roots)
        self.complete = True
        while pending:
            if len(seen) >= LARGEST_WALK:
                self.complete = False
                return
            item = pending.pop()
            if isinstance(item, Cell):
                if id(item) in seen:
                    continue
                seen.add(id(item))
                item = item.value
            if type(item) in _LEADS_NOWHERE:
                continue
            if isinstance(item, StructObject):
                if id(item) not in seen:
                    seen.add(id(item))
                    pending.extend(item.fields.values())
            elif isinstance(item, ArrayObject):
                if id(item) not in seen:
                    seen.add(id(item))
                    pending.extend(item.cells.values())
            elif isinstance(item, Closure):
                if id(item) not in seen:
                    seen.add(id(item))
                    pending.extend(item.captured.values())
                    if item.this is not None and through_pointers:
                        pending.append(item.this)
            elif isinstance(item, LibraryObject):
                if id(item) not in seen:
                    seen.add(id(item))
                    pending.extend(item.parts())
            elif isinstance(item, CellPointer):
                yield item
                if through_pointers:
                    pending.append(item.cell)
            elif isinstance(item, ElementPointer):
                yield item
                if through_pointers:
                    pending.append(item.array)
            elif isinstance(item, BoundMethod):
                if through_pointers:
                    pending.append(item.object)
            elif isinstance(item, DevicePointer | SymbolPointer | Handle | Symbol):
                yield item

    def collect(self, value: Value, found: list[Value]) -> None:
        """Add the pointers and handles that a value leads to."""
        found.extend(self._walk([value]))

    # -- escapes -----------------------------------------------------------------------------------

    def escape(self, values: list[Value]) -> None:
        """Unseen code got these: it may keep, and free, what they point to."""
        for value in values:
            if (pointer := self._memory(value)) is not None:
                self.escaped.add(pointer.generation)

    def _memory(self, value: Any) -> Pointer | None:
        """Return the memory that a value leads to."""
        if isinstance(value, DevicePointer):
            return value.pointer
        return self.machine.device.held_memory(value) if isinstance(value, Handle) else None

    def hide(self, values: list[Any]) -> bool:
        """Nobody can tell from here on which of these pointers is used or freed; returns whether there are any."""
        walked = self._walk(values)
        self.escape(walked)
        found = [value for value in walked if isinstance(value, DevicePointer)]
        self.hidden.extend(found)
        return bool(found)

    def unfollowed(self, values: list[Any], span: Span) -> None:
        """Values go where the interpreter does not follow them: their pointers are not lost by its own ignorance."""
        if self.hide(values):
            self.machine.not_understood(span, "a pointer goes where it cannot be followed")

    def hidden_and_live(self) -> list[Value]:
        """Return the hidden pointers whose memory nothing has freed, each once."""
        live = {p.pointer.generation: p for p in self.hidden if self.machine.device.is_live(p.pointer)}
        return list(live.values())

    def is_unfollowed(self, cell: Cell) -> bool:
        """Tell whether unseen code has the place: what is stored there is in its hands."""
        owner = cell.owner
        symbol: Symbol | None = None
        if isinstance(owner, StructObject):
            symbol = owner.symbol if owner.cls is None else None
        elif isinstance(owner, ArrayObject):
            symbol = owner.symbol
        else:
            symbol = self.machine.objects.pointed_by(cell)
        return symbol is not None and symbol.origin in ("opaque", "undeclared")

    def copied_from(self, value: Value) -> None:
        """Memory is copied to a place nobody follows: pointers stored in it are reachable there."""
        if isinstance(value, CellPointer | ElementPointer):
            self.escape(self._walk([value]))
        elif isinstance(value, DevicePointer):
            array, _ = self.machine.memory.contents(value) if value.element is not None else (None, None)
            if array is not None:
                self.escape(self._walk([array]))

    def protect(self, value: Value) -> None:
        """A result leaves the scope that ends next."""
        if value is not None:
            self._protected.append(value)

    # -- lost pointers -----------------------------------------------------------------------------

    def overwritten(self, old: Value, span: Span) -> None:
        """A variable that held a value holds something else now."""
        if isinstance(old, DevicePointer | Handle) and (pointer := self._memory(old)) is not None:
            self._check([pointer], span)

    def scope_ended(self, dying: list[Cell], span: Span, completion: Completion | None) -> None:
        """A scope's variables are gone."""
        candidates: list[Pointer] = []
        for value in self._walk(list(dying)):
            if (pointer := self._memory(value)) is not None:
                candidates.append(pointer)
        if candidates and not self._ends_main():
            self._check(candidates, span, self._loops_left(completion))
        if completion is None or completion.kind != "return":
            self._protected.clear()

    def _ends_main(self) -> bool:
        """What main leaves is judged at exit."""
        frame = self.machine.frame
        return self.machine.known_main and frame.function == "main" and frame.loops == 0

    def _loops_left(self, completion: Completion | None) -> int:
        """Return how many loops end with the scope: what is lost then is lost once, not in each iteration."""
        if completion is None:
            return 0
        return {"return": self.machine.frame.loops, "break": 1}.get(completion.kind, 0)

    def _check(self, pointers: list[Pointer], span: Span, loops_left: int = 0) -> None:
        machine = self.machine
        suspects = {
            pointer.generation: pointer
            for pointer in pointers
            if pointer.generation not in self.escaped
            and pointer.generation not in self._lost
            and machine.device.is_live(pointer)
        }
        if not suspects:
            return
        for value in self._reachable(self._roots()):
            if (reached := self._memory(value)) is not None:
                suspects.pop(reached.generation, None)
                if not suspects:
                    return
        if not self.complete:
            return
        kind = LostKind.ITERATION if machine.loop_depth > loops_left else LostKind.SCOPE
        for generation, pointer in suspects.items():
            self._lost.add(generation)
            machine.device.pointer_lost(pointer, kind, span)

    def _roots(self) -> list[Any]:
        machine = self.machine
        roots: list[Any] = [*machine.statics.values(), *machine.objects.pointees()]
        for scope in machine.all_globals():
            roots.extend(scope.names.values())
        roots.extend(machine.memory.arrays())
        roots.extend(self._protected)
        roots.extend(self.kept)
        for frames in (machine.frames, *(each.frames for each in machine.resting)):
            for frame in frames:
                roots.extend(self._frame_roots(frame))
        return roots

    def _frame_roots(self, frame: Frame) -> list[Any]:
        roots: list[Any] = list(frame.temporaries)
        scope = frame.scope
        while scope is not None:
            roots.extend(cell for cell in scope.names.values() if isinstance(cell, Cell))
            roots.extend(scope.owned)
            parent = scope.parent
            if parent is None:
                break
            scope = parent
        if frame.this is not None:
            roots.append(frame.this)
        return roots
