"""When work ran says nothing of the order: a trace with DEVICE_TIMEs anywhere has the facts that it has without."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from order_program import WRITE, Program, kernel
from recorded_program import Recording

from streamsan.order.engine import Analysis, analyse
from streamsan.trace.layout import SLOT
from streamsan.trace.store import MemorySlots, owners
from streamsan.vocabulary import DeviceEngine, FreeClass, MemoryKind
from streamsan.vocabulary import OperationKind as Kind

S, T, EXEC = 10, 11, 50
BUFFER, OTHER = 0x10000, 0x20000
TIMES = 2
"""the thread that has nothing but times"""


def used_and_freed_by_threads(program: Program) -> None:
    program.alloc(BUFFER, MemoryKind.STREAM_ORDERED, S)
    program.alloc(OTHER)
    program.launch(S, BUFFER)
    program.launch(T, OTHER, mode=WRITE, thread=1)
    program.sync(S)
    program.free(BUFFER, FreeClass.DEVICE, thread=1)
    program.free(OTHER, FreeClass.ASYNC, S)
    program.free(OTHER, FreeClass.DEVICE, thread=1)


def relaunched_after_a_free(program: Program) -> None:
    program.alloc(BUFFER)
    program.alloc(OTHER)
    program.graph(EXEC, [kernel(BUFFER), kernel(OTHER), kernel(BUFFER)], [(1, 2), (2, 3)])
    program.graph_launch(EXEC, S)
    program.sync(S, thread=1)
    program.free(BUFFER, thread=1)
    program.graph_launch(EXEC, S)


def ended_inside_a_wait(program: Program) -> None:
    assert isinstance(program, Recording)
    program.alloc(BUFFER)
    program.launch(S, BUFFER)
    program.entered(Kind.STREAM_SYNCHRONIZE, stream=S)
    program.free(BUFFER, thread=1)


PROGRAMS = [used_and_freed_by_threads, relaunched_after_a_free, ended_inside_a_wait]


def analysed(write: Callable[[Program], None], thread: int | None) -> Analysis:
    """The analysis of a program, with a DEVICE_TIME of a thread behind each of its operations; None: without."""
    program = Recording(S, T, threads=3)
    write(program)
    trace = program.trace()
    slots = np.concatenate(list(trace.chunks()))
    if thread is not None:
        begins = np.flatnonzero(owners(slots))
        times = np.zeros(len(begins), SLOT)
        times["kind"], times["detail"], times["thread"] = Kind.DEVICE_TIME, DeviceEngine.COMPUTE, thread
        times["sequence"] = times["object"] = slots["sequence"][begins]
        times["time"], times["size"] = 1000, 500
        slots = np.insert(slots, np.append(begins[1:], len(slots)), times)
    trace.slots = MemorySlots(slots)
    return analyse(trace)


@pytest.mark.parametrize("thread", [0, 1, TIMES])
@pytest.mark.parametrize("write", PROGRAMS)
def test_times_change_no_fact(write: Callable[[Program], None], thread: int) -> None:
    without, timed = analysed(write, None), analysed(write, thread)
    assert without.facts
    assert timed.facts == without.facts
    assert timed.inside == without.inside
    assert (timed.operations, timed.problems) == (2 * without.operations, without.problems)
