"""Random programs that order all that must be: every schedule gives the same bytes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_machine import Machine, body_node, kernel_work, words_of

from streamsan.model.resources import Pool
from streamsan.model.streams_and_graphs import GraphExec
from streamsan.sim.options import Driver, Schedule
from streamsan.vocabulary import MemoryKind, StreamKind

STREAMS = 4
BUFFERS = 3
WORDS = 8


@dataclass(frozen=True)
class Step:
    """One piece of work: on a stream, from buffers to a buffer."""

    stream: int
    source: int
    target: int
    action: str


steps = st.lists(
    st.builds(
        Step,
        st.integers(0, STREAMS - 1),
        st.integers(0, BUFFERS - 1),
        st.integers(0, BUFFERS - 1),
        st.sampled_from(["copy", "mix", "fill", "renew", "move", "cuda_free", "graph", "host", "synchronize"]),
    ),
    max_size=25,
)


def streams_of(machine):
    kinds = (StreamKind.NON_BLOCKING, StreamKind.BLOCKING)
    return [machine.stream(kind) for kind in kinds] + [machine.legacy, machine.per_thread]


def run(program, schedule, driver):
    """Run the steps, each ordered by events after all that touched its buffers, and return the final words."""
    machine = Machine(schedule, driver)
    streams = streams_of(machine)
    buffers = [machine.allocate_async(4 * WORDS, streams[0]) for _ in range(BUFFERS)]
    last = []
    for index, buffer in enumerate(buffers):
        machine.fill(streams[0], buffer, index + 1)
        last.append(machine.record(streams[0]))
    for number, step in enumerate(program):
        stream = streams[step.stream]
        for touched in {step.source, step.target}:
            machine.wait(stream, last[touched])
        source, target = buffers[step.source], buffers[step.target]

        def mix(memory, number=number, source=source, target=target):
            words = words_of(memory, target)[:WORDS]
            words[:] = words * 3 + words_of(memory, source)[:WORDS] + number

        if step.action == "copy":
            machine.copy(stream, target, source)
        elif step.action == "mix":
            machine.kernel(stream, mix)
        elif step.action == "fill":
            machine.fill(stream, target, number)
        elif step.action == "renew":
            machine.free_async(target, stream)
            buffers[step.target] = machine.allocate_async(4 * WORDS, stream)
            machine.fill(stream, buffers[step.target], number)
        elif step.action == "move":
            # The new owner is in another stream's order: whatever the pool gives it, both see their own bytes.
            machine.free_async(target, stream)
            stream = streams[(step.stream + 1) % STREAMS]
            machine.wait(stream, last[step.source])
            buffers[step.target] = machine.allocate_async(4 * WORDS * (1 + number % 3 * 100), stream)
            machine.fill(stream, buffers[step.target], number)
        elif step.action == "cuda_free":
            machine.synchronize(stream)
            machine.free(target)
            buffers[step.target] = (
                machine.allocate(4 * WORDS) if number % 2 else machine.allocate_async(4 * WORDS, stream)
            )
            machine.fill(stream, buffers[step.target], number)
        elif step.action == "graph":
            machine.launch(GraphExec(number, None, machine.context, [body_node(1, kernel_work(mix))]), stream)
        elif step.action == "host":
            machine.host_function(stream, lambda mix=mix: mix(machine.device.memory))
        else:
            machine.synchronize(stream)
        done = machine.record(stream)
        last[step.source] = last[step.target] = done
    machine.synchronize()
    assert not machine.device.faults
    return [machine.words(buffer)[:WORDS] for buffer in buffers]


@settings(max_examples=60, deadline=None)
@given(steps, st.integers(0, 1 << 32))
def test_a_fully_ordered_program_has_one_result(program, seed):
    expected = run(program, Schedule.EAGER, Driver.CONTRACT)
    for schedule in (Schedule.LAZY, seed, seed + 1, seed + 2):
        for driver in Driver:
            assert run(program, schedule, driver) == expected


requests = st.lists(
    st.tuples(
        st.sampled_from(["plain", "pool", "managed", "free", "free_async", "synchronize", "trim"]),
        st.sampled_from([1, 100, 511, 512, 4096, 5000, 100_000]),
        st.integers(0, 10),
    ),
    max_size=60,
)


@settings(max_examples=60, deadline=None)
@given(requests, st.integers(0, 1 << 32), st.sampled_from(Driver))
def test_live_memory_never_overlaps_and_all_of_it_comes_back(program, seed, driver):
    machine = Machine(seed, driver)
    streams = streams_of(machine)
    pool = Pool(7, "pool", machine.context)
    live = []
    miscounted = 0

    def free_now(allocation):
        nonlocal miscounted
        if driver is Driver.H200 and allocation.kind is MemoryKind.STREAM_ORDERED:
            miscounted += allocation.size
        machine.free(allocation)

    for action, size, choice in program:
        stream = streams[choice % STREAMS]
        if action == "plain":
            live.append(machine.allocate(size))
        elif action == "managed":
            live.append(machine.allocate(size, MemoryKind.MANAGED))
        elif action == "pool":
            live.append(machine.allocate_async(size, stream, pool))
        elif action == "synchronize":
            machine.synchronize(stream)
        elif action == "trim":
            machine.executor.trim(pool, size)
        elif live:
            allocation = live.pop(choice % len(live))
            if action == "free_async" and allocation.kind is not MemoryKind.MANAGED:
                machine.free_async(allocation, stream)
            else:
                free_now(allocation)
        ranges = sorted((each.address, each.address + each.size) for each in live)
        # Parts of a pool's block stand side by side there: then one's end is the other's beginning.
        gap = 0 if driver is Driver.H200 else 1
        assert all(first[1] + gap <= second[0] for first, second in pairwise(ranges))
        for each in live:
            assert machine.device.memory.view(each.address, each.size).size == each.size
    for allocation in live:
        free_now(allocation)
    machine.device.drain()
    machine.executor.trim(pool, 0)
    free, total = machine.executor.memory_info(0)
    assert free == total
    assert machine.executor.pool_usage(pool) == (0, miscounted)
