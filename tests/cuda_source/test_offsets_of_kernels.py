"""A kernel that begins where one of its arguments says: which elements of a buffer of known size it touches."""

from __future__ import annotations

import pytest
from reading import loud

PROGRAM = """#include <cuda_runtime.h>
__global__ void fill(float* values, int first, int last) {{
    int i = first + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < last) values[i] = 1;
}}
int main() {{
    cudaStream_t one, other;
    float* values;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaMalloc(&values, 256 * sizeof(float));
    fill<<<4, 32, 0, one>>>(values, 0, 128);
    fill<<<4, 32, 0, other>>>(values, {first}, {last});
    cudaDeviceSynchronize();
    cudaFree(values);
    cudaStreamDestroy(one);
    cudaStreamDestroy(other);
}}
"""


@pytest.mark.parametrize(
    ("first", "last", "codes"),
    [(128, 256, set()), (0, 128, {"SS109"}), (96, 224, {"SS109"}), (127, 255, {"SS109"}), (128, 128, set())],
    ids=["behind", "the same", "in part", "one element", "nothing"],
)
def test_two_parts_on_two_streams(tmp_path, first, last, codes):
    assert {each.code for each in loud(PROGRAM.format(first=first, last=last), tmp_path)} == codes


GRID_STRIDE = """#include <cuda_runtime.h>
__global__ void fill(float* values, int first, int last) {{
    for (int i = first + blockIdx.x * blockDim.x + threadIdx.x; i < last; i += {step}) values[{index}] = 1;
}}
int main() {{
    cudaStream_t one, other;
    float* values;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaMalloc(&values, 2048 * sizeof(float));
    fill<<<2, 32, 0, one>>>(values, 0, 500);
    fill<<<2, 32, 0, other>>>(values, {first}, {last});
    cudaDeviceSynchronize();
    cudaFree(values);
    cudaStreamDestroy(one);
    cudaStreamDestroy(other);
}}
"""


@pytest.mark.parametrize(
    ("first", "last", "step", "index", "found"),
    [
        (500, 1000, "gridDim.x * blockDim.x", "i", False),
        (499, 999, "blockDim.x * gridDim.x", "i", True),
        (500, 540, "gridDim.x * blockDim.x", "i", False),
        (490, 530, "gridDim.x * blockDim.x", "i", True),
        # Every second group of work-items is left out, or the index goes beside: nobody says which elements those are.
        (499, 999, "2 * gridDim.x * blockDim.x", "i", False),
        (499, 999, "gridDim.x * blockDim.x", "2 * i + threadIdx.x", False),
    ],
)
def test_work_items_that_go_on_by_as_many_as_there_are_take_all(tmp_path, first, last, step, index, found):
    program = GRID_STRIDE.format(first=first, last=last, step=step, index=index)
    assert [each.code for each in loud(program, tmp_path)] == ["SS109"] * found


STENCIL = """#include <cuda_runtime.h>
__global__ void blur(const float* in, float* out, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) out[i] = {sum};
}}
int main() {{
    cudaStream_t one, other;
    float *in, *out;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaMalloc(&in, 1024 * sizeof(float));
    cudaMalloc(&out, 1024 * sizeof(float));
    cudaMemsetAsync(in + {first}, 0, 40, one);
    blur<<<4, 128, 0, other>>>(in, out, 500);
    cudaDeviceSynchronize();
    cudaFree(in);
    cudaFree(out);
}}
"""


@pytest.mark.parametrize(
    ("sum", "first", "found"),
    [
        ("in[i - 1] + in[i] + in[i + 1]", 0, True),
        ("in[i - 1] + in[i] + in[i + 1]", 499, True),
        ("in[i - 1] + in[i] + in[i + 1]", 500, False),
        ("in[i + 1] - in[i - 1]", 498, True),
        # What lies between the two parts is not touched.
        ("in[i] + in[i + 510]", 499, False),
    ],
)
def test_neighbours_that_are_read_together_are_one_part(tmp_path, sum, first, found):
    assert [each.code for each in loud(STENCIL.format(sum=sum, first=first), tmp_path)] == ["SS109"] * found


USED = {
    "inline assembly": """float v; asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(in + i)); out[i] = v;""",
    "members of a vector type": "short2 v = ((const short2*)in)[i]; out[i] = v.x + v.y;",
    "a member of each element": "out[i] = ((const short2*)in)[i].x;",
    "a function that nobody sees": "out[i] = helper(in, i);",
    "a block's load": "float v[1]; Load(t).Load(in, v); out[i] = v[0];",
}


@pytest.mark.parametrize("body", USED.values(), ids=USED)
def test_what_a_kernel_uses_in_ways_that_are_not_followed_is_used(tmp_path, body):
    program = f"""#include <cuda_runtime.h>
__device__ float helper(const float* in, int i);
__global__ void use(const float* in, float* out) {{ int i = threadIdx.x; {body} }}
int main() {{
    float *in, *out;
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaMalloc(&in, 4096);
    cudaMalloc(&out, 4096);
    use<<<1, 128, 0, s>>>(in, out);
    cudaFreeAsync(in, 0);
    cudaDeviceSynchronize();
    cudaFree(out);
}}
"""
    assert [each.code for each in loud(program, tmp_path)] == ["SS102"]


