"""The table itself: every row is well-formed, look-ups, messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from row_groups import check_apis, families
from streamsan.effects import Api, Effect, Effects, Role, TableError
from streamsan.effects.roles import HANDLE_WORDS
from streamsan.effects.signature import parse_signature
from streamsan.model.call import default_value
from streamsan.platforms import CUDA
from streamsan.vocabulary import FreeClass, MemoryKind

ALL = list(CUDA.effects)


def test_table_is_large() -> None:
    assert len(ALL) == len(CUDA.effects) > 800


@pytest.mark.parametrize("family", families(ALL))
def test_rows_are_well_formed(family: list[Api]) -> None:
    check_apis(family, well_formed)


def well_formed(api: Api) -> None:
    assert api.versions
    assert len({(version.tag, version.names) for version in api.versions}) == len(api.versions)
    for version in api.versions:
        names = [parameter.name for parameter in version.parameters]
        assert len(set(names)) == len(names)
        assert version.least <= len(names)
        for position, parameter in enumerate(version.parameters):
            assert (parameter.handle in HANDLE_WORDS) == (parameter.role in (Role.HANDLE, Role.OUT_HANDLE))
            assert not parameter.variadic or position == len(names) - 1
            if parameter.default is not None:
                assert all(each.default is not None for each in version.parameters[position:])
        assert api.bind(len(names)) is not None
    assert (api.effect in (Effect.ALLOC, Effect.REGISTER, Effect.MAP)) == (api.memory is not None)
    assert (api.effect is Effect.FREE) == (api.free is not None)
    assert (api.effect in (Effect.COPY, Effect.MEMSET)) == bool(api.wait)
    for status in api.statuses:
        assert CUDA.constants[status] > 0


@pytest.mark.parametrize("family", families(a for a in ALL if a.effect in (Effect.ALLOC, Effect.FREE)))
def test_memory_rows_name_their_memory(family: list[Api]) -> None:
    check_apis(family, name_their_memory)


def name_their_memory(api: Api) -> None:
    for version in api.versions:
        if api.effect is Effect.FREE:
            assert version.first(Role.FREED)
            assert (version.first(Role.HANDLE, "stream") is not None) == (api.free is FreeClass.ASYNC)
        else:
            assert version.first(Role.OUT_POINTER) or version.first(Role.OUT_HANDLE, "array")
            assert (version.first(Role.HANDLE, "stream") is not None) == (api.memory is MemoryKind.STREAM_ORDERED)


@pytest.mark.parametrize("family", families(a for a in ALL if a.effect in (Effect.COPY, Effect.MEMSET)))
def test_copies_and_fills_name_their_memory(family: list[Api]) -> None:
    check_apis(family, name_what_they_copy_or_fill)


def name_what_they_copy_or_fill(api: Api) -> None:
    for version in api.versions:
        assert version.first(Role.WRITE) or version.first(Role.STRUCTURE) or version.first(Role.PITCHED)
        asynchronous = version.first(Role.HANDLE, "stream") is not None
        assert asynchronous == (api.wait == "asynchronous")


def test_defaults_are_known_values() -> None:
    unknown = {
        parameter.default
        for api in ALL
        for version in api.versions
        for parameter in version.parameters
        if parameter.default is not None and default_value(parameter.default) is None
    }
    assert unknown == {"UINT_MAX"}


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("cuMemAlloc_v2", "cuMemAlloc"),
        ("cudaMemcpyAsync_ptsz", "cudaMemcpyAsync"),
        ("cuStreamGetCaptureInfo_v2_ptsz", "cuStreamGetCaptureInfo"),
        ("cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoD"),
        ("cudaGetDeviceProperties_v2", "cudaGetDeviceProperties"),
    ],
)
def test_spellings(spelling: str, name: str) -> None:
    api = CUDA.effects.find(spelling)
    assert api is not None
    assert api.name == name
    assert spelling in CUDA.effects


def test_unknown_names() -> None:
    assert CUDA.effects.find("cudaMalocAsync") is None
    assert CUDA.effects.suggest("cudaMalocAsync") == "cudaMallocAsync"
    assert CUDA.effects.suggest("printf") is None
    assert 7 not in CUDA.effects


def test_per_thread_spelling() -> None:
    assert Effects.per_thread("cudaStreamSynchronize_ptsz")
    assert not Effects.per_thread("cudaStreamSynchronize")


@pytest.mark.parametrize(
    ("name", "count", "message"),
    [
        ("cudaFreeAsync", 1, "cudaFreeAsync takes 2 arguments (devPtr, hStream); 1 given"),
        ("cudaStreamCreate", 0, "cudaStreamCreate takes 1 argument (pStream); 0 given"),
        ("cudaDeviceSynchronize", 1, "cudaDeviceSynchronize takes no arguments; 1 given"),
        ("cudaMallocAsync", 2, "cudaMallocAsync takes 3 or 4 arguments (devPtr, size, hStream); 2 given"),
        ("cuCtxCreate", 2, "cuCtxCreate takes 3 to 5 arguments (pctx, flags, dev); 2 given"),
        ("cudaLaunchKernelEx", 1, "cudaLaunchKernelEx takes at least 2 arguments (config, kernel, args); 1 given"),
    ],
)
def test_mismatches_are_explained(name: str, count: int, message: str) -> None:
    api = CUDA.effects.find(name)
    assert api is not None
    assert api.bind(count) is None
    assert api.explain_mismatch(count) == message


def bound(name: str, count: int, hints=None) -> str | None:
    api = CUDA.effects.find(name)
    assert api is not None
    signature = api.bind(count, hints)
    return None if signature is None else signature.names


def test_all_published_argument_lists_bind() -> None:
    assert bound("cuCtxCreate", 3) == "pctx, flags, dev"
    assert bound("cuCtxCreate", 4) == "pctx, ctxCreateParams, flags, dev"
    assert bound("cuCtxCreate_v3", 5) == "pctx, paramsArray, numParams, flags, dev"
    assert bound("cudaGraphInstantiate", 5) == "pGraphExec, graph, pErrorNode, pLogBuffer, bufferSize"
    assert bound("cudaGraphInstantiate", 3) == "pGraphExec, graph, flags"
    assert bound("cudaMemcpyAsync", 4) == bound("cudaMemcpyAsync", 5)
    assert bound("cudaEventCreate", 2) == "event, flags"
    assert bound("cudaMallocHost", 3) == "ptr, size, flags"
    assert bound("cudaStreamWaitEvent", 2) == "stream, event, flags"
    assert bound("cudaEventElapsedTime", 3) == "ms, start, end"
    assert bound("cudaLaunchKernelEx", 9) == "config, kernel, args"


def test_hints_choose_between_versions() -> None:
    new = bound("cudaMemPrefetchAsync", 4, ["pointer", "number", None, "number"])
    assert new == "devPtr, count, location, flags, stream"
    old = bound("cudaMemPrefetchAsync", 4, ["pointer", "number", "number", "stream"])
    assert old == "devPtr, count, dstDevice, stream"


def test_best_guess_of_malformed_calls() -> None:
    api = CUDA.effects.find("cudaFreeAsync")
    assert api is not None
    assert api.best_guess(1).names == api.best_guess(7).names == "devPtr, hStream"
    launch = CUDA.effects.find("cudaLaunchKernelEx")
    assert launch is not None
    assert launch.best_guess(0).parameter(12) is launch.versions[0].parameters[-1]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("devPtr: pointer", "unknown role"),
        ("devPtr", "not a parameter"),
        ("s: handle", "must say which"),
        ("s: out handle", "must say which"),
        ("a: size,b: size", "not a parameter"),
    ],
)
def test_wrong_parameters_are_refused(text: str, reason: str) -> None:
    with pytest.raises(TableError, match=reason):
        parse_signature(text, "x.toml: f")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[call]]\nf = []", "no argument list"),
        ('[[shine]]\nf = ""', "shine"),
        ('[[call]]\ncolour = 1\nf = ""', "neither a setting"),
        ('[[alloc]]\nmemory = "WOOD"\nf = ""', "WOOD"),
    ],
)
def test_wrong_rows_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "family.toml").write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match=reason):
        list(Effects(tmp_path, lambda _: "runtime"))


def test_two_rows_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.toml").write_text('[[call]]\nf = ""', encoding="utf-8")
    with pytest.raises(TableError, match="has a row in"):
        Effects(tmp_path, lambda _: "runtime")


def test_constants() -> None:
    assert CUDA.constants["cudaMemcpyHostToDevice"] == 1
    assert CUDA.constants["cudaMemcpyDefault"] == 4
    assert CUDA.constants["cudaStreamNonBlocking"] == CUDA.constants["CU_STREAM_NON_BLOCKING"] == 1
    assert (CUDA.constants["cudaStreamLegacy"], CUDA.constants["cudaStreamPerThread"]) == (1, 2)
    assert CUDA.constants["cudaErrorNotReady"] == CUDA.constants["CUDA_ERROR_NOT_READY"] == 600
    assert CUDA.constants["cudaSuccess"] == CUDA.constants["CUDA_SUCCESS"] == 0
