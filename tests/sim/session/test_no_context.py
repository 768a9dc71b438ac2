"""Driver calls on a thread to which no context is current (Q-08)."""

from __future__ import annotations

from typing import Any

import pytest
from simulated_cuda import driver, ok

from streamsan.testing import device

INVALID_CONTEXT = 201


def objects() -> dict[str, Any]:
    """Make a stream, an event and memory, and leave no context current."""
    ok(driver.cuInit(0))
    ok(driver.cuCtxSetCurrent(ok(driver.cuDevicePrimaryCtxRetain(0))))
    stream = ok(driver.cuStreamCreate(1))
    made = {
        "stream": stream,
        "event": ok(driver.cuEventCreate(0)),
        "plain": ok(driver.cuMemAlloc(64)),
        "pinned": ok(driver.cuMemHostAlloc(64, 0)),
        "pooled": ok(driver.cuMemAllocAsync(64, stream)),
    }
    ok(driver.cuStreamSynchronize(stream))
    ok(driver.cuCtxPopCurrent())
    return made


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cuEventRecord", ("event", "stream")),
        ("cuEventQuery", ("event",)),
        ("cuEventDestroy", ("event",)),
        ("cuStreamSynchronize", ("stream",)),
        ("cuStreamQuery", ("stream",)),
        ("cuMemsetD8Async", ("plain", 1, 64, "stream")),
        ("cuMemFreeAsync", ("pooled", "stream")),
        ("cuMemFree", ("plain",)),
        ("cuMemFreeHost", ("pinned",)),
    ],
)
def test_a_call_works_and_makes_none_current(name: str, arguments: tuple[Any, ...]) -> None:
    with device():
        made = objects()
        given = [made.get(each, each) for each in arguments]
        assert int(getattr(driver, name)(*given)[0]) == 0
        assert int(ok(driver.cuCtxGetCurrent())) == 0


def test_what_needs_a_context_is_refused() -> None:
    with device():
        made = objects()
        assert int(driver.cuMemAlloc(64)[0]) == INVALID_CONTEXT
        assert int(driver.cuMemcpyDtoD(made["plain"], made["pooled"], 64)[0]) == INVALID_CONTEXT


def test_attributes_of_null_are_zeros() -> None:
    with device():
        ok(driver.cuInit(0))
        kind = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
        status, values = driver.cuPointerGetAttributes(1, [kind], 0)
        assert (int(status), [int(value) for value in values]) == (0, [0])
        assert int(driver.cuPointerGetAttribute(kind, 0)[0]) == 1
