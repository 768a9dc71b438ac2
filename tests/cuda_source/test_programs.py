"""Several sources as one program: calls lead from file to file, and each file's own names stay its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from streamsan.cli import main

HEADER = """
#pragma once
#include <cuda_runtime.h>
struct Ring {
    Ring(int n);
    ~Ring();
    void fill(cudaStream_t s);
    float* data;
    int n;
};
extern cudaStream_t shared_stream;
void make_streams();
void read_back(float* to, const float* from, int n, cudaStream_t s);
__global__ void twice(float* x, int n);
template <typename T> void zero(T* x, int n, cudaStream_t s);
inline cudaStream_t& the_stream() { static cudaStream_t stream; return stream; }
"""
LIBRARY = """
#include "ring.h"
cudaStream_t shared_stream;
void make_streams() { cudaStreamCreate(&shared_stream); cudaStreamCreate(&the_stream()); }
Ring::Ring(int n) : n(n) { cudaMalloc(&data, n * sizeof(float)); }
Ring::~Ring() { cudaFree(data); }
void Ring::fill(cudaStream_t s) { cudaMemsetAsync(data, 0, n * sizeof(float), s); }
void read_back(float* to, const float* from, int n, cudaStream_t s)
{
    cudaMemcpyAsync(to, from, n * sizeof(float), cudaMemcpyDeviceToHost, s);
}
template <typename T> void zero(T* x, int n, cudaStream_t s) { cudaMemsetAsync(x, 0, n * sizeof(T), s); }
template void zero<float>(float*, int, cudaStream_t);
"""
KERNELS = """
#include "ring.h"
__global__ void twice(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }
"""
MAIN = """
#include "ring.h"
int main() {
    cudaStream_t other;
    cudaStreamCreate(&other);
    make_streams();
    float* host;
    cudaMallocHost(&host, 4096);
    {
        Ring ring(1024);
        CALLS
        cudaDeviceSynchronize();
    }
    cudaFreeHost(host);
    cudaStreamDestroy(shared_stream);
    cudaStreamDestroy(the_stream());
    cudaStreamDestroy(other);
}
"""


def report(folder: Path, files: Mapping[str, str], capsys: pytest.CaptureFixture[str], *options: str) -> Any:
    """Check sources that are named together; returns the report as JSON."""
    for name, text in files.items():
        (folder / name).write_text(text)
    sources = [str(folder / name) for name in files if not name.endswith((".h", ".json"))]
    main(["check", "--no-fixes", "--format", "json", *options, *([] if "-p" in options else sources)])
    return json.loads(capsys.readouterr().out)


def loud(found: Any) -> list[tuple[str, str, str]]:
    """Return code, severity and file name of what is no note."""
    return [
        (each["code"], each["severity"], Path(each["location"]["file"]).name)
        for each in found["findings"]
        if each["severity"] != "note"
    ]


def library(calls: str) -> dict[str, str]:
    return {"ring.h": HEADER, "main.cu": MAIN.replace("CALLS", calls), "ring.cu": LIBRARY, "kernels.cu": KERNELS}


PAIRS = {
    "a method": ("ring.fill(other); read_back(host, ring.data, 1024, shared_stream);", "ring.cu",
                 "ring.fill(other); read_back(host, ring.data, 1024, other);"),
    "a kernel": ("ring.fill(other); twice<<<4, 256, 0, shared_stream>>>(ring.data, 1024);", "main.cu",
                 "ring.fill(other); twice<<<4, 256, 0, other>>>(ring.data, 1024);"),
    "a template": ("zero(ring.data, 1024, other); twice<<<4, 256, 0, shared_stream>>>(ring.data, 1024);", "main.cu",
                   "zero(ring.data, 1024, other); twice<<<4, 256, 0, other>>>(ring.data, 1024);"),
    "a header's static": ("ring.fill(the_stream()); read_back(host, ring.data, 1024, shared_stream);", "ring.cu",
                          "ring.fill(the_stream()); read_back(host, ring.data, 1024, the_stream());"),
    "a launch by address": (
        "int n = 1024; void* a[] = {&ring.data, &n}; ring.fill(other);"
        " cudaLaunchKernel((const void*)twice, dim3(4), dim3(256), a, 0, shared_stream);", "main.cu",
        "int n = 1024; void* a[] = {&ring.data, &n}; ring.fill(other);"
        " cudaLaunchKernel((const void*)twice, dim3(4), dim3(256), a, 0, other);"),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_what_crosses_files(name, tmp_path, capsys):
    wrong, place, right = PAIRS[name]
    found = report(tmp_path, library(wrong), capsys)
    assert loud(found) == [("SS109", "error", place)]
    assert found["summary"]["files"] == 3
    found = report(tmp_path, library(right), capsys)
    assert loud(found) == []
    # All is defined in one of the files: nothing is out of sight.
    assert not [each for each in found["findings"] if each["code"] == "SS603"]


def test_operations_count_once(tmp_path, capsys):
    calls = "ring.fill(other);"
    one = report(tmp_path, library(calls), capsys)["summary"]["operations"]
    files = {**library(calls), "second.cu": MAIN.replace("CALLS", calls)}
    two = report(tmp_path, files, capsys)
    # The second `main` adds its own calls; those of the library, which both run, are the same.
    assert one < two["summary"]["operations"] < 2 * one
    assert two["summary"]["files"] == 4


def test_two_programs_in_one_folder_are_two(tmp_path, capsys):
    # Each has a `stream()` of its own, and a `main`: were the two mixed, one would free what the other one uses.
    one = """
