"""One call: arguments to the model's values, the call, results to what cuda.bindings returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any

from msgspec import Struct, field

from streamsan.effects import Effect
from streamsan.model.statuses import INVALID_VALUE, NOT_SUPPORTED, SUCCESS
from streamsan.model.values import KernelArguments, Outcome, Value
from streamsan.platforms.python_bindings import ModuleName
from streamsan.sim import active
from streamsan.sim.bindings.arguments import Fields
from streamsan.sim.bindings.class_index import find
from streamsan.sim.bindings.enums import member
from streamsan.sim.bindings.exceptions import UNCHECKED_LISTS
from streamsan.sim.bindings.outputs import fill, plain, result
from streamsan.sim.bindings.plans import Plan
from streamsan.sim.bindings.structure_classes import Structure

MOST_ENTRIES = 1 << 24
"""of a list that a program asks for"""


class Prepared(Struct):
    """What the model is called with."""

    values: list[Value]
    structures: dict[str, Fields] = field(default_factory=dict)
    kernel_arguments: KernelArguments | None = None
    payload: object = None
    early_arguments: KernelArguments | None = None


def prepare(plan: Plan, arguments: Sequence[object]) -> Prepared:
    """Convert all arguments; raise TypeError, OverflowError, ValueError or RuntimeError as cuda.bindings would."""
    prepared = Prepared([])
    for slot in plan.slots:
        if slot.argument is None or slot.convert is None:
            prepared.values.append(1)
            continue
        value, fields = slot.convert(arguments[slot.argument])
        # 0 would be NULL: nobody asks for the number then.
        prepared.values.append(value or 1 if slot.capacity else value)
        if fields is not None:
            prepared.structures[slot.name] = fields
    if plan.name not in UNCHECKED_LISTS:
        _check_lengths(plan, arguments)
    return prepared


def _check_lengths(plan: Plan, arguments: Sequence[object]) -> None:
    for entries, count in plan.counts:
        given: Any = arguments[entries]
        wanted: Any = arguments[count]
        if given is not None and int(wanted) > len(given):
            raise RuntimeError(f"List is too small: {len(given)} < {int(wanted)}")


def make(plan: Plan, prepared: Prepared) -> Outcome:
    """Make the call; a function that is not simulated gives 801, and the report says so."""
    outcome = active.session().call(
        plan.name,
        prepared.values,
        structures=prepared.structures,
        kernel_arguments=prepared.kernel_arguments,
        payload=prepared.payload,
        early_arguments=prepared.early_arguments,
    )
    simulated = plan.api is not None and plan.api.effect is not Effect.UNMODELLED
    if outcome.status == SUCCESS and not simulated:
        return Outcome(NOT_SUPPORTED, {})
    answer = outcome.outputs.get("return")
    status = answer if isinstance(answer, int) else outcome.status
    return Outcome(max(status, SUCCESS), outcome.outputs)


def results(plan: Plan, outcome: Outcome, arguments: Sequence[object]) -> tuple[object, ...]:
    """Return `(error, result, ...)`; after a failure each result is None."""
    if outcome.status != SUCCESS:
        return (error(plan.module, outcome.status), *(None for _ in plan.returned))
    found = [result(plan.module, item, name, outcome.outputs) for item, name in plan.returned]
    _fill_arguments(plan, outcome, arguments)
    return (error(plan.module, SUCCESS), *(_cut(plan, found, arguments)))


def refused(plan: Plan, status: int) -> tuple[object, ...]:
    """Return what a call gives that was refused before it came to the model; the trace notes it."""
    answer = active.session().answer(plan.name, status)
    return error(plan.module, answer), *(None for _ in plan.returned)


def _fill_arguments(plan: Plan, outcome: Outcome, arguments: Sequence[object]) -> None:
    """Some calls write into structures that they were given (`nodeParams.alloc.dptr`)."""
    for slot in plan.slots:
        if slot.argument is not None and isinstance(given := arguments[slot.argument], Structure):
            fill(given, slot.name, outcome.outputs)


def _cut(plan: Plan, found: list[object], arguments: Sequence[object]) -> list[object]:
    """Lists have as many entries as the caller asked for, as in C: fewer than there are, or more, which are NULL."""
    if not found or not any(isinstance(one, list) for one in found):
        return found
    capacities = [slot.argument for slot in plan.slots if slot.capacity and slot.argument is not None]
    wanted: Any = arguments[capacities[0]] if capacities else max(len(one) for one in found if isinstance(one, list))
    return [_fit(plan, index, one, int(wanted)) if isinstance(one, list) else one for index, one in enumerate(found)]


def _fit(plan: Plan, index: int, entries: list[object], wanted: int) -> list[object]:
    word = plan.returned[index][0].word.removeprefix("list[").removesuffix("]")
    kind: Any = find(plan.module, word) or int
    if wanted > MOST_ENTRIES:
        raise MemoryError(f"Failed to allocate length x size memory: {wanted}x8")
    return entries[:wanted] + [kind() for _ in range(wanted - len(entries))]


def error(module: ModuleName, status: int) -> IntEnum | int:
    """Return an error code as the module's own enumeration has it."""
    kind = find(module, "cudaError_t" if module == "runtime" else "CUresult")
    assert isinstance(kind, type)
    assert issubclass(kind, IntEnum)
    found = member(kind, plain(status))
    # The runtime has finer errors for wrong arguments than the driver, whose numbers are the same otherwise.
    return found if isinstance(found, IntEnum) else member(kind, INVALID_VALUE)


def finish(plan: Plan, prepared: Prepared, arguments: Sequence[object], status: int = 0) -> tuple[object, ...]:
    """Make a prepared call and return its results; `status`: it is refused before it comes to the model."""
    return refused(plan, status) if status else results(plan, make(plan, prepared), arguments)


def answered(
    plan: Plan, arguments: Sequence[object], shown: Callable[[Mapping[str, Value]], object]
) -> tuple[object, ...]:
    """Make a call and return its error and what `shown` makes of the outputs, None after a failure."""
    outcome = make(plan, prepare(plan, arguments))
    return error(plan.module, outcome.status), None if outcome.status else shown(outcome.outputs)


def perform(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """Make a call that has no peculiarity."""
    return finish(plan, prepare(plan, arguments), arguments)
