"""OpenCL host code as engineers write it, in small: what the reader makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from expectations import check_text
from streamsan import cuda_source
from streamsan.kernels.opencl_texts import OpenclText
from streamsan.trace.view import OperationView, iterate
from streamsan.vocabulary import AccessMode, FreeClass, OperationKind, SlotFlag, StreamKind

WRAPPERS = "#include <CL/opencl.hpp>\n#include <memory>\n#include <vector>\n"


def operations_of(text: str, folder: Path, name: str = "program.c") -> list[OperationView]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    reading = cuda_source.read(path, strict=True)
    assert [problem.text for problem in reading.problems] == []
    (world,) = reading.worlds
    assert world.trace.platform == "opencl"
    return list(iterate(world.trace))


def of_kind(found: list[OperationView], kind: OperationKind) -> list[OperationView]:
    return [operation for operation in found if operation.kind is kind]


def codes(text: str, folder: Path, name: str) -> list[tuple[str, int]]:
    return [(found.code, found.location.line) for found in check_text(text, folder, name) if found.severity != "note"]


KERNELS = """
__kernel void scale(__global const float *in, __global float *restrict out, const float f, __local float *tmp) {
    out[get_global_id(0)] = in[get_global_id(0)] * f; /* writes */
}
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void count(global uint *n, __constant int *key) {
    atomic_add(n, key[0]);
}
kernel void blur(read_only image2d_t in, write_only image2d_t out, sampler_t s) { }
"""


def test_modes_of_arguments() -> None:
    scale = OpenclText(KERNELS).modes("scale")
    assert scale is not None
    assert [use and use[0] for use in scale] == [AccessMode.READ, AccessMode.WRITE, None, None]
    assert scale[1] is not None
    assert scale[1][1] & SlotFlag.TOUCHES
    count = OpenclText(KERNELS).modes("count")
    assert count is not None
    assert count[0] == (AccessMode.READ_WRITE, count[0][1])
    assert count[0][1] & SlotFlag.ATOMIC
    blur = OpenclText(KERNELS).modes("blur")
    assert blur == ((AccessMode.READ, 0), (AccessMode.WRITE, 0), None)
    assert OpenclText(KERNELS).modes("missing") is None


@pytest.mark.parametrize("word", ["kernel ", "/*", "kernel void f(", "__attribute__((", '"', "f("])
def test_hostile_texts_of_programs_take_no_time(word: str) -> None:
    assert OpenclText(word * 20_000).modes("f") in (None, ())


LAUNCH = """
#include <CL/cl.h>
void run(cl_context context, cl_device_id device, cl_program program) {
    cl_int err;
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &err);
    cl_mem a = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &err);
    cl_kernel k = clCreateKernel(program, "f", &err);
    size_t n = 16;
    clSetKernelArg(k, 0, sizeof(cl_mem), &a);
    clEnqueueNDRangeKernel(queue, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    clReleaseKernel(k);
    clReleaseMemObject(a);
    clReleaseCommandQueue(queue);
}
"""


def test_kernels_of_a_file_beside_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "f.cl").write_text("kernel void f(global const int *x) { }", encoding="utf-8")
    text = LAUNCH + 'const char *file = "f.cl";\n'
    (launch,) = of_kind(operations_of(text, tmp_path), OperationKind.LAUNCH)
    assert [reference.mode for reference in launch.references] == [AccessMode.READ]


def test_kernels_in_a_literal_of_the_source(tmp_path: Path) -> None:
    text = LAUNCH + 'const char *code = "kernel void f(global int *x) {"\n  " x[get_global_id(0)] = 1; }";\n'
    (launch,) = of_kind(operations_of(text, tmp_path), OperationKind.LAUNCH)
    assert [reference.mode for reference in launch.references] == [AccessMode.WRITE]


def test_names_are_those_of_the_variables(tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text(LAUNCH, encoding="utf-8")
    (world,) = cuda_source.read(path, strict=True).worlds
    labels = {
        world.trace.site(operation.site).label
        for operation in iterate(world.trace)
        if operation.kind in (OperationKind.ALLOC, OperationKind.STREAM_CREATE)
    }
    assert {"a", "queue"} <= labels


def test_wrappers_count_references_and_stand_at_the_programs_lines(tmp_path: Path) -> None:
    text = (
        WRAPPERS
        + """
