"""What a block's instructions read of the variables in constant memory, as operations of its own."""

from __future__ import annotations

from collections.abc import Sequence

from streamsan.machine_code import constant_bank
from streamsan.machine_code.constant_bank import ConstantBank
from streamsan.machine_code.instruction_operands import Constant
from streamsan.machine_code.machine_operations import Operation, Source

CONSTANT_READ = "read of constant memory"
"""the name of an operation that stands for what an instruction reads of the variables there"""


def with_constant_reads(operations: Sequence[Operation], bank: ConstantBank) -> list[Operation]:
    """Return the operations of a block with those that only read variables in constant memory.

    Data is left out of the code later; that it is read stays. What is read whatever happens is said at the block's
    begin, next to each other in one operation.
    """
    found: list[Operation] = []
    always: list[tuple[int, int]] = []
    for operation in operations:
        for source in operation.sources:
            place = source.operand
            if not isinstance(place, Constant) or place.bank != constant_bank.BANK:
                continue
            size = constant_bank.bytes_read(operation.name, operation.suffixes, source is operation.sources[-1])
            if place.index is None and operation.guard is None:
                always.append((place.offset, place.offset + size))
            else:
                found.append(_constant_read(operation.at, place, size, operation.guard))
        found.append(operation)
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(always):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    first = operations[0].at if operations else 0
    reads = [
        _constant_read(
            first,
            Constant(constant_bank.BANK, max(begin, each.begin)),
            min(end, each.end) - max(begin, each.begin),
            None,
        )
        for begin, end in joined
        for each in bank.among(begin, end)
    ]
    return [*reads, *found]


def _constant_read(at: int, place: Constant, size: int, guard: tuple[str, bool] | None) -> Operation:
    return Operation(
        at, CONSTANT_READ, frozenset(), CONSTANT_READ, guard, (), None, (Source(place, ""),), (), None, size, 0
    )
