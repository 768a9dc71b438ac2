"""OpenCL's table against the prototypes of the Khronos headers (functions.json), and in itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from row_groups import check_apis, families
from streamsan.effects import Api, Effect, Effects, Role
from streamsan.effects.roles import HANDLE_WORDS, RESULT_WORDS
from streamsan.platforms import CUDA

FOLDER = CUDA.folder.parent / "opencl"
TABLE = Effects(FOLDER / "api", lambda name: "runtime")
ALL = list(TABLE)
PROTOTYPES = json.loads((FOLDER / "functions.json").read_text(encoding="utf-8"))
NEWER = {api.name for api in ALL if api.family == "newer"}

HANDLES = {
    "cl_context": "context",
    "cl_command_queue": "stream",
    "cl_event": "event",
    "cl_mem": "memory",
    "cl_kernel": "kernel",
    "cl_program": "program",
    "cl_sampler": "sampler",
    "cl_platform_id": "platform",
    "cl_command_buffer_khr": "command_buffer",
    "cl_semaphore_khr": "semaphore",
}
OBJECTS = (Role.READ_OBJECT, Role.WRITE_OBJECT, Role.USE_OBJECT)
QUEUED = {Effect.COPY, Effect.MEMSET, Effect.PREFETCH, Effect.LAUNCH, Effect.MAP_MEMORY, Effect.UNMAP_MEMORY,
          Effect.ACQUIRE_OBJECTS, Effect.RELEASE_OBJECTS, Effect.SEMAPHORE_WAIT, Effect.SEMAPHORE_SIGNAL,
          Effect.COMMAND_BUFFER_ENQUEUE}  # fmt: skip


def test_every_function_of_the_headers_is_in_the_table() -> None:
    assert len(PROTOTYPES) > 225
    assert set(PROTOTYPES) == {api.name for api in ALL} - NEWER


def test_every_entry_of_the_dispatch_table_is_there_once() -> None:
    places = sorted(place for _, place, _, _ in PROTOTYPES.values() if place is not None)
    assert places == list(range(149))


@pytest.mark.parametrize("family", families(api for api in ALL if api.name not in NEWER))
def test_rows_agree_with_the_prototypes(family: list[Api]) -> None:
    check_apis(family, agrees)


def agrees(api: Api) -> None:
    since, _, result, parameters = PROTOTYPES[api.name]
    version = api.versions[-1]
    assert [parameter.name for parameter in version.parameters] == [name for _, name in parameters]
    assert version.tag in (since, f"{since}-") or (version.tag, since) == ("", "1.0")
    assert api.returns == HANDLES.get(result, api.returns)
    if api.returns not in ("nothing", "pointer"):
        assert (result in HANDLES or result == "cl_accelerator_intel") == (api.returns != "")
    for parameter, (type, name) in zip(version.parameters, parameters, strict=True):
        plain = type.replace("const", "").strip()
        if plain == "cl_mem":
            assert (parameter.role is Role.HANDLE and parameter.handle == "memory") or parameter.role in OBJECTS
        elif plain in HANDLES:
            assert (parameter.role, parameter.handle) == (Role.HANDLE, HANDLES[plain])
        if "CL_CALLBACK" in type or "(*" in type:
            assert parameter.role is Role.FUNCTION
        assert (parameter.role is Role.OUT_STATUS) == (name == "errcode_ret")
        assert not parameter.is_out or "*" in type
        assert not (type.startswith("const") and parameter.is_out)


@pytest.mark.parametrize("family", families(ALL))
def test_rows_are_well_formed(family: list[Api]) -> None:
    check_apis(family, well_formed)


def well_formed(api: Api) -> None:
    assert api.returns in RESULT_WORDS
    assert (api.effect is Effect.ALLOC) == (api.memory is not None)
    for version in api.versions:
        names = [parameter.name for parameter in version.parameters]
        assert len(set(names)) == len(names)
        for parameter in version.parameters:
            assert (parameter.handle in HANDLE_WORDS) == (parameter.role in (Role.HANDLE, Role.OUT_HANDLE))
        # A command waits for a list of events, and makes one.
        if api.effect in QUEUED:
            assert version.first(Role.WAIT_COUNT)
            assert version.first(Role.WAIT_LIST)
            assert version.first(Role.OUT_HANDLE, "event")
        if api.effect in (Effect.RETAIN, Effect.RELEASE):
            assert [parameter.role for parameter in version.parameters] in ([Role.HANDLE], [Role.DEVICE])
        if api.effect in (Effect.COPY, Effect.MEMSET):
            assert version.first(Role.WRITE) or version.first(Role.WRITE_OBJECT)


def test_names() -> None:
    assert TABLE.find("clEnqueueReadBuffer") is not None
    assert TABLE.find("clEnqueueReadBufer") is None
    assert TABLE.suggest("clEnqueueReadBufer") == "clEnqueueReadBuffer"


def test_constants() -> None:
    constants = json.loads((FOLDER / "constants.json").read_text(encoding="utf-8"))
    assert (constants["CL_SUCCESS"], constants["CL_OUT_OF_RESOURCES"]) == (0, -5)
    assert constants["CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE"] == 1
    assert (constants["CL_MEM_USE_HOST_PTR"], constants["CL_MAP_WRITE_INVALIDATE_REGION"]) == (8, 4)
    assert constants["CL_DEVICE_TYPE_ALL"] == 0xFFFFFFFF
    assert constants["CL_TRUE"] == constants["CL_BLOCKING"] == 1


def test_headers_that_are_installed_say_nothing_else() -> None:
    folder = Path("/usr/include/CL")
    if not (folder / "cl_icd.h").is_file():
        pytest.skip("no OpenCL headers")
    from streamsan.generate.extract_opencl import functions_of

    # Other versions of the headers have more functions, and fewer.
    for name, (_, _, _, parameters) in functions_of(folder).items():
        api = TABLE.find(name)
        assert api is not None, name
        given = [parameter for _, parameter in parameters]
        assert given in [[parameter.name for parameter in version.parameters] for version in api.versions], name
