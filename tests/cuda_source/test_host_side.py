# ruff: noqa: E501 - programs under test stay as a person would type them
from __future__ import annotations

import pytest
from reading import kinds, loud, only_world, operations, reading_of, run_main

from streamsan.vocabulary import AccessMode, EdgeClass, FreeClass, MemoryKind

D = "float* d; cudaMalloc(&d, 400); cudaStream_t s; cudaStreamCreate(&s);"


def test_locals_blocks_and_containers_are_host_memory_once_cuda_sees_them(tmp_path):
    body = f"""  {D}
  {{ float a[10]; std::vector<float> v(20); float* m = (float*)malloc(40); float* n = new float[8]; float unseen[4]; unseen[0] = 1;
    cudaMemcpyAsync(d, a, 40, cudaMemcpyHostToDevice, s);
    cudaMemcpyAsync(d, v.data(), 80, cudaMemcpyHostToDevice, s);
    cudaMemcpyAsync(d, m, 40, cudaMemcpyHostToDevice, s);
    cudaMemcpyAsync(d, n, 32, cudaMemcpyHostToDevice, s);
    free(m); delete[] n; }}"""
    ops = run_main(body, tmp_path)
    made = {op.label: (op.detail, op.size) for op in ops if op.kind == "ALLOC" and op.label != "d"}
    assert made == {
        "a": (MemoryKind.HOST_STACK, 40),
        "v": (MemoryKind.HOST_HEAP, 80),
        "m": (MemoryKind.HOST_HEAP, 40),
        "n": (MemoryKind.HOST_HEAP, 32),
    }
    freed = [op.detail for op in ops if op.kind == "FREE"]
    assert freed == [FreeClass.HOST_HEAP, FreeClass.HOST_HEAP, FreeClass.HOST_HEAP, FreeClass.HOST_SCOPE]


def test_accesses_have_their_place_and_mode(tmp_path):
    body = f"""  {D} float h[100];
  cudaMemcpyAsync(h, d, 400, cudaMemcpyDeviceToHost, s);
  h[3] = 1;
  float x = h[5];
  printf("%f", h[7]);"""
    ops = run_main(body, tmp_path)
    base = next(op.address for op in ops if op.label == "h")
    found = [(op.address - base, op.size, op.flags & 3, op.line) for op in ops if op.kind == "HOST_ACCESS"]
    assert found == [(12, 4, AccessMode.WRITE, 5), (20, 4, AccessMode.READ, 6), (28, 4, AccessMode.READ, 7)]


def test_a_summarised_loop_accesses_its_buffers_once(tmp_path):
    body = f"""  {D} float* h[2]; for (int i = 0; i < 2; ++i) cudaMallocHost(&h[i], 400);
  int slot = 1; float sum = 0;
  for (int i = 0; i < 100; ++i) {{ h[slot][i] = i; sum += h[0][i]; }}
  cudaFreeHost(h[0]); cudaFreeHost(h[1]);"""
    ops = run_main(body, tmp_path)
    pinned = [op.object for op in ops if op.kind == "ALLOC" and op.detail == MemoryKind.PINNED]
    found = [(op.object, op.flags & 3) for op in ops if op.kind == "HOST_ACCESS"]
    assert sorted(found) == sorted([(pinned[1], AccessMode.WRITE), (pinned[0], AccessMode.READ)])


RECORDS = """struct Record {{ float x, y; struct {{ float z; }} in; }};
struct Records {{ Record* first; Record& operator[](int i) {{ return first[i]; }} }};
int main() {{
  Records records; cudaMallocManaged(&records.first, 1200); Record* r = records.first;
  for (int i = 0; i < 100; ++i) {body}
  cudaFree(r);
}}
"""


@pytest.mark.parametrize(
    ("body", "mode"),
    [
        ("records[i].y = i;", AccessMode.WRITE),
        ("records[i].in.z += 1;", AccessMode.WRITE),
        ("r[i].in.z = i;", AccessMode.WRITE),
        ("(*(r + i)).y = i;", AccessMode.WRITE),
        ("sum += records[i].y;", AccessMode.READ),
    ],
)
def test_a_summarised_loop_writes_the_elements_whose_members_it_assigns(body, mode, tmp_path):
    text = RECORDS.format(body=body).replace("Record* r", "float sum = 0; Record* r")
    ops = operations(only_world(reading_of(text, tmp_path)))
    found = [(op.size, op.flags & 3) for op in ops if op.kind == "HOST_ACCESS"]
    assert found == [(0 if "*(" in body else 1200, mode)]


