"""Comparisons, predicates, and what is chosen by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamsan.machine_code.lane_arithmetic import SIGNED, larger, smaller
from streamsan.machine_code.lane_comparison import EITHER, FALSE, TRUE, Cutting, Truth, and_, not_, or_, xor_
from streamsan.machine_code.lane_state import Effect, State, joint
from streamsan.machine_code.lane_values import (
    Number,
    Sum,
    Value,
    Wide,
    bounds,
    every,
    fitted,
    halves,
    inverse,
    is_number,
    joined,
    low_word,
    mask_of,
    number_of,
    select,
    some,
    total,
    wrapped,
)
from streamsan.machine_code.machine_operations import Operation

_RELATIONS = ("LT", "LE", "GT", "GE", "EQ", "NE")
_TURNED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE"}
"""relations -> what they are when the two stand the other way round"""


def _compare(state: State, operation: Operation, cutting: Cutting) -> None:
    sources = operation.sources
    relation = next((each for each in operation.opcode.split(".")[1:] if each in (*_RELATIONS, "T", "F")), "")
    if len(sources) < 2:
        state.forget(operation)
        return
    unsigned = not operation.suffixes.isdisjoint(("U32", "U64"))
    if not operation.suffixes.isdisjoint(("S64", "U64")):
        truth = _compared_wide(state, relation, state.pair(sources[0]), state.pair(sources[1]), unsigned, cutting)
    else:
        first, second = state.value(sources[0]), state.value(sources[1])
        if operation.low_compare:
            truth = EITHER
        elif "EX" in operation.suffixes:
            truth = _compared_halves(state, relation, first, second, operation.ins[-1], unsigned, cutting)
        else:
            low = 0 if unsigned else SIGNED
            truth = cutting.compared(relation, fitted(first, low), fitted(second, low), state.threads)
    other = state.truth(*operation.ins[0]) if operation.ins else TRUE
    combine = or_ if "OR" in operation.suffixes else xor_ if "XOR" in operation.suffixes else and_
    truths = [combine(truth, other), combine(not_(truth), other)]
    if operation.low_compare:
        truths = [Truth(True, True, lower=(relation, state.value(sources[0]), state.value(sources[1])))] * 2
    state.write_truth(operation, operation.outs, truths)


def _compared_halves(
    state: State, relation: str, first: Value, second: Value, lower: tuple[str, bool], unsigned: bool, cutting: Cutting
) -> Truth:
    """Compare numbers whose upper halves these are, and whose lower halves a predicate compares."""
    name, inverted = lower
    compared = state.truth(name, False).lower
    if compared is None or inverted:
        return EITHER
    of_lower, low_first, low_second = compared
    if of_lower == _TURNED.get(relation):
        # `n > i` above and `i < n` below: the lower halves stand the other way round.
        low_first, low_second = low_second, low_first
    elif of_lower != relation:
        return EITHER
    return _compared_wide(state, relation, joined(low_first, first), joined(low_second, second), unsigned, cutting)


def _compared_wide(state: State, relation: str, first: Wide, second: Wide, unsigned: bool, cutting: Cutting) -> Truth:
    if first is None or second is None:
        return EITHER
    if unsigned and relation not in ("EQ", "NE"):
        for each in (first, second):
            limits = bounds(each) if not isinstance(each, Sum) or each.base is None else None
            if limits is None or not every(limits[0] >= 0):
                break
        else:
            return cutting.compared(relation, first, second, state.threads)
        if is_number(first) and is_number(second):
            return _ordered(relation, first ^ -(1 << 63), second ^ -(1 << 63))
        if not (isinstance(first, Sum) and isinstance(second, Sum) and first.base == second.base):
            return EITHER
    elif is_number(first) and is_number(second):
        return _ordered(relation, first, second)
    return cutting.compared(relation, first, second, state.threads)


def _ordered(relation: str, first: Number, second: Number) -> Truth:
    tests: dict[str, Callable[[], bool | np.bool_ | NDArray[np.bool_]]] = {
        "LT": lambda: first < second,
        "LE": lambda: first <= second,
        "GT": lambda: first > second,
        "GE": lambda: first >= second,
        "EQ": lambda: first == second,
        "NE": lambda: first != second,
    }
    if relation not in tests:
        return EITHER
    found = tests[relation]()
    return Truth(mask_of(found), inverse(mask_of(found)))


def _predicates(state: State, operation: Operation, cutting: Cutting) -> None:
    tables = [each.operand for each in operation.sources if isinstance(each.operand, int)]
    if len(operation.ins) < 3 or not tables:
        state.forget(operation)
        return
    ins = [state.truth(*each) for each in operation.ins[:3]]
    truths = []
    for table in (*tables, 0)[:2]:
        true, false = FALSE.true, FALSE.true
        for row in range(8):
            here = True
            for each, bit in zip(ins, (4, 2, 1), strict=True):
                here = here & (each.true if row & bit else each.false)  # type: ignore[assignment]
            if table >> row & 1:
                true = true | here
            else:
                false = false | here
        truths.append(Truth(true, false))
    state.write_truth(operation, operation.outs, truths)


def _choose(state: State, operation: Operation, cutting: Cutting) -> None:
    truth = state.truth(*operation.ins[-1]) if operation.ins else EITHER
    sources = operation.sources
    if len(sources) < 2:
        state.forget(operation)
        return
    if "64" in operation.suffixes:
        one, two = halves(state.pair(sources[0])), halves(state.pair(sources[1]))
        state.write(operation, [_chosen(state, truth, first, second) for first, second in zip(one, two, strict=True)])
    else:
        state.write(operation, [_chosen(state, truth, state.value(sources[0]), state.value(sources[1]))])


def _chosen(state: State, truth: Truth, first: Value, second: Value) -> Value:
    if not some(truth.false & state.threads):
        return first
    if not some(truth.true & state.threads):
        return second
    if some(truth.true & truth.false & state.threads):
        return joint(first, second)
    return select(truth.true, first, second)


def _least(state: State, operation: Operation, cutting: Cutting) -> None:
    sources = operation.sources
    added = operation.name == "VIADDMNMX"
    if len(sources) != (3 if added else 2) or not operation.ins or "RELU" in operation.suffixes:
        state.forget(operation)
        return
    if not operation.suffixes.isdisjoint(("S64", "U64", "U16x2", "S16x2")):
        state.forget(operation)
        return
    values = [state.value(each) for each in sources]
    if added:
        values = [low_word(total(number_of(values[0]), number_of(values[1]))), values[2]]
    low = 0 if "U32" in operation.suffixes else SIGNED
    first, second = fitted(values[0], low), fitted(values[1], low)
    chooser = state.truth(*operation.ins[-1])
    if is_number(first) and is_number(second):
        lesser, greater = wrapped(smaller(first, second)), wrapped(larger(first, second))
        state.write(operation, [_chosen(state, chooser, lesser, greater)])
        return
    truth = cutting.compared("LT", first, second, state.threads)
    one, two = low_word(first), low_word(second)
    state.write(
        operation,
        [_chosen(state, chooser, _chosen(state, truth, one, two), _chosen(state, truth, two, one))],
    )


EFFECTS: Final[dict[str, Effect]] = {
    **dict.fromkeys(("ISETP", "UISETP"), _compare),
    **dict.fromkeys(("PLOP3", "UPLOP3"), _predicates),
    **dict.fromkeys(("SEL", "USEL"), _choose),
    **dict.fromkeys(("IMNMX", "UIMNMX", "VIMNMX", "UVIMNMX", "VIADDMNMX"), _least),
}
"""by the name of the instruction"""
