"""Allocations, frees, mappings, imports and pools as the recorder writes them, from synthetic callbacks."""

from __future__ import annotations

import pytest
from recorded_scenarios import Scenarios, scenarios
from test_recorded_work import DEVICE, HOST, MEGABYTE, ONE

from streamsan.vocabulary import FreeClass, HandleKind, MemoryKind, OperationKind, WaitClass

ALLOC, FREE = OperationKind.ALLOC, OperationKind.FREE


pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Scenarios:
    return scenarios(tmp_path_factory, "address", "work")


def test_allocations(recorded: Scenarios) -> None:
    found = recorded.operations("allocations", ALLOC)
    assert [(MemoryKind(each.view.detail).name, each.view.address, each.view.size) for each in found] == [
        ("PLAIN", DEVICE, 1000),
        ("PLAIN", DEVICE + 8 * MEGABYTE, 512 * 10),
        ("MANAGED", DEVICE + 16 * MEGABYTE, 2000),
        ("PINNED", HOST, 3000),
        ("STREAM_ORDERED", DEVICE + 24 * MEGABYTE, 4000),
        ("STREAM_ORDERED", DEVICE + 32 * MEGABYTE, 5000),
        ("REGISTERED", HOST + 8 * MEGABYTE, 6000),
        ("PLAIN", 0, 0),
    ]
    assert [each.view.stream for each in found] == [0, 0, 0, 0, ONE, ONE, 0, 0]
    assert found[-1].view.status == 2
    # A pool that is gone, perhaps: the handle is what the call blames.
    (use,) = recorded.operations("allocations", OperationKind.HANDLE_USE)
    assert (use.view.object, use.view.detail, use.view.status) == (0x9001, HandleKind.POOL, 1)


def test_frees(recorded: Scenarios) -> None:
    found = recorded.operations("allocations", FREE)
    assert [(FreeClass(each.view.detail).name, each.view.address, each.view.status) for each in found] == [
        ("DEVICE", DEVICE, 0),
        ("DEVICE", DEVICE + 8 * MEGABYTE + 4, 1),
        ("ASYNC", DEVICE + 24 * MEGABYTE, 0),
        ("PINNED", HOST, 0),
        ("UNREGISTER", HOST + 8 * MEGABYTE, 0),
    ]
    assert [each.view.stream for each in found] == [0, 0, ONE, 0, 0]


def test_memory_stays_what_it_was_when_its_free_fails(recorded: Scenarios) -> None:
    first, second = recorded.operations("failed_free", OperationKind.COPY)
    assert (first.view.detail, second.view.detail) == (WaitClass.COMPLETE, WaitClass.BEFORE)


def test_mappings(recorded: Scenarios) -> None:
    base = DEVICE + 1024 * MEGABYTE
    made = recorded.operations("mappings", ALLOC)
    pieces = [base + index * 2 * MEGABYTE for index in (0, 1, 2, 0)]
    assert [(each.view.address, each.view.detail) for each in made] == [(at, MemoryKind.MAPPED) for at in pieces]
    freed = recorded.operations("mappings", FREE)
    assert [(each.view.address, each.view.size, each.view.status) for each in freed] == [
        (base, 2 * MEGABYTE, 0),  # one call unmapped two
        (base + 2 * MEGABYTE, 2 * MEGABYTE, 0),
        (base, 2 * MEGABYTE, 0),
        (base + 4 * MEGABYTE, 2 * MEGABYTE, 1),
    ]
    (launch,) = recorded.operations("mappings", OperationKind.LAUNCH)
    assert launch.references == [(base + 3 * MEGABYTE, 0, "OPAQUE", 0), (base, 0, "READ", 0)]


def test_imports(recorded: Scenarios) -> None:
    made = recorded.operations("imports", ALLOC)
    assert [(MemoryKind(each.view.detail).name, each.view.size, each.view.status) for each in made] == [
        ("IPC", 12345, 0),  # opened twice, the size as the driver says
        ("IPC", 0, 201),
        ("UNKNOWN", 777, 0),
        ("POOL_IMPORT", 4096, 0),
    ]
    freed = recorded.operations("imports", FREE)
    assert [FreeClass(each.view.detail).name for each in freed] == ["IPC_CLOSE", "DEVICE"]


def test_pools(recorded: Scenarios) -> None:
    found = recorded.operations("pools")
    assert [(each.kind, each.view.object, each.view.status) for each in found] == [
        (OperationKind.HANDLE_CREATE, 0x9001, 0),
        (OperationKind.HANDLE_USE, 0x9001, 0),
        (OperationKind.HANDLE_USE, 0x9001, 0),
        (OperationKind.HANDLE_DESTROY, 0x9001, 0),
        (OperationKind.HANDLE_USE, 0x9001, 1),
        (OperationKind.HANDLE_CREATE, 0, 1),
        (OperationKind.HANDLE_CREATE, 0x9001, 0),  # the driver's own pool, at the handle that was given back
        (OperationKind.HANDLE_USE, 0x9001, 0),
    ]
    assert all(each.view.detail == HandleKind.POOL for each in found)


def test_device_variables_are_told_once(recorded: Scenarios) -> None:
    found = recorded.operations("variables", ALLOC)
    # Asked for twice, then once more after its module was unloaded.
    assert [(each.view.detail, each.view.size) for each in found] == [(MemoryKind.DEVICE_SYMBOL, 256)] * 2


def test_a_new_file_begins_with_what_is_alive(recorded: Scenarios) -> None:
    found = recorded.operations("rotation", ALLOC, FREE)
    assert [(each.kind, MemoryKind(each.view.detail).name, each.view.size) for each in found] == [
        (ALLOC, "PLAIN", 1000),
        (ALLOC, "PINNED", 2000),
        (ALLOC, "ARRAY", 8192),
    ]
    assert all(each.view.api == 0 for each in found)  # restated
    (texture,) = recorded.operations("rotation", OperationKind.HANDLE_CREATE)
    assert (texture.view.object, texture.view.address, texture.view.api) == (2, DEVICE, 0)
