"""The folder with machine code is anyone's: nothing outside of it is read, and nothing in it can do harm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from launched_traces import Recorded, cubin, name_of

from streamsan.launched_code import image_folder as module
from streamsan.launched_code.image_folder import ImageFolder, image_folder, why_left_out

NAME = "0123456789abcdef" * 2


def test_an_image_is_read_by_its_name(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.cubin").write_bytes(b"code")
    assert ImageFolder(str(tmp_path)).read(NAME) == b"code"
    assert ImageFolder(str(tmp_path)).read(NAME[::-1]) is None


@pytest.mark.parametrize(
    "name", ["", "../secret", "a" * 31, "A" * 32, "g" * 32, NAME + "\n", NAME + "0", "/etc/passwd", "\0" * 32]
)
def test_other_names_are_not_looked_for(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.cubin").write_bytes(b"secret")
    (tmp_path / "code").mkdir()
    assert ImageFolder(str(tmp_path / "code")).read(name) is None


def test_no_link_is_followed_and_nothing_but_a_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(b"secret")
    digits = iter("abcdef")

    def place() -> tuple[str, Path]:
        name = next(digits) * 32
        return name, folder / f"{name}.cubin"

    link, path = place()
    path.symlink_to(tmp_path / "secret")
    pipe, path = place()
    os.mkfifo(path)
    inner, path = place()
    path.mkdir()
    large, path = place()
    path.write_bytes(bytes(11))
    monkeypatch.setattr(module, "LARGEST_IMAGE", 10)
    images = ImageFolder(str(folder))
    assert [images.read(name) for name in (link, pipe, inner, large)] == [None] * 4
    (folder / f"{NAME}.cubin").write_bytes(b"code")
    (tmp_path / "linked").symlink_to(folder)
    assert ImageFolder(str(tmp_path / "linked")).read(NAME) is None
    assert images.read(NAME) == b"code"


@pytest.mark.parametrize("name", ["", ".", "..", "../code", "/tmp", "a/b", "a\0b", 3, None, ["run.code"]])
def test_a_folder_elsewhere_is_none(name: object) -> None:
    assert image_folder("/somewhere/run.sst", {"code": name}) is None


def test_the_reason_is_one_line() -> None:
    assert why_left_out({"code_left_out": "a\n full\tdisk" + "!" * 900}) == ("a full disk" + "!" * 900)[:200]
    assert why_left_out({"code_left_out": 3}) == why_left_out({}) == ""


def test_what_is_no_machine_code_is_said(tmp_path: Path) -> None:
    damaged = bytearray(cubin())
    damaged[40:48] = b"\xff" * 8
    images = [b"", b"\x7fELF", bytes(damaged), b"\x7fELF" + bytes(60)]
    r = Recorded(tmp_path, images)
    for content in images:
        r.launch(1, r.shape("axpy", 0, names=(name_of(content),)), 0x1000)
    (line,) = r.check().remarks[1:]
    assert line.endswith("0 of 4 launches, not for the others: their code cannot be read")
