"""The programs that bench/fixed_programs.py runs on a GPU are reported exactly as their marks say, and compile.

Each has one mistake, which shows on a device in wrong words, and checks its own words.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from expectations import Expectations, check_file, differences

PROGRAMS = sorted(Path(__file__).parent.glob("*.cu"))
ORDERING = {"SS101": 3, "SS102": 10, "SS103": 5, "SS104": 2, "SS109": 8, "SS303": 2, "SS304": 2}
"""the rules whose findings carry a witness and a fix, and how many programs of each there are at least"""
NVCC = shutil.which("nvcc")


def program_name(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", PROGRAMS, ids=program_name)
def test_program_is_reported_exactly(path: Path) -> None:
    complaints = differences(path.read_text(encoding="utf-8"), check_file(path))
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("path", PROGRAMS, ids=program_name)
def test_program_has_one_mistake_and_is_named_after_it(path: Path) -> None:
    marks = Expectations.of(path.read_text(encoding="utf-8"))
    assert [code.lower() for _, code in marks.loud] == [path.stem.split("_")[0]]
    assert not marks.notes


@pytest.mark.parametrize("path", PROGRAMS, ids=program_name)
def test_program_says_how_many_words_are_wrong(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(re.findall(r'"wrong words: ', text)) == 1
    assert '"error: ' in text


def test_every_ordering_rule_has_programs() -> None:
    counts = Counter(path.stem.split("_")[0].upper() for path in PROGRAMS)
    assert counts.keys() == ORDERING.keys()
    assert all(counts[code] >= least for code, least in ORDERING.items()), counts


@pytest.mark.skipif(os.environ.get("STREAMSAN_COMPILE_LITMUS") != "1", reason="STREAMSAN_COMPILE_LITMUS is not 1")
@pytest.mark.skipif(NVCC is None, reason="no nvcc")
@pytest.mark.parametrize("path", PROGRAMS, ids=program_name)
def test_program_compiles_without_a_warning(path: Path, tmp_path: Path) -> None:
    assert NVCC is not None
    warnings = ["-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra"]
    command = [NVCC, "-std=c++17", "-O1", "-arch=sm_90", *warnings, "-c", "-o", str(tmp_path / "program.o"), str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