#include <cuda_runtime.h>
cudaStream_t made;
float* memory;
void start() { cudaStreamCreate(&made); cudaMalloc(&memory, 64); }
int main() { start(); cudaMemsetAsync(memory, 0, 64, made); cudaStreamSynchronize(made); cudaFree(memory);
             cudaStreamDestroy(made); }
"""
    other = """
#include <cuda_runtime.h>
extern float* memory;
void start();
int main() { start(); cudaMemset(memory, 0, 64); }
"""
    found = report(tmp_path, {"one.cu": one, "other.cu": other}, capsys)
    assert loud(found) == []
    assert [each["message"] for each in found["findings"] if each["code"] == "SS603"] == [
        "not understood: `start` is not visible here"
    ]


OWN = """
#include <cuda_runtime.h>
SPECIFIER cudaStream_t stream;
SPECIFIER void make() { cudaStreamCreate(&stream); }
SPECIFIER_END
void start_NAME() { make(); }
void use_NAME(float* x) { cudaMemsetAsync(x, NUMBER, 64, stream); }
void stop_NAME() { cudaStreamDestroy(stream); }
"""


@pytest.mark.parametrize(("before", "after"), [("static", ""), ("namespace {", "}")])
def test_what_a_file_keeps_to_itself_is_its_own(before, after, tmp_path, capsys):
    def text(name: str, number: str) -> str:
        begin = OWN.replace("SPECIFIER_END", after)
        begin = begin.replace("SPECIFIER", before, 1).replace("SPECIFIER", "" if after else before)
        return begin.replace("NAME", name).replace("NUMBER", number)

    program = """
#include <cuda_runtime.h>
void start_a(); void use_a(float*); void stop_a();
void start_b(); void use_b(float*); void stop_b();
int main() {
    float* x;
    cudaMalloc(&x, 64);
    start_a(); start_b();
    use_a(x); use_SECOND(x);
    cudaDeviceSynchronize();
    stop_a(); stop_b();
    cudaFree(x);
}
"""
    files = {"a.cu": text("a", "1"), "b.cu": text("b", "2"), "main.cu": program.replace("SECOND", "b")}
    assert loud(report(tmp_path, files, capsys)) == [("SS109", "error", "b.cu")]
    files["main.cu"] = program.replace("SECOND", "a")
    assert loud(report(tmp_path, files, capsys)) == []


def test_a_name_with_two_definitions_is_nobodys(tmp_path, capsys):
    used = (
        "#include <cuda_runtime.h>\nvoid finish(float* x);\nvoid run() { float* x; cudaMalloc(&x, 64); finish(x); }\n"
    )
    frees = "#include <cuda_runtime.h>\nvoid finish(float* x) { cudaFree(x); cudaFree(x); }\n"
    found = report(tmp_path, {"run.cu": used, "one.cu": frees, "two.cu": frees}, capsys)
    assert "`finish` is not visible here" in str(found["findings"])


def test_a_library_without_main(tmp_path, capsys):
    upload = """
