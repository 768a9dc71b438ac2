"""Which words of a kernel's parameters are tensor maps that it copies by, and in which direction.

A tensor map is a structure of 128 bytes that the driver made; the address of its tensor comes first. The kernel names a
map by the map's own address: that of its parameters, which stands in a word of constant memory before them, plus an
offset. These sums are followed through the registers. Where one of the maps cannot be told, none is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from streamsan.machine_code.control_flow import TooManyWaysError, blocks_of
from streamsan.machine_code.cubin import KernelLayout
from streamsan.machine_code.disassembler import Instruction
from streamsan.machine_code.instruction_operands import Address, Constant, Register, operand
from streamsan.machine_code.machine_operations import Operation, Source, defined_by, operation_of

READS, WRITES, UPDATES = 1, 2, 4
_COPIES = {"UTMALDG": READS, "UTMASTG": WRITES, "UTMAREDG": UPDATES}
_BASES = {0x210: {0x198: 0, 0xC0: -0x210}, 0x380: {0x348: 0}}
"""by where the parameters begin in constant bank 0 (sm_90; sm_100 and later): the words before them that hold an
address, and where in the parameters it points. Seen in code of nvcc 13, cuBLAS 13 and cuDNN 9."""
MOST_VALUES = 16
"""that a register may have"""
_LOADS = frozenset({"LDC", "ULDC", "LDCU"})
_SUMS = frozenset({"IADD3", "UIADD3", "IADD", "UIADD", "VIADD"})
_MOVES = frozenset({"MOV", "UMOV", "R2UR"})
_CHOICES = frozenset({"SEL", "USEL"})

_Values = tuple[bool, frozenset[int]]
"""what a register may hold, its lower half where it is an address: whether that counts from the parameters, and the
numbers"""
_State = dict[int, _Values]
"""by registers; of others nothing is known"""
_ZERO: _Values = (False, frozenset({0}))


def copies_by_maps(instructions: Sequence[Instruction]) -> bool:
    """Tell whether a kernel copies by tensor maps."""
    return any(_name(each) in _COPIES for each in instructions)


def tensor_maps(
    instructions: Sequence[Instruction], labels: Mapping[str, int], layout: KernelLayout
) -> dict[int, int] | None:
    """Return where each map lies that a kernel copies by, with READS, WRITES and UPDATES; None: not all are known."""
    bases = _BASES.get(layout.base)
    if bases is None:
        return None
    words = {word for parameter in layout.parameters for word in parameter.words}
    found: dict[int, int] = {}
    for at, state in _states(instructions, labels, bases):
        offsets = _named(instructions[at], state)
        if offsets is None or not words.issuperset(offsets):
            return None
        for offset in offsets:
            found[offset] = found.get(offset, 0) | _COPIES[_name(instructions[at])]
    return found


def _name(instruction: Instruction) -> str:
    return instruction.opcode.partition(".")[0]


def _named(instruction: Instruction, state: _State | None) -> frozenset[int] | None:
    """Return where in the parameters the map of a copy may lie; None where that is not known."""
    where = operand(instruction.operands[1]) if len(instruction.operands) > 1 else None
    if state is None or not isinstance(where, Address) or len(where.registers) != 1 or where.constant:
        return None
    number = where.registers[0].number
    based, offsets = state.get(number, _ZERO) if number is not None else _ZERO
    return offsets if based else None


def _states(
    instructions: Sequence[Instruction], labels: Mapping[str, int], bases: Mapping[int, int]
) -> Iterable[tuple[int, _State | None]]:
    """Yield the copies, by their index, with what is known before each; None for all where there are too many ways."""
    copies = [at for at, each in enumerate(instructions) if _name(each) in _COPIES]
    try:
        blocks, _ = blocks_of(instructions, labels)
    except TooManyWaysError:
        return [(at, None) for at in copies]
    code = [[operation_of(at, instructions[at]) for at in range(block.begin, block.end)] for block in blocks]
    before: dict[int, _State] = {0: {}}
    pending = [0]
    while pending:
        number = pending.pop()
        state = dict(before[number])
        for operation in code[number]:
            _follow(operation, state, bases)
        for successor in blocks[number].successors:
            known = before.get(successor)
            joined = state if known is None else _joined(known, state)
            if joined != known:
                before[successor] = dict(joined)
                pending.append(successor)
    found: list[tuple[int, _State | None]] = []
    for number, state in before.items():
        for operation in code[number]:
            if operation.at in copies:
                found.append((operation.at, dict(state)))
            _follow(operation, state, bases)
    return found


def _joined(one: _State, other: _State) -> _State:
    """Return what is known where two ways meet."""
    found = {}
    for number in one.keys() & other.keys():
        either = _either(one[number], other[number])
        if either is not None:
            found[number] = either
    return found


def _either(one: _Values | None, other: _Values | None) -> _Values | None:
    if one is None or other is None or one[0] != other[0]:
        return None
    numbers = one[1] | other[1]
    return (one[0], numbers) if len(numbers) <= MOST_VALUES else None


def _follow(operation: Operation, state: _State, bases: Mapping[int, int]) -> None:
    """Change what is known by what an instruction does."""
    made = None if operation.target is None else _result(operation, state, bases)
    if operation.guard is not None and operation.target is not None:
        made = _either(made, state.get(operation.target))
    for key in defined_by(operation):
        if isinstance(key, int):
            state.pop(key, None)
    if made is not None and operation.target is not None:
        state[operation.target] = made


def _result(operation: Operation, state: _State, bases: Mapping[int, int]) -> _Values | None:
    sources = operation.sources
    if operation.name in _LOADS:
        return _loaded(sources[0], operation, bases) if len(sources) == 1 else None
    if operation.name in _MOVES:
        return _value(sources[0], state) if sources else None
    if operation.name in _CHOICES and len(sources) == 2:
        return _either(_value(sources[0], state), _value(sources[1], state))
    if operation.name in _SUMS and "X" not in operation.suffixes:
        return _sum([_value(source, state) for source in sources])
    if operation.name == "IMAD" and "MOV" in operation.suffixes and sources:
        return _value(sources[-1], state)
    return None


def _loaded(source: Source, operation: Operation, bases: Mapping[int, int]) -> _Values | None:
    where = source.operand
    if not isinstance(where, Constant) or where.bank or where.index is not None or "64" not in operation.suffixes:
        return None
    base = bases.get(where.offset)
    return None if base is None else (True, frozenset({base}))


def _value(source: Source, state: _State) -> _Values | None:
    if source.inverted or source.absolute:
        return None
    if isinstance(source.operand, int):
        return False, frozenset({source.operand})
    if isinstance(source.operand, Register):
        if source.operand.number is None:
            return _ZERO
        return None if source.negative else state.get(source.operand.number)
    return None


def _sum(values: Sequence[_Values | None]) -> _Values | None:
    based, numbers = _ZERO
    for value in values:
        if value is None or (based and value[0]):
            return None
        based = based or value[0]
        numbers = frozenset(one + other for one in numbers for other in value[1])
        if len(numbers) > MOST_VALUES:
            return None
    return based, numbers
