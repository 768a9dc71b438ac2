"""Lines of sources are stored with a finished trace, of sources only, and read back with bounds."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from streamsan.trace import Site, Thread
from streamsan.trace.layout import SLOT
from streamsan.trace.reader import read
from streamsan.trace.source_lines import LONGEST_LINE
from streamsan.trace.symboliser.source_segments import MOST_LINES, SourceFiles, add_source_lines
from streamsan.trace.writer import TraceWriter, write

TEXT = "".join(f"line {number}\n" for number in range(1, 41))
LATER = 4e9
"""seconds since 1970: after any file was written"""


def recording(path: Path, *sites: Site, close: bool = True) -> None:
    with TraceWriter(path, origin="recording") as writer:
        writer.add_threads([Thread(0, "main")])
        writer.add_sites(sites)
        slots = np.zeros(len(sites), SLOT)
        slots["sequence"], slots["kind"], slots["site"] = (np.arange(len(sites)) + 1), 8, np.arange(len(sites)) + 1
        writer.append_slots(slots)
        if not close:
            writer.abandon()


@pytest.mark.parametrize("close", [True, False])
def test_lines_around_call_sites_are_stored(tmp_path: Path, close: bool) -> None:
    source = tmp_path / "app.cu"
    source.write_text(TEXT)
    path = tmp_path / "a.sst"
    recording(path, Site(str(source), 1), Site(str(source), 20), Site(str(source), 40), close=close)
    before = read(path)
    assert add_source_lines(path, SourceFiles(LATER)) == 12
    trace = read(path)
    numbers = [1, 2, 3, 18, 19, 20, 21, 22, 38, 39, 40, 41]
    assert trace.source_lines == {str(source): {n: f"line {n}" if n < 41 else "" for n in numbers}}
    assert [(trace.complete, trace.operations)] == [(before.complete, before.operations)]
    assert list(trace.sites) == list(before.sites)
    assert add_source_lines(path, SourceFiles(LATER)) == 0
    write(trace, tmp_path / "copy.sst")
    assert read(tmp_path / "copy.sst").source_lines == trace.source_lines


def stored(tmp_path: Path, file: str, since: float = LATER) -> int:
    recording(tmp_path / "a.sst", Site(file, 1))
    return add_source_lines(tmp_path / "a.sst", SourceFiles(since))


@pytest.mark.parametrize("name", ["id_rsa", "notes.txt", "app.cu.bak", "run.json"])
def test_what_is_no_source_is_not_stored(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(TEXT)
    assert stored(tmp_path, str(tmp_path / name)) == 0


def test_a_link_to_what_is_no_source_is_not_stored(tmp_path: Path) -> None:
    (tmp_path / "id_rsa").write_text(TEXT)
    (tmp_path / "app.cu").symlink_to("id_rsa")
    assert stored(tmp_path, str(tmp_path / "app.cu")) == 0


def test_pipes_folders_binaries_and_files_that_are_not_there(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.cu")
    (tmp_path / "folder.cu").mkdir()
    (tmp_path / "binary.cu").write_bytes(b"\0ELF")
    for name in ("pipe.cu", "folder.cu", "binary.cu", "missing.cu", "\0.cu", "<stdin>"):
        assert stored(tmp_path, str(tmp_path / name)) == 0


def test_a_source_that_was_changed_since_is_not_stored(tmp_path: Path) -> None:
    source = tmp_path / "app.cu"
    source.write_text(TEXT)
    assert stored(tmp_path, str(source), source.stat().st_mtime - 1) == 0


def test_installed_code_is_not_stored(tmp_path: Path) -> None:
    folder = tmp_path / "site-packages" / "torch"
    folder.mkdir(parents=True)
    (folder / "nn.py").write_text(TEXT)
    assert stored(tmp_path, str(folder / "nn.py")) == 0


def test_what_is_stored_is_bounded(tmp_path: Path) -> None:
    source = tmp_path / "app.py"
    source.write_text("x" * 10_000 + "\n" + "pass\n" * 40_000)
    path = tmp_path / "a.sst"
    recording(path, *(Site(str(source), line) for line in range(1, 40_000, 5)))
    assert add_source_lines(path, SourceFiles(LATER)) == MOST_LINES
    assert len(read(path).source_lines[str(source)][1]) == LONGEST_LINE


def test_text_cannot_reach_other_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    with TraceWriter(path, origin="recording") as writer:
        writer.add_source_lines({"a.cu": {3: "one\n// streamsan: ignore[SS101]\r\n"}})
    assert read(path).source_lines == {"a.cu": {3: "one"}}
