"""cuBLAS and its kin use memory on their handle's stream; thrust's vectors own device memory."""

# ruff: noqa: E501 - programs under test stay as a person would type them
from __future__ import annotations

import pytest
from reading import kinds, operations, reading_of, run_main

START = (
    "float *d, *e; cudaMalloc(&d, 400); cudaMalloc(&e, 400); cudaStream_t s; cudaStreamCreate(&s); float one = 1, r;"
)

ON_STREAM = {
    "cublas": "cublasHandle_t h; cublasCreate(&h); cublasSetStream(h, s); cublasSaxpy(h, 100, &one, d, 1, e, 1);",
    "cublas in a class": "struct Blas { cublasHandle_t h; Blas(cudaStream_t s) { cublasCreate(&h); cublasSetStream(h, s); } void run(float* d, float* e) { float one = 1; cublasSaxpy(h, 100, &one, d, 1, e, 1); } }; Blas b(s); b.run(d, e);",
    "cufft": "cufftHandle p; cufftPlan1d(&p, 50, CUFFT_C2C, 1); cufftSetStream(p, s); cufftExecC2C(p, (cufftComplex*)d, (cufftComplex*)e, CUFFT_FORWARD);",
    "cusparse": "cusparseHandle_t h; cusparseCreate(&h); cusparseSetStream(h, s); cusparseDnVecDescr_t x; cusparseCreateDnVec(&x, 100, d, CUDA_R_32F); cusparseScatter(h, x, e);",
    "nccl": "ncclComm_t c; ncclCommInitRank(&c, 1, id, 0); ncclAllReduce(d, e, 100, ncclFloat, ncclSum, c, s);",
    "cub": "size_t n = 0; void* t = nullptr; cub::DeviceReduce::Sum(t, n, d, e, 100, s); cudaMalloc(&t, n); cub::DeviceReduce::Sum(t, n, d, e, 100, s);",
    "thrust": "thrust::transform(thrust::cuda::par_nosync.on(s), d, d + 100, e, thrust::negate<float>());",
}  # fmt: skip


@pytest.mark.parametrize("body", ON_STREAM.values(), ids=ON_STREAM)
def test_work_is_a_use_on_the_stream(body, tmp_path):
    ops = run_main(f"{START}\n{body}\n", tmp_path)
    stream = next(op.object for op in ops if op.kind == "STREAM_CREATE")
    made = [op for op in ops if op.kind == "ALLOC" and op.label in ("d", "e")]
    launches = [op for op in ops if op.kind == "LAUNCH"]
    assert [op.stream for op in launches] == [stream]
    assert launches[0].object in {op.object for op in made} or launches[0].label.startswith("cub")
    assert not {"OPAQUE_CALL", "STREAM_QUERY"} & set(kinds(ops))


def test_a_loop_of_work_is_run(tmp_path):
    body = "ncclComm_t c; ncclCommInitRank(&c, 1, id, 0); for (int i = 0; i < 3; i++) ncclBroadcast(d, e, 100, ncclFloat, 0, c, s);"
    assert kinds(run_main(f"{START}\n{body}\n", tmp_path)).count("LAUNCH") == 3


def test_a_result_on_the_host_waits_and_one_on_the_device_does_not(tmp_path):
    create = "cublasHandle_t h; cublasCreate(&h); cublasSetStream(h, s);"
    host = run_main(f"{START} {create} cublasSdot(h, 100, d, 1, e, 1, &r);", tmp_path)
    device = run_main(f"{START} {create} cublasSdot(h, 99, d, 1, e, 1, d + 99);", tmp_path)
    assert "STREAM_QUERY" in kinds(host)
    assert "STREAM_QUERY" not in kinds(device)


ANSWERS = {
    "a version": "int v = 0; ncclGetVersion(&v); if (v < 21501) return 1;",
    "a flag": "cusolverSpHandle_t h; cusolverSpCreate(&h); int v = 0; cusolverSpXcsrissymHost(h, 4, 4, m, rows, rows + 1, columns, &v); if (!v) return 1;",
}  # fmt: skip


