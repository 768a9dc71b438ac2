"""Programs of pyopencl under `streamsan run`: what is wrong is reported at the line of Python."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from expectations import Expectations
from fake_device import FakeDevice
from opencl_runtime import OpenclMachine

PROGRAMS = Path(__file__).with_name("python_programs.py")
NAMES = re.findall(r"^def (\w+)\(", PROGRAMS.read_text(), re.M)
WRONG = [name for name in NAMES if name.endswith("_wrong")]
RIGHT = [name for name in NAMES if name.endswith("_right")]

pytestmark = pytest.mark.skipif(importlib.util.find_spec("pyopencl") is None, reason="pyopencl is not installed")


def expected(name: str) -> Expectations:
    text = PROGRAMS.read_text()
    start = text.index(f"def {name}(")
    body = re.compile(r".*?(?=^\S|\Z)", re.M | re.S).match(text, text.index("\n", start) + 1)
    assert body is not None
    return Expectations.of("\n" * text.count("\n", 0, body.start()) + body[0])


@pytest.mark.parametrize("name", [WRONG[0], *(pytest.param(name, marks=pytest.mark.deep) for name in WRONG[1:])])
def test_a_wrong_program_is_reported_at_its_line(name: str, opencl_machine: OpenclMachine, tmp_path: Path) -> None:
    ran = opencl_machine.run(tmp_path, [sys.executable, str(PROGRAMS), name])
    assert (ran.status, ran.loud) == (0, expected(name).loud), ran.errors


def test_right_programs_are_silent(opencl_machine: OpenclMachine, tmp_path: Path) -> None:
    ran = opencl_machine.run(tmp_path, [sys.executable, str(PROGRAMS), *RIGHT])
    assert (ran.status, ran.output, ran.loud) == (0, "1.0\n1.0\n", set()), ran.errors


BOTH = """\
import ctypes, sys
import pyopencl as cl
cuda = ctypes.CDLL(sys.argv[1] + "/lib64/libcudart.so.13")
pointer = ctypes.c_void_p()
cuda.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(4096))
context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
data, target = (cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096) for _ in "ab")
cl.enqueue_fill_buffer(queue, data, b"1", 0, 4096)
cl.enqueue_copy(queue, target, data)
queue.finish()
cuda.cudaFree(pointer)
cuda.cudaFree(pointer)
"""


@pytest.mark.deep
def test_a_program_of_both_platforms_is_one_recording(
    opencl_machine: OpenclMachine, fake_device: FakeDevice, tmp_path: Path
) -> None:
    program = tmp_path / "both.py"
    program.write_text(BOTH)
    driver = {"LD_LIBRARY_PATH": str(fake_device.folder / "lib64"), "CUDA_HOME": str(fake_device.folder)}
    command = [sys.executable, str(program), str(fake_device.folder)]
    ran = opencl_machine.run(tmp_path, command, environment=driver)
    assert (ran.status, ran.loud) == (0, {(10, "SS109"), (13, "SS201")}), ran.errors