def test_threads_are_started_and_joined(tmp_path):
    before = "void work(float* p, cudaStream_t s) { fill<<<1, 1, 0, s>>>(p, 1); }"
    body = f"""  {D} std::vector<std::thread> all;
  for (int i = 0; i < 2; ++i) all.emplace_back(work, d, s);
  std::thread last([&] {{ cudaStreamSynchronize(s); }});
  for (auto& t : all) t.join();
  last.detach();"""
    worlds = reading_of(f"{before}\nint main() {{\n{body}\n}}\n", tmp_path).worlds
    assert [world.decisions for world in worlds] == [(True,), (False,)], "at once, and where main waits for them"
    for ops in map(operations, worlds):
        assert sorted(op.thread for op in ops if op.kind in ("LAUNCH", "STREAM_SYNCHRONIZE")) == [1, 2, 3]
        assert [op.detail for op in ops if op.kind == "HOST_ACQUIRE"] == [EdgeClass.CONTRACT] * 5
        assert [op.thread for op in ops if op.kind == "HOST_ACQUIRE"] == [1, 2, 3, 0, 0]


def test_mutexes_and_atomics_are_edges_of_this_run(tmp_path):
    before = "std::mutex m; std::atomic<int> ready{0};"
    body = "  { std::lock_guard<std::mutex> g(m); cudaDeviceSynchronize(); }\n  ready.store(1);\n  if (ready.load() == 1) cudaDeviceReset();"
    ops = run_main(body, tmp_path, before)
    assert [(op.kind, op.detail) for op in ops] == [
        ("HOST_ACQUIRE", EdgeClass.RUN),
        ("CONTEXT_SYNCHRONIZE", 0),
        ("HOST_RELEASE", EdgeClass.RUN),
        ("HOST_RELEASE", EdgeClass.RUN),
        ("HOST_ACQUIRE", EdgeClass.RUN),
        ("DEVICE_RESET", 0),
    ]


def test_host_functions_run_on_a_thread_of_their_own(tmp_path):
    before = "void done(void* data) { *(int*)data = 1; }"
    ops = run_main(
        f"  {D} int flag = 0;\n  cudaLaunchHostFunc(s, done, &flag);\n  cudaStreamSynchronize(s);", tmp_path, before
    )
    access = next(op for op in ops if op.kind == "HOST_ACCESS")
    assert (access.thread, access.flags & 3, access.function) == (1, AccessMode.WRITE, "done")


def test_smart_pointers_call_their_deleters(tmp_path):
    before = "struct Later { cudaStream_t s; void operator()(float* p) const { cudaFreeAsync(p, s); } };"
    body = f"""  {D}
  {{ std::unique_ptr<float, decltype(&cudaFree)> a(d, &cudaFree); }}
  float* e; cudaMallocAsync(&e, 4, s);
  {{ std::unique_ptr<float, Later> b(e, Later{{s}}); auto c = std::move(b); }}
  float* f; cudaMalloc(&f, 4);
  {{ std::shared_ptr<float> x(f, [](float* p) {{ cudaFree(p); }}); auto y = x; }}"""
    ops = run_main(body, tmp_path, before)
    assert [op.object for op in ops if op.kind == "FREE"] == [op.object for op in ops if op.kind == "ALLOC"]
    assert [op.detail for op in ops if op.kind == "FREE"] == [FreeClass.DEVICE, FreeClass.ASYNC, FreeClass.DEVICE]


def test_launches_by_api_see_their_arguments(tmp_path):
    body = f"""  {D} float* e; cudaMalloc(&e, 4);
  void* args[] = {{ &d, &e }};
  cudaLaunchKernel((const void*)add, dim3(1), dim3(1), args, 0, s);"""
    ops = run_main(body, tmp_path)
    launch = ops[-1]
    assert (launch.kind, launch.label, launch.stream, launch.flags & 3) == (
        "LAUNCH",
        "add",
        ops[1].object,
        AccessMode.READ,
    )


def test_structures_by_value_carry_their_pointers(tmp_path):
    text = """struct View { float* data; int n; };
__global__ void use(View v) { v.data[0] = 1; }
int main() { View v; cudaMalloc(&v.data, 4); v.n = 1; use<<<1, 1>>>(v); cudaFree(v.data); }
"""
    ops = operations(reading_of(text, tmp_path).worlds[0])
    assert kinds(ops) == ["ALLOC", "LAUNCH", "FREE"]
    assert ops[1].object == ops[0].object
    assert ops[0].label == "v.data"


def test_device_variables_are_symbols(tmp_path):
    ops = run_main(
        "  float h[4];\n  cudaMemcpyToSymbol(table, h, sizeof(table));", tmp_path, "__constant__ float table[4];"
    )
    made = {op.label: op.detail for op in ops if op.kind == "ALLOC"}
    assert made == {"h": MemoryKind.HOST_STACK, "table": MemoryKind.DEVICE_SYMBOL}


