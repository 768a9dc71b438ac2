"""Frees and recycling: what the facts say of a real driver, and what the contract alone allows."""

from __future__ import annotations

import pytest
from simulated_machine import SCHEDULES, Machine, words_of

from streamsan.model.resources import Pool
from streamsan.sim.options import Driver, Schedule
from streamsan.vocabulary import FreeClass, MemoryKind, StreamKind

SEEDS = range(200)
SIZE = 4096


class Reader:
    """A kernel that reads memory, once it runs."""

    def __init__(self, machine, allocation):
        self.machine = machine
        self.seen = None
        self.allocation = allocation

    def __call__(self, memory):
        self.seen = words_of(memory, self.allocation).tolist()

    @property
    def is_wrong(self):
        return self.seen != [5] * (SIZE // 4)


def wrong_results(program, driver, schedules=SEEDS) -> int:
    """Return under how many schedules a program's reader saw wrong words."""
    wrong = 0
    for schedule in schedules:
        machine = Machine(schedule, driver)
        reader = program(machine)
        machine.synchronize()
        wrong += reader.is_wrong
    return wrong


def pool_memory(machine, stream):
    """Return memory of a pool that holds fives."""
    memory = machine.allocate_async(SIZE, stream)
    machine.fill(stream, memory, 5)
    machine.synchronize(stream)
    return memory


def reader_of(machine, stream, memory):
    reader = Reader(machine, memory)
    machine.kernel(stream, reader)
    return reader


def f03(machine):
    first, second = machine.stream(), machine.stream()
    memory = pool_memory(machine, second)
    reader = reader_of(machine, first, memory)
    machine.free(memory)
    new = machine.allocate_async(SIZE, second)
    assert new.address == memory.address
    machine.fill(second, new, 9)
    return reader


def f05(machine):
    first, second = machine.stream(), machine.stream()
    memory = pool_memory(machine, second)
    reader = reader_of(machine, first, memory)
    machine.free_async(memory, second)
    new = machine.allocate_async(SIZE, second)
    assert new.address == memory.address
    machine.fill(second, new, 9)
    return reader


def f06(machine):
    first, second = machine.stream(), machine.stream()
    memory = pool_memory(machine, second)
    reader = reader_of(machine, first, memory)
    machine.wait(second, machine.record(first))
    machine.free_async(memory, second)
    new = machine.allocate_async(SIZE, second)
    assert new.address == memory.address
    machine.fill(second, new, 9)
    return reader


def freed_on_the_legacy_stream(machine, kind):
    reading = machine.stream(kind)
    memory = pool_memory(machine, machine.legacy)
    reader = reader_of(machine, reading, memory)
    machine.free_async(memory, machine.legacy)
    new = machine.allocate_async(SIZE, machine.legacy)
    machine.fill(machine.legacy, new, 9)
    return reader


def f08(machine):
    return freed_on_the_legacy_stream(machine, StreamKind.BLOCKING)


def f09(machine):
    return freed_on_the_legacy_stream(machine, StreamKind.NON_BLOCKING)


@pytest.mark.parametrize("driver", Driver)
@pytest.mark.parametrize("program", [f03, f05, f09])
def test_wrong_programs_are_corrupted(program, driver):
    assert wrong_results(program, driver) > len(SEEDS) // 4
    assert wrong_results(program, driver, [Schedule.LAZY]) == 1
    assert wrong_results(program, driver, [Schedule.EAGER]) == 0


@pytest.mark.parametrize("driver", Driver)
@pytest.mark.parametrize("program", [f06, f08])
def test_right_programs_are_not_corrupted(program, driver):
    assert wrong_results(program, driver, [Schedule.LAZY, Schedule.EAGER, *SEEDS]) == 0


def freed_plain(machine):
    stream = machine.stream()
    memory = machine.allocate(SIZE)
    machine.fill(stream, memory, 5)
    reader = reader_of(machine, stream, memory)
    machine.free(memory)
    return reader


def test_a_free_of_plain_memory_waits_for_work_of_its_context():
    # Not promised, but only a note of the report (SS107): the run may not fail for it.
    assert wrong_results(freed_plain, Driver.CONTRACT, [Schedule.LAZY, *SEEDS]) == 0
    assert wrong_results(freed_plain, Driver.H200, [Schedule.LAZY, *SEEDS]) == 0


def test_the_driver_waits_for_the_pointer_s_own_context():
    machine = Machine(Schedule.LAZY, Driver.H200)
    log: list[str] = []
    other = machine.new_context()
    memory = machine.allocate(SIZE)
    foreign = machine.allocate(SIZE, context=other)
    machine.note(machine.stream(), log, "own")
    machine.free(foreign)
    assert log == []
    machine.free(memory)
    assert log == ["own"]


@pytest.mark.parametrize(
    ("kind", "family", "contract"),
    [(MemoryKind.PINNED, FreeClass.PINNED, 0), (MemoryKind.MANAGED, FreeClass.DEVICE, 1)],
)
def test_frees_of_host_side_memory(kind, family, contract):
    for driver, entries in ((Driver.CONTRACT, contract), (Driver.H200, 1)):
        machine = Machine(Schedule.LAZY, driver)
        log: list[str] = []
        memory = machine.allocate(SIZE, kind)
        machine.note(machine.stream(), log, "work")
        machine.free(memory, family)
        assert len(log) == entries


def test_pool_memory_s_free_never_waits():
    machine = Machine(Schedule.LAZY, Driver.H200)
    log: list[str] = []
    stream = machine.stream()
    memory = machine.allocate_async(SIZE, stream)
    machine.note(stream, log, "work")
    machine.free(memory)
    assert log == []


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_freed_plain_block_comes_back_at_once(schedule):
    machine = Machine(schedule)
    first, second = machine.allocate(1000), machine.allocate(1000)
    machine.free(first)
    machine.free(second)
    assert machine.allocate(1000).address == second.address
    assert machine.allocate(1000).address == first.address


def test_freed_and_fresh_memory_hold_patterns_of_the_seed():
    seen = set()
    for seed in range(3):
        machine = Machine(seed)
        memory = machine.allocate(1001)
        fresh = machine.device.read(memory.address, 1001)
        machine.free(memory)
        again = machine.allocate(1001)
        freed = machine.device.read(again.address, 1001)
        assert all(byte & 0x80 for byte in fresh + freed)
        assert fresh != freed
        seen |= {fresh, freed}
    assert len(seen) == 6


def test_a_stream_ordered_free_poisons_in_the_stream_s_order():
    machine = Machine(Schedule.LAZY)
    stream = machine.stream()
    memory = pool_memory(machine, stream)
    machine.free_async(memory, stream)
    assert machine.word(memory) == 5
    machine.synchronize(stream)
    assert machine.word(memory) != 5


def test_a_stream_ordered_free_of_plain_memory_takes_effect_in_order():
    machine = Machine(Schedule.LAZY)
    stream = machine.stream()
    memory = machine.allocate(SIZE)
    machine.fill(stream, memory, 5)
    reader = reader_of(machine, stream, memory)
    machine.free_async(memory, stream)
    assert machine.allocate(SIZE).address != memory.address
    machine.synchronize()
    assert not reader.is_wrong
    assert machine.allocate(SIZE).address == memory.address


def test_pool_memory_stays_accessible_after_its_free_until_it_is_trimmed():
    machine = Machine(Schedule.EAGER)
    stream = machine.stream()
    pool = Pool(77, "pool", machine.context)
    memory = machine.allocate_async(SIZE, stream, pool)
    machine.free_async(memory, stream)
    machine.fill(stream, memory, 1)  # W-10: no error
    assert machine.executor.sticky_error(machine.context) == 0
    machine.executor.trim(pool, 0)
    machine.fill(stream, memory, 1)
    assert machine.executor.sticky_error(machine.context) == 700
    assert "a fill of" in machine.device.faults[0]


def test_trimming_keeps_what_is_pending_or_in_use():
    machine = Machine(Schedule.LAZY)
    stream = machine.stream()
    pool = Pool(77, "pool", machine.context)
    used, freed = machine.allocate_async(SIZE, stream, pool), machine.allocate_async(SIZE, stream, pool)
    machine.synchronize()
    machine.free_async(freed, stream)
    machine.executor.trim(pool, 0)
    machine.device.read(freed.address, SIZE)
    machine.synchronize()
    machine.executor.trim(pool, 1 << 30)
    machine.device.read(freed.address, SIZE)
    machine.executor.trim(pool, 0)
    with pytest.raises(Exception, match="has been freed"):
        machine.device.read(freed.address, SIZE)
    machine.device.read(used.address, SIZE)


# -- which block a pool gives ---------------------------------------------------------------------
def given_elsewhere(machine, *, ordered, complete=False, attributes=()):
    """Free on one stream, allocate on another; return whether the block came back."""
    first, second = machine.stream(), machine.stream()
    pool = Pool(77, "pool", machine.context, attributes=dict(attributes))
    memory = machine.allocate_async(SIZE, first, pool)
    machine.free_async(memory, first)
    if ordered:
        machine.wait(second, machine.record(first))
    if complete:
        machine.synchronize(first)
    return machine.allocate_async(SIZE, second, pool).address == memory.address


@pytest.mark.parametrize("driver", Driver)
def test_reuse_follows_events(driver):
    assert given_elsewhere(Machine(Schedule.LAZY, driver), ordered=True)
    assert not given_elsewhere(Machine(Schedule.LAZY, driver), ordered=True, attributes={1: 0, 3: 0})


def test_reuse_follows_events_through_a_third_stream():
    machine = Machine(Schedule.LAZY, Driver.H200)
    first, second, third = (machine.stream() for _ in range(3))
    memory = machine.allocate_async(SIZE, first)
    machine.free_async(memory, first)
    machine.wait(second, machine.record(first))
    machine.wait(third, machine.record(second))
    assert machine.allocate_async(SIZE, third).address == memory.address


def test_a_pending_free_on_another_stream_gives_another_block():
    assert not given_elsewhere(Machine(Schedule.LAZY, Driver.H200), ordered=False)


def test_a_complete_free_is_reused_opportunistically():
    assert given_elsewhere(Machine(Schedule.LAZY, Driver.H200), ordered=False, complete=True)
    none = {1: 0, 2: 0, 3: 0}
    assert not any(given_elsewhere(Machine(seed), ordered=False, complete=True, attributes=none) for seed in range(20))
    # A driver does it all the same, for a free that the host has waited for.
    assert given_elsewhere(Machine(Schedule.LAZY, Driver.H200), ordered=False, complete=True, attributes=none)


def test_internal_dependencies_order_the_new_owner_after_the_free():
    reused = 0
    for seed in range(100):
        machine = Machine(seed)
        first, second = machine.stream(), machine.stream()
        memory = pool_memory(machine, first)
        machine.synchronize()
        reader = reader_of(machine, first, memory)
        machine.free_async(memory, first)
        new = machine.allocate_async(SIZE, second)
        machine.fill(second, new, 9)
        machine.synchronize()
        reused += new.address == memory.address
        assert not reader.is_wrong
        assert machine.words(new) == [9] * (SIZE // 4)
    assert 0 < reused < 100


def test_a_smaller_allocation_may_get_part_of_a_freed_block():
    machine = Machine(Schedule.LAZY)
    stream = machine.stream()
    memory = machine.allocate_async(1 << 20, stream)
    machine.free_async(memory, stream)
    machine.synchronize(stream)
    parts = [machine.allocate_async(1 << 18, stream) for _ in range(3)]
    assert parts[0].address == memory.address
    assert all(memory.address <= part.address < memory.address + (1 << 20) for part in parts)
    ends = [part.address + part.size for part in parts]
    assert all(end < part.address for end, part in zip(ends, parts[1:], strict=False))


def test_a_smaller_allocation_may_get_a_block_whose_free_is_pending_as_a_whole():
    machine, seen = Machine(Schedule.LAZY), []
    stream = machine.stream()
    memory = machine.allocate_async(4000, stream)
    machine.fill(stream, memory, 5)
    machine.kernel(stream, lambda view: seen.append(view.view(memory.address).tolist()))
    machine.free_async(memory, stream)
    new = machine.allocate_async(800, stream)
    assert new.address == memory.address
    assert machine.allocate_async(100, stream).address != memory.address
    machine.kernel(stream, lambda view: seen.append(view.view(new.address).size))
    machine.synchronize()
    assert seen == [[5, 0, 0, 0] * 1000, 800]


def test_the_device_is_full_at_some_point_and_frees_make_room():
    machine = Machine(Schedule.EAGER)
    free, total = machine.executor.memory_info(0)
    assert free == total
    memory = machine.allocate(total // 2)
    assert machine.executor.place(total, MemoryKind.PLAIN, machine.context, None, None) is None
    machine.free(memory)
    machine.free(machine.allocate(total // 4))
    assert machine.executor.memory_info(0) == (total, total)
    assert machine.allocate(total - (1 << 20)).size


def test_memory_that_a_pool_holds_makes_room_when_it_is_needed():
    machine = Machine(Schedule.EAGER)
    stream = machine.stream()
    total = machine.executor.memory_info(0)[1]
    machine.free_async(machine.allocate_async(total // 2, stream), stream)
    assert machine.allocate(total * 3 // 4).size


def test_an_allocation_takes_effect_in_its_stream_s_order():
    machine = Machine(Schedule.LAZY)
    first, second = machine.stream(), machine.stream()
    memory = machine.allocate_async(SIZE, first)
    machine.fill(second, memory, 5)  # not ordered after the allocation
    machine.synchronize(second)
    machine.synchronize(first)
    assert machine.word(memory) != 5
    machine = Machine(Schedule.LAZY, Driver.H200)
    first, second = machine.stream(), machine.stream()
    memory = machine.allocate_async(SIZE, first)
    machine.fill(second, memory, 5)
    machine.synchronize()
    assert machine.word(memory) == 5
