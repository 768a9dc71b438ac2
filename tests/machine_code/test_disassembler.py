"""Which nvdisasm is asked, and what happens with one that cannot do it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamsan.machine_code import disassembler as module
from streamsan.machine_code.disassembler import (
    DisassemblyError,
    NoDisassemblerError,
    disassembled,
    disassemblers,
    split_operands,
)

GOOD = """printf '%s' '[{}, [{"function-name": "k", "sass-instructions": [{"opcode": "EXIT"}]}]]'"""


@pytest.fixture(autouse=True)
def nothing_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for variable in ("CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr("sys.path", [])
    monkeypatch.setattr(module, "_FIXED", ())
    disassemblers.cache_clear()
    yield
    disassemblers.cache_clear()


def program(place: Path, script: str) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)
    return place


def test_it_is_found_in_the_toolkit_on_path_in_wheels_and_in_frameworks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    toolkit = program(tmp_path / "cuda/bin/nvdisasm", GOOD)
    on_path = program(tmp_path / "bin/nvdisasm", GOOD)
    packages = tmp_path / "venv/lib/python3.12/site-packages"
    wheel = program(packages / "nvidia/cu13/bin/nvdisasm", GOOD)
    triton = program(packages / "triton/backends/nvidia/bin/nvdisasm", GOOD)
    (tmp_path / "cuda/bin/nvdisasm.txt").write_text("")
    (packages / "nvidia/cu12/bin/nvdisasm").mkdir(parents=True)
    assert disassemblers() == ()
    for name, value in (("CUDA_HOME", "cuda"), ("PATH", "bin"), ("VIRTUAL_ENV", "venv")):
        monkeypatch.setenv(name, str(tmp_path / value))
    disassemblers.cache_clear()
    assert disassemblers() == tuple(map(str, (toolkit, on_path, wheel, triton)))
    on_path.unlink()
    on_path.symlink_to(toolkit)
    disassemblers.cache_clear()
    assert disassemblers() == tuple(map(str, (toolkit, wheel, triton)))


def test_one_that_refuses_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = program(tmp_path / "old/bin/nvdisasm", "echo \"nvdisasm fatal : Unknown option '--emit-json'\" >&2; exit 1")
    new = program(tmp_path / "new/nvdisasm", f'[ "$1 $2 $3" = "--emit-json --cuda-function-index 3,7" ] && {GOOD}')
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "old"))
    with pytest.raises(DisassemblyError, match=r"old/bin/nvdisasm: nvdisasm fatal : Unknown option '--emit-json'"):
        disassembled(b"ELF", [7, 3])
    monkeypatch.setenv("PATH", f"{new.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    disassemblers.cache_clear()
    assert disassemblers() == (str(old), str(new))
    assert [each.opcode for each in disassembled(b"ELF", [7, 3])["k"]] == ["EXIT"]


def test_a_function_within_a_kernel_may_be_listed_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So print those of toolkits before 13.2; its code belongs to the kernel that it follows."""
    parts = [("k", 0, 32, "NOP EXIT"), ("$slow", 32, 16, "RET"), ("m", 0, 16, "EXIT")]
    listed = [
        {
            "function-name": name,
            "start": start,
            "length": length,
            "sass-instructions": [{"opcode": opcode} for opcode in code.split()],
        }
        for name, start, length, code in parts
    ]
    (tmp_path / "listed.json").write_text(json.dumps([{}, listed]))
    program(tmp_path / "bin/nvdisasm", f"cat {tmp_path / 'listed.json'}")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    disassemblers.cache_clear()
    found = {name: [each.opcode for each in code] for name, code in disassembled(b"ELF").items()}
    assert found == {"k": ["NOP", "EXIT", "RET"], "m": ["EXIT"]}


def test_without_one_it_is_said_where_it_comes_from() -> None:
    with pytest.raises(NoDisassemblerError, match="no nvdisasm: it comes with the CUDA toolkit, or as `pip install"):
        disassembled(b"ELF")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("exec head -c 100000 /dev/zero", "prints more than 0 MiB"),
        ("exec sleep 60", "does not come to an end in 0.2 seconds"),
        ("kill -9 $$", "exit status -9"),
        ("echo '['", "prints something unknown"),
        ("echo '[1, [{\"function-name\": 3}]]'", "prints something unknown"),
    ],
)
def test_what_it_does_wrong_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, why: str) -> None:
    program(tmp_path / "bin/nvdisasm", script)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setattr(module, "MOST_OUTPUT", 1000)
    monkeypatch.setattr(module, "LONGEST", 0.2)
    with pytest.raises(DisassemblyError, match=why) as raised:
        disassembled(b"ELF")
    assert "\n" not in str(raised.value)


def test_a_comma_that_is_missing_before_an_address() -> None:
    assert split_operands("R2[R0]") == ("R2", "[R0]")
    assert split_operands("PT,R7[R4.64+0x4],R6") == ("PT", "R7", "[R4.64+0x4]", "R6")
    assert split_operands("desc[UR4][R2.64],R5") == ("desc[UR4][R2.64]", "R5")
    assert split_operands("R1,c[0x0][R2+0x28],gdesc[UR8]") == ("R1", "c[0x0][R2+0x28]", "gdesc[UR8]")