#include <cuda_runtime.h>
void push(float* x, const float* h, cudaStream_t s);
void step(const float* h) {
    cudaStream_t a, b;
    cudaStreamCreate(&a); cudaStreamCreate(&b);
    float* x;
    cudaMalloc(&x, 4096);
    push(x, h, a);
    push(x, h, SECOND);
    cudaDeviceSynchronize();
    cudaFree(x);
    cudaStreamDestroy(a); cudaStreamDestroy(b);
}
"""
    push = """
#include <cuda_runtime.h>
void push(float* x, const float* h, cudaStream_t s) { cudaMemcpyAsync(x, h, 4096, cudaMemcpyHostToDevice, s); }
"""
    files = {"push.cu": push, "step.cu": upload.replace("SECOND", "b")}
    assert loud(report(tmp_path, files, capsys)) == [("SS109", "error", "push.cu")]
    files["step.cu"] = upload.replace("SECOND", "a")
    assert loud(report(tmp_path, files, capsys)) == []


def test_streams_that_another_file_makes_are_apart(tmp_path, capsys):
    header = """
#pragma once
#include <cuda_runtime.h>
struct Lanes { Lanes(); ~Lanes(); void run(float* x, const float* h); cudaStream_t up; cudaStream_t down; };
"""
    made = """
#include "lanes.h"
Lanes::Lanes() { cudaStreamCreate(&up); cudaStreamCreate(&DOWN); }
Lanes::~Lanes() { cudaStreamDestroy(down); cudaStreamDestroy(up); }
"""
    used = """
#include "lanes.h"
Lanes& lanes();
void Lanes::run(float* x, const float* h) {
    cudaMemcpyAsync(x, h, 4096, cudaMemcpyHostToDevice, up);
    cudaMemsetAsync(x, 0, 4096, down);
}
Lanes* open() { return new Lanes; }
"""
    files = {"lanes.h": header, "made.cu": made.replace("DOWN", "down"), "used.cu": used}
    assert loud(report(tmp_path, files, capsys)) == [("SS109", "error", "used.cu")]
    files["made.cu"] = made.replace("cudaStreamCreate(&DOWN)", "down = up")
    assert loud(report(tmp_path, files, capsys)) == []


def test_all_of_compile_commands_is_a_program_each_file_by_its_own_entry(tmp_path, capsys, monkeypatch):
    files = library("ring.fill(other); STEP(host, ring.data, 1024, shared_stream);")
    entries = [
        {"directory": str(tmp_path), "file": name, "command": f"nvcc {option} -c {name}"}
        for name, option in (("main.cu", "-DSTEP=read_back"), ("ring.cu", ""), ("kernels.cu", "-DSTEP=none"))
    ]
    files["compile_commands.json"] = json.dumps(entries)
    monkeypatch.chdir(tmp_path)
    found = report(tmp_path, files, capsys, "-p", str(tmp_path))
    assert loud(found) == [("SS109", "error", "ring.cu")]


def test_processes_say_what_one_says(tmp_path, capsys):
    files = library("ring.fill(other); read_back(host, ring.data, 1024, shared_stream);")
    files |= {f"alone{number}.cu": f"void f{number}(float* x) {{ cudaFree(x); cudaFree(x); }}" for number in range(8)}
    one = report(tmp_path, files, capsys, "--jobs", "1")
    assert ("SS109", "error", "ring.cu") in loud(one)
    assert report(tmp_path, files, capsys, "--jobs", "2") == one
