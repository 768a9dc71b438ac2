"""What is given to the wrong verb, or cannot be meant: one line that says what to type."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsan.checking.option_error import OptionError
from streamsan.checking.paths_to_report import check
from streamsan.cli import main


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app.cu").write_text("#include <cuda_runtime.h>\nint main() { cudaDeviceSynchronize(); }\n", encoding="utf-8")
    Path("train.py").write_text("print('ran')\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sim", "app.cu"], "`streamsan check app.cu`"),
        (["sim", "run.sst"], "`streamsan check run.sst`"),
        (["sim", "-o", "x.txt", "train.py"], "-o: x.txt does not end in .sst"),
        (["check", "train.py"], "`streamsan sim train.py`"),
        (["check", "--fix", "-"], "--diff prints a patch"),
        (["check", "--stdin-name", "a.cu", "app.cu"], "give `-` as a path"),
        (["check", "--stdin-name", "train.py", "-"], "train.py does not name a source"),
        (["check", "-I", "gone", "app.cu"], "-I: gone: no such folder"),
        (["check", "-I", "app.cu", "app.cu"], "-I: app.cu: is no folder"),
        (["check", "-isystem", "gone", "app.cu"], "-isystem: gone: no such folder"),
        (["check", "-iquote", "gone", "app.cu"], "-iquote: gone: no such folder"),
        (["check", "-include", "gone.h", "app.cu"], "-include: gone.h: no such file"),
        (["check", "-U", "1x", "app.cu"], "-U: '1x' does not name a macro"),
        (["check", "-D", "1x=2", "app.cu"], "-D: '1x=2' does not name a macro"),
        (["check", "--source-root", "gone", "app.cu"], "--source-root: gone: no such folder"),
    ],
    ids=" ".join,
)
def test_the_message_says_what_to_type(arguments, said, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err.splitlines()[-1]


def test_an_include_folder_that_is_none_is_an_error_from_python():
    with pytest.raises(OptionError, match="-I: gone: no such folder"):
        check("app.cu", include_dirs=["gone"])
