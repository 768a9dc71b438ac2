"""A platform is a folder of data: CUDA's own, and one that a test makes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamsan.effects import Effect, Endpoint
from streamsan.platforms import (
    CUDA,
    OPENCL,
    Platform,
    UnknownPlatformError,
    platform_of,
    platform_of_call,
    register,
    registry,
)
from streamsan.platforms.platform_facts import NO_STATUS
from streamsan.trace import TraceBuilder
from streamsan.vocabulary import FreeClass, MemoryKind, WaitClass

FACTS = Path(__file__).parents[2] / "docs" / "facts.md"

TOY = {
    "facts.toml": """
name = "Toy"
types = ["TOY_"]
[streams]
legacy = "TOY_QUEUE"
per_thread = "TOY_OWN_QUEUE"
[interface.toy]
prefix = "toy"
document = "The Toy Manual"
errors = "TOY_ERROR_"
[memory]
CL_BUFFER = { side = "device", dies_with_context = true }
[free]
DEVICE = { accepts = ["CL_BUFFER"] }
[status]
success = "TOY_SUCCESS"
not_ready = "TOY_ERROR_BUSY"
[statuses]
answers = ["TOY_ERROR_BUSY"]
""",
    "python_bindings.json": """{"new": {"version": "1.0", "toy": {
  "enums": {"toyError": {"TOY_SUCCESS": 0, "TOY_ERROR_BUSY": 7}},
  "constants": {"TOY_QUEUE": 10, "TOY_OWN_QUEUE": 11}}}}""",
    "waits.toml": """
copy_unknown = { synchronous = "COMPLETE" }
copy.synchronous = { host_to_host = "COMPLETE" }
memset.synchronous = { device = "NONE" }
""",
    "api/memory.toml": """
[[free]]
free = "DEVICE"
toyFree = "buffer: value"
""",
}


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[Platform]:
    for name, text in TOY.items():
        path = tmp_path / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    yield register(tmp_path / "toy")
    del registry._PLATFORMS["toy"]


def test_a_platform_is_a_folder_that_a_trace_names(toy: Platform) -> None:
    assert platform_of(TraceBuilder("a", "toy").finish().platform) is toy
    assert platform_of(TraceBuilder("a").finish().platform) is CUDA
    api = toy.effects.find("toyFree")
    assert api is not None
    assert api.effect is Effect.FREE
    assert toy.waits.of_copy("synchronous", Endpoint.DEVICE, Endpoint.PAGEABLE) is WaitClass.COMPLETE
    assert (toy.legacy_stream, toy.per_thread_stream) == (10, 11)
    assert toy.dies_with_context(MemoryKind.CL_BUFFER)
    assert not toy.dies_with_context(MemoryKind.PLAIN)
    assert toy.accepts(FreeClass.DEVICE, MemoryKind.CL_BUFFER)
    assert (toy.status.not_ready, toy.status.illegal_address, toy.status.answers) == (7, NO_STATUS, {7})
    assert toy.error_name(7, "toyFree") == "TOY_ERROR_BUSY"
    assert not toy.is_low_level("toyFree")
    assert toy.in_low_level_names("use toyFree") == "use toyFree"


def test_an_unknown_platform_is_named() -> None:
    with pytest.raises(UnknownPlatformError, match=r"'abacus' is not known \(known: cuda, opencl\)"):
        platform_of("abacus")


def test_facts_name_rows_that_exist() -> None:
    known = set(re.findall(r"^\| ([A-Z]-\d\d) \|", FACTS.read_text(encoding="utf-8"), re.M))
    named = {
        fact for each in (CUDA, OPENCL) for row in (*each.memory.values(), *each.frees.values()) for fact in row.facts
    }
    assert named <= known


def test_every_family_of_frees_is_described() -> None:
    assert CUDA.frees.keys() | OPENCL.frees.keys() == set(FreeClass)


def test_names_of_the_driver() -> None:
    assert CUDA.is_low_level("cuMemFree")
    assert not CUDA.is_low_level("cudaFree")
    assert not CUDA.is_low_level("scale")
    assert CUDA.error_name(1, "cudaFree") == "cudaErrorInvalidValue"
    assert CUDA.error_name(1, "cuMemFree") == "CUDA_ERROR_INVALID_VALUE"
    assert CUDA.error_name(12345, "cudaFree") == "error 12345"
    assert CUDA.in_low_level_names("cudaFree, then cudaStrange(p)") == "cuMemFree, then cudaStrange(p)"
    interface = CUDA.interface("cudaFree")
    assert interface is not None
    assert interface.document == "CUDA Runtime API"


def test_what_frees_accept_and_wait_for() -> None:
    assert CUDA.accepts(FreeClass.DEVICE, MemoryKind.PLAIN)
    assert not CUDA.accepts(FreeClass.DEVICE, MemoryKind.PINNED)
    assert CUDA.accepts(FreeClass.PINNED, MemoryKind.UNKNOWN)
    assert CUDA.accepts(FreeClass.PINNED, MemoryKind.SVM)
    assert CUDA.free_waits(FreeClass.DEVICE, MemoryKind.PLAIN)
    assert not CUDA.free_waits(FreeClass.DEVICE, MemoryKind.STREAM_ORDERED)
    assert CUDA.host_side(MemoryKind.PINNED)
    assert not CUDA.pageable(MemoryKind.PINNED)
    assert not CUDA.host_side(MemoryKind.MANAGED)
    assert CUDA.pageable(MemoryKind.HOST_STACK)


def test_opencl_is_a_platform() -> None:
    assert platform_of("opencl") is OPENCL
    assert OPENCL.error_name(-38, "clReleaseMemObject") == "CL_INVALID_MEM_OBJECT"
    assert OPENCL.release(MemoryKind.SVM) == "clSVMFree"
    assert OPENCL.accepts(FreeClass.CL_RELEASE, MemoryKind.CL_BUFFER)
    assert not OPENCL.accepts(FreeClass.CL_SVM, MemoryKind.CL_BUFFER)
    assert not any(OPENCL.dies_with_context(kind) for kind in MemoryKind)
    assert (OPENCL.legacy_stream, OPENCL.per_thread_stream) == (-1, -1)
    assert OPENCL.is_function("clFinish")
    assert not OPENCL.is_function("cloneBuffer")


def test_a_call_tells_its_platform() -> None:
    assert platform_of_call("clFinish", "cuda") is OPENCL
    assert platform_of_call("cudaFree", "opencl") is CUDA
    assert platform_of_call("", "opencl") is OPENCL
    assert platform_of_call("step", "cuda") is CUDA


def test_kinds_that_two_platforms_have_are_the_same_for_both() -> None:
    for kind in CUDA.memory.keys() & OPENCL.memory.keys():
        assert CUDA.side(kind) is OPENCL.side(kind)
        assert CUDA.dies_with_context(kind) == OPENCL.dies_with_context(kind)
    assert not CUDA.status.answers & OPENCL.status.answers
    assert not CUDA.status.of_pointers & OPENCL.status.of_pointers


def test_words_of_opencl_quote_no_cuda() -> None:
    for name in ("rules.toml", "facts.toml"):
        text = (OPENCL.folder / name).read_text(encoding="utf-8")
        assert not re.search(r"\bcuda[A-Z]|\bcu[A-Z]", text), name
