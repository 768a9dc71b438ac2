from __future__ import annotations

import io

import pytest
from msgspec.structs import replace
from programs import NOTE, UNUSED, race, report
from rich.cells import cell_len

from streamsan.findings.finding import Finding, Location, Related, Severity
from streamsan.report import Report
from streamsan.report.formats import text
from streamsan.rules.every_rule import RULES


def printed(made: Report, *, notes: bool = False, width: int | None = None) -> str:
    made = replace(made, shown_notes=RULES if notes else ())
    return "\n".join(line.plain.rstrip() for line in text.lines(made, width))


def test_the_message_standard() -> None:
    assert (
        printed(report(race()))
        == """\
error[SS102]: kernel `scale` may still be reading `d_x` when it is freed
 --> pipeline.cu:7:5
  |
3 |   cudaMallocAsync(&d_x, bytes, s1);     allocated here, in the order of s1
5 |   scale<<<grid, block, 0, s2>>>(d_x);   used here, in the order of s2
7 |   cudaFreeAsync(d_x, s1);               freed here, in the order of s1: nothing orders s1 after the kernel
  |
  = contract: memory must not be accessed once the stream reaches the free (cudaFreeAsync)
  = observed: the block is handed out again at once (F-05: H200, driver 580)
  = witness: s1 frees -> the next allocation gets the block
  = fix (not verified): before line 7: cudaEventRecord(e, s2); cudaStreamWaitEvent(s1, e, 0);

1 error, 0 warnings, 0 notes in 1 file, 12 operations"""
    )


def test_doubt_and_proof_are_shown() -> None:
    shown = printed(report(race().weakened(Severity.WARNING), NOTE), notes=True)
    assert "warning[SS102] (possible): kernel" in shown
    assert "note[SS504]: kernel" in shown
    assert "= fix (verified on this trace): remove line 4" in shown


def test_notes_are_counted_and_shown_on_request() -> None:
    made = report(race(), NOTE, NOTE)
    hidden = printed(made)
    assert "SS504" not in hidden
    assert hidden.endswith("1 error, 0 warnings, 2 notes (--notes shows them) in 1 file, 12 operations")
    assert printed(made, notes=True).endswith("1 error, 0 warnings, 2 notes in 1 file, 12 operations")


def test_suppressions_are_counted_and_unused_ones_named() -> None:
    shown = printed(report(suppressed=3, unused_suppressions=(UNUSED,), files=2, operations=1))
    assert shown == (
        "note: pipeline.cu:2: unused suppression: SS501 is not found here\n\n"
        "0 errors, 0 warnings, 0 notes, 3 suppressed in 2 files, 1 operation"
    )


def test_without_the_source_the_operations_are_listed() -> None:
    shown = printed(report(race(), sources={}))
    assert shown.splitlines()[1:5] == [
        " --> pipeline.cu:7:5",
        "  = pipeline.cu:3: allocated here, in the order of s1",
        "  = pipeline.cu:7: freed here, in the order of s1: nothing orders s1 after the kernel",
        "  = pipeline.cu:5: used here, in the order of s2",
    ]


def test_a_place_nobody_knows_has_no_line() -> None:
    shown = printed(report(race(location=Location("run.sst", 0), related=()), sources={}))
    assert shown.splitlines()[1] == " --> run.sst"


def test_several_files_and_far_lines() -> None:
    header = "\n" * 98 + "\tcudaFreeAsync(p, s);\n"
    finding = race(
        related=(
            Related("use", "pipeline.cu", 5, "used here"),
            Related("free", "pool.h", 99, "freed here"),
            Related("alloc", "pool.h", 1, "allocated here"),
        )
    )
    shown = printed(report(finding, sources={**report().sources, "pool.h": header})).splitlines()
    assert shown[1:13] == [
        "  --> pipeline.cu:7:5",
        "   |",
        " 5 |   scale<<<grid, block, 0, s2>>>(d_x);   used here",
        " 7 |   cudaFreeAsync(d_x, s1);",
        "  ::: pool.h",
        "   |",
        " 1 |                          allocated here",
        "...",
        "99 |   cudaFreeAsync(p, s);   freed here",
        "   |",
        "   = contract: memory must not be accessed once the stream reaches the free (cudaFreeAsync)",
        "   = observed: the block is handed out again at once (F-05: H200, driver 580)",
    ]


def one_line(source: str, width: int | None = None, message: str = "used here") -> str:
    finding = race(location=Location("pipeline.cu", 1, 1), related=(Related("use", "pipeline.cu", 1, message),))
    return printed(report(finding, sources={"pipeline.cu": source}), width=width)


