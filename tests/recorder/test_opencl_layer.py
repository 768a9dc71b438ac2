"""The layer's table of functions: what has an effect is stood before, and the numbers are OpenCL's."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sanitized_programs import CORE, UNDER_SANITIZERS, build, operations_of, run
from streamsan.generate.opencl_header import rows_of
from streamsan.launched_code.resolution import resolve_kernels
from streamsan.platforms import OPENCL
from streamsan.recorder.environment import Settings
from streamsan.trace import Trace
from streamsan.trace.reader import read
from streamsan.trace.view import iterate
from streamsan.vocabulary import OperationKind

LAYER = Path(__file__).resolve().parents[2] / "native" / "recorder" / "opencl"
_REGISTERED = re.compile(r"^void register_\w+\(HandlerTable& table\) \{.*?^\}$", re.M | re.S)
WITHOUT_ORDER = {
    *("HANDLE_USE", "INSPECT", "CONTEXT_TERMINATE", "DESTRUCTOR_CALLBACK"),
}
"""Effects that change neither memory nor order."""
OF_NO_OBJECT = {
    *("clCreateAcceleratorINTEL", "clRetainAcceleratorINTEL", "clReleaseAcceleratorINTEL"),
    *("clRetainDevice", "clReleaseDevice", "clRetainDeviceEXT", "clReleaseDeviceEXT"),
    "clCommandBarrierWithWaitListKHR",
}
"""Functions of objects that no rule asks for; and a barrier in a command buffer, whose inner order is not looked at."""


def _stood_before() -> set[str]:
    texts = (path.read_text() for path in LAYER.glob("*.cpp"))
    return {name for text in texts for part in _REGISTERED.findall(text) for name in re.findall(r"::(cl\w+)", part)}


def test_every_function_with_an_effect_is_stood_before() -> None:
    rows = rows_of(OPENCL.folder / "functions.json", OPENCL.effects)
    missing = set()
    for name in rows.keys() - _stood_before() - OF_NO_OBJECT:
        api = OPENCL.effects.find(name)
        if api is not None and api.effect.name not in WITHOUT_ORDER:
            missing.add(name)
    assert sorted(missing) == ["clGetExtensionFunctionAddress", "clGetExtensionFunctionAddressForPlatform"]


def test_the_numbers_are_those_of_the_interface() -> None:
    constants = json.loads((OPENCL.folder / "constants.json").read_text())
    text = (LAYER / "abi.hpp").read_text()
    stated = re.findall(r"(CL_\w+) = ([^;]+);", text)
    assert len(stated) > 50
    for name, value in stated:
        number = eval(value.replace("U", ""))  # shifts and literals of our own header
        assert constants[name] == number, name


MODULE = Path(__file__).parents[1] / "kernels" / "spirv" / "kernels.O2.spv"
UNITS = ("recorder/opencl/*.cpp", *CORE, "recorder/tests/opencl_layer_driver.cpp")


def modes_of_launches(trace: Trace) -> list[list[str]]:
    """What each launch does with what it was given, by the names of modes."""
    launches = (view for view in iterate(trace) if view.kind is OperationKind.LAUNCH)
    return [[str(each.mode.name) for each in view.references] for view in launches]


def told_by_name(trace: Trace) -> dict[str, list[str]]:
    """What the calls of each function are told as: kinds, with the modes and sizes of references."""
    told: dict[str, list[str]] = {}
    for view in iterate(trace):
        used = [f"{each.mode.name} {each.size}" for each in view.references]
        told.setdefault(trace.apis[view.api], []).append(" ".join([view.kind.name, *used]))
    return told


_IN_ORDER = ["HANDLE_USE", "LAUNCH OPAQUE 0", "COPY WRITE 512 READ 512", "MEMSET WRITE 512"]
_AS_ONE = ["HANDLE_USE", "LAUNCH OPAQUE 0 WRITE 512 READ 512 WRITE 512"]
_SHARED = ["HANDLE_USE", "COPY WRITE 1024 READ 1024", "MEMSET WRITE 512"]
_EVENT = ["EVENT_CREATE", "EVENT_RECORD"]
TOLD = {
    "clEnqueueCommandBufferKHR": [*_IN_ORDER, *_EVENT, *_IN_ORDER, *_AS_ONE, *_EVENT, *_AS_ONE, *_SHARED],
    "clReleaseCommandBufferKHR": ["HANDLE_DESTROY"] * 3 + ["FREE OPAQUE 0", "HANDLE_DESTROY"] + ["HANDLE_DESTROY"] * 2,
    "clSVMAllocWithPropertiesKHR": ["ALLOC OPAQUE 4096"],
    "clSVMFreeWithPropertiesKHR": ["FREE OPAQUE 0"],
    "clEnqueueTask": ["LAUNCH", "LAUNCH OPAQUE 0", "LAUNCH"],
    "clEnqueueReadBuffer": ["COPY"],
    "clEnqueueAcquireGLObjects": ["PREFETCH READ_WRITE 4096"],
    "clEnqueueSignalSemaphoresKHR": ["QUEUE_MARKER", "EVENT_RECORD"],
    "clEnqueueWaitSemaphoresKHR": ["STREAM_WAIT_EVENT", "QUEUE_MARKER", "OPAQUE_CALL", "QUEUE_MARKER"],
}


@pytest.mark.deep
@pytest.mark.parametrize("sanitizer", ["plain", *(parameter.values[0] for parameter in UNDER_SANITIZERS)])
def test_the_layer_between_a_loader_and_a_runtime(
    sanitizer: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path / "run.sst"
    (tmp_path / "run.code").mkdir(mode=0o700)
    settings = Settings(
        output=str(path), counter="", run="1", omissions="", code=str(tmp_path / "run.code"), sites=False
    )
    # The process is none that was started by a run: it takes a name of its own.
    program = build(tmp_path_factory, sanitizer, UNITS)
    run(program, str(MODULE), environment={"STREAMSAN_RECORD": settings.packed(0)})
    (file,) = tmp_path.glob("*.sst")
    trace = read(str(file))
    remarks = resolve_kernels(trace, str(file))
    assert modes_of_launches(trace)[:5] == [
        ["READ", "WRITE", "READ"],  # of a module: what is read and what is written of an argument has its range
        ["WRITE", "READ"],  # a text as it was built for the queue's device, and for the other one
        ["READ", "WRITE"],
        ["READ", "WRITE"],  # linked
        ["OPAQUE", "OPAQUE"],  # of binaries
    ]
    (said,) = remarks.remarks()
    assert said.startswith("what kernels read and write was read from programs' SPIR-V and programs' text for 4 of ")
    assert "their programs were made from binaries" in said
    told = told_by_name(trace)
    for name, kinds_of in TOLD.items():
        assert told[name] == kinds_of, name
    operations = operations_of(trace)
    kinds = [OperationKind(kind) for kind in operations["kind"].tolist()]
    assert kinds.count(OperationKind.STREAM_WAIT_EVENT) == 4 * 40 * 39 // 2 + 1  # a semaphore's
    counted = [kinds.count(kind) for kind in (OperationKind.EVENT_CREATE, OperationKind.EVENT_RECORD)]
    assert counted == [4 * 40 + 1 + 2 + 2, 4 * 40 + 2 + 1]  # commands', a user's, command buffers', semaphores'
    too_many = operations[operations["status"] == -38]
    assert [OperationKind(kind) for kind in too_many["kind"].tolist()] == [OperationKind.FREE] * 2
