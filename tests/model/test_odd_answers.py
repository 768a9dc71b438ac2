"""What an H200 answers to calls that ask for little sense: descriptions, registrations, advice, unknown questions."""

from __future__ import annotations

import pytest
from simulated import Simulated

OUT = 1
UNSET_ACCESSED_BY, SET_ACCESSED_BY, ACCESSED_BY = 6, 5, 3
SYNC_MEMOPS, MEMORY_TYPE = 6, 2


def ready() -> Simulated:
    """Return a program with a context."""
    program = Simulated()
    program.memory(64)
    return program


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"Format": 0, "NumChannels": 0, "Width": 0, "Height": 0}, 1),
        ({"Format": 32, "NumChannels": 3, "Width": 4, "Height": 0}, 1),
        ({"Format": 32, "NumChannels": 1, "Width": 0, "Height": 0}, 1),
        ({"Format": 32, "NumChannels": 1, "Width": 4, "Height": 0}, 0),
        ({"Format": 32, "NumChannels": 4, "Width": 4, "Height": 4}, 0),
    ],
)
def test_arrays_of_the_driver(fields: dict[str, int], status: int) -> None:
    assert ready().status("cuArrayCreate", OUT, 1, structures={"pAllocateArray": fields}) == status


@pytest.mark.parametrize(("bits", "width", "status"), [(0, 4, 20), (32, 0, 1), (32, 4, 0)])
def test_arrays_of_the_runtime(bits: int, width: int, status: int) -> None:
    description = {"x": bits, "y": 0, "z": 0, "w": 0, "f": 2}
    program = Simulated()
    assert program.status("cudaMallocArray", OUT, 1, width, 0, 0, structures={"desc": description}) == status


def test_unregistering_from_inside() -> None:
    program, host = Simulated(), 0x7000_0000
    assert program.status("cudaHostRegister", host, 160, 0) == 0
    assert program.status("cudaHostRegister", host + 80, 160, 0) == 712
    assert program.status("cudaHostUnregister", host + 80) == 1
    assert program.status("cudaHostUnregister", host) == 0
    assert program.status("cudaHostUnregister", host) == 713


def test_who_accesses_a_range() -> None:
    program = Simulated()
    memory = program.make("cudaMallocManaged", OUT, 4096, 1)

    def advise(advice: int, kind: int, device: int) -> None:
        location = {"location": {"type": kind, "id": device}}
        assert program.status("cudaMemAdvise", memory, 4096, advice, 1, structures=location) == 0

    def devices() -> list[object]:
        outputs = program.call("cudaMemRangeGetAttribute", OUT, 12, ACCESSED_BY, memory, 4096).outputs
        return [outputs[f"data.{index}"] for index in range(3)]

    assert devices() == [-2, -2, -2]
    advise(SET_ACCESSED_BY, 2, 0)
    advise(SET_ACCESSED_BY, 1, 1)
    advise(SET_ACCESSED_BY, 1, 0)
    assert devices() == [0, 1, -1]
    advise(UNSET_ACCESSED_BY, 1, 0)
    assert devices() == [1, -1, -2]


def test_the_one_attribute_of_a_pointer_that_can_be_set() -> None:
    program = ready()
    memory = program.make("cuMemAlloc", OUT, 64)
    one = {"value": {"value": 1}}
    assert program.make("cuPointerGetAttribute", OUT, SYNC_MEMOPS, memory) == 0
    assert program.status("cuPointerSetAttribute", OUT, SYNC_MEMOPS, memory, structures=one) == 0
    assert program.make("cuPointerGetAttribute", OUT, SYNC_MEMOPS, memory) == 1
    assert program.status("cuPointerSetAttribute", OUT, MEMORY_TYPE, memory, structures=one) == 1
    assert program.status("cuPointerSetAttribute", OUT, SYNC_MEMOPS, 0x1234, structures=one) == 1


def test_texture_objects_know_what_they_were_made_of() -> None:
    program = ready()
    descriptions = {"pResDesc": {"resType": 0}, "pTexDesc": {"filterMode": 1}}
    texture = program.call("cudaCreateTextureObject", OUT, 1, 1, 0, structures=descriptions).outputs["pTexObject"]
    resource = {"pResDesc": {"resType": 0}}
    other = program.call("cudaCreateSurfaceObject", OUT, 1, structures=resource).outputs["pSurfObject"]
    assert 0 != texture != other
    assert program.call("cudaGetTextureObjectTextureDesc", OUT, texture).outputs == {"pTexDesc.filterMode": 1}
    assert program.status("cudaDestroyTextureObject", texture) == 0
    assert program.status("cudaGetTextureObjectTextureDesc", OUT, texture) == 1


@pytest.mark.parametrize(
    "call",
    [
        ("cuCheckpointProcessGetState", 123434, OUT),
        ("cuDeviceGetDevResource", 0, OUT, 1),
        ("cuGetProcAddress", 1, OUT, 12000, 0, OUT),
        ("cuDeviceGetTexture1DLinearMaxWidth", OUT, 32, 1, 0),
    ],
)
def test_what_nobody_can_answer_is_not_supported(call: tuple[object, ...]) -> None:
    program = ready()
    assert program.status(*call) == 801
    assert program.status("cuCtxSynchronize") == 0
