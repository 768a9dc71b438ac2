"""Which frame of a recorded stack is shown."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from streamsan.trace import Site
from streamsan.trace.function_names import same_function, short_name
from streamsan.trace.layout import SLOT
from streamsan.trace.modules import UNKNOWN_MODULE, Module
from streamsan.trace.own_code import is_own_module, is_own_source, library_name
from streamsan.trace.store import MemorySlots
from streamsan.trace.symbols import Address, Frame
from streamsan.trace.trace import UNKNOWN_SITE, Trace

APP, RUNTIME, LIBRARY, SANITIZER, LIBC = 1, 2, 3, 4, 5
MODULES = [
    UNKNOWN_MODULE,
    Module("/home/u/app/train", "aa"),
    Module("/usr/local/cuda/lib64/libcudart.so.13", "bb"),
    Module("/opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so", "cc"),
    Module("/usr/local/cuda/compute-sanitizer/libsanitizer-public.so", "dd"),
    Module("/lib/x86_64-linux-gnu/libc.so.6", "ee"),
]


def trace_of(
    *stack: Site,
    symbols: Mapping[Address, tuple[Frame, ...]] | None = None,
    label: str = "",
    platform: str = "cuda",
) -> Trace:
    """Return a recording with one stack, given innermost first; its site has the highest id."""
    sites = [UNKNOWN_SITE]
    for number, site in enumerate(reversed(stack)):
        innermost = number == len(stack) - 1
        sites.append(
            Site(
                site.file,
                site.line,
                function=site.function,
                label=label if innermost else "",
                caller=number,
                module=site.module,
                offset=site.offset,
            )
        )
    return Trace(
        "a.sst",
        MemorySlots(np.empty(0, SLOT)),
        sites=sites,
        modules=MODULES,
        symbols=symbols or {},
        platform=platform,
        origin="recording",
    )


def native(module: int, offset: int) -> Site:
    return Site("", 0, module=module, offset=offset)


def shown(trace: Trace) -> tuple[str, int, str]:
    site = trace.site(len(trace.sites) - 1)
    return site.file, site.line, site.function


TORCH = "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py"


def test_the_innermost_own_frame_of_python() -> None:
    trace = trace_of(
        Site(TORCH, 1750, function="_call_impl"),
        Site("/home/u/train.py", 41, function="step"),
        Site("/usr/lib/python3.12/threading.py", 1012, function="run"),
        Site("/home/u/main.py", 7, function="<module>"),
        label="gemm",
    )
    assert shown(trace) == ("/home/u/train.py", 41, "step")
    site = trace.site(4)
    assert site.label == "gemm"
    # The callers lead on through own code.
    assert trace.site(site.caller).file == "/home/u/main.py"
    assert trace.site(site.caller).caller == 0
    assert [frame.line for frame in trace.stack(4)] == [1750, 41, 1012, 7]


def test_without_own_code_the_innermost_line() -> None:
    trace = trace_of(Site(TORCH, 1750, function="_call_impl"), Site("<frozen runpy>", 88, function="_run_code"))
    assert shown(trace) == (TORCH, 1750, "_call_impl")


def test_what_was_typed_is_own_code() -> None:
    assert shown(trace_of(Site(TORCH, 3), Site("<stdin>", 2, function="<module>"))) == ("<stdin>", 2, "<module>")


TOOLKIT = "/usr/local/cuda-13.0"
SYMBOLS = {
    (APP, 0x10): (
        Frame("/usr/local/cuda-13.0/targets/x86_64-linux/include/cuda_runtime.h", 200, 1, "cudaMalloc<float>()"),
    ),
    (APP, 0x20): (
        Frame("/usr/local/cuda/include/cccl/thrust/device_vector.h", 9, 1, "thrust::device_vector<float>::resize(int)"),
        Frame("/home/u/app/train.cu", 12, 3, "void net::grow<float>(std::vector<int>&) const"),
        Frame("/home/u/app/train.cu", 30, 3, "main"),
    ),
    (APP, 0x30): (Frame("/home/u/app/train.cu", 31, 3, "main"),),
    (APP, 0x40): (Frame("/tmp/tmpxft_0000_00-6_train.cudafe1.stub.c", 19, 1, "__device_stub__Z5scalePf(float*)"),),
    (APP, 0x50): (Frame("/home/u/app/train.cu", 5, 26, "scale(float*)"),),
    (APP, 0x60): (Frame("", 0, 0, "libcudart_static_0123abcd"),),
    (APP, 0x70): (Frame("", 0, 0, "net::step(int)"),),
    (LIBRARY, 0x80): (Frame("", 0, 0, "at::native::add(at::Tensor const&)"),),
    (LIBC, 0x90): (Frame("", 0, 0, "exit"),),
}


def test_headers_of_toolkits_are_passed_over_and_inlined_functions_seen() -> None:
    trace = trace_of(native(RUNTIME, 5), native(APP, 0x10), native(APP, 0x20), native(APP, 0x30), symbols=SYMBOLS)
    assert shown(trace) == ("/home/u/app/train.cu", 12, "net::grow<float>")
    assert [(frame.line, frame.function) for frame in trace.stack(4)] == [
        (0, ""),
        (200, "cudaMalloc<float>"),
        (9, "thrust::device_vector<float>::resize"),
        (12, "net::grow<float>"),
        (30, "main"),
        (31, "main"),
    ]
    assert trace.stack(4)[0].file == "libcudart.so.13+0x5"


@pytest.mark.parametrize("label", ["scale(float*)", "scale(float *)", "scale"])
def test_a_launch_is_where_the_kernel_is_called_not_where_it_is_defined(label: str) -> None:
    trace = trace_of(
        native(RUNTIME, 5), native(APP, 0x40), native(APP, 0x50), native(APP, 0x30), symbols=SYMBOLS, label=label
    )
    assert shown(trace) == ("/home/u/app/train.cu", 31, "main")


def test_a_function_of_the_program_may_have_the_name_of_the_kernel_that_it_enqueues() -> None:
    stack = (native(RUNTIME, 5), native(APP, 0x40), native(APP, 0x50), native(APP, 0x30))
    trace = trace_of(*stack, symbols=SYMBOLS, label="scale", platform="opencl")
    assert shown(trace)[2] != "main"


@pytest.mark.parametrize("innermost", [RUNTIME, SANITIZER])
def test_what_the_program_called_is_known_through_the_runtime_s_own_frames(innermost: int) -> None:
    symbols = {**SYMBOLS, (APP, 0x90): (Frame("", 0, 0, "cudaMemcpyAsync"),)}
    trace = trace_of(native(innermost, 5), native(APP, 0x60), native(APP, 0x90), native(APP, 0x30), symbols=symbols)
    assert trace.site(len(trace.sites) - 1).runtime == "cudaMemcpyAsync"


def test_a_program_without_lines() -> None:
    trace = trace_of(native(RUNTIME, 5), native(APP, 0x60), native(APP, 0x70), symbols=SYMBOLS)
    assert shown(trace) == ("train+0x70", 0, "net::step")
    trace = trace_of(native(RUNTIME, 5), native(LIBRARY, 0x80), native(APP, 0x999), symbols=SYMBOLS)
    assert shown(trace) == ("train+0x999", 0, "")
    assert shown(trace_of(native(RUNTIME, 5), symbols=SYMBOLS)) == ("libcudart.so.13+0x5", 0, "")


def test_what_the_file_does_not_say_is_asked_for_once() -> None:
    asked: list[tuple[str, int]] = []

    def source(module: Module, offset: int) -> list[Frame]:
        asked.append((module.name, offset))
        return [Frame("/home/u/app/train.cu", 77, 1, "late()")] if offset == 0x999 else []

    trace = trace_of(native(RUNTIME, 5), native(APP, 0x999), native(APP, 0x30), symbols=SYMBOLS)
    trace.symbolise_with(source)
    assert shown(trace) == ("/home/u/app/train.cu", 77, "late")
    trace.site(3)
    # Of the runtime's own frames only what tells which function was called, at the innermost end of a stack.
    assert asked == [("train", 0x999), ("libcudart.so.13", 5)]
    trace.stack(3)
    assert asked == [("train", 0x999), ("libcudart.so.13", 5)]


def test_the_sites_of_other_traces_stay_as_they_are() -> None:
    trace = trace_of(Site("/usr/include/x.h", 3), Site("/home/u/main.cu", 9))
    plain = Trace("a.cu", trace.slots, sites=trace.sites, origin="source")
    assert plain.site(2).file == "/usr/include/x.h"
    assert [site.line for site in plain.stack(2)] == [3, 9]
    assert plain.stack(9) == trace.stack(9) == trace.stack(0) == ()


@pytest.mark.parametrize(
    ("file", "own"),
    [
        ("/home/u/project/train.py", True),
        ("train.py", True),
        ("<ipython-input-3-abc>", True),
        ("/home/u/thrust/main.cu", True),
        ("/home/u/torch_experiments/include/helpers.h", True),
        ("/workspace/cuda/include_me/a.cu", True),
        ("/home/u/python3/a.py", True),
        ("<frozen importlib._bootstrap>", False),
        ("<generated: 'pyopencl invoker for 'blend'-af6d'>", False),
        ("/usr/lib/python3.11/asyncio/base_events.py", False),
        ("/opt/conda/lib/python3.12/site-packages/cupy/_core/core.pyx", False),
        ("/usr/lib/python3/dist-packages/numba/x.py", False),
        ("/usr/include/c++/13/bits/stl_vector.h", False),
        ("/opt/rh/gcc-toolset-13/root/usr/include/c++/13/functional", False),
        ("/usr/local/cuda-12.8/include/thrust/detail/vector_base.inl", False),
        ("/home/u/.deps/cccl/cub/cub/device/device_reduce.cuh", False),
        ("/pytorch/aten/src/ATen/native/cuda/Blas.cpp", False),
        ("/pytorch/c10/cuda/CUDACachingAllocator.cpp", False),
        ("/tmp/tmpxft_000012ab_00000000-6_a.cudafe1.cpp", False),
        ("", False),
    ],
)
def test_own_sources(file: str, own: bool) -> None:
    assert is_own_source(file) is own


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("/home/u/build/train", True),
        ("/home/u/build/libnet.so", True),
        ("/usr/local/lib/libmine.so", True),
        ("/usr/lib/x86_64-linux-gnu/libc.so.6", False),
        ("/lib64/ld-linux-x86-64.so.2", False),
        ("/opt/conda/lib/libstdc++.so.6.0.30", False),
        ("/usr/bin/python3.11", False),
        ("/opt/cuda/lib64/libcublasLt.so.13", False),
        ("", False),
    ],
)
def test_own_modules(path: str, own: bool) -> None:
    assert is_own_module(path) is own


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("main", "main"),
        ("step(int)", "step"),
        ("void fill<float>(float*)", "fill<float>"),
        ("pool::Buffer<float>::~Buffer()", "pool::Buffer<float>::~Buffer"),
        ("(anonymous namespace)::run(std::function<void (int)>)", "(anonymous namespace)::run"),
        ("main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"),
        (
            "std::vector<int, std::allocator<int> >::push_back(int&&)",
            "std::vector<int, std::allocator<int> >::push_back",
        ),
        ("unsigned long sum<unsigned long>(unsigned long const*) [clone .part.0]", "sum<unsigned long>"),
        ("Buffer::operator bool() const", "Buffer::operator bool"),
        ("", ""),
        ("()", "()"),
    ],
)
def test_short_names(name: str, short: str) -> None:
    assert short_name(name) == short


def test_same_functions() -> None:
    assert same_function("void fill<float>(float*)", "void fill<float>(float *)")
    assert same_function("fill<float>", "void fill<float>(float*)")
    assert not same_function("scale(int)", "scale(float*)")
    assert not same_function("", "")


def test_the_function_of_a_library_that_a_line_of_python_calls() -> None:
    waits, enters = (Site(f"/v/site-packages/torch/{name}.py", 9, function=name) for name in ("synchronize", "enter"))
    own = Site("/home/u/train.py", 3)
    for stack, called in (((waits, own), waits), ((waits, enters, own), enters), ((own,), None), ((waits,), None)):
        trace = trace_of(*stack, native(LIBC, 0x98), symbols=SYMBOLS)
        found = trace.library_call(len(trace.sites) - 1)
        assert found.function == (called.function if called else "")
    assert trace.library_call(0).file == ""


LIBRARY_AT_EXIT = (native(RUNTIME, 5), native(LIBRARY, 0x80), native(LIBC, 0x88), native(LIBC, 0x90))


@pytest.mark.parametrize("caller", [native(LIBC, 0x98), native(APP, 0x30), native(APP, 0x70)], ids=repr)
def test_what_a_library_calls_at_exit_is_its_own_call(caller: Site) -> None:
    trace = trace_of(*LIBRARY_AT_EXIT, caller, symbols=SYMBOLS)
    assert trace.library_of(len(trace.sites) - 1) == "torch"


@pytest.mark.parametrize("destructor", [native(APP, 0x30), native(APP, 0x70), Site("/home/u/train.py", 3)], ids=repr)
def test_what_own_code_calls_at_exit_is_not_a_librarys(destructor: Site) -> None:
    trace = trace_of(native(RUNTIME, 5), native(LIBRARY, 0x80), destructor, *LIBRARY_AT_EXIT[2:], symbols=SYMBOLS)
    assert trace.library_of(len(trace.sites) - 1) == ""


def test_a_library_that_own_code_calls_makes_no_call_by_itself() -> None:
    trace = trace_of(native(LIBRARY, 0x80), native(APP, 0x30), symbols=SYMBOLS)
    assert trace.library_of(len(trace.sites) - 1) == ""
    assert trace.library_of(0) == ""


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/opt/venv/lib/python3.12/site-packages/cupy/cuda/memory.cpython-312-x86_64-linux-gnu.so", "cupy"),
        ("/opt/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcufft.so.12", "libcufft.so.12"),
        ("/usr/lib/python3/dist-packages/rmm/mr.py", "rmm"),
        ("/usr/lib/python3.12/threading.py", ""),
        ("/usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06", ""),
        ("/usr/bin/python3.12", ""),
        ("<frozen importlib>", ""),
    ],
)
def test_names_of_libraries(path: str, name: str) -> None:
    assert library_name(path) == name
