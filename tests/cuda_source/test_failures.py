# ruff: noqa: E501 - programs under test stay as a person would type them
"""Failures of calls, and whether the program looks at their status."""

from __future__ import annotations

import pytest
from reading import operations, reading_of, run_main

from streamsan.vocabulary import CallClass

BROKEN = {
    "elapsed, no timing": (
        "cudaEvent_t a, b; float ms; cudaEventCreateWithFlags(&a, cudaEventDisableTiming); cudaEventCreate(&b);"
        " cudaEventRecord(a); cudaEventRecord(b); cudaEventSynchronize(b); {}cudaEventElapsedTime(&ms, a, b)",
        400,
    ),
    "elapsed, not recorded": (
        "cudaEvent_t a, b; float ms; cudaEventCreate(&a); cudaEventCreate(&b); cudaEventRecord(b); cudaEventSynchronize(b); {}cudaEventElapsedTime(&ms, a, b)",
        400,
    ),
    "registered twice": (
        "char* h = (char*)malloc(64); cudaHostRegister(h, 64, 0); {}cudaHostRegister(h, 64, 0)",
        712,
    ),
    "no capture to end": ("cudaStream_t s; cudaGraph_t g; cudaStreamCreate(&s); {}cudaStreamEndCapture(s, &g)", 401),
    "no such device": ("{}cudaSetDevice(-1)", 101),
    "another topology": (
        """float* p; cudaMalloc(&p, 4); cudaStream_t s; cudaStreamCreate(&s); cudaGraph_t g, h; cudaGraphExec_t e; cudaGraphExecUpdateResultInfo info;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal); fill<<<1, 1, 0, s>>>(p, 1); cudaStreamEndCapture(s, &g);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal); fill<<<1, 1, 0, s>>>(p, 1); fill<<<1, 1, 0, s>>>(p, 2); cudaStreamEndCapture(s, &h);
  cudaGraphInstantiate(&e, g, 0); {}cudaGraphExecUpdate(e, h, &info)""",
        910,
    ),
}


def unread(found):
    return [op.status for op in found if op.kind == "CALL" and op.detail == CallClass.UNREAD]


@pytest.mark.parametrize(("body", "status"), BROKEN.values(), ids=BROKEN)
def test_a_failure_that_nobody_looks_at_is_said(body, status, tmp_path):
    assert unread(run_main(f"  {body.format('')};", tmp_path)) == [status]
    assert unread(run_main(f"  cudaError_t err; {body.format('err = ')};", tmp_path)) == [status]


@pytest.mark.parametrize(
    "use",
    [
        "{}; cudaGetLastError();",
        "cudaError_t err; {}; if (err) return;",
        'cudaError_t err; {}; printf("%d", err);',
        "cudaError_t err; {}; seen(&err);",
        "{}; lookForErrors();",
    ],
)
@pytest.mark.parametrize(("body", "status"), BROKEN.values(), ids=BROKEN)
def test_a_failure_that_may_have_been_seen_is_not_said(body, status, use, tmp_path):
    call = body.format("err = " if "err;" in use else "")
    assert unread(run_main(f"  {use.format(call)}", tmp_path)) == []


def test_a_status_that_is_overwritten_unread(tmp_path):
    text = "  cudaError_t err = cudaSetDevice(-1); float* p; err = cudaMalloc(&p, 4); if (err) return;"
    assert unread(run_main(text, tmp_path)) == [101]
    text = "  cudaError_t err = cudaSetDevice(-1); float* p; if (err) return; err = cudaMalloc(&p, 4);"
    assert unread(run_main(text, tmp_path)) == []
    text = "  cudaError_t err = cudaSetDevice(-1); float* p; err = first(err, cudaMalloc(&p, 4));"
    assert unread(run_main(text, tmp_path)) == []


def test_a_result_of_an_update_that_is_looked_at(tmp_path):
    body = BROKEN["another topology"][0].format("")
    assert unread(run_main(f"  {body}; if (info.result != 0) cudaGraphExecDestroy(e);", tmp_path)) == []


def test_an_executable_graph_that_is_made_anew_anyway(tmp_path):
    body = BROKEN["another topology"][0].format("")
    assert unread(run_main(f"  {body}; cudaGraphExecDestroy(e); cudaGraphInstantiate(&e, h, 0);", tmp_path)) == []


def test_a_macro_that_looks_is_seen(tmp_path):
    text = "#define LOOK if (err) throw 1\nint main() { cudaError_t err; err = cudaSetDevice(-1); LOOK; err = cudaSuccess; }"
    assert [unread(operations(world)) for world in reading_of(text, tmp_path).worlds] == [[]]


def test_a_probe_is_an_answer(tmp_path):
    assert unread(run_main("  float* p; cudaMalloc(&p, 4); cudaFree(p); cudaFree(p);", tmp_path)) == []


@pytest.mark.parametrize(
    "body",
    [
        "cudaEvent_t a, b; float ms; cudaEventCreate(&a); cudaEventCreate(&b); cudaEventRecord(a); cudaEventRecord(b); cudaEventElapsedTime(&ms, a, b);",
        "cudaEvent_t a, b; float ms; cudaEventCreate(&a); cudaEventCreate(&b); seen(a, b); cudaEventElapsedTime(&ms, a, b);",
        "float ms; cudaEventElapsedTime(&ms, outside, outside2);",
        "char* h = (char*)malloc(64); cudaHostRegister(h, 64, 0); cudaHostUnregister(h); cudaHostRegister(h, 64, 0); cudaHostUnregister(h); free(h);",
    ],
)
def test_what_may_succeed_is_no_failure(body, tmp_path):
    assert unread(run_main(f"  {body}", tmp_path)) == []