struct Stage {
    cl::CommandQueue queue;
    cl::Buffer buffer;
    Stage(const cl::CommandQueue& q, const cl::Buffer& b) : queue(q), buffer(b) {}
};
int main() {
    cl::Context context(CL_DEVICE_TYPE_ALL);
    cl::CommandQueue queue(context, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    const size_t count = 16;
    cl::Buffer buffer(context, CL_MEM_READ_WRITE, count * sizeof(float));
    std::vector<Stage> stages;
    stages.emplace_back(queue, buffer);
    stages.push_back(Stage(queue, buffer));
    std::unique_ptr<cl::Buffer> own(new cl::Buffer(context, CL_MEM_READ_WRITE, 64));
    own.reset();
}
"""
    )
    found = operations_of(text, tmp_path, "program.cpp")
    assert [each.detail for each in of_kind(found, OperationKind.STREAM_CREATE)] == [StreamKind.OUT_OF_ORDER]
    frees = of_kind(found, OperationKind.FREE)
    assert [(each.detail, each.status) for each in frees] == [(FreeClass.CL_RELEASE, 0)] * 2
    assert len(of_kind(found, OperationKind.CONTEXT_DESTROY)) == len(of_kind(found, OperationKind.STREAM_DESTROY)) == 1


def test_release_function_as_template_argument(tmp_path: Path) -> None:
    text = """
#include <CL/cl.h>
template <typename T, cl_int (*Release)(T)> class Handle {
public:
    explicit Handle(T t) : t_(t) {}
    ~Handle() { if (t_) Release(t_); }
    T get() const { return t_; }
private:
    T t_;
};
int main() {
    cl_int err;
    cl_context context = clCreateContextFromType(NULL, CL_DEVICE_TYPE_ALL, NULL, NULL, &err);
    { Handle<cl_mem, clReleaseMemObject> held(clCreateBuffer(context, CL_MEM_READ_WRITE, 64, nullptr, &err)); }
    clReleaseContext(context);
}
"""
    assert len(of_kind(operations_of(text, tmp_path, "program.cpp"), OperationKind.FREE)) == 1


def test_host_pointer_buffer_gives_the_memory_back(tmp_path: Path) -> None:
    text = """
#include <CL/cl.h>
#include <stdlib.h>
int main(void) {
    cl_int err;
    cl_context context = clCreateContextFromType(NULL, CL_DEVICE_TYPE_ALL, NULL, NULL, &err);
    cl_command_queue queue = clCreateCommandQueue(context, NULL, 0, &err);
    float *host = (float *)malloc(64);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, 64, host, &err);
    float zero = 0;
    clEnqueueFillBuffer(queue, buffer, &zero, sizeof zero, 0, 64, 0, NULL, NULL);
    float *view = (float *)clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, 64, 0, NULL, NULL, &err);
    float first = view[0];
    clEnqueueUnmapMemObject(queue, buffer, view, 0, NULL, NULL);
    clFinish(queue);
    clReleaseMemObject(buffer);
    free(host);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return first != 0;
}
"""
    assert codes(text, tmp_path, "program.c") == []


@pytest.mark.parametrize("given", ["const std::vector<cl::Event>& after = {}", "const cl::Event* after = nullptr"])
def test_default_arguments_in_braces(given: str, tmp_path: Path) -> None:
    text = (
        WRAPPERS
        + f"""
class Worker {{
public:
    explicit Worker(const cl::Context& context) : queue_(context) {{}}
    void run(const cl::Buffer& buffer, {given}) {{
        queue_.enqueueFillBuffer(buffer, 0.0f, 0, 64);
        queue_.finish();
    }}
private:
    cl::CommandQueue queue_;
}};
int main() {{
    cl::Context context(CL_DEVICE_TYPE_ALL);
    cl::Buffer buffer(context, CL_MEM_READ_WRITE, 64);
    Worker(context).run(buffer);
}}
"""
    )
    assert len(of_kind(operations_of(text, tmp_path, "program.cpp"), OperationKind.MEMSET)) == 1


def test_library_functions_judge_nothing_of_their_callers(tmp_path: Path) -> None:
    text = """
