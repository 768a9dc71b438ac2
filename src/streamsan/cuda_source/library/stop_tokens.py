"""std::stop_source and std::stop_token: what asks a thread to end. A std::jthread has a source of its own."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.library.atomics import Atomic
from streamsan.cuda_source.library.modelled import Modelled
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import NOT_MODELLED, Closure, FunctionValue, LibraryObject, Operand, Value
from streamsan.cuda_source.values.classes import last_name
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Span

_TOKEN = CType("std::stop_token")


class StopSource(Modelled):
    """A source, or a token of it: all of them share one state, which is told once."""

    class_name = "std::stop_source"
    contents = ("state",)
    own_parts = ("state",)

    def __init__(self, type: CType) -> None:
        super().__init__(type)
        self.state = Atomic(CType("std::atomic", (CType("bool"),)))

    def begin(self, machine: Machine, operands: list[Operand], span: Span) -> None:
        """A copy shares the state of what it is made of."""
        held = operands[0].held if operands else None
        if isinstance(held, StopSource):
            self.state = held.state

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        return self.token()

    def token(self) -> StopSource:
        """Return another one that shares the state."""
        made = StopSource(_TOKEN)
        made.state = self.state
        return made

    def request(self, machine: Machine, span: Span) -> int:
        """Ask to end; 1 the first time."""
        first = self.state.held.value == 0
        if first:
            self.state.put(machine, 1, span)
        return int(first)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        if method == "get_token":
            return machine.statements.temporary(self.token())
        if method == "request_stop":
            return self.request(machine, span)
        if method == "stop_requested":
            return self.state.look(machine, span)
        if method == "stop_possible":
            return 1
        if method == "operator=" and operands and isinstance(held := operands[0].held, StopSource):
            self.state = held.state
            return Operand(self, self.cell)
        return NOT_MODELLED


def takes_token(callee: Value, given: int) -> bool:
    """Tell whether a thread's function takes a stop token before so many arguments."""
    parameters = []
    if isinstance(callee, Closure):
        parameters = callee.node.parameters
    elif isinstance(callee, FunctionValue) and callee.functions:
        parameters = callee.functions[0].parameters
    return len(parameters) == given + 1 and last_name(parameters[0].type.name) == "stop_token"
