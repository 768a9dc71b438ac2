"""Which arguments a library's function reads and writes: a race with it is found, and an ordered program is quiet."""

# ruff: noqa: E501 - programs under test stay as a person would type them
from __future__ import annotations

from dataclasses import dataclass

import pytest
from reading import loud

from streamsan.cuda_source.library.argument_uses import ArgumentUses, used_by
from streamsan.cuda_source.library.tables import uses_of
from streamsan.vocabulary import AccessMode, SlotFlag

HEAD = """#include <cuda_runtime.h>
__global__ void twice(float* out, int n) { int i = threadIdx.x; if (i < n) out[i] *= 2; }
__global__ void total(const float* in, int n, float* sum) { if (threadIdx.x < n) sum[0] = in[threadIdx.x]; }
"""
MEMORY = """int main() {
  float *a, *b, *c, *sums, one = 1, zero = 0;
  cudaStream_t s, p;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&p, cudaStreamNonBlocking);
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaMalloc(&a, 1024); cudaMalloc(&b, 1024); cudaMalloc(&c, 1024); cudaMalloc(&sums, 4);
"""
WAIT = "  cudaEventRecord(done, s); cudaStreamWaitEvent(p, done, 0);\n"
END = "  cudaStreamSynchronize(s); cudaStreamSynchronize(p);\n  cudaFree(a); cudaFree(b); cudaFree(c); cudaFree(sums);\n}\n"
BLAS = "cublasHandle_t h; cublasCreate(&h); cublasSetStream(h, s); "


@dataclass(frozen=True)
class Work:
    """A call that works on stream s, and one on stream p that must come after it."""

    call: str
    then: str


READ_C = "total<<<1, 256, 0, p>>>(c, 256, sums);"
CHANGE_A = "twice<<<1, 256, 0, p>>>(a, 256);"
WORKS = {
    "a product, then its result": Work(BLAS + "cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 16, 16, 16, &one, a, 16, b, 16, &zero, c, 16);", READ_C),
    "a product, then its factor": Work(BLAS + "cublasSgemm_v2(h, CUBLAS_OP_N, CUBLAS_OP_N, 16, 16, 16, &one, a, 16, b, 16, &zero, c, 16);", CHANGE_A),
    "a factor in device memory": Work(BLAS + "cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE); cublasSaxpy(h, 256, sums, a, 1, b, 1);", READ_C),
    "a factor in an object in device memory": Work(BLAS + "struct Step { float scale, factor; }; Step* step; cudaMalloc(&step, sizeof(Step)); cublasSscal(h, 256, &step->factor, a, 1);", "total<<<1, 256, 0, p>>>(c, 256, &step->factor);"),
    "many products": Work(BLAS + "cublasGemmStridedBatchedEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, a, CUDA_R_32F, 8, 64, b, CUDA_R_32F, 8, 64, &zero, c, CUDA_R_32F, 8, 64, 4, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);", READ_C),
    "a transform in place": Work("cufftHandle h; cufftPlan1d(&h, 128, CUFFT_C2C, 1); cufftSetStream(h, s); cufftExecC2C(h, (cufftComplex*)a, (cufftComplex*)a, CUFFT_FORWARD);", "cudaMemcpyAsync(b, a, 1024, cudaMemcpyDeviceToDevice, p);"),
    "a sparse product": Work("cusparseHandle_t h; cusparseCreate(&h); cusparseSetStream(h, s); cusparseSpMatDescr_t m; cusparseDnVecDescr_t x, y; cusparseCreateCsr(&m, 256, 256, 256, a, a, a, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F); cusparseCreateDnVec(&x, 256, b, CUDA_R_32F); cusparseCreateDnVec(&y, 256, c, CUDA_R_32F); cusparseSpMV(h, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, m, x, &zero, y, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr);", READ_C),
    "random numbers": Work("curandGenerator_t h; curandCreateGenerator(&h, CURAND_RNG_PSEUDO_DEFAULT); curandSetStream(h, s); curandGenerateUniform(h, c, 256);", READ_C),
    "an all-reduce": Work("ncclComm_t k; ncclCommInitRank(&k, 1, id, 0); ncclAllReduce(a, c, 256, ncclFloat, ncclSum, k, s);", READ_C),
    "a scan": Work("void* t = nullptr; size_t n = 0; cub::DeviceScan::InclusiveSum(t, n, a, c, 256, s); cudaMalloc(&t, n); cub::DeviceScan::InclusiveSum(t, n, a, c, 256, s);", READ_C),
    "a sort": Work("thrust::sort(thrust::cuda::par_nosync.on(s), c, c + 256);", READ_C),
    "a merge, then its result": Work("thrust::merge(thrust::cuda::par_nosync.on(s), a, a + 128, b, b + 128, c);", READ_C),
    "a merge, then what it merges": Work("thrust::merge(thrust::cuda::par_nosync.on(s), b, b + 128, a, a + 128, c);", CHANGE_A),
    "a merge of what was merged": Work("auto end = thrust::merge(thrust::cuda::par_nosync.on(s), b, b + 64, a, a + 64, c); thrust::merge(thrust::cuda::par_nosync.on(s), c, end, a + 64, a + 128, b);", "twice<<<1, 256, 0, p>>>(c, 256);"),
    "sums by key": Work("thrust::reduce_by_key(thrust::cuda::par_nosync.on(s), a, a + 256, b, sums, c);", READ_C),
    "what is gathered": Work("thrust::gather(thrust::cuda::par_nosync.on(s), a, a + 256, b, c);", READ_C),
    "where to gather": Work("thrust::gather(thrust::cuda::par_nosync.on(s), a, a + 256, b, c);", CHANGE_A),
    "what is scattered": Work("thrust::scatter(thrust::cuda::par_nosync.on(s), a, a + 256, b, c);", CHANGE_A),
    "differences": Work("thrust::adjacent_difference(thrust::cuda::par_nosync.on(s), a, a + 256, c);", READ_C),
}  # fmt: skip