WALKS = [
    ("for (int i = 0; i < 1000; i++) sum += h[i];", (0, 4000)),
    ("for (int i = 0; i < 1000; i++) sum += h[i + 3];", (12, 4000)),
    ("for (int i = 3; i <= 5; ++i) sum += h[i];", (12, 12)),
    ("for (int i = 9; i > 5; --i) sum += h[i];", (24, 16)),
    ("int first = 6 * 4; for (int i = 0; i < 6; ++i) h[first + i] = i;", (96, 24)),
    ("for (int y = 0; y < 4; ++y) for (int x = 0; x < 8; ++x) sum += h[16 + y * 8 + x];", (64, 128)),
    ("for (int y = 0; y < 4; ++y) for (int x = 0; x < 8; ++x) { int at = y * 8 + x; h[at] = x; }", (0, 128)),
    ("for (size_t i = 0; i < 8; ++i) h[2 + (int)i] = 1;", (8, 32)),
    # With gaps between them: from the first one on, nobody says how far.
    ("for (int i = 1; i < 8; i += 2) sum += h[i];", (4, 0)),
    ("for (int y = 1; y < 4; ++y) for (int x = 0; x < 8; ++x) sum += h[y * 16 + x];", (64, 0)),
    ("int at = 7; for (int i = 0; i < 8; ++i) if (i % 3) h[at++] = i;", (28, 0)),
    ("int at = 7; for (int i = 0; i < 8; ++i) { h[at] = i; ++at; }", (28, 0)),
    ("int at = 7; for (int i = 0; i < 8; ++i) if (i % 3) h[++at] = i;", (32, 0)),
    ("int n = unseen(); for (int i = 5; i < n; ++i) sum += h[i];", (20, 0)),
]


@pytest.mark.parametrize(("loop", "touched"), WALKS)
def test_a_loop_over_a_buffer_says_which_elements_it_touches(tmp_path, loop, touched):
    body = f"""float *h, *d; cudaMallocHost(&h, 4096); cudaMalloc(&d, 4096); cudaStream_t s; cudaStreamCreate(&s);
cudaMemcpyAsync(h, d, 4096, cudaMemcpyDeviceToHost, s); float sum = 0;
{loop}
"""
    ops = run_main(body, tmp_path, "int unseen();")
    memory = next(op.address for op in ops if op.kind == "ALLOC")
    assert [(op.address - memory, op.size) for op in ops if op.kind == "HOST_ACCESS"] == [touched]


@pytest.mark.parametrize(("copied", "sure"), [(64, False), (4096, True)])
def test_a_loop_whose_index_says_nothing_may_be_anywhere(tmp_path, copied, sure):
    source = """#include <cuda_runtime.h>
int at(int i);
int main() {
  int *h, *d; cudaStream_t s; cudaStreamCreate(&s);
  cudaMallocHost(&h, 4096); cudaMalloc(&d, 4096);
  int order[6]; for (int i = 0; i < 6; ++i) order[i] = at(i);
  cudaMemcpyAsync(h, d, COPIED, cudaMemcpyDeviceToHost, s);
  for (int i = 0; i < 6; ++i) h[order[i]] = i;
  cudaStreamSynchronize(s);
  cudaFree(d); cudaFreeHost(h); cudaStreamDestroy(s);
}
"""
    found = [each.code for each in loud(source.replace("COPIED", str(copied)), tmp_path)]
    assert found == ["SS108"] * sure


FAILS = """  float* d; cudaMalloc(&d, 64); cudaFree(d); cudaStream_t s; cudaStreamCreate(&s);
  {call}
  fill<<<1, 1, 0, s>>>(0, 1);"""


def asked(tmp_path, call, before=""):
    ops = run_main(FAILS.replace("{call}", call), tmp_path, before)
    failed = next(i for i, op in enumerate(ops) if op.kind == "FREE" and op.status)
    launched = next(i for i, op in enumerate(ops) if op.kind == "LAUNCH")
    return "CALL" in kinds(ops[failed:launched])


def test_a_status_that_a_statement_throws_away_was_not_looked_at(tmp_path):
    assert not asked(tmp_path, "cudaFree(d);")
    assert not asked(tmp_path, "drop(d);", "cudaError_t drop(float* p) { return cudaFree(p); }")


def test_a_status_that_is_tested_kept_or_given_away_was_looked_at(tmp_path):
    assert asked(tmp_path, 'if (cudaFree(d) != cudaSuccess) puts("again");')
    assert asked(tmp_path, 'cudaError_t e = cudaFree(d); if (e) puts("again");')
    assert asked(
        tmp_path,
        "LOG(cudaFree(d));",
        '#define LOG(x) do { cudaError_t e = (x); if (e) printf("%d", (int)e); } while (0)\n',
    )
    assert asked(tmp_path, "note(cudaFree(d));", 'void note(cudaError_t e) { if (e) puts("bad"); }')
