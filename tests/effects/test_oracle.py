"""The table against two sources that nobody here wrote: the installed bindings, and the headers where there are any."""

from __future__ import annotations

import inspect
import os
import re
from pathlib import Path

import pytest
from cuda.bindings import driver, runtime

from row_groups import check_each, grouped
from streamsan.effects import Signature
from streamsan.platforms import CUDA

# The bindings cannot use names that are reserved in Python or Cython.
RENAMED = {
    "typename": "type",
    "length": "len",
    "numbytes": "bytes",
    "pformat": "format",
    "input_": "input",
    "from_": "from",
}
ELSEWHERE = re.compile(r"EGL|Egl|VDPAU")
"""Interoperation with other libraries, in headers of their own: not in the table."""


def functions(module, prefix: str) -> list[tuple[str, list[str]]]:
    return [
        (name, list(inspect.signature(function).parameters))
        for name in sorted(dir(module))
        if re.match(prefix + "[A-Z]", name) and not ELSEWHERE.search(name)
        if callable(function := getattr(module, name)) and not isinstance(function, type)
    ]


BOUND = functions(runtime, "cuda") + functions(driver, "cu")


def agrees(signature: Signature, names: list[str]) -> bool:
    """The bindings take all but the out-arguments, in order."""
    rest = iter(signature.parameters)
    for name in names:
        for parameter in rest:
            if parameter.name in (name, RENAMED.get(name)):
                break
            if not parameter.is_out:
                return False
        else:
            return False
    return all(parameter.is_out for parameter in rest)


def test_bindings_were_read() -> None:
    assert len(BOUND) > 700


def family(bound: tuple[str, list[str]]) -> str:
    api = CUDA.effects.find(bound[0])
    return "none" if api is None else api.family


@pytest.mark.parametrize("bound", grouped(BOUND, family))
def test_parameters_agree_with_the_bindings(bound: list[tuple[str, list[str]]]) -> None:
    check_each(bound, lambda each: each[0], parameters_agree)


def parameters_agree(bound: tuple[str, list[str]]) -> None:
    name, parameters = bound
    api = CUDA.effects.find(name)
    assert api is not None
    assert any(agrees(version, parameters) for version in api.versions), api.versions


def header_folders() -> list[Path]:
    named = [os.environ[key] for key in ("CUDA_HOME", "CUDA_PATH") if key in os.environ]
    candidates = [Path(each) / "include" for each in named] + sorted(Path("/usr/local").glob("cuda*/include"))
    return [folder for folder in candidates if (folder / "cuda_runtime_api.h").is_file()][:1]


DECLARED = re.compile(r"CUDA(?:RT)?API(?:_CDECL)?\s+(cu(?:da)?[A-Z]\w+)\s*\((.*?)\)\s*;", re.DOTALL)


def declarations(text: str) -> list[tuple[str, list[str]]]:
    """Names and parameter names of the functions that a header declares."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    found = []
    for name, parameters in DECLARED.findall(text):
        parameters = re.sub(r"__dv\([^)]*\)|\[\w*\]", "", parameters)
        parts = [part.strip() for part in parameters.split(",")]
        names = [re.split(r"[\s*]", part)[-1] for part in parts if part not in ("", "void")]
        found.append((name, names))
    return found


@pytest.mark.parametrize("header", ["cuda_runtime_api.h", "cuda.h"])
@pytest.mark.parametrize("folder", header_folders())
def test_every_declaration_of_the_headers_has_its_argument_list(folder: Path, header: str) -> None:
    declared = declarations((folder / header).read_text(encoding="utf-8", errors="replace"))
    assert len(declared) > 300
    wrong = []
    for name, parameters in declared:
        api = CUDA.effects.find(name)
        if api is None or not any(len(version.parameters) == len(parameters) for version in api.versions):
            wrong.append((name, parameters))
    assert wrong == []


RENAMED_BY_MACRO = re.compile(
    r"^\s*#\s*define\s+(cu(?:da)?[A-Z]\w*)\s+(?:__CUDA(?:RT)?_API_\w+\()?(cu(?:da)?[A-Z]\w*)", re.MULTILINE
)
BEHIND_MACROS = [
    "cuGraphInstantiateWithFlags", "cuMemAlloc_v2", "cuMemcpyHtoDAsync_v2_ptsz", "cuMemPrefetchAsync_v2_ptsz",
    "cuMemcpyBatchAsync_v2", "cuCtxCreate_v4", "cuCtxSynchronize_v2", "cuStreamBeginCapture_v2_ptsz",
    "cuStreamGetCaptureInfo_v3", "cuGraphAddKernelNode_v2", "cuGraphAddNode_v2", "cuGraphExecUpdate_v2",
    "cuEventElapsedTime_v2", "cuStreamDestroy_v2", "cuEventDestroy_v2", "cuMemHostRegister_v2", "cuIpcOpenMemHandle_v2",
    "cuGetProcAddress_v2", "cuDevicePrimaryCtxRelease_v2", "cudaMemcpyAsync_ptsz", "cudaGetDeviceProperties_v2",
    "cudaStreamGetCaptureInfo_v3_ptsz", "cudaGraphAddNode_v2", "cudaEventRecord_ptsz", "cudaLaunchKernel_ptsz",
    "cudaMemset_ptds", "cudaGraphKernelNodeGetParams", "cudaGraphInstantiateWithFlags",
]  # fmt: skip
"""What a driver exports where programs write another name: a few of those in the headers of CUDA 11 to 13."""


@pytest.mark.parametrize("name", BEHIND_MACROS)
def test_names_behind_the_macros_are_found(name: str) -> None:
    assert CUDA.effects.find(name) is not None


@pytest.mark.parametrize("header", ["cuda_runtime_api.h", "cuda.h"])
@pytest.mark.parametrize("folder", header_folders())
def test_every_renaming_of_the_headers_is_found(folder: Path, header: str) -> None:
    text = (folder / header).read_text(encoding="utf-8", errors="replace")
    names = {name for names in RENAMED_BY_MACRO.findall(text) for name in names}
    assert len(names) > 60
    assert [name for name in sorted(names) if CUDA.effects.find(name) is None] == []