def findings(text: str, folder):
    return [(each.code, each.severity) for each in loud(text, folder)]


@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
def test_a_race_with_a_library_is_found_and_an_order_is_quiet(work, tmp_path):
    begin = f"{HEAD}{MEMORY}  {work.call}\n"
    assert findings(f"{begin}  {work.then}\n{END}", tmp_path) == [("SS109", "error")]
    assert findings(f"{begin}{WAIT}  {work.then}\n{END}", tmp_path) == []


def test_a_policy_without_a_stream_is_the_default_stream_s(tmp_path):
    begin = f"{HEAD}{MEMORY}  twice<<<1, 256, 0, s>>>(c, 256);\n"
    sort = f"  thrust::sort(thrust::device, c, c + 256);\n{END}"
    assert findings(begin + sort, tmp_path) == [("SS109", "error")]
    assert findings(f"{begin}  cudaStreamSynchronize(s);\n{sort}", tmp_path) == []


READ_ONLY = {
    "two products of one factor": BLAS + "cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 16, 16, 16, &one, a, 16, b, 16, &zero, c, 16); total<<<1, 256, 0, p>>>(a, 256, sums);",
    "a transform to another place": "cufftHandle h; cufftPlan1d(&h, 128, CUFFT_C2C, 1); cufftSetStream(h, s); cufftExecC2C(h, (cufftComplex*)a, (cufftComplex*)c, CUFFT_FORWARD); total<<<1, 256, 0, p>>>(a, 256, sums);",
    "the end of what is sorted": "thrust::sort(thrust::cuda::par_nosync.on(s), a, a + 128); twice<<<1, 128, 0, p>>>(a + 128, 128);",
    "the ends of what is merged": "thrust::merge(thrust::cuda::par_nosync.on(s), a, a + 64, b, b + 64, c); twice<<<1, 64, 0, p>>>(a + 64, 64);",
    "the stream that a handle was told last": BLAS + f"cublasSetStream(h, p); cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 16, 16, 16, &one, a, 16, b, 16, &zero, c, 16); {READ_C}",
    "a handle that unseen code had": BLAS + f"use_our_stream(h); cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 16, 16, 16, &one, a, 16, b, 16, &zero, c, 16); {READ_C}",
    "a handle that unseen code had the address of": BLAS + f"use_our_stream(&h); cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 16, 16, 16, &one, a, 16, b, 16, &zero, c, 16); {READ_C}",
}  # fmt: skip


@pytest.mark.parametrize("body", READ_ONLY.values(), ids=READ_ONLY)
def test_what_does_not_collide_is_quiet(body, tmp_path):
    assert findings(f"{HEAD}{MEMORY}  {body}\n{END}", tmp_path) == []


def test_a_handle_from_elsewhere_has_an_unknown_stream(tmp_path):
    body = "void step(cublasHandle_t h, float* a, float* b, float* c, float* sums, cudaStream_t p) { float one = 1, zero = 0; cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 16, 16, 16, &one, a, 16, b, 16, &zero, c, 16); total<<<1, 256, 0, p>>>(c, 256, sums); }"
    assert findings(f"{HEAD}{body}\n", tmp_path) == []


def test_a_row_serves_calls_with_memory_at_all_of_its_places():
    row = ArgumentUses.of_row({"names": "transform", "arguments": 4, "reads": [0], "ends": [1], "writes": [2]})
    four = [["in"], ["end"], ["out"], []]
    assert row.serve(four)
    assert not row.serve([*four, []])
    assert not row.serve([["in"], ["end"], [], []])
    assert [(value, use.mode) for value, use in used_by([row], four)] == [
        ("in", AccessMode.READ),
        ("out", AccessMode.WRITE),
    ]


def test_what_no_row_tells_of_may_be_used_in_any_way():
    assert [use for _, use in used_by([], [["workspace"]])] == [(AccessMode.OPAQUE, 0)]


def test_of_several_parts_one_may_be_left_alone():
    row = ArgumentUses.of_row({"names": "product", "reads": [0]})
    assert [use for _, use in used_by([row], [["rows", "values"]])] == [(AccessMode.READ, 0)] * 2
    assert [use for _, use in used_by([row], [["values"]])] == [(AccessMode.READ, SlotFlag.TOUCHES)]


def test_what_is_gathered_from_is_only_read_and_perhaps_not_at_its_begin():
    used = used_by(uses_of("thrust::gather"), [["map"], ["end"], ["from"], ["to"]])
    assert dict(used)["from"] == (AccessMode.READ, 0)


def test_versions_of_a_function_share_a_row():
    assert uses_of("cublasSgemm_v2_64") == uses_of("cublasSgemm_v2") == uses_of("cublasSgemm") != []
    assert uses_of("cublasSgemmBatched") == []
