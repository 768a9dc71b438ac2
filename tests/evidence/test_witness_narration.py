"""The words of witnesses: who, what, where, and what is missing."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from expectations import check_text
from streamsan.evidence.witness.witness import with_witnesses
from streamsan.findings.finding import Basis
from streamsan.rules.every_rule import RULES
from streamsan.rules.rule import Rule

HEAD = """\
#include <cuda_runtime.h>
__global__ void fill(float* p, int n) { int i = threadIdx.x; if (i < n) p[i] = 1.0f; }
__global__ void sum(const float* p, float* out, int n) { int i = threadIdx.x; if (i < n) out[i] += p[i]; }
int main() {
    const int n = 256, bytes = n * sizeof(float);
    cudaStream_t s1, s2;
    cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking);
    cudaEvent_t event;
    cudaEventCreate(&event);
    float *data, *out;
    cudaMalloc(&out, bytes);
"""
FIRST = HEAD.count("\n") + 1
TAIL = "    cudaDeviceSynchronize();\n    cudaFree(out);\n}\n"


def told(folder: Path, body: str, code: str) -> list[str]:
    found = [f for f in check_text(HEAD + body + TAIL, folder) if f.code == code]
    assert len(found) == 1
    assert not found[0].no_witness
    return list(found[0].witness)


def line(number: int) -> str:
    return f"(line {FIRST + number})"


ALLOCATED = """\
    cudaMallocAsync(&data, bytes, s1);
    cudaEventRecord(event, s1);
    cudaStreamWaitEvent(s2, event, 0);