def test_tabs_and_wide_characters_keep_the_columns() -> None:
    finding = race(
        location=Location("a.cu", 1, 1),
        related=(Related("use", "a.cu", 1, "first"), Related("free", "a.cu", 2, "second")),
    )
    shown = printed(report(finding, sources={"a.cu": "\tf(p); // 解放\n\tff(p); // free it\n"})).splitlines()
    first, second = shown[3], shown[4]
    assert cell_len(first[: first.index("first")]) == cell_len(second[: second.index("second")])
    assert "\t" not in first


def test_long_lines_are_cut() -> None:
    shown = one_line("f(" + "x" * 5000 + ");")
    assert "…" in shown
    assert max(map(len, shown.splitlines())) < 160


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
def test_the_excerpt_keeps_to_the_width_of_a_terminal(width: int) -> None:
    shown = one_line("f(" + "x" * 500 + ");", width, "freed here: " + "nothing orders it " * 8)
    excerpt = [line for line in shown.splitlines() if line[:3] in ("1 |", "  |")]
    assert len(excerpt) >= 3
    assert max(map(cell_len, excerpt)) <= max(width, 32)


@pytest.mark.parametrize("evil", ["\x1b[31m", "\x07", "\x9b2J", "\u202e", "\u2028", "\x00", "\x7f", "\r"])
def test_nothing_in_a_source_commands_the_terminal(evil: str) -> None:
    made = report(
        race(
            message=f"a{evil}b",
            location=Location(f"pipe{evil}line.cu", 1, 1),
            related=(Related("use", f"pipe{evil}line.cu", 1, f"a{evil}b"), Related("use", f"x{evil}.cu", 1, "c")),
        ),
        sources={f"pipe{evil}line.cu": f"f(); // {evil} {evil}x"},
        unused_suppressions=(replace(UNUSED, file=f"a{evil}.cu"),),
    )
    stream = io.StringIO()
    stream.write(text.render(replace(made, shown_notes=RULES), stream))
    assert evil not in stream.getvalue()


def test_a_pipe_gets_no_colours_and_no_wrapping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "30")
    stream = io.StringIO()
    stream.write(text.render(report(race()), stream))
    assert "\x1b" not in stream.getvalue()
    assert "\n" + printed(report(race())).splitlines()[5] + "\n" in stream.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_colours_unless_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    coloured = Terminal()
    coloured.write(text.render(report(race()), coloured))
    assert "\x1b[1;31m" in coloured.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Terminal()
    plain.write(text.render(report(race()), plain))
    assert "31m" not in plain.getvalue()


def test_a_long_title_wraps_on_a_terminal_behind_its_code() -> None:
    made = report(replace(race(), message="kernel `scale` may still be reading `d_x` when it is freed " * 2))
    first, second, third, *_ = printed(made, width=70).splitlines()
    assert first == "error[SS102]: kernel `scale` may still be reading `d_x` when it is"
    assert second == "              freed kernel `scale` may still be reading `d_x` when it"
    assert third == "              is freed"
    # A terminal that is hardly one still has room for words; a pipe has one line.
    assert all(len(line) < 70 for line in printed(made, width=20).splitlines()[:3])
    assert printed(made).splitlines()[1] == " --> pipeline.cu:7:5"


def test_lines_beyond_the_text_are_listed() -> None:
    finding: Finding = race(location=Location("pipeline.cu", 4000, 1))
    assert "4000" in printed(report(finding))


def test_a_long_witness_has_a_step_on_each_line() -> None:
    steps = (
        "the host issues kernel `scale` to s2 (line 5)",
        "s1 reaches the free " + "while s2 is busy " * 4,
        "it reads",
    )
    shown = printed(report(replace(race(), witness=steps)))
    assert "= witness: the host issues kernel `scale` to s2 (line 5)\n" in shown
    assert "\n             -> s1 reaches the free while s2 is busy" in shown
    narrow = printed(report(replace(race(), witness=steps)), width=60)
    assert all(len(line) <= 60 for line in narrow.split("\n") if "->" in line)
    assert narrow.replace("\n", " ").count("->") == 3


def test_what_is_missing_has_its_reason() -> None:
    bare = replace(race(), witness=(), no_witness="nothing goes wrong", fix=None, no_fix="a caller decides")
    shown = printed(report(bare))
    assert "= no witness: nothing goes wrong" in shown
    assert "= no fix: a caller decides" in shown
    tried = replace(race(), no_fix="the finding is still there")
    assert "e, 0); (the finding is still there)" in printed(report(tried))
