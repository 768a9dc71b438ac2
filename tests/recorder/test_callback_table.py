"""The table of callbacks: complete as to the effects table, and its rows as the API has them."""

from __future__ import annotations

import re
from pathlib import Path

from streamsan.effects import Effect, Role
from streamsan.effects.callbacks import MOST_PARAMETERS, Callback, role_of
from streamsan.generate.callbacks_header import header_text
from streamsan.platforms import CUDA

ROWS = CUDA.callbacks
RECORDED = tuple(row for row in ROWS if row.recorded)

WITHOUT_EFFECT = frozenset({Effect.PURE, Effect.CALL})
QUESTIONS = frozenset(
    {
        Effect.GET_DEVICE,
        Effect.DEVICE_COUNT,
        Effect.DEVICE_HANDLE,
        Effect.CONTEXT_GET,
        Effect.STREAM_CONTEXT,
        Effect.CAPTURE_INFO,
        Effect.GRAPH_QUERY,
        Effect.GRAPH_NODE_GET,
        Effect.GRAPH_MEMORY,
    }
)
NOT_RECORDED = {
    "cuMemHostGetFlags": "asks",
    "cuPointerGetAttribute": "asks",
    "cuPointerGetAttributes": "asks",
    "cuMemGetAddressRange": "asks",
    "cuMemRangeGetAttribute": "asks",
    "cuMemRangeGetAttributes": "asks",
    "cuMemPoolGetAttribute": "asks",
    "cuMemPoolGetAccess": "asks",
    "cuMemGetAccess": "asks",
    "cuStreamGetPriority": "asks",
    "cuStreamGetFlags": "asks",
    "cuStreamGetId": "asks",
    "cuStreamGetDevice": "asks",
    "cuStreamGetAttribute": "asks",
    "cuGraphKernelNodeGetAttribute": "asks",
    "cuFabricCpyBatchAsync": "CUPTI has no callback for it",
    "cuGLGetDevices": "no published header says where its arguments are; it asks",
    "cuGraphicsGLRegisterBuffer": "no published header says where its arguments are; mapping the buffer is recorded",
    "cuGraphicsGLRegisterImage": "no published header says where its arguments are; mapping the image is recorded",
}


def rows_of(name: str) -> list[Callback]:
    return [row for row in RECORDED if row.api is not None and row.api.name == name]


def test_every_driver_call_that_matters_has_a_callback() -> None:
    recorded = {row.api.name for row in RECORDED if row.api is not None}
    missing = {
        api.name
        for api in CUDA.effects
        if api.domain == "driver" and api.effect not in WITHOUT_EFFECT | QUESTIONS and api.name not in recorded
    }
    assert missing == set(NOT_RECORDED)


def test_every_runtime_call_that_can_fail_has_a_callback() -> None:
    recorded = {row.api.name for row in RECORDED if row.api is not None}
    spellings = {re.sub(r"(_v\d+)*$", "", row.spelling) for row in ROWS if row.members or row.api is None}
    missing = {
        api.name
        for api in CUDA.effects
        if api.domain == "runtime"
        and api.effect is not Effect.PURE
        and api.name not in recorded
        and api.name in spellings
    }
    assert missing == {"cudaGetExportTable"}


def test_every_function_that_has_a_handler_of_its_own_has_a_callback() -> None:
    sources = Path(__file__).parents[2] / "native" / "recorder" / "cuda"
    named = {
        name
        for source in sources.glob("*.cpp")
        for name in re.findall(r'\bon\("(cu\w+)"', source.read_text(encoding="utf-8"))
    }
    assert "cuLaunchKernel" in named
    recorded = {row.api.name for row in RECORDED if row.api is not None and row.domain == "driver"}
    assert named <= recorded


def test_both_default_streams_have_their_entry_points() -> None:
    for name in (
        "cuLaunchKernel",
        "cuMemcpyAsync",
        "cuMemAllocAsync",
        "cuStreamWaitEvent",
        "cuMemsetD8",
        "cuGraphLaunch",
    ):
        assert {row.per_thread for row in rows_of(name)} == {False, True}, name


def test_the_arguments_of_a_version_are_told_by_count_and_name() -> None:
    old, new = (row for row in rows_of("cuMemPrefetchAsync") if not row.per_thread)
    assert [member.name for member in old.members] == ["devPtr", "count", "dstDevice", "hStream"]
    assert role_of(old, 2)[0] is Role.DEVICE
    assert role_of(old, 3) == (Role.HANDLE, "stream")
    assert [member.name for member in new.members] == ["devPtr", "count", "location", "flags", "hStream"]
    assert role_of(new, 4) == (Role.HANDLE, "stream")
    assert (new.members[4].offset, new.members[4].size) == (32, 8)


def test_each_row_fits_its_structure() -> None:
    handles = ("stream", "event", "context", "graph", "graph_exec", "node", "pool")
    addresses = (Role.OUT_POINTER, Role.OUT_HANDLE, Role.OUT_VALUE, Role.IN_OUT, Role.STRUCTURE, Role.LIST)
    for row in RECORDED:
        assert len(row.members) <= MOST_PARAMETERS, row.spelling
        end = 0
        for position, member in enumerate(row.members):
            where = (row.spelling, member)
            # A structure by value is aligned to its own members, at most to a word.
            assert member.offset >= end, where
            assert member.offset % min(member.size, 4) == 0, where
            assert member.offset - end < 8, where
            end = member.offset + member.size
            role, handle = role_of(row, position)
            if role in addresses or (role is Role.HANDLE and handle in handles):
                assert member.size == 8, where


def test_the_position_of_each_argument_has_a_role() -> None:
    """Where the table knows the function, it knows each argument of each version that CUPTI can call back for."""
    unknown = {
        f"{row.spelling}({member.name})"
        for row in RECORDED
        for position, member in enumerate(row.members)
        if row.parameter(position) is None
    }
    assert unknown == {"cudaOccupancyMaxActiveBlocksPerMultiprocessor_v6000(numDynamicSmemBytes)"}


def test_hot_functions_are_of_the_runtime_and_named() -> None:
    hot = {row.api.name for row in RECORDED if row.hot and row.api is not None}
    assert {"cudaLaunchKernel", "cudaMallocAsync", "cudaFreeAsync", "cudaMemcpyAsync", "cudaGetLastError"} <= hot
    assert not {"cudaMalloc", "cudaFree", "cudaDeviceReset", "cudaSetDevice", "cudaStreamSynchronize"} & hot
    assert all(row.domain == "runtime" for row in RECORDED if row.hot)


def test_ids_are_unique_and_the_header_is_in_their_order() -> None:
    for domain in ("driver", "runtime"):
        numbers = [row.number for row in ROWS if row.domain == domain]
        assert numbers == sorted(set(numbers))
    text = header_text(ROWS)
    assert text.count("effects::Effect::") == len(RECORDED)
    assert '{307, false, false, false, "cuLaunchKernel", effects::Effect::LAUNCH' in text
