"""What the recorder reads of machine code: kernels that copy tensors, calls of the driver's functions, variables."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from sanitized_programs import build

LOAD = bytes.fromhex("b47500080c000000008000080800d821")
"""UTMALDG.2D [UR12], [UR8], as CUDA 13.0 assembles it for sm_90; below UTMASTG, UTMAREDG, and a bulk copy"""
STORE = bytes.fromhex("b5730008040000000080000800e40100")
REDUCE = bytes.fromhex("b6730008040000000080000800f40100")
BULK = bytes.fromhex("ba7300060c0000000a02008000d80100")
OTHER = bytes.fromhex("247600ff00000000ff008e0700e20f00")


SYMBOLS = ".symtab"
"""its names are the section before it"""


def image(sections: dict[str, bytes]) -> bytes:
    """Return an ELF file of CUDA's with these sections."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in (*sections, ".shstrtab"))
    contents = {**sections, ".shstrtab": names}
    data, headers = b"", bytes(64)
    for number, (name, content) in enumerate(contents.items()):
        at = names.index(b"\0" + name.encode() + b"\0") + 1
        kind = 2 if name == SYMBOLS else 1
        headers += struct.pack("<IIQQQQIIQQ", at, kind, 0, 0, 64 + len(data), len(content), number, 0, 1, 0)
        data += content
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack(
        "<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64 + len(data), 0, 64, 0, 0, 64, len(contents) + 1, len(contents)
    )
    return header + data + headers


@pytest.fixture(scope="module", params=["plain", pytest.param("address", marks=pytest.mark.deep)])
def driver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory, request.param, ["recorder/tests/cubin_driver.cpp recorder/cuda/cubin.cpp"])


def copiers(driver: Path, content: bytes, folder: Path) -> list[str] | None:
    """Return what the driver prints, None where it says that this is no image."""
    path = folder / "image.cubin"
    path.write_bytes(content)
    done = subprocess.run([driver, path], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1)
    return done.stdout.split() if done.returncode == 0 else None


@pytest.mark.parametrize("instruction", [LOAD, STORE, REDUCE])
def test_a_kernel_that_copies_tensors(driver: Path, instruction: bytes, tmp_path: Path) -> None:
    sections = {
        ".text.copies": OTHER + instruction,
        ".text.plain": OTHER + BULK,
        ".nv.constant0.copies": bytes(8),
        ".nv.constant0.plain": bytes(8),
    }
    assert copiers(driver, image(sections), tmp_path) == ["[copies]"]


def test_a_function_that_any_kernel_may_call(driver: Path, tmp_path: Path) -> None:
    sections = {".text.inner": LOAD, ".text.kernel": OTHER, ".nv.constant0.kernel": bytes(8)}
    assert copiers(driver, image(sections), tmp_path) == ["[]"]


def test_damaged_images(driver: Path, tmp_path: Path) -> None:
    whole = image({".text.copies": OTHER + LOAD, ".nv.constant0.copies": bytes(8)})
    for size in range(0, len(whole), 7):
        assert copiers(driver, whole[:size], tmp_path) is None
    # Code that would end behind the file.
    damaged = bytearray(whole)
    struct.pack_into("<Q", damaged, len(whole) - 3 * 64 + 32, 1 << 40)
    assert copiers(driver, bytes(damaged), tmp_path) == []


def symbols(*placed: tuple[str, int]) -> dict[str, bytes]:
    """Return a table of functions: their names, and the section that each is in; 0: in none."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name, _ in placed)
    entries = bytes(24)
    for name, section in placed:
        at = names.index(b"\0" + name.encode() + b"\0") + 1
        entries += struct.pack("<IBBHQQ", at, 0x12, 0, section, 0, 0)
    return {".strtab": names, SYMBOLS: entries}


def calls(driver: Path, content: bytes, function: str, folder: Path) -> bool:
    path = folder / "image.cubin"
    path.write_bytes(content)
    return subprocess.run([driver, path, function], capture_output=True, text=True, check=True).stdout == "yes\n"


def test_a_function_that_the_driver_has(driver: Path, tmp_path: Path) -> None:
    whole = image({".text.kernel": OTHER, **symbols(("kernel", 1), ("cudaGraphSetConditional", 0), ("vprintf", 0))})
    assert calls(driver, whole, "cudaGraphSetConditional", tmp_path)
    assert not calls(driver, whole, "kernel", tmp_path)
    assert not calls(driver, whole, "cudaGraphSet", tmp_path)
    own = image({".text.cudaGraphSetConditional": OTHER, **symbols(("cudaGraphSetConditional", 1))})
    assert not calls(driver, own, "cudaGraphSetConditional", tmp_path)


def test_damaged_symbols(driver: Path, tmp_path: Path) -> None:
    whole = image({".text.kernel": OTHER, **symbols(("kernel", 1), ("cudaGraphSetConditional", 0))})
    for size in range(0, len(whole), 7):
        assert not calls(driver, whole[:size], "cudaGraphSetConditional", tmp_path)


COMPILED = Path(__file__).parents[1] / "machine_code"


def variables(driver: Path, content: bytes, folder: Path) -> list[str]:
    path = folder / "image.cubin"
    path.write_bytes(content)
    done = subprocess.run([driver, path, "variables", "of"], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1)
    return done.stdout.split()


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "sm_120"])
def test_variables_in_constant_memory_come_behind_those_that_code_refers_to(
    driver: Path, architecture: str, tmp_path: Path
) -> None:
    content = (COMPILED / f"constant_kernels.{architecture}.cubin").read_bytes()
    found = variables(driver, content, tmp_path)
    assert {"[residual]", "[levels]"} <= set(found[:-3])
    assert sorted(found[-3:]) == ["[gain]", "[table]", "[taps]"]
    for size in range(0, len(content), 997):
        assert set(variables(driver, content[:size], tmp_path)) <= set(found)
