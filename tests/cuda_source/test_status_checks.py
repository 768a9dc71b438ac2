# ruff: noqa: E501 - programs under test stay as a person would type them
"""Which way the checks of statuses go: libraries succeed, as CUDA's own calls do."""

from __future__ import annotations

import pytest
from reading import kinds, operations, reading_of

from streamsan.cuda_source.values.success import asks_for_success, is_status_type, means_success

SUCCEEDS = [
    "if (libDo(p) != LIB_STATUS_SUCCESS) throw 1;",
    "if (LIB_SUCCESS != libDo(p)) exit(1);",
    "if (libDo(p) == lib::Status::kSuccess) {} else return 1;",
    "auto st = libDo(p); if (st != libSuccess) return 1;",
    "int st; st = libDo(p); bool good = st == LIB_OK; if (!good) return 1;",
    "libDo(p) == LIB_OK ? (void)0 : exit(1);",
    "switch (libDo(p)) { case LIB_SUCCESS: break; default: exit(1); }",
    "libStatus_t st = libDo(p); if (st) return 1;",
    "libStatus_t st = libDo(p); if (st != 0) return 1;",
    "libStatus_t st; libAsk(&st); if (st != 0) return 1;",
    "LIBCHECK(libDo(p));",
    "must(libDo(p));",
    "if (declared(p) != 0) return 1;",
    "if (cusolverDnCreate(&h) != CUSOLVER_STATUS_SUCCESS) return 1;",
    "switch (cusolverDnCreate(&h)) { case CUSOLVER_STATUS_NOT_INITIALIZED: exit(1); default: break; }",
    "if (!other(p).ok()) return 1;",
]


@pytest.mark.parametrize("check", SUCCEEDS)
def test_the_error_branch_of_a_library_is_not_explored(check, tmp_path):
    text = f"""#define LIBCHECK(x) do {{ auto e = (x); if (e != LIB_STATUS_SUCCESS) {{ throw 1; }} }} while (0)
static void must(int s) {{ if (s != LIB_OK) exit(2); }}
libStatus_t declared(float* p);
int main() {{ float* p; cudaMalloc(&p, 4); cusolverDnHandle_t h; {check} cudaDeviceSynchronize(); return 0; }}
"""
    worlds = reading_of(text, tmp_path).worlds
    assert len(worlds) == 1
    assert kinds(operations(worlds[0]))[-1] == "CONTEXT_SYNCHRONIZE"


@pytest.mark.parametrize(
    "check",
    [
        "if (libCount(p) != 3) return 1;",
        "if (libDo(p) == LIB_NOT_OK) return 1;",
        "if (cudaStreamQuery(0) != cudaSuccess) return 1;",
        "cudaError_t e = cudaEventQuery(ev); if (e == cudaSuccess) return 1;",
        "Result r = libDo(p); if (more(r)) return 1;",
        "int ok = libCount(p); if (libCount(p) == ok) return 1;",
    ],
)
def test_other_questions_stay_open(check, tmp_path):
    text = f"int main() {{ float* p; cudaMalloc(&p, 4); cudaEvent_t ev; cudaEventCreate(&ev); cudaEventRecord(ev); {check} cudaDeviceSynchronize(); return 0; }}"
    assert len(reading_of(text, tmp_path).worlds) == 2


def test_names_of_success():
    good = ("CUSOLVER_STATUS_SUCCESS", "ncclSuccess", "cutlass::Status::kSuccess", "S_OK", "MPI_SUCCESS", "GL_NO_ERROR")
    bad = ("NOT_OK", "UNSUCCESS", "BOOK", "LOOK", "Book", "NV_OK_FLAG", "LIB_ERROR", "NO_SUCCESS")
    assert [name for name in good + bad if means_success(name)] == list(good)


def test_types_of_statuses():
    good = ("cudaError_t", "CUresult", "cublasStatus_t", "nvcompStatus_t", "cufftResult", "ncclResult_t", "NppStatus")
    bad = ("MatchResult", "int", "SearchStatus", "float", "cudaStream_t")
    assert [name for name in good + bad if is_status_type(name)] == list(good)


def test_questions_for_success():
    assert [name for name in ("ok", "isSuccess", "is_ok", "token", "book", "Ok") if asks_for_success(name)] == [
        "ok",
        "isSuccess",
        "is_ok",
        "Ok",
    ]