#include <CL/cl.h>
cl_int add(cl_command_queue q, cl_kernel k, cl_mem in, cl_mem out, size_t n, cl_uint waits, const cl_event *list,
           cl_event *done) {
    cl_int err = clSetKernelArg(k, 0, sizeof(cl_mem), &in) | clSetKernelArg(k, 1, sizeof(cl_mem), &out);
    return err ? err : clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, waits, list, done);
}
cl_int fetch(cl_command_queue q, cl_mem from, void *host, size_t bytes, cl_event *done) {
    return clEnqueueReadBuffer(q, from, CL_FALSE, 0, bytes, host, 0, NULL, done);
}
"""
    assert codes(text, tmp_path, "program.c") == []


BUFFERS_OVER_SHARED_MEMORY = """#include <CL/cl.h>
void use(cl_context context, cl_device_id device, cl_kernel kernel) {
    cl_int status;
    size_t one = 1;
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    int *data = (int *)clSVMAlloc(context, CL_MEM_READ_WRITE, 4096, 0);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, 4096, data, &status);
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
    FINISH
    clReleaseMemObject(buffer);
    clSVMFree(context, data);
    clReleaseCommandQueue(queue);
}
"""


@pytest.mark.parametrize(("finish", "found"), [("clFinish(queue);", []), ("", [("SS102", 12)])])
def test_buffers_over_shared_memory_have_its_life(tmp_path: Path, finish: str, found: list[tuple[str, int]]) -> None:
    """Neither the buffer's release nor clSVMFree is a second free of the other's memory."""
    assert codes(BUFFERS_OVER_SHARED_MEMORY.replace("FINISH", finish), tmp_path, "shared.c") == found


FREED_BY_A_COMMAND = """#include <CL/cl.h>
void use(cl_context context, cl_device_id device, cl_kernel kernel) {
    cl_int status;
    size_t one = 1;
    cl_event used;
    cl_command_queue queue =
        clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
    void *data[1] = { clSVMAlloc(context, CL_MEM_READ_WRITE, 4096, 0) };
    clSetKernelArgSVMPointer(kernel, 0, data[0]);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, &used);
    clEnqueueSVMFree(queue, 1, data, NULL, NULL, WAITS, NULL);
    clReleaseEvent(used);
    clFinish(queue);
    clReleaseCommandQueue(queue);
}
"""


@pytest.mark.parametrize(("waits", "found"), [("1, &used", []), ("0, NULL", [("SS102", 11)])])
def test_a_free_on_a_queue_out_of_order_is_behind_its_wait_list(
    tmp_path: Path, waits: str, found: list[tuple[str, int]]
) -> None:
    assert codes(FREED_BY_A_COMMAND.replace("WAITS", waits), tmp_path, "freed.c") == found


BUFFERS_OVER_HOST_MEMORY = """#include <CL/cl.h>
static float memory[1024];
void use(cl_context context, cl_command_queue queue) {
    cl_int status;
    cl_mem one = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, 4096, memory, &status);
    cl_mem same = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, 4096, memory, &status);
    cl_mem half = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, 2048, memory, &status);
    clReleaseMemObject(one);
    clEnqueueFillBuffer(queue, same, &status, 4, 0, 4096, 0, NULL, NULL);
    clReleaseMemObject(half);
    clReleaseMemObject(same);
    cl_mem later = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, 4096, memory, &status);
    clReleaseMemObject(later);
    AGAIN
}
"""


@pytest.mark.parametrize(("again", "found"), [("", []), ("clReleaseMemObject(same);", [("SS205", 14)])])
def test_buffers_over_the_same_host_memory(tmp_path: Path, again: str, found: list[tuple[str, int]]) -> None:
    """Each has references of its own; the memory goes with the last of them."""
    assert codes(BUFFERS_OVER_HOST_MEMORY.replace("AGAIN", again), tmp_path, "host.c") == found


KEPT_IN_A_MAP = """#include <CL/cl.h>
#include <map>
bool distinct(cl_context context) {
    std::map<char *, size_t> all;
    for (int round = 0; round < 100; ++round) {
        char *data = (char *)clSVMAlloc(context, CL_MEM_READ_WRITE, 4096, 0);
        LEAVE
        all[data] = 4096;
    }
    for (auto &one : all) clSVMFree(context, one.first);
    return true;
}
"""


@pytest.mark.parametrize(
    ("leave", "found"),
    [
        ("", []),
        ("if (all.size() > 9) return false;", []),
        ("if (all.size() > 9) break;", []),
        ("if (round % 2) continue;", [("SS305", 6)]),
    ],
)
def test_memory_that_is_lost_as_a_loop_is_left_is_lost_once(
    tmp_path: Path, leave: str, found: list[tuple[str, int]]
) -> None:
    assert codes(KEPT_IN_A_MAP.replace("LEAVE", leave), tmp_path, "kept.cpp") == found


IMAGES = """
constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_FILTER_NEAREST;
kernel void invert(read_only image2d_t in, write_only image2d_t out, int level) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imageui(out, at, (uint4)(255 - read_imageui(in, nearest, at).x, 0, 0, 0));
}
kernel void shift(read_only image2d_t in, write_only image2d_t out) {
    const int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(out, at + (int2)(1, -1), read_imagef(in, at - (int2)(1, 0) + (int2)(0, 1)));
}
kernel void mask(read_only image2d_t in, global uchar *out, int width) {
    if (read_imageui(in, (int2)(get_global_id(0), get_global_id(1))).x > 3) out[0] = 1;
}
"""
SAMPLES = "kernel void show(read_only image2d_msaa_t in, int2 at, global int *out) { *out = read_imagei(in, at, 0).x; }"


def test_pixels_of_images_that_the_first_work_item_touches() -> None:
    text = OpenclText(IMAGES)
    touched = {
        name: [(use[0], bool(use[1] & SlotFlag.TOUCHES)) for use in text.modes(name) or () if use]
        for name in ("invert", "shift", "mask")
    }
    read, write = AccessMode.READ, AccessMode.WRITE
    assert touched == {
        "invert": [(read, True), (write, True)],
        "shift": [(read, False), (write, False)],
        "mask": [(read, True), (write, False)],
    }
    assert OpenclText(SAMPLES).modes("show") == ((read, 0), None, (write, SlotFlag.TOUCHES))


def test_regions_of_images(tmp_path: Path) -> None:
    text = """#include <CL/cl.h>
