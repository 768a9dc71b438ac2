"""C++, as the edits ask for it: places and names that the syntax tree gives."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, count, takewhile
from pathlib import Path

from streamsan.cuda_syntax.compiler_options import CompilerOptions
from streamsan.cuda_syntax.tree import (
    Assign,
    Block,
    Call,
    ExpressionStatement,
    Function,
    If,
    Lambda,
    Return,
    Statement,
    Variable,
)
from streamsan.cuda_syntax.unit import read_unit
from streamsan.cuda_syntax.walk import nodes
from streamsan.edits.code_place import Argument, Node
from streamsan.edits.cpp.calls import ASKING, Chains, Written, api_name, stream_argument
from streamsan.edits.cpp.checks import check_at
from streamsan.edits.cpp.command_arguments import into_wait_list, made_blocking, returned_event, returning
from streamsan.edits.cpp.groups import does_nothing_else, groups_at, is_plain_call, is_wait, releases_something
from streamsan.edits.cpp.layout import CppLayout
from streamsan.edits.cpp.names import HandleNames
from streamsan.edits.cpp.nodes import dependent_edits, needs_nothing_else, node_name
from streamsan.edits.cpp.phrases import CppPhrases
from streamsan.edits.cpp.places import CppPlace, loops_around
from streamsan.edits.cpp.reordering import Reordering
from streamsan.edits.cpp.scope import names_in, names_in_statement
from streamsan.edits.cpp.wrapped_commands import (
    into_wrapped_list,
    new_list_name,
    parameters_of,
    returning_wrapped,
    wrapped_blocking,
    wrapped_event,
)
from streamsan.edits.language import Group, Language
from streamsan.edits.layout import NoPlaceError
from streamsan.edits.source import Contents
from streamsan.edits.source_text import SourceText
from streamsan.evidence.fix.change_steps import GRID_WAIT
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.evidence.fix.event_steps import WaitForRecorded
from streamsan.evidence.fix.order_steps import EdgeBetween
from streamsan.evidence.fix.steps import Calls
from streamsan.findings.finding import Edit
from streamsan.order.facts import Operation
from streamsan.platforms import CUDA, OPENCL
from streamsan.trace import Trace


def read(
    path: str, compiler: CompilerOptions, original: Callable[[str], bytes], contents: Contents
) -> Callable[[EditableTrace], Cpp]:
    """Read a source with new contents of files. Returns what makes its language for a trace of it."""
    unit = read_unit(Path(path), compiler, contents=contents)
    files = {}
    for file in unit.files:
        known = contents.get(os.path.realpath(file))
        files[file] = SourceText(original(file) if known is None else known)

    def of_trace(trace: EditableTrace) -> Cpp:
        assert isinstance(trace.trace, Trace)
        return Cpp(Chains(unit, trace.trace), files, trace)

    return of_trace


class Cpp(Language[CppPlace]):
    """The C++ of one source, with a trace of it."""

    layout: CppLayout

    def __init__(self, chains: Chains, files: Mapping[str, SourceText], trace: EditableTrace) -> None:
        self.files = files
        self.layout = CppLayout(files)
        self.reasons: list[str] = []
        self._chains = chains
        self._trace = trace
        self._names = HandleNames(chains, self.layout, trace)
        self._reordering = Reordering(chains.unit)

    def api(self, operation: Operation) -> str:
        return self._trace.trace.apis[operation.api]

    # -- places ---------------------------------------------------------------------------------

    def places(self, site: int) -> list[CppPlace]:
        return [place for place in self._chains.places(site) if place is not None]

    def _levels(self, operation: Operation) -> list[CppPlace]:
        """Return the places of an operation, the innermost first; bodies that are written on one line last."""
        return sorted(self.places(operation.site), key=_is_on_one_line)

    def places_before(self, later: Operation, earlier: Operation) -> Iterator[tuple[CppPlace, bool]]:
        """Yield the places of an operation; before those in a loop that the other is no part of, the loop's.

        Of another host thread's operation not all turns of a loop are behind it: there the loop's place is too early.
        """
        others = self.places(earlier.site)
        for place in self._levels(later):
            if later.thread != earlier.thread:
                yield place, False
                continue
            loops = [loop for loop in loops_around(place) if not any(other.inside(loop.statement) for other in others)]
            # Only the outermost: once is enough.
            yield from ((loop, False) for loop in loops[:1])
            yield place, False

    def places_behind(self, earlier: Operation) -> Iterator[CppPlace]:
        return (place for place in self._levels(earlier) if place.statement is not None)

    def around_both(
        self, first: CppPlace, second: CppPlace, every: Sequence[CppPlace], several: bool
    ) -> Iterator[tuple[CppPlace, CppPlace]]:
        if first.statement is second.statement and first.block is None:
            return
        loops = [place.statement for place in loops_around(first)]
        again = second.span <= first.span  # a loop around both comes back to the wait, with the event of its last turn
        for block in reversed([node for node in first.path if isinstance(node, Block) and second.inside(node)]):
            if not _captured(first, block) or not _captured(second, block):
                continue
            within = first.path[next(number for number, node in enumerate(first.path) if node is block) :]
            repeated = [second.inside(loop) for loop in loops if any(node is loop for node in within)]
            if (several and not all(repeated)) or (again and not any(repeated)):
                continue
            children = [child for place in every if (child := place.child_in(block)) is not None]
            begin = min(children, key=lambda child: child.span[1:3])
            end = max(children, key=lambda child: child.span[1:3])
            if not isinstance(end, Return) and begin.span.file == first.span.file:
                yield first.at(block, begin), first.at(block, end)

    def unit(self, block: Block | None, statement: Statement) -> list[Statement]:
        """Return a statement of a block with the one behind it that looks at its status, or at that of a launch."""
        body = block.body if block is not None else [statement]
        index = next(number for number, each in enumerate(body) if each is statement)
        following = body[index + 1] if index + 1 < len(body) else None
        looks = False
        if isinstance(following, If):
            names = [statement.name] if isinstance(statement, Variable) else []
            if isinstance(statement, ExpressionStatement) and isinstance(statement.expression, Assign):
                names = list(names_in(statement.expression.target))
            looks = any(name in names for name in names_in(following.condition))
        elif isinstance(following, ExpressionStatement) and not is_wait(statement):
            looks = any(isinstance(node, Call) and api_name(node) in ASKING for node in nodes(following))
        return [statement, following] if looks and following is not None else [statement]

    # -- names ----------------------------------------------------------------------------------

    def streams(
        self, earlier: Operation, later: Operation, place: CppPlace, near: Operation, of: Operation
    ) -> list[list[str]]:
        return [self._names.of(of, place)]

    def stream(self, operation: Operation, place: CppPlace, near: Operation) -> list[str]:
        return self._names.of(operation, place)

    def event(self, step: WaitForRecorded, place: CppPlace) -> list[str]:
        return self._names.event_of(step.record, place)

    def event_of_command(self, command: Operation, place: CppPlace) -> list[str]:
        first = next(iter(self._chains.places(command.site)), None)
        event = None if first is None else returned_event(first) or wrapped_event(first)
        return self._names.visible(Written(first, event), place) if first is not None and event is not None else []

    def in_wait_list(self, place: CppPlace, event: str) -> Iterator[Sequence[Edit]]:
        if parameters_of(place.call):
            return into_wrapped_list(place, event, self.layout, new_list_name(self.layout, place.span.file))
        return into_wait_list(place, event, self.layout)

    def returning_event(self, place: CppPlace, event: str) -> Sequence[Edit]:
        return returning(place, event, self.layout) or returning_wrapped(place, event, self.layout)

    def new_event(self, place: CppPlace, event: str) -> tuple[str, str]:
        return (f"cl::Event {event};", "") if parameters_of(place.call) else super().new_event(place, event)

    def blocking(self, place: CppPlace) -> Sequence[Edit]:
        return made_blocking(place, self.layout) or wrapped_blocking(place, self.layout)

    def stream_arguments(self, operation: Operation) -> Iterator[Argument]:
        for written in self._chains.streams(operation.site):
            text = self._names.written(written.expression, written.place)
            if not written.member:
                yield Argument(written.place, text or "", written.expression)

    def sole_argument(self, place: CppPlace) -> str:
        call = place.call
        if not isinstance(call, Call) or stream_argument(call)[0] or len(call.arguments) != 1:
            return ""
        try:
            return self.layout.text(call.arguments[0].span)
        except NoPlaceError:
            return ""

    def phrases(self, place: CppPlace, near: Operation, *operations: Operation) -> CppPhrases:
        apis = [self.api(each) for each in operations]
        platform = next((each for each in (CUDA, OPENCL) if each.interface(next(iter(apis), "")) is not None), CUDA)
        calls = Calls(any(platform.is_low_level(api) for api in apis), platform)
        check = check_at(place, calls.driver, self.layout, self._names.scope(place))
        hidden = check.hides(self._chains.unit.macros)
        return CppPhrases(calls, check, hidden, self.layout.unit(place.span.file))

    def name_in_block(self, wanted: str) -> str:
        macros = self._chains.unit.macros
        return next(name for name in _numbered(wanted) if name not in macros)

    def new_name(self, wanted: str, place: CppPlace) -> str:
        """Return a name that a file does not have."""
        macros = self._chains.unit.macros
        free = (name for name in _numbered(wanted) if name not in macros)
        return next(name for name in free if not self.layout.has_word(place.span.file, name))

    # -- what may be moved, or taken out --------------------------------------------------------

    def groups(self, place: CppPlace, what: Operation, kinds: Collection[int]) -> Iterator[Group]:
        inner = takewhile(lambda each: each is not place, self.places(what.site))
        return groups_at(place) if all(does_nothing_else(each) for each in inner) else iter(())

    def hidden_name(self, group: Group, place: CppPlace) -> str:
        scope = self._names.scope(place)
        names = (name for statement in group.statements for name in names_in_statement(statement))
        return next((name for name in names if not scope.has(name)), "")

    def in_the_way(self, group: Group, place: CppPlace, block: Node, target: Node) -> str:
        assert isinstance(block, Block)
        assert isinstance(target, Statement)
        return self._reordering.in_the_way(group, place, block, target)

    def scope_end(self, place: CppPlace) -> str:
        block = place.block
        if block is None or place.span[3:5] != block.span[3:5]:
            return ""
        name = place.body.name if isinstance(place.body, Function) else "the lambda"
        what = f"`{name}`" if place.body.body is block else f"the block of line {block.span.line}"
        return f"the memory lives until {what} ends, and what owns it would have to outlive that"

    def keeps(self, place: CppPlace, is_called: bool) -> str:
        """Return why a wait stays although nothing in this program needs it: others may use what it is part of."""
        statement, body = place.statement, place.body
        if not isinstance(statement, ExpressionStatement) or not is_plain_call(statement, place.call):
            return "the wait is not a statement of its own"
        if isinstance(body, Function) and (body.destructor or "~" in body.name):
            return "the wait is part of a destructor, which does not know who used the object"
        if body.body is not None and len(body.body.body) == 1 and body.body.body[0] is statement:
            return "the wait is all that its function does"
        following = place.following()
        if is_called and (following is None or isinstance(following, Return) or releases_something(following)):
            return "the wait stands before the end of what a function that is called from elsewhere does"
        return "the wait is in a header" if place.span.file != self._chains.unit.file else ""

    # -- graphs and kernels ---------------------------------------------------------------------

    def dependent(self, first: CppPlace, second: CppPlace, step: EdgeBetween) -> Iterator[tuple[str, list[Edit]]]:
        name = node_name(first)
        if name and self._names.scope(second).has(name):
            only = needs_nothing_else(self._trace, step)
            for edits in dependent_edits(name, second, only, self.layout):
                yield name, edits

    def kernel_wait(self, file: str) -> tuple[str, bool]:
        return f"{GRID_WAIT}();", True


def _numbered(wanted: str) -> Iterator[str]:
    return chain((wanted,), (f"{wanted}_{number}" for number in count(2)))


def _is_on_one_line(place: CppPlace) -> bool:
    return place.block is not None and place.block.span.line == place.block.span.end_line


def _captured(place: CppPlace, block: Block) -> bool:
    """Tell whether the lambdas between a block and a place inside it capture what the block declares."""
    begin = next(index for index, node in enumerate(place.path) if node is block)
    return all(node.default for node in place.path[begin:] if isinstance(node, Lambda))
