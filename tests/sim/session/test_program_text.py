from __future__ import annotations

import numpy as np
import pytest

from streamsan.sim.compiler import CompilerProgram, InvalidOptionError, Result, options_of
from streamsan.sim.device_program import KernelType, Program
from streamsan.sim.image import InvalidImageError, binary_of, image_bytes, program_of, ptx_of
from streamsan.sim.mangling import base_name
from streamsan.sim.program_text import compile_text
from streamsan.vocabulary import AccessMode, SlotFlag

TEXT = r"""
#define N 4
struct Pair { float *data; int n; char tag[3]; };
namespace math {
enum Op { ADD, MUL };
template <typename T> struct Vec { T v[3]; int n; };
__global__ void apply(Op op, Vec<double> v, bool flag, const float *__restrict__ in) {}
__device__ int state;
}
extern "C" __global__ void scale(float *x, const float *by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by[i];
}
template <typename T, int M> __global__ void shift(T *out, const T *in, T by) { out[threadIdx.x] = in[M] + by; }
__global__ void __launch_bounds__(256) many(Pair p, float4 *v, unsigned long long z, char c, double d) {
    asm volatile("membar.gl;" ::: "memory");
    extern __shared__ float shared[];
    #pragma unroll
    for (int i = 0; i < N; ++i) shared[i] = v[i].x;
}
__global__ void count(unsigned *total) { atomicAdd(total, 1u); }
__device__ int counter[3] = {1, 2, 3};
__constant__ float table[N];
"""


def kernel(program: Program, name: str) -> KernelType:
    return next(one for one in program.kernels if one.plain == name)


def test_parameters_lie_where_the_device_expects_them() -> None:
    program = compile_text(TEXT, "t.cu").program
    offsets = [(one.name, one.offset, one.size, one.pointer) for one in kernel(program, "many").parameters or ()]
    assert offsets == [
        ("p", 0, 16, False),
        ("v", 16, 8, True),
        ("z", 24, 8, False),
        ("c", 32, 1, False),
        ("d", 40, 8, False),
    ]
    _, vector, *_ = kernel(program, "many").parameters or ()
    assert (vector.dtype, vector.count) == (np.dtype("<f4"), 4)
    applied = kernel(program, "apply").parameters or ()
    assert [(one.offset, one.size) for one in applied] == [(0, 4), (8, 32), (40, 1), (48, 8)]


def test_access_modes_come_from_const_and_from_the_body() -> None:
    program = compile_text(TEXT, "t.cu").program
    modes = {one.name: one.mode for one in kernel(program, "scale").parameters or () if one.pointer}
    assert modes == {"x": AccessMode.READ_WRITE, "by": AccessMode.READ}
    (total,) = kernel(program, "count").parameters or ()
    assert total.flags & SlotFlag.ATOMIC


def test_linker_names() -> None:
    found = compile_text(TEXT, "t.cu", expressions=["shift<float, 2>", "&math::state", "math::apply"])
    assert found.errors == ()
    assert base_name(found.lowered["shift<float, 2>"]) == "shift"
    assert found.lowered["&math::state"] == "_ZN4math5stateE"
    assert kernel(found.program, "scale").lowered == "scale"
    assert kernel(found.program, "many").lowered.startswith("_Z4many4PairP6float4y")
    assert base_name(kernel(found.program, "apply").lowered) == "math::apply"
    parameters = kernel(found.program, "shift").parameters or ()
    assert [one.dtype for one in parameters] == [np.dtype("<f4")] * 3


def test_variables_have_sizes_and_initial_values() -> None:
    variables = {one.name: one for one in compile_text(TEXT, "t.cu").program.variables}
    assert variables["counter"].size == 12
    assert np.frombuffer(variables["counter"].initial, np.int32).tolist() == [1, 2, 3]
    assert variables["math::state"].size == 4


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("__global__ void k(float *p) {\n    p[0] = ;\n}\n", 2),
        ("__global__ void k(float *p) {\n    p[0] = 1\n}\n", 2),
        ("__global__ void k(float *p) {\n    p[0] = 1;\n", 1),
        ("this is no program", 1),
    ],
)
def test_what_no_compiler_takes_is_an_error_with_its_line(text: str, line: int) -> None:
    program = CompilerProgram(text, "wrong.cu", {})
    assert program.compile([]) is Result.COMPILATION
    assert program.log.startswith(f"wrong.cu({line}): error: ".encode())
    assert program.ptx == b""


def test_a_name_expression_that_names_nothing_is_an_error() -> None:
    program = CompilerProgram(TEXT, "t.cu", {}, ["nothing<int>"])
    assert program.compile([]) is Result.COMPILATION
    assert b"nothing<int>" in program.log


def test_kernels_behind_macros_and_attributes() -> None:
    text = """
#define KERNEL extern "C" __global__ void
#define MAKE(name) extern "C" __global__ void name(int *p) { *p = 1; }
KERNEL plain(float a, float *x) { x[0] = a; }
extern "C" __global__ void __cluster_dims__(2, 1, 1) grouped(const __grid_constant__ int n, float *x) { x[n] = 1; }
MAKE(made)
"""
    found = compile_text(text, "t.cu")
    assert found.errors == ()
    assert len(kernel(found.program, "plain").parameters or ()) == 2
    assert len(kernel(found.program, "grouped").parameters or ()) == 2
    assert len(kernel(found.program, "made").parameters or ()) == 1
    assert not compile_text('extern "C" __global__ void k(int *p) { *p = 1; }', "t.cu").program.any_kernel


