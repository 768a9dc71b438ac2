"""Calls of OpenCL through the macros and classes of a program, and the memory that it can still release."""

from __future__ import annotations

from pathlib import Path

import pytest

from expectations import check_text
from streamsan import cuda_source
from streamsan.trace.view import OperationView, iterate
from streamsan.vocabulary import OperationKind

HEAD = """#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
"""


def operations_of(text: str, folder: Path, name: str = "program.c") -> list[OperationView]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    reading = cuda_source.read(path, strict=True)
    assert [problem.text for problem in reading.problems] == []
    (world,) = reading.worlds
    return list(iterate(world.trace))


def sizes_of_allocations(text: str, folder: Path) -> list[int]:
    found = operations_of(text, folder)
    return [each.references[0].size for each in found if each.kind is OperationKind.ALLOC]


def findings(text: str, folder: Path, name: str = "program.c") -> list[tuple[str, int]]:
    return [(found.code, found.location.line) for found in check_text(text, folder, name)]


def loud(text: str, folder: Path, name: str = "program.cpp") -> list[tuple[str, int]]:
    return [(found.code, found.location.line) for found in check_text(text, folder, name) if found.severity != "note"]


@pytest.mark.parametrize(
    ("written", "bytes"),
    [
        ("sizeof(cl_int)", 4),
        ("N * sizeof(cl_float4)", 1024),
        ("BYTES", 256),
        ("N * sizeof(cl_mem)", 512),
        ("sizeof(cl_uchar3)", 4),
        ("sizeof(cl_image_format)", 8),
    ],
)
def test_size_of_a_type_of_opencl(written: str, bytes: int, tmp_path: Path) -> None:
    text = f"""{HEAD}
#define N 64
#define BYTES (N * sizeof(cl_int))
int main(void) {{
    cl_context context = clCreateContext(NULL, 0, NULL, NULL, NULL, NULL);
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, {written}, NULL, NULL);
    clReleaseMemObject(made);
    clReleaseContext(context);
}}
"""
    assert sizes_of_allocations(text, tmp_path) == [bytes]


def test_argument_of_a_macro_names_a_variable_of_the_macro(tmp_path: Path) -> None:
    """`err` is declared by the macro; the program passes its address, and never fails by itself."""
    text = f"""{HEAD}
#define NEW(var, call) do {{ cl_int err; var = call; if (err) {{ printf("%s: %d", #var, err); exit(1); }} }} while (0)
#define TWICE(var, call) NEW(var, call)
int main(void) {{
    cl_context context; cl_mem first, second;
    NEW(context, clCreateContext(NULL, 0, NULL, NULL, NULL, &err));
    NEW(first, clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &err));
    TWICE(second, clCreateBuffer(context, CL_MEM_READ_WRITE, 128, NULL, &err));
    clReleaseMemObject(first);
    clReleaseMemObject(second);
    clReleaseContext(context);
}}
"""
    assert sizes_of_allocations(text, tmp_path) == [64, 128]
    assert findings(text, tmp_path) == []


def test_variable_of_the_caller_is_not_the_macros(tmp_path: Path) -> None:
    text = f"""{HEAD}
#define RUN(call) do {{ cl_int status = (call); if (status) exit(1); }} while (0)
int main(void) {{
    cl_int err; size_t size = 32;
    cl_context context = clCreateContext(NULL, 0, NULL, NULL, NULL, &err);
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    RUN(clReleaseMemObject(made));
    RUN(clReleaseContext(context));
}}
"""
    assert findings(text, tmp_path) == []


