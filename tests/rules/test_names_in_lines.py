"""Names of memory and streams, read from the recorded lines that make them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import HandMade

from streamsan.findings.finding import Finding
from streamsan.order.facts import AllocationFact, Fact
from streamsan.rules.names_in_lines import MEMORY, STREAM, name_in_line
from streamsan.rules.pipeline import findings_of
from streamsan.vocabulary import FactVariant, MemoryKind, OperationKind, RelatedRole


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("    cudaMalloc(&d_x, n * sizeof(float));", "d_x"),
        ("CHECK(cudaMalloc((void **)&state->field.cells, bytes));", "state->field.cells"),
        ("CU(cudaMallocPitch(reinterpret_cast<void**>(&view_.base), &view_.pitch, w * sizeof(T), h));", "view_.base"),
        ("  OK(cudaMallocAsync<float>(&data_, n, home_));", "data_"),
        ("cudaMalloc(static_cast<void **>(static_cast<void *>(&x)), n);", ""),
        ("for (int i = 0; i < 4; ++i) cudaHostAlloc(&ring[i], bytes, cudaHostAllocMapped);", "ring[i]"),
        ("cuMemAlloc((CUdeviceptr*)&block, 512);", "block"),
        ("cudaHostRegister(samples, bytes, cudaHostRegisterDefault);", "samples"),
        ("cudaMalloc(p, bytes);", ""),
        ("cudaMalloc(&a, n); cudaMalloc(&b, n);", ""),
        ("cudaMalloc(&a[f(i)], n);", ""),
        ("auto x = make_buffer(n);", ""),
        ("my_cudaMalloc(&x, n);", ""),
        (f"cudaMalloc(&{'x' * 41}, n);", ""),
    ],
)
def test_names_of_memory_in_cuda(text: str, name: str) -> None:
    assert name_in_line("a.cu", text, MEMORY, inner=False) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("        self.hits = ok(driver.cuMemAlloc(DETECTORS * 4))", "self.hits"),
        ("err, d_x = cudart.cudaMalloc(n)", "d_x"),
        ("(status, d_x) = cudart.cudaMalloc(n)", ""),
        ("buffers[i]: int = check(runtime.cudaMallocAsync(n, s))", "buffers[i]"),
        ("self.aligned = cp.zeros((4, 4), dtype=cp.float32)", ""),
        ("blocks.append(ok(driver.cuMemAlloc(n)))", ""),
        ("if ok(cudaMalloc(n)) == 3:", ""),
        ("use(size=3, block=cudaMalloc(n))", ""),
    ],
)
def test_names_of_memory_in_python(text: str, name: str) -> None:
    assert name_in_line("a.py", text, MEMORY, inner=False) == name


@pytest.mark.parametrize(
    ("text", "name"), [("cudaMalloc(&p, n);", ""), ("cudaMalloc(&raw, n);", ""), ("cudaMalloc(&out_, n);", "out_")]
)
def test_a_local_of_a_function_that_makes_it_for_others_says_little(text: str, name: str) -> None:
    assert name_in_line("a.cu", text, MEMORY, inner=True) == name


def test_names_of_streams() -> None:
    text = "C(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));"
    assert name_in_line("a.cu", text, STREAM, inner=False) == "side"
    assert name_in_line("a.cu", text, MEMORY, inner=False) == ""


LINES = {
    7: "  cudaStreamCreate(&copies);",
    8: "  cudaStreamCreate(&kernels);",
    9: "  for (auto& s : pool) cudaStreamCreate(&s.stream);",
    12: "  CHECK(cudaMalloc(&weights, n));",
}


def race(*lines_of_streams: int, origin: str = "recording") -> Finding:
    names = HandMade(path="run.sst", origin=origin)
    names.source_lines = {"/src/a.cu": LINES}
    operations = []
    for number, (kind, line) in enumerate(
        zip((OperationKind.COPY, OperationKind.LAUNCH), lines_of_streams, strict=True)
    ):
        site = names.at(line, file="/src/a.cu")
        made = names.operation(kind, 20 + number, "cudaMemcpyAsync", stream=100 + number, file="/src/a.cu")
        operations.append(replace(made, stream_site=site, stream_number=number + 1, flags=2))
    memory = AllocationFact(0x7000, 4096, 1, MemoryKind.PLAIN, False, names.at(12, file="/src/a.cu"))
    fact = Fact(109, FactVariant.CONFLICT_WRITE_WRITE, operations[1], ((RelatedRole.USE, operations[0]),), memory)
    (finding,) = findings_of(names, [fact])
    return finding


def test_a_recording_calls_memory_and_streams_as_its_lines_do() -> None:
    finding = race(7, 8)
    assert "writes `weights` while" in finding.message
    assert "used here, in the order of stream `copies`" in [each.message for each in finding.related]
    assert finding.fix is not None
    assert "cudaEventRecord(event, copies); cudaStreamWaitEvent(kernels, event, 0);" in finding.fix.summary


def test_two_streams_that_one_line_makes_have_no_name() -> None:
    finding = race(9, 9)
    assert "used here, in the order of stream 1" in [each.message for each in finding.related]


def test_a_source_s_names_are_the_reader_s() -> None:
    assert "`weights`" not in race(7, 8, origin="source").message
