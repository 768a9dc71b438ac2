"""What the first work-item of a kernel in SPIR-V surely touches: the first element behind a parameter, if it must.

Its instructions are followed in their order, where every index is 0. An offset counts as 0 only when it is built from
indices, constants and sizes. Branches must be decided by such values; a range guard (`i < n`, with a number that the
launch is given) is taken to hold. A loop's second round, and what follows it, is not looked at.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Final, NamedTuple

from streamsan.kernels.spirv import spirv_instructions as op
from streamsan.kernels.spirv.spirv_module import Instruction, SpirvFunction, SpirvModule
from streamsan.kernels.thread_numbers import POSITIVE, At, Sign, calculated, compared

MOST_STEPS = 100_000
DEEPEST_CALL = 16


class Given:
    """A number that comes straight from the launch: it may bound a range."""


class Truth(NamedTuple):
    """How a condition is decided."""

    holds: bool
    is_guard: bool
    """that is only taken to be so"""


GIVEN: Final = Given()
Known = int | Sign | At | Given | Truth | tuple["int | Sign | None", ...] | None
"""None: nothing is known"""


class _Ends(Exception):  # noqa: N818
    """From here on nothing is sure."""


class TouchedFirst:
    """The parameters whose first element a kernel surely reads, or writes, by their positions."""

    def __init__(self, module: SpirvModule, kernel: int) -> None:
        self.reads: set[int] = set()
        self.writes: set[int] = set()
        self._module = module
        self._steps = 0
        given: list[Known] = []
        function = module.functions[kernel]
        for position, (_, kind) in enumerate(function.parameters):
            of_type = module.types.get(kind)
            names_memory = of_type is not None and of_type.opcode in (op.TYPE_POINTER, op.TYPE_IMAGE)
            given.append(At(str(position)) if names_memory else GIVEN)
        with suppress(_Ends):
            self._call(function, given, 0)

    def touch(self, where: Known, reads: bool, writes: bool) -> None:
        """Note an access of the first element."""
        if isinstance(where, At):
            position = int(where.parameter)
            self.reads.update((position,) if reads else ())
            self.writes.update((position,) if writes else ())

    def _call(self, function: SpirvFunction, given: list[Known], level: int) -> Known:
        return _Walk(self, self._module, function, given, level).run()

    def called(self, name: int, given: list[Known], level: int) -> Known:
        """Follow a function that is called; return what it returns."""
        function = self._module.functions.get(name)
        if function is None or not function.body or level >= DEEPEST_CALL:
            raise _Ends
        return self._call(function, given, level + 1)

    def step(self, many: int = 1) -> None:
        """Count instructions; there is an end."""
        self._steps += many
        if self._steps > MOST_STEPS:
            raise _Ends


class _Walk:
    """One function, for the first work-item."""

    def __init__(
        self, found: TouchedFirst, module: SpirvModule, function: SpirvFunction, given: list[Known], level: int
    ) -> None:
        self._found = found
        self._module = module
        self._level = level
        self._body = function.body
        self._values: dict[int, Known] = {
            name: value for (name, _), value in zip(function.parameters, given, strict=False)
        }
        found.step(len(self._body) // 8)  # to look over it
        self._blocks: dict[int, int] = {}
        self._ways_to: Counter[int] = Counter()
        for at, each in enumerate(self._body):
            if each.opcode == op.LABEL and each.words:
                self._blocks[each.words[0]] = at
            elif each.opcode == op.BRANCH:
                self._ways_to.update(each.words[:1])
            elif each.opcode == op.BRANCH_CONDITIONAL:
                self._ways_to.update(each.words[1:3])
        self._plain = _plain_variables(self._body)
        self._memory: dict[int, Known] = {}

    def run(self) -> Known:
        """Follow the function to its end."""
        seen: set[int] = set()
        at, before, label = 0, 0, 0
        while at < len(self._body):
            each = self._body[at]
            self._found.step()
            if each.opcode == op.LABEL and each.words:
                if each.words[0] in seen:
                    raise _Ends
                before, label = label, each.words[0]
                seen.add(label)
            elif each.opcode in (op.BRANCH, op.BRANCH_CONDITIONAL, op.SWITCH):
                at = self._blocks.get(self._target(each), len(self._body))
                continue
            elif each.opcode == op.RETURN:
                return None
            elif each.opcode == op.RETURN_VALUE:
                return self._value(each.words[0]) if each.words else None
            elif each.opcode == op.PHI:
                pairs = dict(zip(each.operands[1::2], each.operands[::2], strict=False))
                self._values[each.result] = self._value(pairs.get(before, 0))
            else:
                self._instruction(each)
            at += 1
        raise _Ends

    def _target(self, each: Instruction) -> int:
        words = each.words
        if each.opcode == op.BRANCH and words:
            return words[0]
        if each.opcode != op.BRANCH_CONDITIONAL or len(words) < 3:
            raise _Ends
        truth = _truth(self._value(words[0]))
        if truth is None:
            raise _Ends
        taken, other = (words[1], words[2]) if truth.holds else (words[2], words[1])
        if truth.is_guard and not self._leads_on(other):
            raise _Ends
        return taken

    def _leads_on(self, label: int) -> bool:
        """Tell whether a block is where others go too, or only returns: what a guard skips to."""
        at = self._blocks.get(label)
        if at is None:
            return False
        if self._body[at + 1 : at + 2] and self._body[at + 1].opcode == op.RETURN:
            return True
        return self._ways_to[label] > 1

    def _instruction(self, each: Instruction) -> None:
        opcode, operands = each.opcode, each.operands
        if opcode == op.LOAD and operands:
            self._values[each.result] = self._loaded(operands[0])
        elif opcode == op.STORE and len(operands) >= 2:
            if operands[0] in self._plain:
                self._memory[operands[0]] = self._value(operands[1])
            self._found.touch(self._value(operands[0]), reads=False, writes=True)
        elif opcode in (op.COPY_MEMORY, op.COPY_MEMORY_SIZED) and len(operands) >= 2:
            self._found.touch(self._value(operands[0]), reads=False, writes=True)
            self._found.touch(self._value(operands[1]), reads=True, writes=False)
        elif opcode in op.ATOMICS and operands:
            self._found.touch(self._value(operands[0]), reads=True, writes=opcode != op.ATOMIC_LOAD)
        elif (opcode in op.READS or opcode in op.WRITES) and len(operands) >= 2:
            if opcode in op.OF_PIXELS and self._is_origin(operands[1]):
                self._found.touch(self._value(operands[0]), reads=opcode in op.READS, writes=opcode in op.WRITES)
        elif opcode == op.FUNCTION_CALL and operands:
            given = [self._value(name) for name in operands[1:]]
            self._values[each.result] = self._found.called(operands[0], given, self._level)
        elif opcode == op.EXT_INST and len(operands) >= 2:
            self._extended(operands)
        elif each.result:
            self._values[each.result] = self._made(opcode, operands)

    def _loaded(self, pointer: int) -> Known:
        if pointer in self._plain:
            return self._memory.get(pointer)
        says = self._module.built_in.get(pointer)
        if says is not None and pointer in self._module.variables:
            if says in op.FIRST_ITEMS_INDICES:
                return (0, 0, 0)
            return (POSITIVE, POSITIVE, POSITIVE) if says in op.SIZES else None
        self._found.touch(self._value(pointer), reads=True, writes=False)
        return None

    def _extended(self, operands: tuple[int, ...]) -> None:
        known = None
        if self._module.instruction_sets.get(operands[0]) == op.STANDARD_SET:
            known = op.STANDARD_CALLS.get(operands[1])
        given = operands[2:]
        if known is None or known.pointer >= len(given):
            return
        if known.offset is None or self._number(given[known.offset]) == 0:
            self._found.touch(self._value(given[known.pointer]), reads=not known.writes, writes=known.writes)

    def _made(self, opcode: int, operands: tuple[int, ...]) -> Known:
        """Return the value of an instruction that touches no memory."""
        first = self._value(operands[0]) if operands else None
        if opcode in op.CONVERSIONS or opcode in op.POINTERS_AS_THEY_ARE:
            return first
        if opcode in op.ELEMENTS:
            at_first = isinstance(first, At) and all(self._number(index) == 0 for index in operands[1:])
            return first if at_first else None
        if opcode == op.SAMPLED_IMAGE:
            return first
        if opcode in (op.COMPOSITE_CONSTRUCT, op.COMPOSITE_INSERT):
            return self._vector(opcode, operands)
        if opcode == op.COMPOSITE_EXTRACT and isinstance(first, tuple) and len(operands) == 2:
            return first[operands[1]] if operands[1] < len(first) else None
        if opcode == op.COMPOSITE_EXTRACT and len(operands) >= 2 and first == (0, 0, 0):
            return 0
        if len(operands) < 2:
            truth = _truth(first) if opcode == op.LOGICAL_NOT else None
            return None if truth is None else Truth(not truth.holds, truth.is_guard)
        second = self._value(operands[1])
        if opcode in op.COMPARISONS:
            return _comparison(op.COMPARISONS[opcode], first, second)
        if opcode in (op.LOGICAL_OR, op.LOGICAL_AND):
            return _both(_truth(first), _truth(second), opcode == op.LOGICAL_AND)
        if opcode == op.SELECT and len(operands) >= 3:
            return _selected(_truth(first), second, self._value(operands[2]))
        if opcode in op.ARITHMETIC:
            return _sum(op.ARITHMETIC[opcode], first, second)
        return None

    def _vector(self, opcode: int, operands: tuple[int, ...]) -> Known:
        """Return a vector of numbers as it is put together."""
        if opcode == op.COMPOSITE_CONSTRUCT:
            return tuple(self._number(part) for part in operands) if len(operands) <= op.WIDEST else None
        if len(operands) != 3 or operands[2] >= op.WIDEST:
            return None
        into = self._value(operands[1])
        parts = list(into) if isinstance(into, tuple) else []
        parts += [None] * (operands[2] + 1 - len(parts))
        parts[operands[2]] = self._number(operands[0])
        return tuple(parts)

    def _is_origin(self, coordinates: int) -> bool:
        value = self._value(coordinates)
        return value == 0 or (isinstance(value, tuple) and bool(value) and all(part == 0 for part in value))

    def _value(self, name: int) -> Known:
        if name in self._values:
            return self._values[name]
        return self._module.constants.get(name)

    def _number(self, name: int) -> int | None:
        value = self._value(name)
        return value if isinstance(value, int) else None


def _plain_variables(body: list[Instruction]) -> set[int]:
    """Return the variables that are only loaded and stored: each has one value."""
    found = {each.result for each in body if each.opcode == op.VARIABLE}
    for each in body:
        if each.opcode not in op.HARMLESS:
            found.difference_update(each.operands[1:] if each.opcode in (op.LOAD, op.STORE) else each.operands)
    return found


def _truth(value: Known) -> Truth | None:
    if isinstance(value, Truth):
        return value
    return Truth(value != 0, False) if isinstance(value, int) else None


def _selected(truth: Truth | None, first: Known, second: Known) -> Known:
    if truth is None:
        return first if first == second else None
    chosen = first if truth.holds else second
    if not truth.is_guard:
        return chosen
    # Conditions that are joined: a guard says nothing of numbers.
    decided = _truth(chosen) if isinstance(first, Truth) or isinstance(second, Truth) else None
    return None if decided is None else Truth(decided.holds, True)


def _sum(operator: str, left: Known, right: Known) -> Known:
    if isinstance(left, Truth | tuple) or isinstance(right, Truth | tuple):
        return None
    if isinstance(left, Given) or isinstance(right, Given):
        if operator in ("*", "&") and 0 in (left, right):
            return 0
        return GIVEN if isinstance(left, int | Given) and isinstance(right, int | Given) else None
    return calculated(operator, left, right)


def _comparison(operator: str, left: Known, right: Known) -> Known:
    """Decide a comparison; of an index with a number that the launch was given: as a range guard does."""
    if isinstance(left, int) and isinstance(right, int):
        return Truth(compared(operator, left, right), False)
    if isinstance(right, Sign) and left == 0:
        return Truth(operator in ("<", "<=", "!="), False)
    if isinstance(left, Sign) and right == 0:
        return Truth(operator in (">", ">=", "!="), False)
    if isinstance(left, int) and isinstance(right, Given) and operator not in ("==", "!="):
        return Truth(operator in ("<", "<="), True)
    if isinstance(left, Given) and isinstance(right, int) and operator not in ("==", "!="):
        return Truth(operator in (">", ">="), True)
    return None


def _both(left: Truth | None, right: Truth | None, every: bool) -> Truth | None:
    """Return whether both hold, or (not `every`) one of them."""
    for each in (left, right):
        if each is not None and each.holds != every and not each.is_guard:
            return each
    if left is None or right is None:
        return None
    holds = (left.holds and right.holds) if every else (left.holds or right.holds)
    return Truth(holds, left.is_guard or right.is_guard)
