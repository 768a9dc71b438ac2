"""What was read of a kernel once is known, without a disassembler, as long as the image and the reader are the same."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from launched_traces import Recorded, cubin

from streamsan.kernels.uses import Use
from streamsan.launched_code import kernel_readings, remembered_kernels
from streamsan.launched_code.remembered_kernels import ReadKernel, RememberedKernels, kernels_folder, read_kernel
from streamsan.machine_code.cubin import KernelLayout, Parameter
from streamsan.machine_code.disassembler import Instruction, NoDisassemblerError, disassemblers
from streamsan.machine_code.kernel_accesses import KernelAccesses
from streamsan.machine_code.kernel_code import KernelCode
from streamsan.vocabulary import AccessMode, SlotFlag

IMAGE = b"an image"
CODE = KernelCode(
    KernelLayout("k", 0x210, (Parameter(0, 8),)),
    (Instruction("@P0", "LDG.E", ("R2", "R4"), False),),
    {"k": 0},
    {8: "c"},
)
KERNELS = {
    "k": ReadKernel(
        KernelAccesses(
            {0: Use(AccessMode.READ), 24: Use(AccessMode.READ_WRITE, SlotFlag.ATOMIC), 8: Use(AccessMode.OPAQUE)},
            {"counter": Use(AccessMode.WRITE)},
            True,
        ),
        CODE,
    ),
    "other": ReadKernel(KernelAccesses({}, {}, False, False), None),
}


def test_kernels_are_remembered_by_image_and_symbol(cache: Path) -> None:
    remembered = RememberedKernels(cache)
    remembered.add(IMAGE, {"k": KERNELS["k"]})
    remembered.add(IMAGE, {"other": KERNELS["other"]})
    assert RememberedKernels(cache).of_image(IMAGE) == KERNELS
    assert RememberedKernels(cache).of_image(b"another") == {}
    (file,) = cache.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert RememberedKernels(None).of_image(IMAGE) == {}
    RememberedKernels(None).add(IMAGE, KERNELS)


def test_another_reader_of_machine_code_reads_anew(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    RememberedKernels(cache).add(IMAGE, KERNELS)
    monkeypatch.setattr(remembered_kernels, "_readers_version", lambda: "another")
    assert RememberedKernels(cache).of_image(IMAGE) == {}


def change(path: Path, *keys: str | int, to: Any) -> None:
    value = json.loads(path.read_text())
    inner = value
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = to
    path.write_text(json.dumps(value))


@pytest.mark.parametrize(
    ("keys", "to"),
    [
        (["reader"], 3),
        (["kernels"], []),
        (["kernels", "k"], None),
        (["kernels", "k", "words"], {"0": [7, 0]}),
        (["kernels", "k", "words"], {"0": [1, 8]}),
        (["kernels", "k", "words"], {"0": [1]}),
        (["kernels", "k", "words"], {"0": [True, 0]}),
        (["kernels", "k", "words"], {"-8": [1, 0]}),
        (["kernels", "k", "words"], {"70000": [1, 0]}),
        (["kernels", "k", "words"], {"0": "ab"}),
        (["kernels", "k", "variables"], [[1, 0]]),
        (["kernels", "k", "follows_found"], 1),
        (["kernels", "k", "whole"], "yes"),
        (["kernels", "k", "code"], []),
        (["kernels", "k", "code", "form"], 0),
        (["kernels", "k", "code", "code"], [[0, 1, 2, 99]]),
    ],
)
def test_a_file_that_nobody_wrote_so_says_nothing(cache: Path, keys: list[str], to: Any) -> None:
    RememberedKernels(cache).add(IMAGE, KERNELS)
    (file,) = cache.iterdir()
    change(file, *keys, to=to)
    assert RememberedKernels(cache).of_image(IMAGE) == {}
    RememberedKernels(cache).add(IMAGE, KERNELS)
    assert RememberedKernels(cache).of_image(IMAGE) == KERNELS


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"\xff\xfe", b"null", b'{"reader": "'])
def test_what_is_no_json_says_nothing(cache: Path, content: bytes) -> None:
    RememberedKernels(cache).add(IMAGE, KERNELS)
    (file,) = cache.iterdir()
    file.write_bytes(content)
    assert RememberedKernels(cache).of_image(IMAGE) == {}


def test_the_code_of_a_long_kernel_is_not_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_kernel(CODE).code is CODE
    monkeypatch.setattr(remembered_kernels, "LONGEST_KERNEL", 0)
    read = {"k": read_kernel(CODE)}
    assert read["k"].code is None
    RememberedKernels(cache).add(IMAGE, read)
    assert RememberedKernels(cache).of_image(IMAGE) == read


def test_where_nothing_can_be_written_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    remembered = RememberedKernels(tmp_path / "file" / "kernels")
    remembered.add(IMAGE, KERNELS)
    assert remembered.of_image(IMAGE) == {}


def test_several_may_write_at_once(cache: Path) -> None:
    def add(number: int) -> None:
        RememberedKernels(cache).add(IMAGE, {f"k{number}": KERNELS["k"]})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    found = RememberedKernels(cache).of_image(IMAGE)
    assert found
    assert all(each == KERNELS["k"] for each in found.values())
    assert len(list(cache.iterdir())) == 1


def test_files_do_not_grow_in_number_without_end(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered_kernels, "MOST_FILES", 10)
    for number in range(40):
        RememberedKernels(cache).add(bytes([number]), KERNELS)
        assert len(list(cache.iterdir())) <= 10
    assert RememberedKernels(cache).of_image(bytes([39])) == KERNELS


def test_the_kernels_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert kernels_folder() == Path("/somewhere/streamsan/kernels")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored
    monkeypatch.setenv("HOME", "/home/me")
    assert kernels_folder() == Path("/home/me/.cache/streamsan/kernels")


@pytest.mark.skipif(not disassemblers(), reason="no nvdisasm")
def test_what_is_remembered_needs_no_disassembler(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def recorded(name: str, *kernels: str) -> tuple[list[str], str]:
        folder = tmp_path / name
        folder.mkdir()
        r = Recorded(folder, [cubin()])
        one, other, x, y = r.stream(1), r.stream(2), r.memory(), r.memory("d_y")
        for kernel in kernels:
            r.launch(one, r.shape(kernel, 0, 8), x, y)
            r.launch(other, r.shape(kernel, 0, 8), x, y)
        checked = r.check()
        return [each.code for each in checked.findings if each.code == "SS109"], checked.remarks[-1]

    first = recorded("first", "axpy")
    assert first == (["SS109"], "what kernels read and write was read from the machine code of 1 kernel")

    def none(*_: object) -> None:
        raise NoDisassemblerError("none")

    monkeypatch.setattr("streamsan.machine_code.kernel_code.disassembled", none)
    assert recorded("again", "axpy") == first
    _, line = recorded("more", "axpy", "gathered")
    assert line.endswith(f"for 2 of 4 launches, not for the others: {kernel_readings.NO_DISASSEMBLER}")
