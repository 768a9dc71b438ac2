"""Exact mode: the Sanitizer API stands in for CUPTI, and what kernels touched is in the trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_device import FakeDevice, Ran
from streamsan.trace import family
from streamsan.trace.store import owners
from streamsan.trace.view import iterate
from streamsan.vocabulary import OperationKind, SeenAccesses

ORDINARY = ("use_races_free_right", "use_after_fork_wrong", "wait_in_capture_right", "graph_relaunch_wrong")


def operations(path: Path) -> list[tuple[str, str, int]]:
    """Return kind, API and status of each operation of a trace, but for what only exact mode writes."""
    trace = family.read(str(path))
    found = []
    for chunk in trace.chunks():
        for slot in chunk[owners(chunk)]:
            kind = OperationKind(int(slot["kind"]))
            if kind not in (OperationKind.LAUNCH_ACCESSES, OperationKind.NODE_ACCESSES):
                found.append((kind.name, trace.apis[int(slot["api"])], int(slot["status"])))
    return found


@pytest.mark.parametrize("name", [ORDINARY[0], *(pytest.param(name, marks=pytest.mark.deep) for name in ORDINARY[1:])])
def test_the_trace_is_that_of_cupti(name: str, fake_device: FakeDevice, tmp_path: Path) -> None:
    command = [fake_device.programs, name]
    fake_device.run(tmp_path, command, "-o", "plain.sst", "--no-check", checked=False)
    exact = fake_device.run(tmp_path, command, "-o", "exact.sst", "--no-check", "--accesses", checked=False)
    # Of kernels that are alike nothing tells which nodes they are, once their graph is destroyed.
    assert all("nothing tells which of its nodes they are" in line for line in exact.errors.splitlines())
    assert operations(tmp_path / "exact.sst") == operations(tmp_path / "plain.sst")


PROGRAM = """
#include "runtime.hpp"
#include <cstdio>
static constexpr fake::Kernel fill{"_Z4fillPfi", {8, 4}};
int main() {
    cudaStream_t s, t;
    void *p, *q;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    cudaMalloc(&p, 4096);
    cudaMalloc(&q, 4096);
    BODY
    cudaDeviceSynchronize();
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
    cudaFree(p);
    cudaFree(q);
    return 0;
}
"""


def ran(body: str, fake_device: FakeDevice, folder: Path, *options: str) -> Ran:
    """Run a program under `streamsan run` with these options."""
    source = folder / "program.cpp"
    source.write_text(PROGRAM.replace("BODY", body))
    return fake_device.run(folder, [fake_device.compiled(source)], "--accesses", *options)


def test_what_a_kernel_touched_is_known(fake_device: FakeDevice, tmp_path: Path) -> None:
    found = ran("LAUNCH(fill, s, p, 1); LAUNCH(fill, t, p, 2);", fake_device, tmp_path)
    assert [(finding["code"], finding["severity"]) for finding in found.report["findings"]] == [("SS109", "error")]


@pytest.mark.deep
def test_a_launch_with_a_configuration_has_the_name_of_its_kernel(fake_device: FakeDevice, tmp_path: Path) -> None:
    body = """
    struct { unsigned sizes[7]; void* stream; void* attributes; unsigned count; } made{{1, 1, 1, 32, 1, 1, 0}, s, 0, 0};
    using Launch = int (*)(const void*, const void*, void**, void**);
    const auto launch = (Launch)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuLaunchKernelEx");
    launch(&made, &fill, fake::LaunchValues(p, 1).pointers(), nullptr);
    """
    program = PROGRAM.replace("BODY", body).replace("#include <cstdio>", "#include <dlfcn.h>")
    (tmp_path / "program.cpp").write_text(program)
    fake_device.run(tmp_path, [fake_device.compiled(tmp_path / "program.cpp")], "--accesses", "-o", "exact.sst")
    trace = family.read(str(tmp_path / "exact.sst"))
    launches = [view for view in iterate(trace) if view.kind is OperationKind.LAUNCH]
    assert [trace.launch_shapes[view.shape].symbol for view in launches] == ["_Z4fillPfi"]


def test_parts_of_a_buffer_are_told_apart(fake_device: FakeDevice, tmp_path: Path) -> None:
    # Each kernel writes the first 256 bytes behind its argument.
    body = "LAUNCH(fill, s, p, 1); LAUNCH(fill, t, static_cast<char*>(p) + OFFSET, 2);"
    assert ran(body.replace("OFFSET", "256"), fake_device, tmp_path).codes == []
    assert ran(body.replace("OFFSET", "255"), fake_device, tmp_path).codes == ["SS109"]


@pytest.mark.deep
def test_kernels_are_chosen(fake_device: FakeDevice, tmp_path: Path) -> None:
    body = "LAUNCH(fill, s, p, 1); LAUNCH(fill, t, p, 2);"
    seen = ran(body, fake_device, tmp_path, "--accesses-of", r"^f\w+(?:l\b|\d)", "-o", str(tmp_path / "some.sst"))
    assert [finding["severity"] for finding in seen.report["findings"]] == ["error"]
    others = ran(body, fake_device, tmp_path, "--accesses-of", "copy|scale", "-o", str(tmp_path / "none.sst"))
    assert "error" not in [finding["severity"] for finding in others.report["findings"]]


@pytest.mark.deep
def test_a_name_that_is_very_long_is_searched_through(fake_device: FakeDevice, tmp_path: Path) -> None:
    body = """
    static char name[300'001]; for (char& each : name) each = 'a'; name[300'000] = 0;
    const fake::Kernel longest{name, {8, 4}}; LAUNCH(longest, s, p, 1); LAUNCH(longest, t, p, 2);"""
    found = ran(body, fake_device, tmp_path, "--accesses-of", "(a|c)*b")
    assert found.status == 0, found.errors


@pytest.mark.deep
def test_launches_whose_stream_was_destroyed(fake_device: FakeDevice, tmp_path: Path) -> None:
    body = "LAUNCH(fill, s, p, 1); LAUNCH(fill, t, p, 2); cudaStreamDestroy(s); cudaStreamCreate(&s);"
    assert "SS109" in ran(body, fake_device, tmp_path).codes


def test_a_library_that_is_missing_is_one_line(fake_device: FakeDevice, tmp_path: Path) -> None:
    done = fake_device.run(
        tmp_path,
        [fake_device.programs, "use_after_free_right"],
        "--accesses",
        checked=False,
        environment={"CUDA_HOME": str(tmp_path), "PATH": str(tmp_path)},
    )
    assert done.status == 2
    assert "libsanitizer-public.so" in done.errors
    assert len(done.errors.splitlines()) == 1


@pytest.mark.parametrize(
    ("pattern", "said"),
    [("(", "not a regular expression"), ("(?i)fill", "the recorder has no such regular expression")],
)
def test_a_wrong_pattern_is_one_line(pattern: str, said: str, fake_device: FakeDevice, tmp_path: Path) -> None:
    done = fake_device.run(tmp_path, ["true"], "--accesses-of", pattern, checked=False)
    assert done.status == 2
    assert said in done.errors


def seen_launches(path: Path) -> list[SeenAccesses]:
    """Return how each launch was seen whose accesses a trace tells, in the order of the launches."""
    seen = {}
    for chunk in family.read(str(path)).chunks():
        for slot in chunk[chunk["kind"] == OperationKind.LAUNCH_ACCESSES]:
            seen[int(slot["object"])] = SeenAccesses(int(slot["detail"]))
    return [seen[launch] for launch in sorted(seen)]


ALL, LEARNED = SeenAccesses.ALL, SeenAccesses.LEARNED


@pytest.mark.deep
def test_later_launches_are_trusted(fake_device: FakeDevice, tmp_path: Path) -> None:
    body = "LAUNCH(fill, s, p, 1); cudaDeviceSynchronize(); LAUNCH(fill, s, q, 1); LAUNCH(fill, t, OTHER, 1);"
    first = ("--accesses-first", "1", "-o", str(tmp_path / "first.sst"))
    # Beside the buffers that they are given, not where the first one was.
    found = ran(body.replace("OTHER", "q"), fake_device, tmp_path, *first)
    assert [(finding["code"], finding["severity"]) for finding in found.report["findings"]] == [("SS109", "error")]
    assert seen_launches(tmp_path / "first.sst") == [ALL, LEARNED, LEARNED]
    assert ran(body.replace("OTHER", "static_cast<char*>(q) + 256"), fake_device, tmp_path, *first).codes == []
    assert ran(body.replace("OTHER", "p"), fake_device, tmp_path, *first).codes == []


@pytest.mark.deep
def test_launches_that_wait_for_the_first_are_told_later(fake_device: FakeDevice, tmp_path: Path) -> None:
    found = ran(
        "LAUNCH(fill, s, p, 1); LAUNCH(fill, s, q, 1); LAUNCH(fill, t, q, 1);",
        fake_device,
        tmp_path,
        *("--accesses-first", "1", "-o", str(tmp_path / "first.sst")),
    )
    assert found.codes == ["SS109"]
    assert seen_launches(tmp_path / "first.sst") == [ALL, LEARNED, LEARNED]


def test_only_launches_with_the_same_arguments_are_trusted(fake_device: FakeDevice, tmp_path: Path) -> None:
    body = "for (int i = 0; i < 2; ++i) { LAUNCH(fill, s, p, 1); LAUNCH(fill, s, p, 2); LAUNCH(fill, s, q, 1); }"
    ran(body, fake_device, tmp_path, "--accesses-first", "2", "-o", str(tmp_path / "first.sst"))
    assert seen_launches(tmp_path / "first.sst") == [ALL, ALL, ALL, LEARNED, ALL, LEARNED]
    ran(body, fake_device, tmp_path, "-o", str(tmp_path / "all.sst"))
    assert seen_launches(tmp_path / "all.sst") == [ALL] * 6


def test_a_launch_beyond_its_memory_is_looked_at(fake_device: FakeDevice, tmp_path: Path) -> None:
    # The kernel's 256 bytes would end behind the buffer: what is said of the first launch cannot be said of this one.
    body = "LAUNCH(fill, s, p, 1); cudaDeviceSynchronize(); LAUNCH(fill, s, static_cast<char*>(q) + 4000, 1);"
    ran(body, fake_device, tmp_path, "--accesses-first", "1", "-o", str(tmp_path / "first.sst"))
    assert seen_launches(tmp_path / "first.sst") == [ALL, ALL]


def test_without_values_nothing_is_trusted(fake_device: FakeDevice, tmp_path: Path) -> None:
    body = "LAUNCH(fill, s, p, 1); cudaDeviceSynchronize(); LAUNCH(fill, s, p, 2);"
    ran(body, fake_device, tmp_path, "--accesses-first", "1", "--redact", "-o", str(tmp_path / "redacted.sst"))
    assert seen_launches(tmp_path / "redacted.sst") == [ALL, ALL]