OWNER = """#include <CL/cl.h>
#include <utility>
template <class T, cl_int (CL_API_CALL *Release)(T)> struct Owner {
    T held{};
    Owner() = default;
    explicit Owner(T given) : held(given) {}
    Owner(Owner &&other) noexcept : held(other.held) { other.held = nullptr; }
    Owner &operator=(Owner &&other) noexcept { std::swap(held, other.held); return *this; }
    ~Owner() { if (held) Release(held); }
    operator T() const { return held; }
};
using Memory = Owner<cl_mem, clReleaseMemObject>;
using Queue = Owner<cl_command_queue, clReleaseCommandQueue>;
using Kernel = Owner<cl_kernel, clReleaseKernel>;
static const char *source = "__kernel void copy(__global const int *in, __global int *out) {"
                            " out[get_global_id(0)] = in[get_global_id(0)]; }";
int main() {
    cl_device_id device; clGetDeviceIDs(nullptr, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
    cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    Queue queue; queue = Queue(clCreateCommandQueue(context, device, 0, nullptr));
    cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
    clBuildProgram(program, 1, &device, "", nullptr, nullptr);
    Kernel kernel(clCreateKernel(program, "copy", nullptr));
    Memory out(clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, nullptr, nullptr));
    size_t size = 1024;
    {
        Memory in(clCreateBuffer(context, CL_MEM_READ_ONLY, 4096, nullptr, nullptr));
        clSetKernelArg(kernel, 0, sizeof(cl_mem), &in);
        clSetKernelArg(kernel, 1, sizeof(cl_mem), &out);
        INSIDE
    }
    OUTSIDE
    clFinish(queue);
    clReleaseProgram(program);
    clReleaseContext(context);
}
"""
ENQUEUE = "clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &size, nullptr, 0, nullptr, nullptr);"


def test_owner_of_a_kernels_argument_is_gone_before_the_kernel_is_enqueued(tmp_path: Path) -> None:
    """Owners become handles by their conversion operators, their release is a template argument."""
    wrong = OWNER.replace("INSIDE", "").replace("OUTSIDE", ENQUEUE)
    line = wrong.split("\n").index(f"    {ENQUEUE}") + 1
    assert loud(wrong, tmp_path) == [("SS101", line)]
    assert loud(OWNER.replace("INSIDE", ENQUEUE).replace("OUTSIDE", ""), tmp_path) == []


LEVELS = f"""{HEAD}
int main(void) {{
    cl_context context = clCreateContext(NULL, 0, NULL, NULL, NULL, NULL);
    cl_mem current = NULL;
    for (int level = 0; level < 4; level++) {{
        cl_mem next = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, NULL);
        RELEASE
        current = next;
    }}
    clReleaseMemObject(current);
    clReleaseContext(context);
}}
"""


def test_last_handle_of_a_buffer_is_overwritten_in_a_loop(tmp_path: Path) -> None:
    assert loud(LEVELS.replace("RELEASE", ""), tmp_path, "program.c") == [("SS305", 9)]
    assert findings(LEVELS.replace("RELEASE", "if (current) clReleaseMemObject(current);"), tmp_path) == []


@pytest.mark.parametrize(
    "keeps",
    [
        "kept[level] = made;",
        "boxes[level].inner.memory = made;",
        "struct box *box = malloc(sizeof *box); box->inner.memory = made; list[level] = box;",
        "keep(&kept[level], made);",
        "clSetEventCallback(clCreateUserEvent(context, NULL), CL_COMPLETE, done, made);",
    ],
)
def test_handle_that_is_kept_is_not_lost(keeps: str, tmp_path: Path) -> None:
    text = f"""{HEAD}
struct box {{ struct {{ cl_mem memory; }} inner; }};
static cl_mem kept[4]; static struct box boxes[4], *list[4];
static void keep(cl_mem *place, cl_mem made) {{ *place = made; }}
void done(cl_event event, cl_int status, void *data);
int main(void) {{
    cl_context context = clCreateContext(NULL, 0, NULL, NULL, NULL, NULL);
    for (int level = 0; level < 4; level++) {{
        cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, NULL);
        {keeps}
    }}
    clReleaseContext(context);
}}
"""
    assert "SS305" not in {code for code, _ in findings(text, tmp_path)}


