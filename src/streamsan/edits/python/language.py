"""Python, as the edits ask for it: places that the syntax tree gives, and names that the run has shown."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from streamsan.edits.code_place import Argument
from streamsan.edits.language import Group, Language
from streamsan.edits.python.calls import METHODS_OF_WITH
from streamsan.edits.python.checks import Checks, unit_of
from streamsan.edits.python.layout import PythonLayout
from streamsan.edits.python.module_text import PythonText
from streamsan.edits.python.names import EVENT, Chains, Names, Wanted
from streamsan.edits.python.nodes import dependent_edits
from streamsan.edits.python.phrases import PythonPhrases
from streamsan.edits.python.places import PythonPlace, With
from streamsan.evidence.fix.change_steps import GRID_WAIT
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.evidence.fix.event_steps import WaitForRecorded
from streamsan.evidence.fix.order_steps import EdgeBetween
from streamsan.evidence.fix.steps import pairs
from streamsan.findings.finding import Edit
from streamsan.order.facts import Operation
from streamsan.vocabulary import OperationKind

MOST_STREAMS = 8
"""streams that code at one place waits for"""
ASSEMBLY = 'asm volatile("griddepcontrol.wait;" ::: "memory");'
"""what the function of the device runtime is; a text without it needs no header for this"""


class Python(Language[PythonPlace]):
    """The Python of one program, with the trace of a run of it."""

    NAMES_ALL_STREAMS = True

    def __init__(
        self, trace: EditableTrace, texts: Mapping[str, PythonText], looks: Sequence[Mapping[str, Any]]
    ) -> None:
        self.files = texts
        self.layout = PythonLayout(texts)
        self.reasons: list[str] = []
        self._trace = trace
        self._chains = Chains(trace, texts)
        self._names = Names(self._chains, looks)
        self._checks: dict[str, Checks] = {}

    def api(self, operation: Operation) -> str:
        return self._chains.api(operation)

    # -- places ---------------------------------------------------------------------------------

    def places(self, site: int) -> list[PythonPlace]:
        return [place for place in self._chains.places(site) if place is not None]

    def places_before(self, later: Operation, earlier: Operation) -> Iterator[tuple[PythonPlace, bool]]:
        if later.site:
            yield from ((place, False) for place in self.places_behind(later))
        else:
            # At the end of the program the outermost place comes first.
            yield from ((place, True) for place in reversed(list(self.places_behind(earlier))))

    def places_behind(self, earlier: Operation) -> Iterator[PythonPlace]:
        """Yield the places of an operation's chain of calls, at the end of a `with` block also that."""
        site = earlier.site
        function = ""
        for place in self._chains.places(site):
            entry = self._trace.trace.site(site)
            if place is not None and place.statement is not None:
                method = function.rpartition(".")[2]
                begins = method in ("__enter__", "__aenter__")
                if isinstance(place.statement, With) and place.level and not place.call and not begins:
                    yield replace(place, at_exit=True)
                if not isinstance(place.statement, With) or begins or method not in METHODS_OF_WITH:
                    yield place
            function, site = entry.function, entry.caller

    def unit(self, block: list[ast.stmt] | None, statement: ast.stmt) -> list[ast.stmt]:
        return unit_of(block, statement) if block is not None else [statement]

    # -- names ----------------------------------------------------------------------------------

    def streams(
        self, earlier: Operation, later: Operation, place: PythonPlace, near: Operation, of: Operation
    ) -> list[list[str]]:
        own = near if of is near else None
        groups = self._groups(earlier, later, place, near, of)
        return [self._names.of(each, place, own) for each in groups]

    def _groups(
        self, earlier: Operation, later: Operation, place: PythonPlace, near: Operation, of: Operation
    ) -> list[Wanted]:
        """Return for each stream that code at a place needs the rows at which it runs, with what it is there."""
        there = near is not later
        chains, slots = self._chains, self._trace.slots
        own = chains.chain(near.site)[: place.level + 1]
        sources: dict[int, list[int]] = {}
        for source, target in pairs(self._trace, earlier, later):
            row = source if there else target
            if there and chains.chain(int(slots["site"][target])) != chains.chain(later.site):
                continue  # what others that call the same helper wait for
            if place.level == 0 or chains.chain(int(slots["site"][row]))[: place.level + 1] == own:
                sources.setdefault(row, []).append(int(slots["stream"][source if of is earlier else target]))
        width = max((len(each) for each in sources.values()), default=0)
        if width > MOST_STREAMS:
            return []
        return [
            [(row, streams[min(number, len(streams) - 1)]) for row, streams in sources.items()]
            for number in range(width)
        ]

    def stream(self, operation: Operation, place: PythonPlace, near: Operation) -> list[str]:
        row, at = self._trace.row(operation), self._trace.row(near)
        if row is None or at is None:
            return []
        own = operation if operation is near else None
        return self._names.of([(at, int(self._trace.slots["stream"][row]))], place, own)

    def event(self, step: WaitForRecorded, place: PythonPlace) -> list[str]:
        slots = self._trace.slots
        records = self._trace.instances(step.record)
        events: dict[int, int] = {}
        for source, target in pairs(self._trace, step.earlier, step.later):
            stream = slots["stream"][source]
            between = [row for row in records if source < row < target and slots["stream"][row] == stream]
            if between:
                events[target] = int(slots["object"][between[-1]])
        groups = self._groups(step.earlier, step.later, place, step.later, step.later)
        rows = [row for row, _ in groups[0] if row in events] if len(groups) == 1 else []
        return self._names.of([(row, events[row]) for row in rows], place, kind=EVENT)

    def stream_arguments(self, operation: Operation) -> Iterator[Argument]:
        return self._chains.streams(operation.site, self.api(operation))

    def sole_argument(self, place: PythonPlace) -> str:
        call = place.call
        given = [*call.args, *(each.value for each in call.keywords)] if call is not None else []
        return place.text.of(given[0]) if len(given) == 1 and not isinstance(given[0], ast.Starred) else ""

    def phrases(self, place: PythonPlace, near: Operation, *operations: Operation) -> PythonPhrases:
        name = place.text.name
        if name not in self._checks:
            self._checks[name] = Checks(place.text)
        apis = [self.api(each) for each in operations]
        return PythonPhrases(place, self._names, self._trace.row(near) or 0, self._checks[name], apis)

    # -- what may be moved, or taken out --------------------------------------------------------

    def groups(self, place: PythonPlace, what: Operation, kinds: Collection[int]) -> Iterator[Group]:
        """Yield the statement of a call, where it calls only, and does nothing but operations of some kinds."""
        statement = place.statement
        calls = isinstance(statement, ast.Delete) or (
            (isinstance(statement, ast.Expr) or (isinstance(statement, ast.Assign) and place.level == 0))
            and isinstance(statement.value, ast.Call)
        )
        if calls and statement is not None and place.block is not None and self.does_only(what, place, kinds):
            yield Group(tuple(unit_of(place.block, statement)), (place.block,))

    def does_only(self, operation: Operation, place: PythonPlace, kinds: Collection[int]) -> bool:
        own = self._chains.chain(operation.site)[place.level :]
        slots = self._trace.slots
        done: dict[int, set[int]] = {}
        for row in self._trace.starts.nonzero()[0].tolist():
            done.setdefault(int(slots["site"][row]), set()).add(int(slots["kind"][row]))
        for site, found in done.items():
            chain = self._chains.chain(site)
            inside = len(chain) >= len(own) and chain[len(chain) - len(own) :] == own
            if inside and not found <= {*kinds, OperationKind.CALL}:
                return False
        return True

    def keeps(self, place: PythonPlace, is_called: bool) -> str:
        statement, block = place.statement, place.block
        if statement is None or block is None or not _is_alone(place, statement):
            return "the wait is not a statement of its own"
        if place.is_in_loop and len(unit_of(block, statement)) == len(block):
            return "the wait is all that its loop does: it may wait for more than this run shows"
        return ""

    # -- graphs and kernels ---------------------------------------------------------------------

    def dependent(self, first: PythonPlace, second: PythonPlace, step: EdgeBetween) -> Iterator[tuple[str, list[Edit]]]:
        chain = self._chains.places(step.later.site)
        return dependent_edits(chain, first, second, self._chains.api_at_site(step.later.site))

    def kernel_wait(self, file: str) -> tuple[str, bool]:
        has_header = any("cudaTriggerProgrammaticLaunchCompletion" in line for line in self.files[file].lines)
        return (f"{GRID_WAIT}();" if has_header else ASSEMBLY), False


def _is_alone(place: PythonPlace, statement: ast.stmt) -> bool:
    """Tell whether a call, or a check around it, is all of its statement."""
    if not isinstance(statement, ast.Expr | ast.Assign):
        return False
    node: ast.expr = statement.value
    while node is not place.node:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
            node = node.args[0]
        else:
            return False
    return True
