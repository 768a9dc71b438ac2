"""What the second recording showed: waits, reuse and access (the rows of docs/facts.md that the tests name)."""

from __future__ import annotations

import time
from typing import Any

import pytest

from streamsan.testing import device

SIZE = 4 << 20
FOLLOW, OPPORTUNISTIC, INTERNAL = 1, 2, 3
THRESHOLD, RESERVED, USED, USED_HIGH = 4, 5, 7, 8
H2H, H2D, D2H, D2D, DEFAULT = range(5)


def ok(result: Any) -> Any:
    status, *rest = result
    assert int(status) == 0, status
    return rest[0] if rest else None


class Program:
    """The bindings, with fewer words."""

    def __init__(self) -> None:
        from cuda.bindings import driver, runtime

        self.rt, self.cu = runtime, driver
        ok(runtime.cudaFree(0))

    def stream(self, blocking: bool = False) -> Any:
        return ok(self.rt.cudaStreamCreateWithFlags(0 if blocking else self.rt.cudaStreamNonBlocking))

    def pool(self, **attributes: int) -> Any:
        properties = self.rt.cudaMemPoolProps()
        properties.allocType = self.rt.cudaMemAllocationType.cudaMemAllocationTypePinned
        properties.location.type = self.rt.cudaMemLocationType.cudaMemLocationTypeDevice
        pool = ok(self.rt.cudaMemPoolCreate(properties))
        self.set(pool, THRESHOLD, self.cu.cuuint64_t(1 << 40))
        return pool

    def set(self, pool: Any, attribute: int, value: Any) -> None:
        ok(self.rt.cudaMemPoolSetAttribute(pool, self.rt.cudaMemPoolAttr(attribute), value))

    def get(self, pool: Any, attribute: int) -> int:
        return int(ok(self.rt.cudaMemPoolGetAttribute(pool, self.rt.cudaMemPoolAttr(attribute))))

    def take(self, pool: Any, stream: Any, size: int = SIZE) -> int:
        return int(ok(self.rt.cudaMallocFromPoolAsync(size, pool, stream)))

    def pending(self, stream: Any) -> Any:
        """Issue work; return an event behind it."""
        ok(self.rt.cudaMemsetAsync(ok(self.rt.cudaMalloc(SIZE)), 7, SIZE, stream))
        event = ok(self.rt.cudaEventCreate())
        ok(self.rt.cudaEventRecord(event, stream))
        return event

    def is_done(self, event: Any) -> bool:
        """Return whether the work before an event is done. Ask once: asking makes progress."""
        return int(self.rt.cudaEventQuery(event)[0]) == 0


def by_stream(p: Program, stream: Any, free: Any) -> None:
    ok(p.rt.cudaStreamSynchronize(stream))


def by_event(p: Program, stream: Any, free: Any) -> None:
    ok(p.rt.cudaEventSynchronize(free))


def by_device(p: Program, stream: Any, free: Any) -> None:
    ok(p.rt.cudaDeviceSynchronize())


def by_query(p: Program, stream: Any, free: Any) -> None:
    while not p.is_done(free):
        pass


def by_copy(p: Program, stream: Any, free: Any) -> None:
    """Wait in a blocking stream behind the free."""
    other = p.stream(blocking=True)
    ok(p.rt.cudaStreamWaitEvent(other, free, 0))
    ok(p.rt.cudaStreamSynchronize(other))


def by_legacy_stream(p: Program, stream: Any, free: Any) -> None:
    other = p.stream(blocking=True)
    ok(p.rt.cudaStreamWaitEvent(other, free, 0))
    for _ in range(10):
        time.sleep(0)
    ok(p.rt.cudaStreamSynchronize(0))
    ok(p.rt.cudaStreamSynchronize(other))


def unasked(p: Program, stream: Any, free: Any) -> None:
    for _ in range(10):
        time.sleep(0)


@pytest.mark.parametrize("told", [by_stream, by_event, by_device, by_query, by_copy, by_legacy_stream, unasked])
@pytest.mark.parametrize("opportunistic", [0, 1])
def test_what_the_host_knows_to_be_free_is_reused(told: Any, opportunistic: int) -> None:
    with device(schedule="lazy", driver="h200"):
        p = Program()
        pool, freeing = p.pool(), p.stream()
        for attribute, value in ((FOLLOW, 0), (OPPORTUNISTIC, opportunistic), (INTERNAL, 0)):
            p.set(pool, attribute, value)
        block = p.take(pool, freeing)
        ok(p.rt.cudaFreeAsync(block, freeing))
        event = ok(p.rt.cudaEventCreate())
        ok(p.rt.cudaEventRecord(event, freeing))
        told(p, freeing, event)
        assert (p.take(pool, p.stream()) == block) is (told is not unasked or bool(opportunistic))


def test_a_later_free_is_not_known() -> None:
    with device(schedule="lazy", driver="h200"):
        p = Program()
        pool, freeing = p.pool(), p.stream()
        p.set(pool, OPPORTUNISTIC, 0)
        block = p.take(pool, freeing)
        ok(p.rt.cudaStreamSynchronize(freeing))
        ok(p.rt.cudaFreeAsync(block, freeing))
        unasked(p, freeing, None)
        assert p.take(pool, p.stream()) != block


