"""A trace from elsewhere is quoted from the lines that it carries, or from sources that `--source-root` finds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from test_check_traces import racing_trace

from streamsan.analysis.source_roots import SourceRoots
from streamsan.cli import main
from streamsan.findings.suppressions import Suppressions
from streamsan.trace import Site, Trace
from streamsan.trace.writer import write

Run = pytest.CaptureFixture[str]
SOURCE = "\n".join(
    (
        '#include "cuda.h"',
        "int main() {",
        "    cudaStreamCreate(&load);",
        "    cudaStreamCreate(&compute);",
        "    cudaMallocAsync(&d_x, 4096, load);",
        "    cudaStreamSynchronize(load);",
        "    scale<<<1, 32, 0, compute>>>(d_x);",
        "    cudaFreeAsync(d_x, load);",
        "}",
        "",
    )
)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def numbered(text: str, *numbers: int) -> dict[int, str]:
    return {number: line for number, line in enumerate(text.split("\n"), 1) if not numbers or number in numbers}


def racing(file: str, lines: Mapping[int, str]) -> Trace:
    """Return the racing trace as if its source were `file`, with these lines of it."""
    trace = racing_trace()
    trace.sites = [Site(file, *_place(site)) if site.line else site for site in trace.sites]
    trace.source_lines = {file: dict(lines)}
    return trace


def _place(site: Site) -> tuple[int, int, int, int, str, str, str]:
    return site.line, site.column, site.end_line, site.end_column, site.function, site.text, site.label


def checked(capsys: Run, *options: str) -> str:
    main(["check", "run.sst", *options])
    output = capsys.readouterr()
    assert output.err == ""
    return output.out


def test_stored_lines_are_quoted_where_the_file_is_not_here(capsys: Run) -> None:
    write(racing("/build/app/pipeline.cu", numbered(SOURCE, 3, 4, 5, 7, 8)), "run.sst")
    shown = checked(capsys)
    assert "scale<<<1, 32, 0, compute>>>(d_x);" in shown
    assert "cudaFreeAsync(d_x, load);" in shown
    assert "\0" not in shown


def test_a_line_that_is_not_stored_is_named_by_its_place(capsys: Run) -> None:
    write(racing("/build/app/pipeline.cu", numbered(SOURCE, 8)), "run.sst")
    shown = checked(capsys)
    assert "cudaFreeAsync(d_x, load);" in shown
    assert "= /build/app/pipeline.cu:7: used here" in shown


def test_a_file_that_is_the_recorded_one_is_quoted_whole(capsys: Run) -> None:
    Path("pipeline.cu").write_text(SOURCE)
    write(racing("pipeline.cu", numbered(SOURCE, 8)), "run.sst")
    assert "scale<<<1, 32, 0, compute>>>(d_x);" in checked(capsys)


def test_a_file_that_has_changed_is_not_quoted(capsys: Run) -> None:
    Path("pipeline.cu").write_text("// one more line\n" + SOURCE)
    write(racing("pipeline.cu", numbered(SOURCE, 7, 8)), "run.sst")
    shown = checked(capsys)
    assert "cudaFreeAsync(d_x, load);" in shown
    assert "one more line" not in shown
    assert "cudaStreamCreate(&load);" not in shown


@pytest.mark.parametrize(
    ("number", "line"),
    [
        (8, "    cudaFreeAsync(d_x, load);  // streamsan: ignore[SS102] on purpose"),
        (7, "    // streamsan: ignore[SS102] on purpose"),
    ],
)
def test_suppressions_in_stored_lines_count(capsys: Run, number: int, line: str) -> None:
    write(racing("/build/app/pipeline.cu", {**numbered(SOURCE, 7, 8), number: line}), "run.sst")
    assert main(["check", "run.sst", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["summary"]["suppressed"] == 1
    write(racing("/build/app/pipeline.cu", numbered(SOURCE, 7, 8)), "run.sst")
    assert main(["check", "run.sst"]) == 1


def test_a_suppression_that_is_written_later_counts() -> None:
    later = SOURCE.replace("load);\n}", "load);  // streamsan: ignore[SS102] why\n}")
    Path("pipeline.cu").write_text(later)
    write(racing("pipeline.cu", numbered(SOURCE, 6, 7, 8, 9)), "run.sst")
    assert main(["check", "run.sst"]) == 0
    Path("pipeline.cu").write_text("\n" + later)
    assert main(["check", "run.sst"]) == 1


def test_a_suppression_reaches_over_no_gap() -> None:
    suppressions = Suppressions(["SS102"])
    suppressions.add_lines({"a.cu": {3: "// streamsan: ignore[SS102] of line 4", 8: "free(p);"}})
    (entry,) = suppressions.unused()
    assert suppressions._by_line == {("a.cu", 4): [entry]}


def test_suppressions_in_parts_of_python() -> None:
    suppressions = Suppressions(["SS102"])
    part = {
        7: "        free(p)  # streamsan: ignore[SS102] here",
        8: "    )",
        9: "  else:  # streamsan: ignore[SS102] x",
    }
    suppressions.add_lines({"a.py": part})
    assert [entry.line for entry in suppressions.unused()] == [7, 9]


@pytest.mark.parametrize("root", ["/build=src", "/build/app=src/app", "src", "."])
def test_a_source_root_leads_to_the_local_source(capsys: Run, root: str) -> None:
    Path("src/app").mkdir(parents=True)
    Path("src/app/pipeline.cu").write_text(SOURCE)
    write(racing("/build/app/pipeline.cu", {}), "run.sst")
    if root == ".":
        Path("src/app").rename("app")
    shown = checked(capsys, "--source-root", root)
    assert "scale<<<1, 32, 0, compute>>>(d_x);" in shown
    assert f"--> {'./' if root == '.' else 'src/'}app/pipeline.cu:8:5" in shown


def test_suppressions_below_a_source_root_count() -> None:
    Path("src").mkdir()
    Path("src/pipeline.cu").write_text(SOURCE.replace("load);\n}", "load);  // streamsan: ignore[SS102] why\n}"))
    write(racing("/build/app/pipeline.cu", {}), "run.sst")
    assert main(["check", "run.sst", "--source-root", "src"]) == 0
    assert main(["check", "run.sst"]) == 1


def test_a_trace_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "secret.cu").write_text("mine")
    roots = SourceRoots.of([f"/build={tmp_path / 'src'}", str(tmp_path / "src")])
    for path in ("/build/../secret.cu", "../secret.cu", "/build/x/../../secret.cu", "\0", ""):
        assert roots.local(path) == path
    assert roots.local("/build//etc/a.cu") == str(tmp_path / "src" / "etc" / "a.cu")


def test_the_longest_old_folder_counts(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    roots = SourceRoots.of([f"/a={tmp_path / 'one'}", f"/a/b={tmp_path / 'two'}"])
    assert roots.local("/a/b/x.cu") == str(tmp_path / "two" / "x.cu")
    assert roots.local("/a/bc/x.cu") == str(tmp_path / "one" / "bc" / "x.cu")


@pytest.mark.parametrize("word", ["missing", "/old=missing", "=src", ""])
def test_a_source_root_that_is_none_is_one_line(capsys: Run, word: str) -> None:
    Path("src").mkdir()
    write(racing_trace(), "run.sst")
    assert main(["check", "run.sst", "--source-root", word]) == 2
    error = capsys.readouterr().err
    assert "--source-root" in error
    assert "Traceback" not in error


def test_stored_text_cannot_steer_a_terminal(capsys: Run) -> None:
    write(racing("/build/app/pipeline.cu", {8: "free(p); \x1b[31m\x07\rgone"}), "run.sst")
    shown = checked(capsys)
    assert "free(p);" in shown
    assert not {"\x1b", "\x07", "\r"} & set(shown)


def test_many_lines_far_apart_cost_little(capsys: Run) -> None:
    write(racing("/build/app/pipeline.cu", {8: "free(p);", 1 << 20: "far"}), "run.sst")
    assert "free(p);" in checked(capsys)