"""


def test_the_free_goes_ahead(tmp_path: Path) -> None:
    body = ALLOCATED + "    sum<<<1, 256, 0, s2>>>(data, out, n);\n    cudaFreeAsync(data, s1);\n"
    assert told(tmp_path, body, "SS102") == [
        f"the host issues kernel `sum` to stream `s2` {line(3)}",
        f"stream `s1` reaches `cudaFreeAsync` of `data` {line(4)} while stream `s2` has not begun kernel `sum`: "
        "nothing orders stream `s1` after it",
        "the next allocation gets the block",
        "kernel `sum` runs: it reads what the next owner wrote",
    ]


def test_an_event_that_was_recorded_too_early_is_named(tmp_path: Path) -> None:
    body = ALLOCATED + (
        "    cudaEventRecord(event, s2);\n"
        "    sum<<<1, 256, 0, s2>>>(data, out, n);\n"
        "    cudaStreamWaitEvent(s1, event, 0);\n"
        "    cudaFreeAsync(data, s1);\n"
    )
    gap = told(tmp_path, body, "SS102")[1]
    assert gap.endswith(
        f": stream `s1` has waited for stream `s2` only up to the event of line {FIRST + 3}, "
        "recorded before kernel `sum`"
    )


def test_a_wait_that_came_too_early_is_named(tmp_path: Path) -> None:
    body = (
        "    cudaMallocAsync(&data, bytes, s1);\n"
        "    cudaStreamWaitEvent(s2, event, 0);\n"
        "    cudaEventRecord(event, s1);\n"
        "    fill<<<1, 256, 0, s2>>>(data, n);\n"
        "    cudaDeviceSynchronize();\n"
        "    cudaFreeAsync(data, s1);\n"
    )
    gap = told(tmp_path, body, "SS103")[2]
    assert gap.endswith(f": the wait of line {FIRST + 1} came before the event's record, and waits for nothing")


def test_an_event_of_older_work_is_no_reason(tmp_path: Path) -> None:
    """It was not meant to order the two: what is missing is said, not what there is."""
    body = (
        "    cudaEventRecord(event, s2);\n    cudaStreamWaitEvent(s1, event, 0);\n"
        "    fill<<<1, 256, 0, s1>>>(out, n);\n    sum<<<1, 256, 0, s2>>>(out, out, n);\n"
    )
    assert told(tmp_path, body, "SS109")[2].endswith("nothing orders stream `s2` after it")


def test_two_of_a_name_are_told_apart(tmp_path: Path) -> None:
    body = "    cudaMemsetAsync(out, 0, bytes, s1);\n    cudaMemsetAsync(out, 1, bytes, s2);\n"
    steps = told(tmp_path, body, "SS109")
    runs = f"stream `s2` runs the fill of line {FIRST + 1} while stream `s1` has not begun the fill of line {FIRST}"
    assert steps[2] == f"{runs}: nothing orders stream `s2` after it"
    assert steps[3].startswith(f"then the fill of line {FIRST} runs: its words stay in `out`")


def test_a_conflict_with_a_reader_says_what_is_read(tmp_path: Path) -> None:
    written = "    fill<<<1, 256, 0, s1>>>(out, n);\n"
    read = "    float host[256];\n    cudaMemcpyAsync(host, out, bytes, cudaMemcpyDeviceToHost, s2);\n"
    assert (
        told(tmp_path, written + read, "SS109")[-1] == "the copy reads `out` as it was before kernel `fill` writes it"
    )
    pinned = read.replace("float host[256];", "float* host; cudaMallocHost(&host, bytes);")
    assert (
        told(tmp_path, pinned + written, "SS109")[-1]
        == "then the copy runs, and reads what kernel `fill` has written over `out`"
    )


def test_a_conflict_that_only_the_wait_of_a_copy_prevents_says_that_nobody_promises_it(tmp_path: Path) -> None:
    read = "    float host[256];\n    cudaMemcpyAsync(host, out, bytes, cudaMemcpyDeviceToHost, s2);\n"
    written = "    fill<<<1, 256, 0, s1>>>(out, n);\n"
    assert told(tmp_path, read + written, "SS107")[-2:] == [
        "stream `s1` runs kernel `fill` while stream `s2` has not begun the copy: "
        "nothing promises that `cudaMemcpyAsync` waits for it",
        "then the copy runs, and reads what kernel `fill` has written over `out`",
    ]


def test_the_host_s_own_calls_are_told_where_they_happen(tmp_path: Path) -> None:
    body = "    cudaMallocAsync(&data, bytes, s1);\n    fill<<<1, 256, 0, s1>>>(data, n);\n    cudaFree(data);\n"
    steps = told(tmp_path, body, "SS102")
    assert steps[0] == f"the host issues kernel `fill` to stream `s1` {line(1)}"
    calls = f"the host calls `cudaFree` of `data` {line(2)} while stream `s1` has not begun kernel `fill`"
    assert steps[1] == f"{calls}: nothing makes the host wait for it"
    assert steps[-1] == "kernel `fill` runs: it writes into the next owner's memory"


def test_findings_that_are_not_about_order_say_why_they_have_none(tmp_path: Path) -> None:
    found = check_text(HEAD + "    cudaStreamSynchronize(s1);\n    cudaStreamSynchronize(s1);\n" + TAIL, tmp_path)
    (redundant,) = [finding for finding in found if finding.code == "SS504"][:1]
    assert redundant.witness == ()
    assert redundant.no_witness == "nothing goes wrong: the finding is about time"


def test_a_finding_without_its_trace_says_so(tmp_path: Path) -> None:
    body = ALLOCATED + "    sum<<<1, 256, 0, s2>>>(data, out, n);\n    cudaFreeAsync(data, s1);\n"
    (finding,) = [f for f in check_text(HEAD + body + TAIL, tmp_path) if f.code == "SS102"]
    (bare,) = with_witnesses([replace(finding, witness=(), basis=Basis())])
    assert bare.witness == ()
    assert bare.no_witness


def test_rules_about_order_need_no_reason() -> None:
    for code, rule in RULES.items():
        assert rule.is_about_order == (type(rule).wrong_execution is not Rule.wrong_execution), code
