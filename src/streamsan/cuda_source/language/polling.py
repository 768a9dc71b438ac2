"""Conditions by which the host may wait for what a kernel writes: those of loops, and of what leaves them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_syntax import tree


@contextmanager
def polling(machine: Machine, really: bool = True) -> Iterator[None]:
    """What is read meanwhile may be read again and again; `really` false: it is not."""
    before = machine.memory.polling
    machine.memory.polling = before or really
    try:
        yield
    finally:
        machine.memory.polling = before


def leaves_loop(statement: tree.Statement) -> bool:
    """Tell whether a branch leaves the loop that it stands in at once."""
    if isinstance(statement, tree.Block):
        return any(isinstance(each, tree.Break) for each in statement.body)
    return isinstance(statement, tree.Break)
