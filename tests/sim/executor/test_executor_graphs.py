"""Launches of executable graphs."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_machine import SCHEDULES, Machine, body_node, kernel_work, value_work, words_of

from streamsan.model.streams_and_graphs import GraphExec
from streamsan.model.work import CopyWork, HostWork, Place
from streamsan.sim.options import Driver, Schedule
from streamsan.vocabulary import FreeClass, MemoryKind, NodeKind

MANY = (Schedule.LAZY, *range(40))


def noting(log, entry):
    return kernel_work(lambda memory: log.append(entry), entry)


def executable(machine, body, **fields):
    return GraphExec(99, None, machine.context, body, **fields)


def test_nodes_follow_the_graph_s_edges_and_no_others():
    found = set()
    for schedule in MANY:
        machine, log = Machine(schedule), []
        stream = machine.stream()
        machine.note(stream, log, "before")
        body = [
            body_node(1, noting(log, "a")),
            body_node(2, noting(log, "b"), (1,)),
            body_node(3, noting(log, "c"), (1,)),
            body_node(4, HostWork(lambda log=log: log.append("d")), (2, 3), NodeKind.HOST),
        ]
        machine.launch(executable(machine, body), stream)
        machine.note(stream, log, "after")
        machine.synchronize(stream)
        found.add(tuple(log))
    assert found == {("before", "a", "b", "c", "d", "after"), ("before", "a", "c", "b", "d", "after")}


def test_launches_of_one_graph_are_ordered_on_whatever_streams():
    for schedule in MANY:
        machine, log = Machine(schedule), []
        graph = executable(machine, [body_node(1, noting(log, "a")), body_node(2, noting(log, "b"))])
        machine.launch(graph, machine.stream())
        machine.launch(graph, machine.stream())
        machine.synchronize()
        assert sorted(log[:2]) == sorted(log[2:]) == ["a", "b"]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_updates_do_not_change_what_was_launched(schedule):
    machine, log = Machine(schedule), []
    stream = machine.stream()
    graph = executable(machine, [body_node(1, noting(log, "old"))])
    machine.launch(graph, stream)
    graph.body[0].work = noting(log, "new")
    machine.launch(graph, stream)
    graph.body[0].enabled = False
    machine.launch(graph, stream)
    machine.synchronize()
    assert log == ["old", "new"]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_graph_s_memory_lives_from_its_node_to_its_free(schedule):
    machine = Machine(schedule)
    stream = machine.stream()
    memory = machine.allocate(64, MemoryKind.GRAPH)
    seen = []

    def use(view):
        words = words_of(view, memory)
        seen.append(words[0])
        words[:] = 5

    body = [
        body_node(1, None, (), NodeKind.ALLOC, memory),
        body_node(2, kernel_work(use), (1,)),
        body_node(3, None, (2,), NodeKind.FREE, memory),
    ]
    graph = executable(machine, body)
    with pytest.raises(Exception, match="nothing is mapped"):
        machine.device.read(memory.address, 4)
    for _ in range(3):
        machine.launch(graph, stream)
    machine.synchronize()
    assert len(seen) == 3
    assert 5 not in seen  # each launch finds it anew
    assert not machine.device.faults
    with pytest.raises(Exception, match="nothing is mapped"):
        machine.device.read(memory.address, 4)


def unfreed(machine, **fields):
    memory = machine.allocate(64, MemoryKind.GRAPH)
    body = [
        body_node(1, None, (), NodeKind.ALLOC, memory),
        body_node(2, kernel_work(lambda view: words_of(view, memory).fill(5)), (1,)),
    ]
    return memory, executable(machine, body, **fields)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_memory_that_a_graph_leaves_is_used_and_freed_outside(schedule):
    machine = Machine(schedule)
    stream, seen = machine.stream(), []
    memory, graph = unfreed(machine)
    for _ in range(2):
        machine.launch(graph, stream)
        machine.kernel(stream, lambda view: seen.append(words_of(view, memory)[0]))
        machine.free_async(memory, stream)
    machine.synchronize()
    assert seen == [5, 5]
    with pytest.raises(Exception, match="nothing is mapped"):
        machine.device.read(memory.address, 4)


def test_a_device_free_of_a_graph_s_memory_does_not_wait():
    machine = Machine(Schedule.LAZY, Driver.H200)
    stream = machine.stream()
    memory, graph = unfreed(machine)
    machine.launch(graph, stream)
    machine.synchronize()
    machine.kernel(stream, lambda view: words_of(view, memory))
    machine.free(memory, FreeClass.DEVICE)
    machine.synchronize()
    assert machine.executor.sticky_error(machine.context) == 700


def test_unordered_use_of_a_graph_s_memory_shows():
    wrong = 0
    for seed in range(50):
        machine = Machine(seed)
        memory, graph = unfreed(machine)
        seen = []
        machine.launch(graph, machine.stream())
        machine.kernel(machine.stream(), lambda view, memory=memory, seen=seen: seen.append(words_of(view, memory)[0]))
        machine.synchronize()
        wrong += seen != [5]
    assert wrong > 10  # G-14


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_relaunch_with_auto_free_begins_with_the_free(schedule):
    machine = Machine(schedule)
    stream = machine.stream()
    memory, graph = unfreed(machine, auto_free=True)
    machine.launch(graph, stream)
    machine.launch(graph, stream)
    machine.synchronize()
    assert machine.word(memory) == 5
    assert not machine.device.faults


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_event_nodes_order_a_graph_with_streams(schedule):
    machine, log = Machine(schedule), []
    stream, other, event, inside = machine.stream(), machine.stream(), machine.event(), machine.event()
    machine.note(other, log, "first")
    machine.record(other, event)
    body = [
        body_node(1, None, (), NodeKind.EVENT_WAIT, event=event),
        body_node(2, noting(log, "second"), (1,)),
        body_node(3, None, (2,), NodeKind.EVENT_RECORD, event=inside),
    ]
    machine.launch(executable(machine, body), stream)
    machine.wait(other, inside)
    machine.note(other, log, "third")
    machine.synchronize(other)
    assert log == ["first", "second", "third"]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_copies_of_pageable_memory_happen_during_the_launch(schedule):
    machine = Machine(schedule)
    stream, memory = machine.stream(), machine.allocate(64)
    target = np.zeros(64, dtype=np.uint8)
    machine.fill(stream, memory, 0x07070707)
    work = CopyWork(Place(int(target.ctypes.data)), Place(memory.address), 64)
    machine.launch(executable(machine, [body_node(1, work, (), NodeKind.COPY)]), stream)
    assert target.tolist() == [7] * 64


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_stream_waits_in_a_graph_wait(schedule):
    machine, log = Machine(schedule), []
    flag = machine.allocate(4)
    first, second = machine.stream(), machine.stream()
    machine.fill(first, flag, 0)
    machine.synchronize()
    body = [
        body_node(1, value_work(flag, 1, "eq"), (), NodeKind.STREAM_MEMORY_OP),
        body_node(2, noting(log, "waited"), (1,)),
    ]
    machine.launch(executable(machine, body), first)
    machine.note(second, log, "wrote")
    machine.issue(second, value_work(flag, 1, "write"))
    machine.synchronize()
    assert log == ["wrote", "waited"]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_node_may_be_several_works(schedule):
    machine, log = Machine(schedule), []
    stream = machine.stream()
    first = body_node(1, noting(log, "a"))
    first.further = (noting(log, "b"), noting(log, "c"))
    machine.launch(executable(machine, [first, body_node(2, noting(log, "d"), (1,))]), stream)
    machine.synchronize()
    assert log == ["a", "b", "c", "d"]


def test_graphs_may_come_and_go_with_much_memory():
    machine = Machine(Schedule.EAGER)
    stream = machine.stream()
    total = machine.executor.memory_info(0)[1]
    for _ in range(5):
        memory = machine.allocate(total // 2, MemoryKind.GRAPH)
        body = [body_node(1, None, (), NodeKind.ALLOC, memory), body_node(2, None, (1,), NodeKind.FREE, memory)]
        machine.launch(executable(machine, body), stream)
    assert not machine.device.faults


def test_many_launches_of_a_graph_leave_nothing_behind():
    machine = Machine(0)
    stream, count = machine.stream(), []
    body = [
        body_node(number, kernel_work(lambda memory: count.append(1)), (1,) if number > 1 else ())
        for number in range(1, 9)
    ]
    graph = executable(machine, body)
    for _ in range(500):
        machine.launch(graph, stream)
    machine.synchronize()
    assert len(count) == 4000
    assert machine.device.scheduler.pending == 0
