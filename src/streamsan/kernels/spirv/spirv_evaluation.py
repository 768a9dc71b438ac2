"""What single instructions of SPIR-V do, for all work-items at once: the values they make, the bytes they touch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence, Set
from contextlib import suppress
from typing import Final

from msgspec import Struct

from streamsan.kernels.axis_sums import Axes, Cut, NotFollowedError, Sum
from streamsan.kernels.spirv import spirv_instructions as op
from streamsan.kernels.spirv.spirv_items import axes_of, built_in
from streamsan.kernels.spirv.spirv_module import Instruction, SpirvModule
from streamsan.kernels.spirv.spirv_numbers import (
    Comparison,
    Condition,
    Joined,
    Opposite,
    Value,
    calculated,
    compared,
    converted,
    fitting,
    moved,
    pointee,
    shifted,
    size_of,
)
from streamsan.kernels.work_item_expressions import Elements, Geometry, Place, Ways

MOST_STEPS: Final = 20_000
MOST_ACCESSES: Final = 512
OPPOSITE: Final = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}
_OWN: Final = frozenset((op.INPUT, op.WORKGROUP, op.PRIVATE, op.FUNCTION_MEMORY))
"""storage classes of memory that no argument leads to"""
_LIMITS: Final = {156: False, 157: False, 158: True, 159: True}
"""functions of the standard set: the larger (False) and the smaller of two numbers"""
_CLAMPS: Final = frozenset((149, 150))
_UNSIGNED_LIMITS: Final = frozenset((150, 157, 159))
_CHAINS_OF_ELEMENTS: Final = frozenset((67, 70))
_VALUES: Final = frozenset(
    (*op.ELEMENTS, *op.POINTERS_AS_THEY_ARE, *op.CONVERSIONS, *op.COMPARISONS, *op.NUMBERS_ONLY, *op.ARITHMETIC)
) | {op.COMPOSITE_EXTRACT, op.LOGICAL_NOT, op.LOGICAL_AND, op.LOGICAL_OR, op.SELECT}


class State(Struct):
    """What is known at a point of one way."""

    values: dict[int, Value]
    memory: dict[int, Value]
    """of variables that are only loaded and stored"""
    axes: Axes
    sure: bool = True
    """all work-items that the axes have come here"""

    def copy(self) -> State:
        """Return the same, which changes apart from this."""
        return State(dict(self.values), dict(self.memory), self.axes.copy(), self.sure)


class Evaluation(ABC):
    """Follows instructions. What follows the ways between them is a class below it."""

    def __init__(self, module: SpirvModule, geometry: Geometry) -> None:
        self.module = module
        self._geometry = geometry
        self.found: dict[str, Ways] = {}
        self.escaped: set[str] = set()
        """parameters whose pointers go where they are not followed"""
        self.state = State({}, {}, axes_of(geometry))
        self._steps = self._accesses = 0

    @abstractmethod
    def called(self, operands: tuple[int, ...], level: int) -> Value:
        """Follow a function that is called; return what it returns."""

    def step(self) -> None:
        """Count an instruction; there is an end."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise NotFollowedError

    def instruction(self, each: Instruction, plain: Set[int], level: int) -> None:
        """Follow one instruction of a function; `plain`: its variables that are only loaded and stored."""
        opcode, operands = each.opcode, each.operands
        values = self.state.values
        if opcode == op.LOAD and operands:
            values[each.result] = self._loaded(each, plain)
        elif opcode == op.STORE and len(operands) >= 2:
            self._stored(operands, plain)
        elif opcode == op.FUNCTION_CALL and operands:
            values[each.result] = self.called(operands, level)
        elif opcode == op.EXT_INST and len(operands) >= 2:
            values[each.result] = self._extended(each)
        elif opcode in (op.VARIABLE, op.CONTROL_BARRIER, op.MEMORY_BARRIER) or opcode in op.HARMLESS:
            return
        elif each.result and opcode in _VALUES:
            values[each.result] = self._made(each)
        else:
            self.unknown(operands)

    def _loaded(self, each: Instruction, plain: Set[int]) -> Value:
        pointer = each.operands[0]
        if pointer in plain:
            return self.state.memory.get(pointer)
        says = self.module.built_in.get(pointer)
        if says is not None and pointer in self.module.variables:
            return built_in(says, self._geometry)
        self._access(pointer, each.words[0], reads=True)
        return None

    def _stored(self, operands: tuple[int, ...], plain: Set[int]) -> None:
        pointer, value = operands[0], self.value(operands[1])
        if pointer in plain:
            self.state.memory[pointer] = value
            return
        self.escape(value)
        self._access(pointer, None, writes=True)

    def _access(self, pointer: int, type_id: int | None, *, reads: bool = False, writes: bool = False) -> None:
        """Note that bytes are touched: as many as what the pointer leads to has, or a type."""
        place = self.value(pointer)
        if not isinstance(place, Place):
            if not self._is_own(pointer):
                raise NotFollowedError  # it may be any argument's memory
            return
        self._accesses += 1
        if self._accesses > MOST_ACCESSES:
            raise NotFollowedError
        if type_id is None:
            type_id = pointee(self.module, self.module.type_of(pointer))
        size = None if type_id is None else size_of(self.module, type_id)
        touched: Elements | None = None
        if place.offset is not None and size is not None:
            low, high = self.state.axes.bounds(place.offset)
            # What lies before the pointer cannot be meant.
            sure = self.state.sure and low >= 0 and self.state.axes.is_dense(place.offset, size)
            touched = Elements(max(0, low), high + size, sure)
            if touched.end <= touched.begin:
                touched = None
        ways = self.found[place.parameter]
        if reads:
            ways.reads.append(touched)
        if writes:
            ways.writes.append(touched)

    def _is_own(self, pointer: int) -> bool:
        storage = self.module.variables.get(pointer)
        return (self.module.storage(self.module.type_of(pointer)) if storage is None else storage) in _OWN

    def _extended(self, each: Instruction) -> Value:
        family, number = self.module.instruction_sets.get(each.operands[0], ""), each.operands[1]
        given = each.operands[2:]
        if family.startswith(op.DEBUG_SETS):
            return None
        self.unknown(given)
        worth = [self.value(name) for name in given]
        numbers = [value for value in worth if isinstance(value, Sum)]
        if family != op.STANDARD_SET or len(numbers) != len(worth):
            return None
        if number in _UNSIGNED_LIMITS and any(self.state.axes.bounds(value)[0] < 0 for value in numbers):
            return None
        axes = self.state.axes
        if number in _LIMITS and len(numbers) == 2:
            return axes.limited(numbers[0], numbers[1], _LIMITS[number])
        if number in _CLAMPS and len(numbers) == 3:
            least = axes.limited(numbers[0], numbers[1], False)
            return None if least is None else axes.limited(least, numbers[2], True)
        return None

    def _made(self, each: Instruction) -> Value:
        """Return the value of an instruction that touches no memory."""
        opcode, operands = each.opcode, each.operands
        worth = [self.value(name) for name in operands[:3]]
        first = worth[0] if worth else None
        second = worth[1] if len(worth) > 1 else None
        if opcode in op.ELEMENTS:
            indices = tuple(self.value(name) for name in operands[1:])
            if not isinstance(first, Place):
                return None
            return moved(self.module, first, self.module.type_of(operands[0]), indices, opcode in _CHAINS_OF_ELEMENTS)
        if opcode in op.POINTERS_AS_THEY_ARE:
            return first
        if opcode in op.CONVERSIONS:
            kept = converted(self.module, self.state.axes, opcode, first, each.words[0])
            if kept is None:
                self.escape(first)
            return kept
        if opcode == op.COMPOSITE_EXTRACT:
            at = operands[1] if len(operands) == 2 else -1
            return first[at] if isinstance(first, tuple) and 0 <= at < len(first) else None
        if opcode in op.COMPARISONS:
            return compared(self.state.axes, opcode, first, second)
        if opcode == op.LOGICAL_NOT:
            return Opposite(condition_of(first))
        if opcode in (op.LOGICAL_AND, op.LOGICAL_OR):
            return Joined(opcode == op.LOGICAL_AND, condition_of(first), condition_of(second))
        if opcode == op.SELECT and len(worth) == 3:
            return self._selected(condition_of(first), second, worth[2])
        if (moved_bits := shifted(self.module, self.state.axes, opcode, first, second, each.words[0])) is not None:
            return moved_bits
        if opcode in op.ARITHMETIC and isinstance(first, Sum) and isinstance(second, Sum):
            with suppress(NotFollowedError):  # it is too large
                made = calculated(self.state.axes, opcode, first, second)
                return fitting(self.module, self.state.axes, made, each.words[0])
            return None
        if opcode in op.NUMBERS_ONLY:
            return None
        for value in worth:
            self.escape(value)
        return None

    def _selected(self, condition: Condition, one: Value, other: Value) -> Value:
        if one == other:
            return one
        if (holds := self._decided(condition)) is not None:
            return one if holds else other
        if isinstance(one, Sum) and isinstance(other, Sum):
            ends = [*self.state.axes.bounds(one), *self.state.axes.bounds(other)]
            return self.state.axes.between(min(ends), max(ends), None)
        if isinstance(other, Sum) and other == Sum(0) and not isinstance(one, Sum | Place):
            return Joined(True, condition, condition_of(one))
        if isinstance(one, Sum) and one == Sum(1) and not isinstance(other, Sum | Place):
            return Joined(False, condition, condition_of(other))
        self.escape(one)
        self.escape(other)
        return None

    def _decided(self, condition: Condition) -> bool | None:
        """Tell whether a condition holds for all work-items (True), or for none."""
        if not isinstance(condition, Comparison):
            return None
        for holds, operator in ((False, condition.operator), (True, OPPOSITE[condition.operator])):
            if self.state.axes.copy().cut(condition.left, operator, condition.right) is Cut.NONE:
                return holds
        return None

    def unknown(self, operands: Iterable[int]) -> None:
        """An instruction may do anything with what it is given."""
        for name in operands:
            value = self.value(name)
            self.escape(value)
            if value is None and self.module.storage(self.module.type_of(name)) is not None and not self._is_own(name):
                raise NotFollowedError

    def escape(self, value: Value) -> None:
        """A pointer goes where it is not followed."""
        if isinstance(value, Place):
            self.escaped.add(value.parameter)

    def value(self, name: int, state: State | None = None) -> Value:
        """Return what a name stands for; None: not known."""
        values = (state or self.state).values
        if name in values:
            return values[name]
        known = self.module.constants.get(name)
        if isinstance(known, tuple):
            return tuple(None if part is None else Sum(part) for part in known)
        return None if known is None else Sum(known)

    def same(self, values: Sequence[Value], axes: Axes) -> Value:
        """Return the value that all of some are, as far as it is known where they meet. Places that differ are lost."""
        first = values[0] if values else None
        if all(each == first for each in values) and _is_known(first, axes):
            return first
        for each in values:
            self.escape(each)
        return None


def condition_of(value: Value) -> Condition:
    """Return the condition that a value is not 0."""
    if isinstance(value, Comparison | Joined | Opposite):
        return value
    return Comparison("!=", value, Sum(0)) if isinstance(value, Sum) else None


def _is_known(value: Value, axes: Axes) -> bool:
    """Tell whether a value says something where these axes are known."""
    if isinstance(value, Place):
        return value.offset is None or _is_known(value.offset, axes)
    if isinstance(value, Sum):
        return all(name in axes.by_name for name, _ in value.terms)
    return value is None or isinstance(value, tuple)
