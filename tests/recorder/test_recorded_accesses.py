"""Exact mode: the Sanitizer API stands in for CUPTI, and what kernels touched is in the trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_device import FakeDevice, Ran
from streamsan.trace import family
from streamsan.trace.store import owners
from streamsan.vocabulary import OperationKind

ORDINARY = ("use_races_free_right", "use_after_fork_wrong", "wait_in_capture_right", "graph_relaunch_wrong")


def operations(path: Path) -> list[tuple[str, str, int]]:
    """Return kind, API and status of each operation of a trace, but for what only exact mode writes."""
    trace = family.read(str(path))
    found = []
    for chunk in trace.chunks():
        for slot in chunk[owners(chunk)]:
            kind = OperationKind(int(slot["kind"]))
            if kind is not OperationKind.LAUNCH_ACCESSES:
                found.append((kind.name, trace.apis[int(slot["api"])], int(slot["status"])))
    return found


@pytest.mark.parametrize("name", ORDINARY)
def test_the_trace_is_that_of_cupti(name: str, fake_device: FakeDevice, tmp_path: Path) -> None:
    command = [fake_device.programs, name]
    fake_device.run(tmp_path, command, "-o", "plain.sst", "--no-check", checked=False)
    exact = fake_device.run(tmp_path, command, "-o", "exact.sst", "--no-check", "--accesses", checked=False)
    assert exact.errors == ""
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


def test_parts_of_a_buffer_are_told_apart(fake_device: FakeDevice, tmp_path: Path) -> None:
    # Each kernel writes the first 256 bytes behind its argument.
    body = "LAUNCH(fill, s, p, 1); LAUNCH(fill, t, static_cast<char*>(p) + OFFSET, 2);"
    assert ran(body.replace("OFFSET", "256"), fake_device, tmp_path).codes == []
    assert ran(body.replace("OFFSET", "255"), fake_device, tmp_path).codes == ["SS109"]


def test_kernels_are_chosen(fake_device: FakeDevice, tmp_path: Path) -> None:
    body = "LAUNCH(fill, s, p, 1); LAUNCH(fill, t, p, 2);"
    seen = ran(body, fake_device, tmp_path, "--accesses-of", "^fill", "-o", str(tmp_path / "some.sst"))
    assert [finding["severity"] for finding in seen.report["findings"]] == ["error"]
    others = ran(body, fake_device, tmp_path, "--accesses-of", "copy|scale", "-o", str(tmp_path / "none.sst"))
    assert "error" not in [finding["severity"] for finding in others.report["findings"]]


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


def test_a_wrong_pattern_is_one_line(fake_device: FakeDevice, tmp_path: Path) -> None:
    done = fake_device.run(tmp_path, ["true"], "--accesses-of", "(", checked=False)
    assert done.status == 2
    assert "not a regular expression" in done.errors