def test_headers_and_macros_are_used() -> None:
    text = '#include "sizes.h"\n#ifdef WIDE\nextern "C" __global__ void wide(Pair p) {}\n#endif\n'
    program = CompilerProgram(text, "t.cu", {"sizes.h": "struct Pair { double a; int b; };\n"})
    assert program.compile(["-DWIDE", "--gpu-architecture=sm_90"]) is Result.SUCCESS
    assert kernel(program_of(program.ptx), "wide").size == 16


def test_images_round_trip() -> None:
    program = compile_text(TEXT, "t.cu").program
    for image in (ptx_of(program, "sm_90"), binary_of(program)):
        assert program_of(image) == program
        buffer = bytearray(image)
        address = np.frombuffer(buffer, np.uint8).ctypes.data
        assert program_of(image_bytes(address)) == program
        assert program_of(image_bytes(np.frombuffer(buffer, np.uint8))) == program


def test_ptx_from_elsewhere() -> None:
    text = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 counter[8];
// .entry hidden()
.visible .entry _Z3addPfS_i(
    .param .u64 .ptr .global _Z3addPfS_i_param_0,
    .param .u64 _Z3addPfS_i_param_1,
    .param .align 8 .b8 _Z3addPfS_i_param_2[12],
    .param .f32 _Z3addPfS_i_param_3
)
{ ret; }
"""
    program = program_of(text)
    (only,) = program.kernels
    assert [(one.offset, one.size, one.pointer) for one in only.parameters or ()] == [
        (0, 8, True),
        (8, 8, False),
        (16, 12, False),
        (28, 4, False),
    ]
    assert program.variables[0].size == 32


@pytest.mark.parametrize("image", [b"", b"garbage", b"// streamsan-program: !!!", b"// streamsan-program: e30="])
def test_what_is_no_image_is_refused(image: bytes) -> None:
    with pytest.raises(InvalidImageError):
        program_of(image)


def test_an_address_with_nothing_behind_it_is_refused() -> None:
    with pytest.raises(InvalidImageError):
        image_bytes(16)


def test_machine_code_has_any_kernel() -> None:
    assert program_of(b"\x7fELF\x02\x01\x01" + bytes(100)).any_kernel


def test_options() -> None:
    options = options_of(
        ["-arch=compute_80", "-D", "A=2", "-DB", "--include-path=inc", "-Iother", "--std=c++17", "-dlto"]
    )
    assert options.architecture == "compute_80"
    assert options.defines == {"A": "2", "B": "1"}
    assert options.include_dirs == ("inc", "other")
    assert options.link_time
    for wrong in (["x.cu"], ["-arch=x"], ["-D"]):
        with pytest.raises(InvalidOptionError):
            options_of(wrong)


def test_macros_with_parameters_make_kernels() -> None:
    text = """
#define KERNEL(name, type) \\
    extern "C" __global__ void name(type *x, const type *y, int n) { if (threadIdx.x < n) x[threadIdx.x] = y[0]; }
#define BOTH(type) KERNEL(copy_##type, type)
BOTH(float)
BOTH(int)
#define OTHER(x) ((x) + 1)
extern "C" __global__ void plain(int *x) { x[0] = OTHER(1); }
"""
    compiled = compile_text(text, "macros.cu")
    assert not compiled.errors
    kernels = {kernel.name: kernel for kernel in compiled.program.kernels}
    assert set(kernels) == {"copy_float", "copy_int", "plain"}
    assert not compiled.program.any_kernel
    x, y, _ = kernels["copy_float"].parameters or ()
    assert (x.mode, y.mode) == (AccessMode.WRITE, AccessMode.READ)


def test_the_definition_in_force_makes_the_kernel() -> None:
    text = """
#ifdef WIDE
#define KERNEL(name) extern "C" __global__ void name(double *x) {}
#else
#define KERNEL(name) extern "C" __global__ void name(float *x) {}
#endif
KERNEL(scale)
"""
    for defines, wide in (({}, False), ({"WIDE": "1"}, True)):
        program = compile_text(text, "macros.cu", defines=defines).program
        (x,) = kernel(program, "scale").parameters or ()
        assert (x.dtype == np.float64) is wide
        assert not program.any_kernel


def test_a_kernel_that_a_macro_does_not_make_readable_may_be_any() -> None:
    text = "#define KERNEL(name, type) __global__ void name(type *x) { }\n"
    assert compile_text(text + "KERNEL(k)\n", "macros.cu").program.any_kernel
    assert not compile_text(text, "macros.cu").program.any_kernel


def test_pointers_in_structures_have_their_own_uses() -> None:
    text = (
        "template <class T> struct Span { T* data; int n; __device__ T& at(int i) { return data[i]; } };\n"
        "struct Out { float* p; };\n"
        "struct Image { int w; Span<const float> in; Out out[2]; float* spare; };\n"
        "__global__ void draw(int n, Image m) { m.out[1].p[threadIdx.x] = m.in.at(threadIdx.x); }\n"
    )
    program = compile_text(text, "t.cu").program
    image = (kernel(program, "draw").parameters or ())[1]
    held = [(one.name, one.offset, one.mode.name, bool(one.flags & SlotFlag.TOUCHES), one.used) for one in image.fields]
    assert (image.offset, image.size) == (8, 48)
    assert [one for one in held if one[-1]] == [
        ("m.in.data", 8, "READ", True, True),
        ("m.out.1.p", 32, "WRITE", True, True),
    ]
    assert [(name, offset) for name, offset, *_, used in held if not used] == [("m.out.0.p", 24), ("m.spare", 40)]
    assert program_of(binary_of(program)) == program
