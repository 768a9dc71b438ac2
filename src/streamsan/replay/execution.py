"""A witness, run twice on the simulated device: in the order of the calls, and in the order that goes wrong."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from streamsan.replay.held_back import HeldBack
from streamsan.replay.held_tasks import HeldTasks
from streamsan.replay.policies import RefusedError, Scripted
from streamsan.replay.replayed_machine import ReplayedMachine
from streamsan.replay.replayed_memory import Owner
from streamsan.replay.replayed_steps import Memory, NoReplayError, Step
from streamsan.replay.replayed_work import Name
from streamsan.replay.script import Action, Do, Script
from streamsan.replay.word_layout import Layout
from streamsan.replay.words import Seen, Words


class Outcome(Struct, frozen=True):
    """What one execution left behind."""

    seen: Seen
    content: Words | None
    """of the memory that the finding is about, at the end; None where it is not there any more"""
    owner: Owner | None = None
    owned: Words | None = None
    """the next owner's words at the end"""


def layouts_of(steps: Iterable[Step]) -> dict[int, Layout]:
    """Return the layout of every memory that the steps name."""
    found: dict[int, Memory] = {}
    for step in steps:
        if step.memory is not None:
            found[step.memory.number] = step.memory
        for accesses in (step.accesses, *(node.accesses for node in step.nodes)):
            for access in accesses:
                found[access.memory.number] = access.memory
    return {number: Layout(memory) for number, memory in found.items()}


def run_wrong(script: Script, layouts: dict[int, Layout], name: Name) -> Outcome:
    """Run the execution that goes wrong. Raises RefusedError where the program's own order does not allow it."""
    return _run(script, script.wrong, layouts, name, whole=True)


def run_in_order(script: Script, layouts: dict[int, Layout], name: Name) -> Outcome | None:
    """Run the same calls one after the other; None where the program itself asks for the wrong order."""
    try:
        return _run(script, script.in_order, layouts, name)
    except RefusedError:
        return None


def _run(
    script: Script, actions: Iterable[Action], layouts: dict[int, Layout], name: Name, *, whole: bool = False
) -> Outcome:
    """`whole`: all that the script wants done must have been, at the end."""
    machine = ReplayedMachine(layouts, Scripted(), name)
    calls = HeldBack(machine, script.pending)
    held = HeldTasks(machine)
    owner = content = None
    try:
        for action in actions:
            held.go_on()
            match action.do:
                case Do.ISSUE:
                    machine.issue(script.steps[action.sequence])
                case Do.TRY:
                    calls.attempt(script.steps[action.sequence])
                case Do.CATCH_UP if action.sequence in calls.held_back:
                    calls.release(script.steps[action.sequence])
                case Do.CATCH_UP if not machine.has_issued(script.steps[action.sequence]):
                    machine.issue(script.steps[action.sequence])
                case Do.FINISH:
                    held.finish(script.steps[action.sequence])
                case Do.BEGIN:
                    machine.runner.finish(machine.runner.tasks_of(action.sequence)[:1])
                case Do.NODE:
                    machine.runner.finish_node(action.sequence)
                case Do.PENDING:
                    held.expect_none()
                    if machine.runner.is_complete(action.sequence):
                        raise RefusedError(f"{name(action.sequence)} is complete before")
                case Do.LOOK if script.memory is not None:
                    content = machine.runner.places.content(script.memory)
                case Do.OWNER if script.memory is not None:
                    step = script.steps[action.sequence]
                    owner = machine.runner.places.next_owner(script.memory, machine.timeline_of(step))
        held.go_on()
        if whole:
            held.expect_none()
    except MemoryError as error:
        raise NoReplayError("there is no room for its memory") from error
    return Outcome(machine.runner.seen, content, owner, None if owner is None else machine.runner.places.owned(owner))