@pytest.mark.parametrize(("driver", "inside"), [("h200", True), ("contract", False)])
def test_halves_of_a_block(driver: str, inside: bool) -> None:
    with device(schedule="lazy", driver=driver) as found:
        p = Program()
        pool, stream = p.pool(), p.stream()
        block = p.take(pool, stream, 2 * SIZE)
        ok(p.rt.cudaFreeAsync(block, stream))
        ok(p.rt.cudaStreamSynchronize(stream))
        halves = sorted(p.take(pool, stream) for _ in range(2))
        assert all(block <= each < block + 2 * SIZE for each in halves) is inside
        for byte, half in enumerate(halves):
            ok(p.rt.cudaMemsetAsync(half, byte, SIZE, stream))
        ok(p.rt.cudaStreamSynchronize(stream))
        assert [found.read(half, SIZE) for half in halves] == [bytes([byte]) * SIZE for byte in range(2)]
        for half in halves:
            ok(p.rt.cudaFreeAsync(half, stream))
        ok(p.rt.cudaStreamSynchronize(stream))
        ok(p.rt.cudaMemPoolTrimTo(pool, 0))
        assert p.get(pool, RESERVED) == 0


@pytest.mark.parametrize(("driver", "left"), [("h200", SIZE), ("contract", 0)])
def test_a_plain_free_of_pool_memory_and_the_count(driver: str, left: int) -> None:
    with device(schedule="lazy", driver=driver):
        p = Program()
        pool, stream = p.pool(), p.stream()
        ok(p.rt.cudaFreeAsync(p.take(pool, stream), stream))
        assert p.get(pool, USED) == 0
        ok(p.rt.cudaFree(p.take(pool, stream)))
        assert p.get(pool, USED) == left
        ok(p.rt.cudaMemPoolTrimTo(pool, 0))
        assert (p.get(pool, USED), p.get(pool, RESERVED)) == (left, 0)
        p.set(pool, USED_HIGH, p.cu.cuuint64_t(0))
        assert p.get(pool, USED_HIGH) == left


@pytest.mark.parametrize(
    ("to_managed", "from_managed", "kind"),
    [
        *((True, False, kind) for kind in (D2H, D2D, DEFAULT)),
        *((False, True, kind) for kind in (H2D, D2D, DEFAULT)),
        *((True, True, kind) for kind in (H2D, D2H, D2D, DEFAULT)),
    ],
)
def test_copies_of_managed_memory(to_managed: bool, from_managed: bool, kind: int) -> None:  # L-23, L-24
    with device(schedule="lazy", driver="h200"):
        p = Program()
        to, source = (
            ok(p.rt.cudaMallocManaged(SIZE, p.rt.cudaMemAttachGlobal)) if managed else ok(p.rt.cudaMalloc(SIZE))
            for managed in (to_managed, from_managed)
        )
        stream, direction = p.stream(blocking=True), p.rt.cudaMemcpyKind(kind)
        event = p.pending(stream)
        ok(p.rt.cudaMemcpyAsync(to, source, SIZE, direction, stream))
        assert p.is_done(event) is (kind in (H2D, D2H))
        event = p.pending(stream)
        ok(p.rt.cudaMemcpy(to, source, SIZE, direction))
        assert p.is_done(event)


@pytest.mark.parametrize(("driver", "waits"), [("h200", True), ("contract", False)])
def test_a_reset_waits_for_the_other_device(driver: str, waits: bool) -> None:  # P-07
    with device(schedule="lazy", driver=driver, devices=2):
        p = Program()
        event = p.pending(p.stream())
        ok(p.rt.cudaSetDevice(1))
        ok(p.rt.cudaFree(0))
        ok(p.rt.cudaDeviceReset())
        ok(p.rt.cudaSetDevice(0))
        assert p.is_done(event) is waits


@pytest.mark.parametrize("driver", ["h200", "contract"])
def test_fills_in_a_stream_of_the_other_device(driver: str) -> None:  # P-01, P-09
    with device(schedule="lazy", driver=driver, devices=2):
        p = Program()
        plain, managed = ok(p.rt.cudaMalloc(SIZE)), ok(p.rt.cudaMallocManaged(SIZE, p.rt.cudaMemAttachGlobal))
        ok(p.rt.cudaSetDevice(1))
        far = p.stream()
        assert int(p.rt.cudaDeviceEnablePeerAccess(1, 0)[0]) == 217
        for current in (0, 1):
            ok(p.rt.cudaSetDevice(current))
            assert int(p.rt.cudaMemsetAsync(plain, 1, SIZE, far)[0]) == 1
            assert int(p.rt.cudaMemsetAsync(managed, 1, SIZE, far)[0]) == 0
        ok(p.rt.cudaDeviceEnablePeerAccess(0, 0))
        assert int(p.rt.cudaMemsetAsync(plain, 1, SIZE, far)[0]) == 0
        ok(p.rt.cudaStreamSynchronize(far))
