"""Registers that others fill: the launch, constant memory, the stack, memory; and addresses of accesses."""

from __future__ import annotations

from typing import Final

from streamsan.machine_code.instruction_operands import Address, Register
from streamsan.machine_code.lane_arithmetic import SIGNED
from streamsan.machine_code.lane_comparison import EITHER, Cutting
from streamsan.machine_code.lane_state import STACK, Effect, State
from streamsan.machine_code.lane_values import Sum, Value, Wide, bounded, fitted, low_word, number_of, some, total
from streamsan.machine_code.machine_operations import Operation


def _special(state: State, operation: Operation, cutting: Cutting) -> None:
    name = operation.sources[0].text if operation.sources else ""
    if name == "SRZ":
        zeros: list[Value] = [0] * operation.targets
        state.write(operation, zeros)
    else:
        state.write(operation, [state.launch.specials.get(name)])


def _load_constant(state: State, operation: Operation, cutting: Cutting) -> None:
    if len(operation.sources) == 1:
        state.write(operation, state.constant_words(operation.sources[0], operation.suffixes, operation.targets))
    else:
        state.forget(operation)


def _stack_place(state: State, operation: Operation, cutting: Cutting) -> int | None:
    address = operation.address
    if address is None or len(address.registers) > 1:
        return None
    if not address.registers:
        return None
    whole = number_of(state.register(address.registers[0].number))
    if not isinstance(whole, Sum) or whole.base != STACK:
        return None
    cutting.part(whole)
    if whole.terms or not isinstance(whole.constant, int):
        return None
    return whole.constant + address.constant


def _store_local(state: State, operation: Operation, cutting: Cutting) -> None:
    place = _stack_place(state, operation, cutting)
    if place is None or operation.width < 4 or place % 4:
        state.cells.clear()
        return
    source = operation.sources[-1].operand
    for at in range(operation.width // 4):
        number = source.number if isinstance(source, Register) else None
        value: Value = None
        if isinstance(source, Register):
            value = 0 if number is None else state.register(number + at)
        if operation.guard is not None and some(state.truth(*operation.guard).false & state.threads):
            value = None
        state.cells[place + 4 * at] = value


def _load_local(state: State, operation: Operation, cutting: Cutting) -> None:
    place = _stack_place(state, operation, cutting)
    if place is None or operation.width < 4:
        state.write(operation, [])
    else:
        state.write(operation, [state.cells.get(place + 4 * at) for at in range(operation.width // 4)])


def _from_memory(state: State, operation: Operation, cutting: Cutting) -> None:
    """What memory holds is not known, but a number has bounds."""
    value: Value = None
    if operation.targets == 1:
        value = low_word(bounded(SIGNED, -SIGNED - 1))
    for suffix, low, high in (("U8", 0, 0xFF), ("S8", -0x80, 0x7F), ("U16", 0, 0xFFFF), ("S16", -0x8000, 0x7FFF)):
        if suffix in operation.suffixes:
            value = low_word(bounded(low, high))
    state.write(operation, [value])
    state.write_truth(operation, operation.outs, [EITHER] * len(operation.outs))


def address_of(state: State, address: Address) -> Wide:
    """The address of an access, 64 bits."""
    found: Wide = address.constant
    for register in address.registers:
        if register.number is None:
            continue
        if register.narrow:
            found = total(found, fitted(state.register(register.number), 0))
        else:
            found = total(found, state.wide(register.number))
    return found


EFFECTS: Final[dict[str, Effect]] = {
    **dict.fromkeys(("S2R", "S2UR", "CS2R"), _special),
    **dict.fromkeys(("LDC", "ULDC", "LDCU"), _load_constant),
    **dict.fromkeys(("LDG", "LD", "LDS", "ULDS"), _from_memory),
    "STL": _store_local,
    "LDL": _load_local,
}
"""by the name of the instruction"""
