"""Replays of single mistakes, and what cannot be replayed."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from expectations import check_text
from streamsan import cuda_source
from streamsan.evidence.witness.known_order import Before
from streamsan.evidence.witness.witness import Witness, witnesses
from streamsan.findings.finding import Finding
from streamsan.replay import Replay, replay, replayed_program
from streamsan.replay.replayed_findings import with_replays

HEAD = """\
#include <cuda_runtime.h>
__global__ void fill(float* p, int n) { int i = threadIdx.x; if (i < n) p[i] = 1.0f; }
__global__ void sum(const float* p, float* out, int n) { int i = threadIdx.x; if (i < n) out[i] += p[i]; }
int main() {
    const int n = 4096, bytes = n * sizeof(float);
    cudaStream_t one, two;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    cudaEvent_t event;
    cudaEventCreate(&event);
    float *data, *out;
    cudaMalloc(&out, bytes);
"""
TAIL = """
    cudaDeviceSynchronize();
    cudaFree(out);
    return 0;
}
"""
RACE = """
    cudaMallocAsync(&data, bytes, one);
    fill<<<16, 256, 0, one>>>(data, n);
    cudaEventRecord(event, one);
    cudaStreamWaitEvent(two, event, 0);
    sum<<<16, 256, 0, two>>>(data, out, n);
    cudaFreeAsync(data, one);
"""


def findings(folder: Path, body: str, code: str) -> list[Finding]:
    return [f for f in check_text(HEAD + body + TAIL, folder) if f.code == code]


def witness_of(folder: Path, body: str, code: str) -> Witness:
    (finding,) = findings(folder, body, code)
    (answer,) = witnesses([finding])
    assert isinstance(answer, Witness)
    return answer


def said(shown: Replay) -> str:
    return "\n".join(damage.text for damage in shown.damage)


def test_words_of_the_next_owner_are_read(tmp_path: Path) -> None:
    shown = replay(witness_of(tmp_path, RACE, "SS102"))
    assert "`data`[0..1023]: 1,024 of 1,024 words that kernel `sum`" in said(shown)
    assert "are wrong: they are the next owner's" in said(shown)
    assert shown.ran
    assert not shown.problem


def test_words_of_the_next_owner_are_overwritten(tmp_path: Path) -> None:
    body = RACE.replace("sum<<<16, 256, 0, two>>>(data, out, n)", "fill<<<16, 256, 0, two>>>(data, n)")
    assert "overwritten by kernel `fill`" in said(replay(witness_of(tmp_path, body, "SS102")))


def test_what_is_written_before_the_allocation_is_lost(tmp_path: Path) -> None:
    body = """
    cudaMallocAsync(&data, bytes, one);
    fill<<<16, 256, 0, two>>>(data, n);
    cudaDeviceSynchronize();
    cudaFreeAsync(data, one);
"""
    assert "what was written before it is lost" in said(replay(witness_of(tmp_path, body, "SS103")))


def test_two_writes_in_the_wrong_order(tmp_path: Path) -> None:
    body = """
    fill<<<16, 256, 0, one>>>(out, n);
    cudaMemsetAsync(out, 0, bytes, two);
"""
    shown = replay(witness_of(tmp_path, body, "SS109"))
    assert "`out`[0..1023]: 1,024 of 1,024 words wrong after kernel `fill`" in said(shown)


def test_a_use_in_program_order_behind_its_free(tmp_path: Path) -> None:
    body = """
    cudaMalloc(&data, bytes);
    cudaFree(data);
    sum<<<16, 256, 0, one>>>(data, out, n);
"""
    assert "they are the next owner's" in said(replay(witness_of(tmp_path, body, "SS101")))


def test_an_order_that_the_program_has_is_refused(tmp_path: Path) -> None:
    """With a wait in the trace that the witness ignores, the device does not let the free go ahead."""
    wrong = witness_of(tmp_path, RACE, "SS102")
    right = RACE.replace(
        "    cudaFreeAsync",
        "    cudaEventRecord(event, two);\n    cudaStreamWaitEvent(one, event, 0);\n    cudaFreeAsync",
    )
    path = tmp_path / "right.cu"
    path.write_text(HEAD + right + TAIL, encoding="utf-8")
    (world,) = cuda_source.read(path).worlds
    later = replace(wrong.plan.ahead, sequence=wrong.plan.ahead.sequence + 2)
    calls = wrong.ahead.calls | {wrong.plan.ahead.sequence, wrong.plan.ahead.sequence + 1}
    forged = replace(
        wrong,
        trace=world.trace,
        plan=replace(wrong.plan, ahead=later),
        ahead=Before(calls, wrong.ahead.works),
    )
    shown = replay(forged)
    assert shown.refused
    assert "kernel `sum`" in shown.problem
    assert not shown.damage


def test_a_witness_without_its_allocation_is_refused(tmp_path: Path) -> None:
    witness = witness_of(tmp_path, RACE, "SS102")
    assert replay(replace(witness, ahead=Before(witness.ahead.calls))).refused


def test_of_a_long_trace_the_end_is_performed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work before the window is taken to be complete; what it made is there."""
    many = "    fill<<<16, 256, 0, one>>>(out, n);\n    cudaStreamSynchronize(one);\n" * 40
    witness = witness_of(tmp_path, many + RACE, "SS102")
    whole = replay(witness)
    monkeypatch.setattr(replayed_program, "MOST_OPERATIONS", 12)
    assert replay(witness) == whole
    assert "they are the next owner's" in said(whole)


def test_operations_too_far_apart_are_not_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = "    fill<<<16, 256, 0, two>>>(out, n);\n" * 40
    witness = witness_of(tmp_path, RACE.replace("    cudaFreeAsync", many + "    cudaFreeAsync"), "SS102")
    monkeypatch.setattr(replayed_program, "MOST_OPERATIONS", 20)
    shown = replay(witness)
    assert shown.problem == "more than 20 operations lie between the first that matters and the last"
    assert not shown.ran
    assert not shown.refused


def test_findings_say_what_their_replay_showed(tmp_path: Path) -> None:
    every = check_text(
        HEAD + RACE + "    cudaStreamSynchronize(one);\n    cudaStreamSynchronize(one);" + TAIL, tmp_path
    )
    shown = {finding.code: finding.properties.get("replay") for finding in with_replays(every)}
    assert "next owner's" in str(shown.pop("SS102"))
    assert "SS504" in shown
    assert set(shown.values()) == {None}


def test_nodes_of_a_graph_that_is_never_launched(tmp_path: Path) -> None:
    body = """
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal);
    cudaEventRecord(event, one);
    cudaStreamWaitEvent(two, event, 0);
    fill<<<16, 256, 0, one>>>(out, n);
    cudaMemsetAsync(out, 0, bytes, two);
    cudaEventRecord(event, two);
    cudaStreamWaitEvent(one, event, 0);
    cudaStreamEndCapture(one, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
"""
    shown = replay(witness_of(tmp_path, body, "SS109"))
    assert "words wrong after kernel `fill`" in said(shown)