void make(cl_context context, cl_command_queue queue, char *out) {
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 64, .image_height = 32};
    const size_t origin[3] = {16, 8, 0}, region[3] = {8, 4, 1}, zero[3] = {0, 0, 0}, all[3] = {64, 32, 1};
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, NULL);
    clEnqueueReadImage(queue, image, CL_TRUE, origin, region, 0, 0, out, 0, NULL, NULL);
    clEnqueueReadImage(queue, image, CL_TRUE, zero, all, 0, 0, out, 0, NULL, NULL);
    clReleaseMemObject(image);
}
"""
    found = operations_of(text, tmp_path)
    image = next(each for each in of_kind(found, OperationKind.ALLOC) if each.size).references[0]
    assert image.size == 64 * 32 * 4
    part, whole = (each.references[1] for each in of_kind(found, OperationKind.COPY))
    assert (part.address - image.address, part.size) == (8 * 256 + 64, 3 * 256 + 32)
    assert part.rows is not None
    assert (part.rows.width, part.rows.pitch, part.rows.count) == (32, 256, 4)
    assert (whole.address, whole.size, whole.rows) == (image.address, image.size, None)


HALVES = """#include <CL/cl.h>
static const char *text =
TEXT
void step(cl_context context, cl_device_id device) {
    size_t lower = 0, upper = 512, half = 512;
    int size = 1024;
    cl_command_queue one = clCreateCommandQueue(context, device, 0, NULL);
    cl_command_queue two = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    clBuildProgram(program, 1, &device, OPTIONS, NULL, NULL);
    cl_kernel kernel = clCreateKernel(program, "step", NULL);
    cl_mem field = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, NULL);
    clSetKernelArg(kernel, 0, sizeof field, &field);
    clSetKernelArg(kernel, 1, sizeof size, &size);
    clEnqueueNDRangeKernel(one, kernel, 1, &lower, &half, NULL, 0, NULL, NULL);
    clEnqueueNDRangeKernel(two, kernel, 1, &upper, &half, NULL, 0, NULL, NULL);
    clFinish(one);
    clFinish(two);
    clReleaseMemObject(field);
}
"""
OWN = "__kernel void step(__global int *f, int n) { int i = get_global_id(0); if (i < n) f[i] += 1; }"
HALO = "__kernel void step(__global int *f, int n) { int i = get_global_id(0); f[i] = i > 0 ? f[i - 1] : 0; }"
CONDITIONED = """#ifndef AT
#define AT(i) (i)
#endif
__kernel void step(__global int *f, int n) { f[AT(get_global_id(0))] = n; }"""


@pytest.mark.parametrize(
    ("text", "options", "found"),
    [
        (OWN, "NULL", set()),
        (HALO, "NULL", {("SS109", "error")}),
        (CONDITIONED, '""', set()),
        (CONDITIONED, '"-DAT(i)=((i)/2)"', set()),
        (CONDITIONED, '"-DAT(i)=((i)%512)"', {("SS109", "error")}),
        (CONDITIONED, '"-DAT(i)=((i)<512?(i):(i)*7%512)"', {("SS109", "warning")}),
        (CONDITIONED, 'getenv("OPTIONS")', {("SS109", "note")}),
    ],
)
def test_two_queues_that_share_a_buffer(text: str, options: str, found: set[tuple[str, str]], tmp_path: Path) -> None:
    """Which bytes a launch touches follows from its offset, its size, its arguments and the text with its options."""
    literal = "\n".join(f'"{line}\\n"' for line in text.split("\n")) + ";"
    program = HALVES.replace("TEXT", literal).replace("OPTIONS", options)
    said = {
        (each.code, each.severity.value) for each in check_text(program, tmp_path, "halves.c") if each.code == "SS109"
    }
    assert said == found
