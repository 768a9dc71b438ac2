"""The OpenCL programs of docs/rules, compiled and recorded on PoCL: right ones are silent, wrong ones are found.

A program that is a function is called by a `main` below it, which has what its parameters ask for.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from expectations import Expectations
from opencl_runtime import OpenclMachine, compile_program
from rule_pages import Block, blocks

pytestmark = pytest.mark.deep

UNSEEN = {
    "SS103": "the host's own use of the pointer is no call",
    "SS108": "the host's own read is no call",
    "SS305": "that a handle is lost is no call: reported as never released (SS401)",
    "SS503": "what the host reads later is no call, so whether a narrower wait would do is asked of source only",
}
"""rule -> why no recording shows the mistake of its page"""
CHANCE = {"SS209": "the runtime may call back when the program has ended"}
"""rule -> why one run shows it and the next may not"""
HEAD = """
static float data[1024], result[1024];
static const size_t bytes = sizeof data;

int main(void) {
    cl_int status;
    cl_platform_id platform;
    cl_device_id device;
    const char *text = "kernel void use(global float *data) { data[get_global_id(0)] += 1.0f; }";
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
"""
OBJECTS = {
    "context": (
        "cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);",
        "clReleaseContext(context);",
    ),
    "queue": (
        "cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);",
        "clFinish(queue); clReleaseCommandQueue(queue);",
    ),
    "kernel": (
        "cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);"
        "clBuildProgram(program, 1, &device, NULL, NULL, NULL);"
        'cl_kernel kernel = clCreateKernel(program, "use", &status);',
        "clReleaseKernel(kernel); clReleaseProgram(program);",
    ),
    "from": (
        "cl_mem from = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);",
        "clReleaseMemObject(from);",
    ),
    "to": ("cl_mem to = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);", "clReleaseMemObject(to);"),
}
"""parameter -> what makes the object, and what releases it: one that nobody asked for may hide a mistake"""
FUNCTION = re.compile(r"^(?!static)[a-z][\w ]* \**(?P<name>\w+)\((?P<parameters>[^)]*)\) \{$", re.M)


def program(block: Block) -> str:
    """Return a page's program with a `main`; lines stay where they are."""
    functions = list(FUNCTION.finditer(block.text))
    if any(each["name"] == "main" for each in functions):
        return block.text
    (called,) = functions
    asked = [parameter.split()[-1].lstrip("*") for parameter in called["parameters"].split(",")]
    # The context lives as long as any of its objects.
    made = [name for name in OBJECTS if name in asked or (name == "context" and set(asked) & set(OBJECTS))]
    lines = [OBJECTS[name][0] for name in made]
    lines.append(f"{called['name']}({', '.join(asked)});")
    lines += [OBJECTS[name][1] for name in reversed(made)]
    return block.text + HEAD + "\n".join(lines) + "\n(void)text, (void)status, (void)result;\nreturn 0;\n}\n"


@pytest.mark.parametrize("block", list(blocks("opencl")), ids=str)
def test_a_program_of_a_page_is_recorded(block: Block, opencl_machine: OpenclMachine, tmp_path: Path) -> None:
    source = tmp_path / "page.c"
    source.write_text(program(block), encoding="utf-8")
    compile_program(opencl_machine, source, str(tmp_path / "program"))
    ran = opencl_machine.run(tmp_path, [str(tmp_path / "program")])
    expected = Expectations.of(block.text) if block.code not in UNSEEN else Expectations(frozenset(), frozenset())
    if block.code in CHANCE:
        # Called back as late as that, a wrong program also uses a queue that is gone.
        late = {(line, "SS205") for line, _ in expected.loud}
        assert ran.loud <= expected.loud | late
        return
    assert (ran.loud, expected.notes - ran.notes) == (expected.loud, set()), ran.report.get("findings")
    if block.kind == "right":
        assert ran.status == 0


def test_what_is_unseen_is_of_a_page() -> None:
    assert set(UNSEEN) <= {block.code for block in blocks("opencl")}
