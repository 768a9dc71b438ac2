"""Edits of OpenCL sources: events in wait lists, calls that block, releases that come later, else waits for queues."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from expectations import check_file
from opencl_pairs import FOLDER
from streamsan.cli import main
from streamsan.findings.finding import Severity


def changed(path: Path) -> tuple[list[str], list[str]]:
    """Fix a program; return the lines that go and those that come, without what stands around them."""
    before = path.read_text(encoding="utf-8").splitlines()
    main(["check", "--jobs", "1", "--fix", str(path)])
    after = path.read_text(encoding="utf-8").splitlines()
    gone, new = Counter(before) - Counter(after), Counter(after) - Counter(before)
    return [line.split("//")[0].strip() for line in gone.elements()], [
        line.split("//")[0].strip() for line in new.elements()
    ]


def program(name: str, folder: Path) -> Path:
    shutil.copy(FOLDER / "opencl_setup.h", folder)
    (source,) = [*FOLDER.glob(f"{name}.wrong.c"), *FOLDER.glob(f"recorded/{name}.wrong.c")]
    return Path(shutil.copy(source, folder / f"{name}.c"))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("ss102_svm_freed_pending", "clFinish(job->queue);"),
        ("ss102_svm_wrong_queue", "clFinish(copies);"),
        ("ss109_two_queues", "clFinish(p.producer);"),
    ],
)
def test_a_wait_for_the_queue_is_put_in(name: str, line: str, tmp_path: Path) -> None:
    path = program(name, tmp_path)
    assert changed(path) == ([], [line])
    assert [found.code for found in check_file(path) if found.severity is not Severity.NOTE] == []


@pytest.mark.parametrize(
    ("name", "code", "before", "after"),
    [
        ("ss109_out_of_order", "SS109", "host, 0, NULL, NULL", "host, 1, &filled, NULL"),
        ("ss109_wrong_event", "SS109", "1, uploads, NULL", "2, uploads, NULL"),
        ("ss109_hist_archive", "SS109", "0, NULL, &archived", "1, &counted, &archived"),
        ("ss109_nbody_split", "SS109", "1, &moved, &next", "2, (cl_event[]){moved, pushed}, &next"),
        ("ss108_nonblocking_read", "SS108", "CL_FALSE", "CL_TRUE"),
        ("ss103_map_not_awaited", "SS103", "CL_FALSE", "CL_TRUE"),
    ],
)
def test_arguments_of_commands_are_changed(name: str, code: str, before: str, after: str, tmp_path: Path) -> None:
    path = program(name, tmp_path)
    (old,), (new,) = changed(path)
    assert (before in old, old.replace(before, after)) == (True, new)
    assert code not in {found.code for found in check_file(path) if found.severity is not Severity.NOTE}


def test_a_release_is_moved_behind_the_kernel_that_holds_it(tmp_path: Path) -> None:
    path = program("ss101_dense_layers", tmp_path)
    assert changed(path) == ([], [])
    text = path.read_text(encoding="utf-8")
    assert text.index("clEnqueueNDRangeKernel(n->q, n->dense") < text.index("CHECK_CL(clReleaseMemObject(w));")
    assert [found.code for found in check_file(path) if found.severity is not Severity.NOTE] == []


QUEUES = """#include <CL/cl.h>

void run(cl_context context, cl_device_id device, const void *data, void *result, int rounds) {
    cl_int status;
    cl_event written = NULL;
    cl_command_queue a = clCreateCommandQueue(context, device, 0, &status);
    cl_command_queue b = clCreateCommandQueue(context, device, 0, &status);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &status);
    BODY
    clFinish(a);
    clFinish(b);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(a);
    clReleaseCommandQueue(b);
}
"""
WRITE = "clEnqueueWriteBuffer(a, buffer, CL_FALSE, 0, 4096, data, 0, NULL, {event});"
READ = "clEnqueueReadBuffer(b, buffer, CL_TRUE, 0, 4096, result, {wait}, NULL);"


def test_a_command_without_an_event_gets_one(tmp_path: Path) -> None:
    path = tmp_path / "queues.c"
    path.write_text(QUEUES.replace("BODY", WRITE.format(event="NULL") + "\n    " + READ.format(wait="0, NULL")))
    gone, new = changed(path)
    assert len(gone) == 2
    assert new == [
        "cl_event streamsan_event;",
        WRITE.format(event="&streamsan_event"),
        READ.format(wait="1, &streamsan_event"),
        "clReleaseEvent(streamsan_event);",
    ]


WRAPPED = """#include <CL/opencl.hpp>
#include <vector>

void run(cl::Context &context, const std::vector<int> &data, std::vector<int> &result) {
    cl::CommandQueue a(context), b(context);
    cl::Buffer buffer(context, CL_MEM_READ_WRITE, 4096);
    cl::Event written, before;
    b.enqueueMarkerWithWaitList(nullptr, &before);
    std::vector<cl::Event> waits{before};
    a.enqueueWriteBuffer(buffer, CL_FALSE, 0, 4096, data.data()EVENT);
    b.enqueueReadBuffer(buffer, CL_TRUE, 0, 4096, result.data()WAITS);
    a.finish();
}
"""
MADE = "const std::vector<cl::Event> streamsan_waits{{{event}}};"


@pytest.mark.parametrize(
    ("event", "waits", "new"),
    [
        (", nullptr, &written", "", [MADE.format(event="written"), ", &streamsan_waits);"]),
        (", nullptr, &written", ", nullptr", [MADE.format(event="written"), ", &streamsan_waits);"]),
        (
            ", nullptr, &written",
            ", &waits",
            [
                "std::vector<cl::Event> streamsan_waits = waits;",
                "streamsan_waits.push_back(written);",
                "streamsan_waits);",
            ],
        ),
        ("", "", ["cl::Event streamsan_event;", ", nullptr, &streamsan_event);", MADE.format(event="streamsan_event")]),
    ],
)
def test_wrapped_commands_wait_for_events(event: str, waits: str, new: list[str], tmp_path: Path) -> None:
    path = tmp_path / "queues.cpp"
    path.write_text(WRAPPED.replace("EVENT", event).replace("WAITS", waits))
    _, written = changed(path)
    for line in new:
        assert any(each.endswith(line) for each in written), written
    assert [found.code for found in check_file(path) if found.severity is not Severity.NOTE] == []


def test_a_wrapped_call_is_made_to_block(tmp_path: Path) -> None:
    path = Path(shutil.copy(FOLDER / "ss108_vector_read.wrong.cpp", tmp_path / "read.cpp"))
    (old,), (new,) = changed(path)
    assert old.replace("CL_FALSE", "CL_TRUE") == new


@pytest.mark.parametrize(
    "body",
    [
        "if (rounds > 3) {\n    WRITE\n    }\n    READ",
        "for (int round = 0; round < rounds; ++round) {\n    READ\n    WRITE\n    }",
    ],
)
def test_an_event_that_may_not_be_there_is_put_into_no_list(body: str, tmp_path: Path) -> None:
    """The first round of a loop has none, nor has a branch that was not taken: a list with it is invalid."""
    path = tmp_path / "queues.c"
    commands = body.replace("WRITE", WRITE.format(event="&written")).replace("READ", READ.format(wait="0, NULL"))
    path.write_text(QUEUES.replace("BODY", commands))
    gone, new = changed(path)
    assert not any("&written" in line and "Read" in line for line in new)
    assert [line for line in new if "clFinish" in line] == ["clFinish(a);"] or (gone, new) == ([], [])
