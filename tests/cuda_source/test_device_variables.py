"""Kernels that name variables of the device, and host code that polls memory: what the trace has of them."""

from __future__ import annotations

from pathlib import Path

from reading import Op, run

from streamsan.vocabulary import AccessMode, SlotFlag

VARIABLES = "__device__ float table[64];\n__global__ void grow() { table[threadIdx.x] += 1; }\n"


def launches(ops: list[Op]) -> list[tuple[int, int]]:
    return [(op.address, op.flags & 3) for op in ops if op.kind == "LAUNCH"]


def test_a_kernel_uses_the_variable_that_a_copy_fills(tmp_path: Path) -> None:
    body = "float h[64]; cudaMemcpyToSymbolAsync(table, h, 256); grow<<<1, 64>>>();"
    ops = run(f"{VARIABLES}int main() {{ {body} }}", tmp_path)
    (copy,) = (op for op in ops if op.kind == "COPY")
    assert launches(ops) == [(copy.address, AccessMode.READ_WRITE)]


def test_a_variable_in_a_namespace_is_used_by_either_name(tmp_path: Path) -> None:
    body = "float h[64]; cudaMemcpyToSymbolAsync(fir::table, h, 256); fir::grow<<<1, 64>>>(); outside<<<1, 64>>>();"
    outside = "__global__ void outside() { fir::table[threadIdx.x] += 1; }\n"
    ops = run(f"namespace fir {{ {VARIABLES} }}\n{outside}int main() {{ {body} }}", tmp_path)
    (copy,) = (op for op in ops if op.kind == "COPY")
    assert launches(ops) == [(copy.address, AccessMode.READ_WRITE)] * 2


def test_of_two_variables_of_one_name_a_kernel_uses_neither(tmp_path: Path) -> None:
    other = "namespace iir { __device__ float table[8]; }"
    ops = run(f"{other}\nnamespace fir {{ {VARIABLES} }}\nint main() {{ fir::grow<<<1, 64>>>(); }}", tmp_path)
    assert launches(ops) == [(0, 0)]


def test_each_device_has_a_variable_of_its_own(tmp_path: Path) -> None:
    body = "for (int d = 0; d < 2; ++d) { cudaSetDevice(d); grow<<<1, 64>>>(); } cudaSetDevice(0); grow<<<1, 64>>>();"
    first, second, third = launches(run(f"{VARIABLES}int main() {{ {body} }}", tmp_path))
    assert first != second
    assert first == third


FLAG = """
__global__ void tell(int* flag) { *flag = 1; }
int main() {
    int* flag;
    cudaHostAlloc(&flag, 4, cudaHostAllocMapped);
    *flag = 0;
    tell<<<1, 1>>>(flag);
    LOOP
}
"""


def polls(loop: str, folder: Path) -> list[bool]:
    ops = run(FLAG.replace("LOOP", loop), folder)
    reads = [op for op in ops if op.kind == "HOST_ACCESS" and op.flags & 3 == AccessMode.READ]
    return [bool(op.flags & SlotFlag.ATOMIC) for op in reads]


def test_what_a_loop_waits_for_is_polled(tmp_path: Path) -> None:
    assert polls("while (*flag == 0) {}", tmp_path) == [True]
    assert polls("while (*(volatile int*)flag == 0) {}", tmp_path) == [True]
    assert polls("do { cudaStreamQuery(0); } while (flag[0] == 0);", tmp_path)[0]
    assert polls("for (;;) { if (flag[0]) break; }", tmp_path)[0]
    assert polls("int seen = flag[0];", tmp_path) == [False]
    assert polls("if (flag[0]) return 1;", tmp_path) == [False]
