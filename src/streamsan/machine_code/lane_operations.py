"""What instructions do to registers and predicates, for all threads at once.

Seen on code that nvcc makes, and tried against the same kernels run on the host (`tests/machine_code`).
An instruction that is not here leaves what it writes unknown. Each family is a module.
"""

from __future__ import annotations

from typing import Final

from streamsan.machine_code import lane_bits, lane_choices, lane_conversions, lane_loads, lane_sums
from streamsan.machine_code.lane_comparison import Cutting
from streamsan.machine_code.lane_state import Effect, State
from streamsan.machine_code.machine_operations import Operation

_EFFECTS: Final[dict[str, Effect]] = {
    **lane_sums.EFFECTS,
    **lane_bits.EFFECTS,
    **lane_choices.EFFECTS,
    **lane_loads.EFFECTS,
    **lane_conversions.EFFECTS,
}


def run(state: State, operation: Operation, cutting: Cutting) -> None:
    """Do one instruction. Raises `Split` or `Spread` where the launch must be cut first."""
    state.begin(operation)
    for index in operation.indices:
        cutting.part(state.register(index))
    effect = _EFFECTS.get(operation.name)
    if effect is not None:
        effect(state, operation, cutting)
    else:
        state.forget(operation)