@pytest.mark.parametrize("body", ANSWERS.values(), ids=ANSWERS)
def test_what_a_library_answers_is_not_what_the_variable_was(body, tmp_path):
    worlds = reading_of(f"int main() {{ {START} {body} fill<<<1, 1>>>(d, 1); }}", tmp_path).worlds
    assert len(worlds) == 2
    assert any(each.label == "fill" for each in operations(worlds[0]))
    assert not any(each.label == "fill" for each in operations(worlds[1]))


def test_a_factor_stays_what_it_is(tmp_path):
    body = (
        "cublasHandle_t h; cublasCreate(&h); cublasSaxpy(h, 100, &one, d, 1, e, 1); if (one != 1) fill<<<1, 1>>>(d, 1);"
    )
    assert kinds(run_main(f"{START} {body}", tmp_path)).count("LAUNCH") == 1


def test_destroying_a_handle_may_wait_and_destroying_a_descriptor_does_not(tmp_path):
    handle = run_main(f"{START} cublasHandle_t h; cublasCreate(&h); cublasDestroy(h);", tmp_path)
    vector = "cusparseDnVecDescr_t x; cusparseCreateDnVec(&x, 100, d, CUDA_R_32F); cusparseDestroyDnVec(x);"
    assert "OPAQUE_CALL" in kinds(handle)
    assert "OPAQUE_CALL" not in kinds(run_main(f"{START} {vector}", tmp_path))


def test_a_device_vector_allocates_and_frees_where_it_ends(tmp_path):
    body = """  {
    thrust::device_vector<float> v(100);
    fill<<<1, 1>>>(thrust::raw_pointer_cast(v.data()), 1);
    thrust::device_vector<float> w = std::move(v);
    fill<<<1, 1>>>(thrust::raw_pointer_cast(&w[0]), 1);
  }"""
    ops = run_main(body, tmp_path)
    memory = [(op.kind, op.object, op.size, op.line) for op in ops if op.kind in ("ALLOC", "FREE")]
    assert [(kind, line) for kind, _, _, line in memory] == [("ALLOC", 4), ("FREE", 8)]
    assert memory[0][2] == 400
    assert memory[0][1] == memory[1][1]
    assert {op.object for op in ops if op.kind == "LAUNCH" and op.label == "fill"} <= {memory[0][1], 0}


def test_a_matrix_goes_to_the_host_by_a_copy(tmp_path):
    made = "cublasHandle_t h; cublasCreate(&h); float* x; cudaMallocHost(&x, 400);"
    queued = run_main(f"{START} {made} cublasGetMatrixAsync(10, 10, sizeof(float), d, 10, x, 10, s);", tmp_path)
    done = run_main(f"{START} {made} cublasGetVector(100, sizeof(float), d, 1, x, 1);", tmp_path)
    stream = next(op.object for op in queued if op.kind == "STREAM_CREATE")
    assert [op.stream for op in queued if op.kind == "COPY"] == [stream]
    assert [op.stream for op in done if op.kind == "COPY"] == [1]


@pytest.mark.parametrize("call", ["ncclGetVersion(&version)", "cublasGetVersion_v2(handle, &version)"])
def test_a_number_that_a_library_is_asked_for_is_not_known(call, tmp_path):
    body = f"int version = 0; {call}; if (version < 2800) return 1; cudaDeviceSynchronize();"
    worlds = reading_of(f"cublasHandle_t handle;\nint main() {{ {body} }}\n", tmp_path).worlds
    waits = [[op.kind for op in operations(world)].count("CONTEXT_SYNCHRONIZE") for world in worlds]
    assert sorted(waits) == [0, 1]


SIZES = """size_t m = 0, n = 0;
cub::DeviceReduce::Sum(nullptr, m, {first}, e, {count}, s);
cub::DeviceReduce::Sum(nullptr, n, d, e, 100, s);
if (m == n) fill<<<1, 1>>>(d, 1);
"""


@pytest.mark.parametrize(("first", "count", "worlds"), [("d", "100", 1), ("d", "99", 2), ("(double*)d", "100", 2)])
def test_the_same_algorithm_needs_as_much_memory_for_as_many_elements(first, count, worlds, tmp_path):
    body = SIZES.format(first=first, count=count)
    found = reading_of(f"int main() {{ {START} {body} }}", tmp_path).worlds
    assert len(found) == worlds
    assert any(each.label == "fill" for world in found for each in operations(world))
