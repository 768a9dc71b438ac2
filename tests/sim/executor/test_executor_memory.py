"""Addresses, copies to and from the host, virtual memory, other devices, and what an illegal access does."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np
import pytest
from simulated_machine import SCHEDULES, UNKNOWN, Machine, value_work, words_of

from streamsan.model.resources import Pool
from streamsan.model.work import CopyWork, FillWork, Place
from streamsan.sim.executor import host_bytes
from streamsan.sim.executor.regions import Region
from streamsan.sim.options import Driver, Schedule
from streamsan.sim.payloads import IllegalAddressError
from streamsan.vocabulary import FreeClass, MemoryKind, WaitClass

OTHERS = [schedule for schedule in SCHEDULES if schedule != Schedule.EAGER]


def host_copy(to: int, source: int, size: int) -> CopyWork:
    return CopyWork(Place(to), Place(source), size)


def address_of(array: np.ndarray) -> int:
    return int(array.ctypes.data)


# -- views ----------------------------------------------------------------------------------------
def test_views_are_the_memory_itself():
    machine = Machine()
    memory = machine.allocate(4096)
    machine.device.memory.view(memory.address + 8, 4)[:] = [1, 2, 3, 4]
    assert ctypes.string_at(memory.address + 8, 4) == b"\x01\x02\x03\x04"
    assert machine.device.memory.view(memory.address + 4000).size == 96
    assert machine.device.memory.view(memory.address + 4096).size == 0


@pytest.mark.parametrize("kind", [MemoryKind.PINNED, MemoryKind.MANAGED])
def test_host_side_memory_is_real(kind):
    machine = Machine(Schedule.EAGER)
    memory = machine.allocate(64, kind)
    machine.fill(machine.stream(), memory, 0x01010101)
    assert ctypes.string_at(memory.address, 64) == b"\x01" * 64


def test_views_outside_of_what_exists_are_illegal():
    machine = Machine()
    view = machine.device.memory.view
    memory = machine.allocate(4096)
    freed = machine.allocate(4096)
    machine.free(freed)
    for address, size in (
        (memory.address, 4097),
        (memory.address - 1, 1),
        (memory.address + 4097, 1),
        (freed.address, 1),
        (0, 1),
        (16, 4),
        (1 << 63, 4),
        (memory.address, -1),
    ):
        with pytest.raises(IllegalAddressError):
            view(address, size)


def test_illegal_addresses_are_told_apart():
    machine = Machine()
    first, second = machine.allocate(4096), machine.allocate(4096)
    machine.free(first)
    with pytest.raises(IllegalAddressError, match=f"what was allocated at {first.address:#x} has been freed"):
        machine.device.read(first.address, 4)
    with pytest.raises(IllegalAddressError, match=f"past the end of the 4096 bytes allocated at {second.address:#x}"):
        machine.device.read(second.address + 4100, 4)
    with pytest.raises(IllegalAddressError, match=f"nothing is allocated at {second.address + 8192:#x}"):
        machine.device.read(second.address + 8192, 4)


def test_host_memory_is_no_memory_of_the_device():
    machine = Machine()
    array = np.zeros(16, dtype=np.uint8)
    with pytest.raises(IllegalAddressError, match="nothing is allocated"):
        machine.device.memory.view(address_of(array), 16)
    registered = machine.allocate(16, MemoryKind.REGISTERED, wanted=address_of(array))
    machine.device.memory.view(address_of(array), 16)[:] = 3
    assert array.tolist() == [3] * 16
    machine.free(registered, FreeClass.UNREGISTER)
    with pytest.raises(IllegalAddressError):
        machine.device.memory.view(address_of(array), 16)


def test_registered_memory_that_no_longer_exists_is_illegal():
    machine = Machine()
    mapping = mmap.mmap(-1, 1 << 20)
    array = np.frombuffer(mapping, dtype=np.uint8)
    address = address_of(array)
    machine.allocate(1 << 20, MemoryKind.REGISTERED, wanted=address)
    machine.device.memory.view(address, 4)
    del array
    mapping.close()
    with pytest.raises(IllegalAddressError, match="no longer exists"):
        machine.device.memory.view(address, 4)


# -- copies ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_pageable_sources_are_read_at_the_call(schedule):
    machine = Machine(schedule)
    stream, memory = machine.stream(), machine.allocate(64)
    source = np.arange(64, dtype=np.uint8)
    expected = bytes(source)
    machine.issue(stream, host_copy(memory.address, address_of(source), 64), WaitClass.BEFORE)
    source[:] = 0
    machine.synchronize(stream)
    assert machine.device.read(memory.address, 64) == expected


@pytest.mark.parametrize("wait", WaitClass)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_pageable_destinations_are_written_during_the_call(schedule, wait):
    machine = Machine(schedule)
    stream, memory = machine.stream(), machine.allocate(64)
    machine.fill(stream, memory, 0x07070707)
    target = np.zeros(64, dtype=np.uint8)
    machine.issue(stream, host_copy(address_of(target), memory.address, 64), wait)
    assert target.tolist() == [7] * 64


def test_pinned_copies_are_asynchronous():
    machine = Machine(Schedule.LAZY)
    stream, memory = machine.stream(), machine.allocate(64)
    pinned = machine.allocate(64, MemoryKind.PINNED)
    machine.fill(stream, memory, 7)
    machine.copy(stream, pinned, memory)
    assert machine.word(pinned) != 7
    machine.synchronize(stream)
    assert machine.word(pinned) == 7


def test_bad_host_addresses_do_not_end_the_process():
    machine = Machine(Schedule.EAGER)
    stream, memory = machine.stream(), machine.allocate(64)
    machine.issue(stream, host_copy(memory.address, 8, 64), WaitClass.BEFORE)
    assert machine.executor.sticky_error(machine.context) == 700
    assert "cannot be read" in machine.device.faults[0]
    machine = Machine(Schedule.EAGER)
    machine.issue(machine.stream(), host_copy(8, machine.allocate(64).address, 64), WaitClass.COMPLETE)
    assert "cannot be written" in machine.device.faults[0]
    machine.executor.run_now(machine.thread, host_copy(8, 16, 64))
    assert len(machine.device.faults) == 2


def test_host_bytes_without_the_system_call(monkeypatch):
    monkeypatch.setattr(host_bytes, "_SAFE", False)
    source, target = np.arange(8, dtype=np.uint8), np.zeros(8, dtype=np.uint8)
    host_bytes.write_rows([(address_of(target), 8)], host_bytes.read_rows([(address_of(source), 8)]))
    assert target.tolist() == source.tolist()
    with pytest.raises(IllegalAddressError):
        host_bytes.read_rows([(0, 8)])


def test_sizes_that_no_memory_has_are_illegal():
    with pytest.raises(IllegalAddressError):
        host_bytes.read_rows([(1 << 20, 1 << 62)])
    with pytest.raises(IllegalAddressError):
        host_bytes.read_rows([(-5, 16)])


def test_many_rows_of_the_host_go_over():
    source = np.arange(3000 * 4, dtype=np.uint8).reshape(3000, 4)
    rows = [(address_of(source) + 4 * row, 2) for row in range(3000)]
    assert host_bytes.read_rows(rows).reshape(3000, 2).tolist() == source[:, :2].tolist()


@pytest.mark.parametrize("source_side", ["device", "host"])
@pytest.mark.parametrize("target_side", ["device", "host"])
@pytest.mark.parametrize("schedule", [Schedule.EAGER, Schedule.LAZY])
def test_boxes_are_copied_by_row_and_slice(schedule, source_side, target_side):
    depth, height, width = 2, 3, 5
    source_shape, target_shape = (depth, 4, 8), (depth, 5, 7)
    machine = Machine(schedule)
    arrays = {}
    for name, side, shape in (("source", source_side, source_shape), ("target", target_side, target_shape)):
        size = int(np.prod(shape))
        if side == "host":
            arrays[name] = np.zeros(shape, dtype=np.uint8)
        else:
            memory = machine.allocate(size)
            arrays[name] = machine.device.memory.view(memory.address, size).reshape(shape)
    arrays["source"][:] = np.arange(64).reshape(source_shape)
    arrays["target"][:] = 200
    expected = arrays["target"].copy()
    expected[:, :height, :width] = arrays["source"][:, :height, :width]
    stream = machine.stream()
    work = CopyWork(
        Place(address_of(arrays["target"]), 7, 35), Place(address_of(arrays["source"]), 8, 32), width, height, depth
    )
    machine.issue(stream, work, WaitClass.COMPLETE)
    assert arrays["target"].tolist() == expected.tolist()


def test_overlapping_copies_and_empty_ones():
    machine = Machine(Schedule.EAGER)
    memory, stream = machine.allocate(64), machine.stream()
    machine.device.memory.view(memory.address, 64)[:] = np.arange(64)
    machine.issue(stream, host_copy(memory.address + 1, memory.address, 32))
    assert machine.device.read(memory.address, 34) == bytes([0, *range(32), 33])
    machine.issue(stream, host_copy(0, 0, 0))
    machine.issue(stream, FillWork(Place(0), 1, 4, 0))
    assert not machine.device.faults


@pytest.mark.parametrize(("element", "value"), [(1, 0x1FE), (2, 0x2ABCD), (4, 0xDEADBEEF)])
def test_fills_by_element(element, value):
    machine = Machine(Schedule.EAGER)
    memory, stream = machine.allocate(256), machine.stream()
    machine.issue(stream, FillWork(Place(memory.address), 0, 1, 256))
    machine.issue(stream, FillWork(Place(memory.address, 32), value, element, 3, 4))
    rows = np.frombuffer(machine.device.read(memory.address, 128), dtype=np.uint8).reshape(4, 32)
    expected = (value % (1 << 8 * element)).to_bytes(element, "little") * 3
    assert all(bytes(row[: 3 * element]) == expected and not row[3 * element :].any() for row in rows)


# -- errors ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_an_illegal_access_is_sticky_and_drops_what_follows(schedule):
    machine, log = Machine(schedule), []
    stream = machine.stream()
    machine.kernel(stream, lambda memory: memory.view(64, 4), "reads_nowhere")
    machine.note(stream, log, "after")
    machine.synchronize()
    assert machine.executor.sticky_error(machine.context) == 700
    assert log == []
    assert machine.device.faults == ["kernel `reads_nowhere`: nothing is allocated at 0x40 (error 700)"]
    assert machine.executor.query_stream(machine.thread, stream, UNKNOWN) == 0


def test_an_error_ends_all_contexts():
    # "Any further CUDA work will return the same error", until the process is started anew.
    machine, log = Machine(Schedule.EAGER), []
    other = machine.new_context()
    machine.kernel(machine.stream(), lambda memory: memory.view(64, 4))
    machine.note(machine.stream(context=other), log, "other")
    assert log == []
    assert machine.executor.sticky_error(other) == machine.executor.sticky_error(machine.context) == 700
    machine.executor.end_context(machine.thread, other)
    assert machine.executor.sticky_error(machine.context) in (46, 700)


def test_an_exception_of_a_kernel_s_body_is_a_launch_failure():
    machine = Machine(Schedule.EAGER)
    machine.kernel(machine.stream(), lambda memory: [][1], "broken")
    assert machine.executor.sticky_error(machine.context) == 719
    assert machine.device.faults == [
        "kernel `broken` failed: its body raised IndexError: list index out of range (error 719)"
    ]


def test_an_exception_of_a_host_function_is_said_and_ignored(monkeypatch):
    said = []
    monkeypatch.setattr("sys.unraisablehook", said.append)
    machine, log = Machine(Schedule.EAGER), []
    stream = machine.stream()
    machine.host_function(stream, lambda: [][1])
    machine.note(stream, log, "after")
    assert log == ["after"]
    assert isinstance(said[0].exc_value, IndexError)


def test_a_stream_wait_for_memory_that_is_gone_is_illegal():
    machine = Machine(Schedule.LAZY)
    stream, flag = machine.stream(), machine.allocate(4, MemoryKind.PINNED)
    machine.issue(stream, value_work(flag, 1, "eq"))
    machine.free(flag, FreeClass.PINNED)
    machine.synchronize()
    assert machine.executor.sticky_error(machine.context) == 700


# -- virtual memory -------------------------------------------------------------------------------
GRANULE = 2 << 20


def test_reserved_addresses_are_usable_while_mapped():
    machine = Machine(Schedule.LAZY)
    stream = machine.stream()
    reserved = machine.allocate(2 * GRANULE, MemoryKind.MAPPED)
    assert reserved.address % GRANULE == 0
    with pytest.raises(IllegalAddressError):
        machine.device.read(reserved.address, 1)
    first = machine.allocate(GRANULE, MemoryKind.MAPPED, wanted=reserved.address)
    second = machine.allocate(GRANULE, MemoryKind.MAPPED, wanted=reserved.address + GRANULE)
    assert machine.device.memory.view(reserved.address).size == 2 * GRANULE
    machine.device.memory.view(first.address + GRANULE - 8, 16)[:] = 1  # across both
    machine.fill(stream, second, 7)
    machine.free(second, FreeClass.UNMAP)
    machine.synchronize()
    assert machine.executor.sticky_error(machine.context) == 700  # F-13
    assert machine.device.memory.view(reserved.address).size == GRANULE


def test_what_is_written_through_one_mapping_is_seen_through_the_other():
    machine = Machine(Schedule.EAGER)
    reserved = machine.allocate(4 * GRANULE, MemoryKind.MAPPED)
    physical = Pool(5, "other", None)
    first = machine.allocate(GRANULE, MemoryKind.MAPPED, pool=physical, wanted=reserved.address)
    second = machine.allocate(GRANULE, MemoryKind.MAPPED, pool=physical, wanted=reserved.address + 2 * GRANULE)
    machine.fill(machine.stream(), first, 7)
    assert machine.word(second) == 7
    machine.free(first, FreeClass.UNMAP)
    machine.free(second, FreeClass.UNMAP)
    again = machine.allocate(GRANULE, MemoryKind.MAPPED, pool=physical, wanted=reserved.address + GRANULE)
    assert machine.word(again) == 7
    machine.free(again, FreeClass.UNMAP)
    machine.executor.release_physical(physical)
    machine.executor.release_addresses(reserved)
    assert machine.executor.place(GRANULE, MemoryKind.MAPPED, machine.context, None, None, reserved.address) is None


def test_a_copy_to_addresses_that_were_given_back_never_reaches_the_host():
    machine = Machine(Schedule.LAZY)
    stream, source = machine.stream(), machine.allocate(4096)
    reserved = machine.allocate(GRANULE, MemoryKind.MAPPED)
    mapped = machine.allocate(GRANULE, MemoryKind.MAPPED, wanted=reserved.address)
    machine.copy(stream, mapped, source)
    machine.free(mapped, FreeClass.UNMAP)
    machine.executor.release_addresses(reserved)
    machine.synchronize()
    assert machine.executor.sticky_error(machine.context) == 700
    assert "nothing is allocated" in machine.device.faults[0]


# -- devices --------------------------------------------------------------------------------------
def test_kernels_need_peer_access_and_copies_do_not():
    machine = Machine(Schedule.EAGER, devices=2)
    other = machine.new_context(1)
    stream = machine.stream(context=other)
    memory, foreign = machine.allocate(64, context=other), machine.allocate(64)
    machine.fill(stream, foreign, 7)
    machine.copy(stream, memory, foreign)
    assert machine.word(memory) == 7
    other.peers.add(machine.context.handle)
    machine.kernel(stream, lambda view: words_of(view, foreign))
    assert machine.executor.sticky_error(other) == 0
    other.peers.clear()
    machine.kernel(stream, lambda view: words_of(view, foreign))
    assert machine.executor.sticky_error(other) == 700
    assert "device 1 has no access" in machine.device.faults[0]


def test_pools_say_which_devices_may_use_their_memory():
    machine = Machine(Schedule.EAGER, devices=2)
    other = machine.new_context(1)
    stream = machine.stream(context=other)
    pool = Pool(7, "pool", machine.context, access={1: 3})
    memory = machine.allocate_async(64, machine.stream(), pool)
    machine.kernel(stream, lambda view: words_of(view, memory))
    assert machine.executor.sticky_error(other) == 0
    pool.access[1] = 0
    machine.kernel(stream, lambda view: words_of(view, memory))
    assert machine.executor.sticky_error(other) == 700


def test_devices_have_memory_of_their_own():
    machine = Machine(Schedule.EAGER, devices=2)
    machine.allocate(1 << 20, context=machine.new_context(1))
    assert machine.executor.memory_info(0)[0] == machine.executor.memory_info(0)[1]
    assert machine.executor.memory_info(1)[0] < machine.executor.memory_info(1)[1]
    assert machine.executor.device_count(UNKNOWN) == 2


def test_closing_imported_memory_leaves_the_exporter_s_alone():
    machine = Machine(Schedule.EAGER)
    exported = machine.allocate(64)
    machine.fill(machine.stream(), exported, 7)
    imported = machine.allocate(64, MemoryKind.IPC, wanted=exported.address)
    assert imported.address == exported.address
    machine.free(imported, FreeClass.IPC_CLOSE)
    assert machine.word(exported) == 7


# -- ends -----------------------------------------------------------------------------------------
def test_a_reset_under_the_contract_may_drop_what_is_pending():
    ran = set()
    for schedule in (Schedule.EAGER, Schedule.LAZY, *range(40)):
        machine, log = Machine(schedule), []
        memory = machine.allocate(64)
        machine.note(machine.stream(), log, "work")
        machine.executor.end_context(machine.thread, machine.context)
        machine.device.drain()
        ran.add((isinstance(schedule, Schedule), len(log)))
        with pytest.raises(IllegalAddressError):
            machine.device.read(memory.address, 64)
        if schedule in (Schedule.EAGER, Schedule.LAZY):
            assert len(log) == (schedule == Schedule.EAGER)
    assert {(False, 0), (False, 1)} <= ran


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_reset_of_the_driver_waits(schedule):
    machine, log = Machine(schedule, Driver.H200), []
    machine.note(machine.stream(), log, "work")
    machine.executor.end_context(machine.thread, machine.context)
    assert log == ["work"]


@pytest.mark.parametrize("driver", Driver)
def test_a_reset_ends_what_waits_for_ever(driver):
    machine, log = Machine(Schedule.LAZY, driver), []
    flag, stream = machine.allocate(4), machine.stream()
    other = machine.new_context()
    elsewhere = machine.stream(context=other)
    machine.issue(stream, value_work(flag, 1, "eq"))
    machine.wait(elsewhere, machine.record(stream))
    machine.note(elsewhere, log, "goes on")
    machine.executor.end_context(machine.thread, machine.context)
    machine.synchronize(elsewhere)
    assert log == ["goes on"]


@pytest.mark.parametrize("schedule", OTHERS)
def test_pool_memory_and_its_pending_free_survive_a_reset(schedule):
    machine = Machine(schedule)
    stream = machine.stream()
    kept, freed = machine.allocate_async(64, stream), machine.allocate_async(64, stream)
    machine.fill(stream, kept, 7)
    machine.fill(stream, freed, 7)
    machine.synchronize()
    machine.free_async(freed, stream)
    machine.executor.end_context(machine.thread, machine.context)
    machine.device.drain()
    assert machine.word(kept) == 7
    assert machine.word(freed) != 7


# -- regions --------------------------------------------------------------------------------------
def test_a_region_joins_what_it_gets_back():
    region = Region(64 << 20)
    first, second, third = (region.take(4096) for _ in range(3))
    assert None not in (first, second, third)
    region.take(4096)
    region.give(first, 4096)
    region.give(third, 4096)
    region.give(second, 4096)
    assert region.take(3 * 4096) == first
    assert region.take(region.size) is None
