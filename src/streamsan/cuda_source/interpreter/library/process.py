"""Processes: exit, abort, exit handlers, fork and wait."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.interpreter.frame import Exited
from streamsan.cuda_source.interpreter.library import function, harmless
from streamsan.cuda_source.interpreter.library.face import CallSite, Machine
from streamsan.cuda_source.interpreter.library.memory import value_of
from streamsan.cuda_source.interpreter.values import Operand

harmless("dup", "dup2", "mkfifo", "shm_unlink", "sem_unlink", "prctl", "setsid", "getpgrp", "setpgid")
harmless("wait", "waitpid", "kill", "signal", "sigaction", "getopt", "getopt_long", "WIFEXITED", "WEXITSTATUS")


@function("std::exit", "exit")
def exit_(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The process ends as after main: exit handlers and static destructors run."""
    raise Exited(True, value_of(machine, operands, 0, call), call.span)


@function(
    "std::abort",
    "abort",
    "std::_Exit",
    "_Exit",
    "_exit",
    "std::terminate",
    "terminate",
    "std::quick_exit",
    "quick_exit",
)
def abort(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The process ends at once."""
    raise Exited(False, 0, call.span)


@function("std::atexit", "atexit", "std::at_quick_exit")
def atexit(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The function runs at exit."""
    value = value_of(machine, operands, 0, call)
    machine.exit_functions.append((value, call.span))
    machine.reach.kept.append(value)
    return 0


@function("pipe", "pipe2", "socketpair")
def pipe(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Success; what the descriptors are does not matter, and what comes through them nobody knows."""
    return 0


@function("fork", "vfork")
def fork(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Two paths: the parent's, which gets a process id, and the child's, which gets 0."""
    device = machine.device
    pid = machine.fresh("pid", "opaque")
    machine.live_handles.add(pid.number)
    question = machine.fresh("fork", "input")
    child = not machine.decisions.choose(question, True)
    device.thread = device.model.fork(device.thread, device.site(call.span), child=child)
    return 0 if child else pid
