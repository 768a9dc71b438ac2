"""Follows a kernel in SPIR-V for all work-items at once: which bytes it reads and writes behind its pointers.

Two ways that part are followed each with the work-items that take it, to where they meet. A loop that counts is an
axis; of others nobody knows how often they turn. What is not followed ends it: then nothing is known of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from streamsan.kernels.axis_sums import Axis, Cut, NotFollowedError, Sum
from streamsan.kernels.spirv import spirv_instructions as op
from streamsan.kernels.spirv.spirv_evaluation import OPPOSITE, Evaluation, State, condition_of
from streamsan.kernels.spirv.spirv_flow import END, Block, Flow
from streamsan.kernels.spirv.spirv_loops import Counted, Loop
from streamsan.kernels.spirv.spirv_module import Instruction, SpirvFunction, SpirvModule
from streamsan.kernels.spirv.spirv_numbers import Comparison, Condition, Joined, Opposite, Value
from streamsan.kernels.work_item_expressions import Geometry, Place, Ways

MOST_CALLS: Final = 4


class _Arrival(NamedTuple):
    """A way that was followed up to some block."""

    at: int
    before: int
    """the block that it came from"""
    state: State


class _Frame(Struct):
    """A function that is followed."""

    flow: Flow
    plain: set[int]
    level: int
    loop: tuple[int, set[int]] | None = None
    """header and labels of the loop that is followed"""
    returned: list[Value] = field(default_factory=list)

    def ends_at(self, label: int, stop: int) -> bool:
        """Tell whether a way is not followed further: it is where others wait, or leaves the loop, or its turn ends."""
        left = self.loop is not None and (label not in self.loop[1] or label == self.loop[0])
        return label == stop or left


class Walk(Evaluation):
    """One launch of one kernel. `found` has what it touches, in bytes, by pointer parameters."""

    def __init__(self, module: SpirvModule, geometry: Geometry) -> None:
        super().__init__(module, geometry)
        self._functions: dict[int, tuple[Flow, set[int]]] = {}

    def run(self, function: SpirvFunction, given: Mapping[int, Value]) -> None:
        """Follow a kernel; `given` are the values of its parameters by their ids. Raises NotFollowedError."""
        for value in given.values():
            if isinstance(value, Place):
                self.found[value.parameter] = Ways()
        self._call(function, given, 0)

    # -- functions and blocks ---------------------------------------------------------------------
    def _call(self, function: SpirvFunction, given: Mapping[int, Value], level: int) -> Value:
        if level > MOST_CALLS or not function.body:
            raise NotFollowedError
        outer = self.state
        self.state = State(dict(given), dict(outer.memory), outer.axes.copy(), outer.sure)
        frame = _Frame(*self._known(function), level)
        self._follow(frame, [_Arrival(frame.flow.first, 0, self.state)], END)
        self.state = outer
        return self.same(frame.returned, outer.axes)

    def _known(self, function: SpirvFunction) -> tuple[Flow, set[int]]:
        """Return how control goes through a function, and its variables that are only loaded and stored."""
        if id(function) not in self._functions:
            self._functions[id(function)] = Flow(function), _plain_variables(function)
        return self._functions[id(function)]

    def called(self, operands: tuple[int, ...], level: int) -> Value:
        """Follow a function that is called; return what it returns."""
        function = self.module.functions.get(operands[0])
        if function is None or not function.body:
            self.unknown(operands[1:])
            return None
        given = {name: self.value(each) for (name, _), each in zip(function.parameters, operands[1:], strict=False)}
        return self._call(function, given, level + 1)

    def _follow(self, frame: _Frame, arrived: list[_Arrival], stop: int, *, turn: bool = False) -> list[_Arrival]:
        """Follow ways that are at one block; return those that have come to `stop`, or to an end of the loop.

        `turn`: the block is the loop's header, whose values are set.
        """
        ended: list[_Arrival] = []
        start = self.state
        while arrived:
            label = arrived[0].at
            if any(each.at != label for each in arrived):
                raise NotFollowedError
            self.state = self._met(arrived, start)
            if label in frame.flow.loops and not turn:
                arrived = self._loop(frame, label, arrived)
            else:
                self._enter(frame.flow.blocks[label], frame, () if turn else arrived)
                start = self.state
                arrived = self._leave(frame, frame.flow.blocks[label])
            turn = False
            ended += [each for each in arrived if frame.ends_at(each.at, stop)]
            arrived = [each for each in arrived if not frame.ends_at(each.at, stop) and each.at != END]
        return ended

    def _met(self, arrived: Sequence[_Arrival], start: State) -> State:
        """Return what is known where ways have met that parted at `start`."""
        if len(arrived) == 1:
            return arrived[0].state
        state = start.copy()
        for name in {name for each in arrived for name in each.state.memory}:
            state.memory[name] = self.same([each.state.memory.get(name) for each in arrived], state.axes)
        return state

    def _enter(self, block: Block, frame: _Frame, arrived: Sequence[_Arrival]) -> None:
        for each in block.body:
            self.step()
            if each.opcode != op.PHI:
                self.instruction(each, frame.plain, frame.level)
            elif arrived:
                self.state.values[each.result] = self._chosen(each, arrived)

    def _chosen(self, each: Instruction, arrived: Sequence[_Arrival]) -> Value:
        """Return the value that a block has of those that the blocks before it bring."""
        pairs = dict(zip(each.operands[1::2], each.operands[::2], strict=False))
        brought = [self.value(pairs.get(way.before, 0), way.state) for way in arrived]
        return self.same(brought, self.state.axes)

    def _leave(self, frame: _Frame, block: Block) -> list[_Arrival]:
        """Follow what comes behind a block, up to where all ways meet."""
        last, followers = block.last, block.followers
        if last.opcode == op.RETURN_VALUE and last.words:
            frame.returned.append(self.value(last.words[0]))
        if len(followers) < 2 or followers[0] == followers[1]:
            return [_Arrival(followers[0], block.label, self.state)] if followers else []
        meet, start = frame.flow.meet[block.label], self.state
        is_plain = last.opcode == op.BRANCH_CONDITIONAL
        condition = condition_of(self.value(last.words[0])) if is_plain else None
        arrived: list[_Arrival] = []
        for number, target in enumerate(followers):
            self.state = start.copy()
            if not is_plain:
                self.state.sure = False
            elif not self._assume(condition, number == 0):
                continue
            way = _Arrival(target, block.label, self.state)
            arrived += [way] if frame.ends_at(target, meet) else self._follow(frame, [way], meet)
        self.state = start
        return arrived

    # -- loops ------------------------------------------------------------------------------------
    def _loop(self, frame: _Frame, header: int, arrived: Sequence[_Arrival]) -> list[_Arrival]:
        start, body = self.state, frame.flow.loops[header]
        entering = lambda each: self._chosen(each, arrived)  # noqa: E731
        loop = Loop(self.module, frame.flow, header, body, frame.plain, start.axes, self.value, entering, start.memory)
        counts, exits = loop.counted(), loop.exits()
        if len({to for _, to in exits}) != 1:
            raise NotFollowedError
        changed = {each.words[0] for each in loop.stored()}
        self.state = self._turns(frame, header, counts, changed, arrived)
        outer, frame.loop = frame.loop, (header, body)
        self._follow(frame, [_Arrival(header, 0, self.state)], END, turn=True)
        frame.loop = outer
        end = start.copy()
        for name in changed:
            self.escape(end.memory.get(name))
            end.memory[name] = None
        return [_Arrival(to, block, end) for block, to in exits]

    def _turns(
        self, frame: _Frame, header: int, counts: Counted | None, changed: Iterable[int], arrived: Sequence[_Arrival]
    ) -> State:
        """Return what is known in each turn of a loop."""
        state = self.state.copy()
        state.sure = state.sure and counts is not None and counts.fixed
        for name in changed:
            self.escape(state.memory.get(name))
            state.memory[name] = None
        for each in frame.flow.blocks[header].body:
            if each.opcode == op.PHI:
                self.escape(self._chosen(each, arrived))
                state.values[each.result] = None
        if counts is not None:
            number = state.axes.unused()
            state.axes.put(number, _rooted(counts, number))
            held = state.memory if counts.counter in frame.plain else state.values
            held[counts.counter] = Sum(0, ((number, 1),))
        return state

    # -- conditions -------------------------------------------------------------------------------
    def _assume(self, condition: Condition, truth: bool) -> bool:
        """Go on with the work-items for which a condition is so; tell whether there are any."""
        if isinstance(condition, Opposite):
            return self._assume(condition.of, not truth)
        if isinstance(condition, Joined) and condition.both is truth:
            return self._assume(condition.left, truth) and self._assume(condition.right, truth)
        if not isinstance(condition, Comparison):
            self.state.sure = False
            return True
        operator = condition.operator if truth else OPPOSITE[condition.operator]
        done = self.state.axes.cut(condition.left, operator, condition.right)
        self.state.sure = self.state.sure and done is not Cut.UNSURE
        return done is not Cut.NONE


def _plain_variables(function: SpirvFunction) -> set[int]:
    """Return the variables that are only loaded and stored: each has one value."""
    found = {each.result for each in function.body if each.opcode == op.VARIABLE}
    for each in function.body:
        if each.opcode not in op.HARMLESS:
            found.difference_update(each.operands[1:] if each.opcode in (op.LOAD, op.STORE) else each.operands)
    return found


def _rooted(counts: Counted, number: int) -> Axis:
    return replace(counts.axis, roots=frozenset({number}))
