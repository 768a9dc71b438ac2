"""Loops of SPIR-V that count upwards: which value counts, and the numbers that it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from streamsan.kernels.axis_sums import Axes, Axis, Sum
from streamsan.kernels.spirv import spirv_instructions as op
from streamsan.kernels.spirv.spirv_flow import Flow
from streamsan.kernels.spirv.spirv_module import Instruction, SpirvModule
from streamsan.kernels.spirv.spirv_numbers import UNSIGNED, Value

_OPPOSITE: Final = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}
_MIRRORED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
_PLUS: Final = 128
_WIDTHS: Final = frozenset((113, 114))


class Counted(Struct, frozen=True):
    """A loop that counts."""

    counter: int
    """what counts: a value of the loop's header, or a variable"""
    axis: Axis
    fixed: bool
    """all work-items turn as often"""


class Loop(Struct, frozen=True):
    """One loop of a function, and what is known before it."""

    module: SpirvModule
    flow: Flow
    header: int
    body: set[int]
    plain: set[int]
    """variables that are only loaded and stored"""
    axes: Axes
    value: Callable[[int], Value]
    entering: Callable[[Instruction], Value]
    """gives what a value of the header is at first"""
    memory: Mapping[int, Value]

    def exits(self) -> list[tuple[int, int]]:
        """Return the edges that lead out of it."""
        blocks = self.flow.blocks
        return [(name, to) for name in self.body for to in blocks[name].followers if to not in self.body]

    def stored(self) -> list[Instruction]:
        """Return the stores to plain variables in it."""
        return [each for each in self._instructions() if each.opcode == op.STORE and each.words[0] in self.plain]

    def counted(self) -> Counted | None:
        """Return how it counts; None where nobody knows how often it turns."""
        exits = self.exits()
        if len(exits) != 1:
            return None
        last = self.flow.blocks[exits[0][0]].last
        made = {each.result: each for each in self._instructions() if each.result}
        condition = made.get(last.words[0]) if last.opcode == op.BRANCH_CONDITIONAL else None
        if condition is None or condition.opcode not in op.COMPARISONS or len(condition.operands) < 2:
            return None
        operator = op.COMPARISONS[condition.opcode]
        operator = operator if last.words[1] in self.body else _OPPOSITE[operator]
        for one, other, way in (
            (condition.operands[0], condition.operands[1], operator),
            (condition.operands[1], condition.operands[0], _MIRRORED[operator]),
        ):
            counter = self._counter(self._plainly(one, made), made)
            end = self._fixed(other, made)
            if counter is not None and isinstance(end, Sum):
                axis = self._axis(counter, way, end, condition.opcode in UNSIGNED)
                if axis is not None:
                    return Counted(counter.name, *axis)
        return None

    def _instructions(self) -> list[Instruction]:
        return [each for name in self.body for each in self.flow.blocks[name].body]

    def _plainly(self, name: int, made: Mapping[int, Instruction]) -> int:
        """Return a value without its conversions."""
        while name in made and made[name].opcode in _WIDTHS:
            name = made[name].operands[0]
        return name

    def _fixed(self, name: int, made: Mapping[int, Instruction]) -> Value:
        """Return a value that no turn changes."""
        name = self._plainly(name, made)
        each = made.get(name)
        if each is None:
            return self.value(name)
        changed = {store.words[0] for store in self.stored()}
        loads = each.opcode == op.LOAD and each.operands[0] in self.plain - changed
        return self.memory.get(each.operands[0]) if loads else None

    def _counter(self, name: int, made: Mapping[int, Instruction]) -> _Counter | None:
        each = made.get(name)
        if each is None:
            return None
        if each.opcode == op.PHI:
            return self._of_header(name, made, is_next=False)
        if each.opcode == op.LOAD and each.operands[0] in self.plain:
            return self._of_variable(each.operands[0], made)
        if each.opcode == _PLUS:
            for operand in each.operands[:2]:
                found = self._of_header(operand, made, is_next=True)
                if found is not None and found.following == name:
                    return found
        return None

    def _of_header(self, name: int, made: Mapping[int, Instruction], *, is_next: bool) -> _Counter | None:
        each = made.get(name)
        if each is None or each.opcode != op.PHI or each not in self.flow.blocks[self.header].body:
            return None
        pairs = zip(each.operands[::2], each.operands[1::2], strict=False)
        following = {value for value, before in pairs if before in self.body}
        start = self.entering(each)
        if len(following) != 1 or not isinstance(start, Sum):
            return None
        after = following.pop()
        step = self._step(made.get(after), name, made)
        return None if step is None else _Counter(name, start, step, after, is_next)

    def _of_variable(self, name: int, made: Mapping[int, Instruction]) -> _Counter | None:
        stores = [each for each in self.stored() if each.words[0] == name]
        start = self.memory.get(name)
        if len(stores) != 1 or not isinstance(start, Sum):
            return None
        after = made.get(stores[0].words[1])
        loads = [each.result for each in made.values() if each.opcode == op.LOAD and each.operands[0] == name]
        steps = [step for load in loads if (step := self._step(after, load, made)) is not None]
        return _Counter(name, start, steps[0], 0, False) if steps else None

    def _step(self, each: Instruction | None, counter: int, made: Mapping[int, Instruction]) -> int | None:
        if each is None or each.opcode != _PLUS or counter not in each.operands[:2]:
            return None
        other = each.operands[1] if each.operands[0] == counter else each.operands[0]
        step = self.module.constants.get(other)
        return step if isinstance(step, int) and step > 0 else None

    def _axis(self, counter: _Counter, operator: str, end: Sum, unsigned: bool) -> tuple[Axis, bool] | None:
        (low, most), (least, high) = self.axes.bounds(counter.start), self.axes.bounds(end)
        fixed = low == most and least == high
        if operator not in ("<", "<=", "!=") or (unsigned and min(low, least) < 0):
            return None
        if operator == "!=" and not (fixed and counter.step == 1 and low < high):
            return None
        last = high if operator == "<=" else high - 1
        if not counter.is_next:
            last += counter.step  # with that number the condition is asked for the last time
        last = max(last, most)
        if counter.step > 1 and fixed and last >= low:
            last = low + (last - low) // counter.step * counter.step
        dense = fixed and counter.step == 1
        return Axis(low, last, dense, frozenset()), fixed


class _Counter(Struct, frozen=True):
    name: int
    start: Sum
    step: int
    following: int
    is_next: bool
    """the condition asks for the number of the next turn"""
