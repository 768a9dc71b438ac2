"""std::queue, std::stack and std::priority_queue."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.interpreter.library import class_
from streamsan.cuda_source.interpreter.library.containers import Vector
from streamsan.cuda_source.interpreter.library.face import Machine
from streamsan.cuda_source.interpreter.values import Operand
from streamsan.cuda_syntax.tree import Span


class Adapter(Vector):
    """A container that gives its elements at one end only."""

    first_in_first_out = False

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method."""
        renamed = {"push": "push_back", "emplace": "emplace_back"}.get(method, method)
        if method == "top":
            renamed = "back"
        elif method == "pop":
            renamed = "pop_front" if self.first_in_first_out else "pop_back"
        elif method == "push_range":
            renamed = "insert"
        return super().call(machine, renamed, operands, span)


@class_("std::stack", "std::priority_queue")
class Stack(Adapter):
    """The last in is the first out; which element of a priority queue is first, is not followed."""

    class_name = "std::stack"


@class_("std::queue")
class Queue(Adapter):
    """The first in is the first out."""

    class_name = "std::queue"
    first_in_first_out = True