SHARED_MEMORY = """#include <cuda_runtime.h>
__global__ void sums(const float* in, float* out, int first) {{
    {body}
}}
int main() {{
    cudaStream_t one, other;
    float *in, *out;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaMalloc(&in, 1024 * sizeof(float));
    cudaMalloc(&out, 16 * sizeof(float));
    sums<<<8, 64, 0, one>>>(in, out, 0);
    sums<<<8, 64, 0, other>>>(in + 512, out, {first});
    cudaDeviceSynchronize();
    cudaFree(in);
    cudaFree(out);
    cudaStreamDestroy(one);
    cudaStreamDestroy(other);
}}
"""
TREE = """__shared__ float part[64];
    part[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[first + blockIdx.x] = part[0];"""
ATOMIC = """__shared__ float all;
    if (threadIdx.x == 0) all = 0;
    __syncthreads();
    atomicAdd(&all, in[blockIdx.x * blockDim.x + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) out[first + blockIdx.x] = all;"""


@pytest.mark.parametrize("body", [TREE, ATOMIC], ids=["a tree", "an atomic"])
@pytest.mark.parametrize(("first", "found"), [(8, False), (7, True)])
def test_kernels_with_shared_memory_are_followed(tmp_path, body, first, found):
    program = SHARED_MEMORY.format(body=body, first=first)
    assert [each.code for each in loud(program, tmp_path)] == ["SS109"] * found


@pytest.mark.parametrize("first", [8, 7])
def test_an_index_out_of_shared_memory_is_not_known(tmp_path, first):
    body = """__shared__ int place;
    if (threadIdx.x == 0) place = first;
    __syncthreads();
    out[place + blockIdx.x] = in[threadIdx.x];"""
    assert loud(SHARED_MEMORY.format(body=body, first=first), tmp_path) == []


LATTICE = """#include <cuda_runtime.h>
#include <utility>
struct Grid {{ int nx, ny, halo; }};
struct Fields {{ float* src; float* dst; }};
__device__ inline int at(const Grid& g, int x, int y) {{ return y * g.nx + x; }}
__device__ inline int wrap(int v, int n) {{ return v < 0 ? v + n : (v >= n ? v - n : v); }}
__device__ void update(Fields f, Grid g, int x, int y) {{
    f.dst[at(g, x, y)] = f.src[at(g, x, y)] + f.src[at(g, wrap(x + 1, g.nx), y)] + f.src[at(g, x, wrap(y - 1, g.ny))]
                       + f.src[at(g, x, wrap(y + 1, g.ny))];
}}
__global__ void interior(Fields f, Grid g) {{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y + g.halo;
    if (x < g.nx && y < g.ny - g.halo) update(f, g, x, y);
}}
__global__ void strips(Fields f, Grid g) {{
    int x = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y;
    int y = k < g.halo ? k : g.ny - 2 * g.halo + k;
    if (x < g.nx) update(f, g, x, y);
}}
int main() {{
    Grid g{{96, 64, 2}};
    Fields f;
    cudaStream_t bulk, edge;
    cudaEvent_t bulk_done, edge_done;
    cudaStreamCreateWithFlags(&bulk, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&edge, cudaStreamNonBlocking);
    cudaEventCreate(&bulk_done);
    cudaEventCreate(&edge_done);
    cudaMalloc(&f.src, g.nx * g.ny * sizeof(float));
    cudaMalloc(&f.dst, g.nx * g.ny * sizeof(float));
    for (int step = 0; step < 8; ++step) {{
        strips<<<dim3(1, 2 * g.halo), 128, 0, edge>>>(f, g);
        interior<<<dim3(1, g.ny - 2 * g.halo), 128, 0, bulk>>>(f, g);
        cudaEventRecord(edge_done, edge);
        cudaEventRecord(bulk_done, bulk);
        {waits}
        std::swap(f.src, f.dst);
    }}
    cudaDeviceSynchronize();
}}
"""
BULK_WAITS = "cudaStreamWaitEvent(bulk, edge_done, 0);"
EDGE_WAITS = "cudaStreamWaitEvent(edge, bulk_done, 0);"


@pytest.mark.parametrize(
    ("waits", "found"),
    [(BULK_WAITS + EDGE_WAITS, False), (BULK_WAITS, True), (EDGE_WAITS, True)],
    ids=["both", "one", "the other one"],
)
def test_the_strips_of_a_lattice_meet_its_interior_in_the_next_step_only(tmp_path, waits, found):
    assert {each.code for each in loud(LATTICE.format(waits=waits), tmp_path)} == ({"SS109"} if found else set())
