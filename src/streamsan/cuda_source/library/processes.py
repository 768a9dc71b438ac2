"""Processes: exit, abort, exit handlers, fork."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.library.host_data import value_of
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import CallSite, Operand
from streamsan.cuda_source.values.frame import Exited


def exit_(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The process ends as after main: exit handlers and static destructors run."""
    raise Exited(True, value_of(machine, operands, 0, call), call.span)


def abort(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The process ends at once."""
    raise Exited(False, 0, call.span)


def atexit(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The function runs at exit."""
    value = value_of(machine, operands, 0, call)
    machine.exit_functions.append((value, call.span))
    machine.reach.kept.append(value)
    return 0


def fork(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Two paths: the parent's, which gets a process id, and the child's, which gets 0."""
    device = machine.device
    pid = machine.fresh("pid", "opaque")
    machine.live_handles.add(pid.number)
    question = machine.fresh("fork", "input")
    child = not machine.decisions.choose(question, True)
    device.thread = device.model.fork(device.thread, device.site(call.span), child=child)
    return 0 if child else pid
