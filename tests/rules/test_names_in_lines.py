"""Names of memory and streams, read from the recorded lines that make them."""

from __future__ import annotations

import pytest
from hand_made import HandMade
from msgspec.structs import replace

from streamsan.findings.finding import Finding
from streamsan.order.facts import AllocationFact, Fact
from streamsan.rules.names_in_lines import MEMORY, STREAM, event_in_line, name_in_line
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


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        ("a.c", "    cl_mem frames = clCreateBuffer(context, CL_MEM_READ_WRITE, n, NULL, &status);", "frames"),
        ("a.c", "p->acc[1] = clCreateBuffer(p->c, CL_MEM_READ_ONLY, n, NULL, &e); OK(e);", "p->acc[1]"),
        ("a.c", "float *table = (float *)clSVMAlloc(context, CL_MEM_READ_WRITE, n, 0);", "table"),
        ("a.c", "if ((view = clEnqueueMapBuffer(q, b, CL_TRUE, CL_MAP_READ, 0, n, 0, 0, 0, &e)) == 0)", "view"),
        ("a.c", "    *buffer = clCreateBuffer(context, 0, n, NULL, &status);", ""),
        ("a.c", "return clCreateBuffer(context, 0, n, NULL, &status);", ""),
        ("a.c", "if (size == clCreateBuffer(context, 0, n, NULL, &status))", ""),
        ("a.cpp", "cl::Buffer weights(context, CL_MEM_READ_ONLY, n);", "weights"),
        ("a.cpp", "auto weights = std::make_unique<cl::Buffer>(context, CL_MEM_READ_ONLY, n);", ""),
        ("a.py", "        self.total = cl.Buffer(self.ctx, cl.mem_flags.READ_WRITE, 4 * BATCH)", "self.total"),
        ("a.py", "seeds = cl.svm_empty(ctx, cl.svm_mem_flags.READ_WRITE, RAYS, np.int32)", "seeds"),
        ("a.py", "view, event = cl.enqueue_map_buffer(queue, bins, flags, 0, (BINS,), np.int32)", "view"),
        ("a.py", "first, second = cl.Buffer(ctx, flags, 4), cl.Buffer(ctx, flags, 4)", ""),
        ("a.py", "use(cl.Buffer(ctx, flags, 4), size=4)", ""),
    ],
)
def test_names_of_memory_in_opencl(file: str, text: str, name: str) -> None:
    assert name_in_line(file, text, MEMORY, inner=False) == name


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        ("a.c", "s.copies = clCreateCommandQueueWithProperties(s.context, device, NULL, &e);", "s.copies"),
        ("a.cpp", "cl::CommandQueue copies(context, device);", "copies"),
        ("a.py", "copies = cl.CommandQueue(context)", "copies"),
        ("a.py", "copies, compute = cl.CommandQueue(context), cl.CommandQueue(context)", ""),
    ],
)
def test_names_of_queues(file: str, text: str, name: str) -> None:
    assert name_in_line(file, text, STREAM, inner=False) == name


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        ("a.c", "    OK(clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, in, 0, NULL, &written));", "written"),
        ("a.c", "clEnqueueNDRangeKernel(q, k, 1, 0, &n, 0, 1, &written, &p->done[i]);  // then", "p->done[i]"),
        ("a.c", "clEnqueueNDRangeKernel(q, k, 1, 0, &n, 0, 1, &written, NULL);", ""),
        ("a.c", "m = clEnqueueMapBuffer(q, b, CL_FALSE, CL_MAP_READ, 0, n, 0, NULL, &mapped, &status);", ""),
        ("a.cpp", "queue_.enqueueWriteBuffer(in_, CL_FALSE, 0, n, host, nullptr, &sent);", "sent"),
        ("a.py", "    uploaded = cl.enqueue_copy(upload, signal, samples, is_blocking=False)", "uploaded"),
        ("a.py", "view, mapped = cl.enqueue_map_buffer(queue, b, flags, 0, (n,), np.int32)", "mapped"),
        ("a.py", "done = self.step(self.queue, (n,), None, a, b)", "done"),
        ("a.py", "done = self.step(queue, field.shape, None, a, b)", "done"),
        ("a.py", "total = sum(values, start)", ""),
        ("a.py", "energy = cl_array.sum(signal, queue=queue)", ""),
        ("a.py", "cl.enqueue_copy(queue, a, b)", ""),
    ],
)
def test_events_of_commands(file: str, text: str, name: str) -> None:
    assert event_in_line(file, text) == name


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