HOST = f"""{HEAD}
int main(void) {{
    cl_device_id device; clGetDeviceIDs(NULL, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    int *memory = malloc(4096);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, 4096, memory, NULL);
    int *mapped = clEnqueueMapBuffer(queue, buffer, BLOCKING, CL_MAP_READ, 0, 4096, 0, NULL, EVENT, NULL);
    WAIT
    printf("%d", mapped[0]);
    clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL);
    clFinish(queue);
    clReleaseMemObject(buffer);
    free(memory);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
}}
"""


def test_unmap_is_awaited_before_the_memory_below_a_buffer_is_freed(tmp_path: Path) -> None:
    text = HOST.replace("BLOCKING", "CL_TRUE").replace("EVENT", "NULL").replace("WAIT", "")
    assert findings(text, tmp_path) == []


def test_unmap_is_awaited_before_the_queue_goes(tmp_path: Path) -> None:
    text = HOST.replace("BLOCKING", "CL_TRUE").replace("EVENT", "NULL").replace("WAIT", "")
    text = text.replace("CL_MEM_USE_HOST_PTR, 4096, memory", "CL_MEM_ALLOC_HOST_PTR, 4096, NULL")
    assert findings(text, tmp_path) == []


def test_event_of_a_map_is_awaited_before_its_pointer_is_used(tmp_path: Path) -> None:
    text = (
        HOST.replace("BLOCKING", "CL_FALSE")
        .replace("EVENT", "&ready")
        .replace("int *memory", "cl_event ready; int *memory")
    )
    wait = "clWaitForEvents(1, &ready); clReleaseEvent(ready);"
    assert findings(text.replace("WAIT", wait), tmp_path) == []
    assert ("SS103", 13) in findings(text.replace("WAIT", "clReleaseEvent(ready);"), tmp_path)


TIMED = f"""{HEAD}
#define MADE(call) ({{ cl_int error_ = CL_SUCCESS; __typeof__(call) made_ = (call); if (error_) abort(); made_; }})
static const char *text = "__kernel void scale(__global int *p) {{ p[get_global_id(0)] *= 2; }}";
int main(int argc, char **argv) {{
    size_t count = argc > 1 ? (size_t)atoi(argv[1]) : 64;
    cl_ulong start; cl_event uploaded, scaled; cl_device_id device;
    clGetDeviceIDs(NULL, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = MADE(clCreateContext(NULL, 1, &device, NULL, NULL, &error_));
    cl_command_queue one = MADE(clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &error_));
    cl_command_queue two = MADE(clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &error_));
    cl_program program = MADE(clCreateProgramWithSource(context, 1, &text, NULL, &error_));
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    cl_kernel kernel = MADE(clCreateKernel(program, "scale", &error_));
    int *host = calloc(count, sizeof *host);
    cl_mem field = MADE(clCreateBuffer(context, CL_MEM_READ_WRITE, count * sizeof *host, NULL, &error_));
    clEnqueueWriteBuffer(one, field, CL_FALSE, 0, count * sizeof *host, host, 0, NULL, &uploaded);
    clSetKernelArg(kernel, 0, sizeof field, &field);
    clEnqueueNDRangeKernel(two, kernel, 1, NULL, &count, NULL, LIST, &scaled);
    clFinish(two);
    clGetEventProfilingInfo(scaled, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
    clFinish(one);
    free(host);
    clReleaseEvent(uploaded); clReleaseEvent(scaled); clReleaseMemObject(field); clReleaseKernel(kernel);
    clReleaseProgram(program); clReleaseCommandQueue(one); clReleaseCommandQueue(two); clReleaseContext(context);
    printf("%d", (int)start);
}}
"""


def test_wait_before_the_times_of_an_event_are_asked_for(tmp_path: Path) -> None:
    """What one queue uploads and the other uses is as many bytes as the program is told."""
    assert findings(TIMED.replace("LIST", "1, &uploaded").replace("clFinish(one);", ""), tmp_path) == []
    assert loud(TIMED.replace("LIST", "0, NULL"), tmp_path, "program.c") == [("SS109", 21)]
