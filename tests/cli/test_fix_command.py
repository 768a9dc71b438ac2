"""`streamsan check --diff` and `--fix`: patches that apply, files that keep what is not theirs to change."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

from streamsan.cli import fixing, main
from streamsan.cli.patches import unified_diff
from streamsan.cli.rewriting import RewriteError, rewrite

HEAD = """\
#include <cuda_runtime.h>
#define CHECK(call) do { if ((call) != cudaSuccess) throw 1; } while (0)
__global__ void look(const float* v) { if (v[threadIdx.x] > 1e30f) __trap(); }
"""
BEGIN = """\
    cudaStream_t s1, s2;
    cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking);
    cudaEvent_t ready;
    cudaEventCreate(&ready);
    float* d_x;
    cudaMallocAsync(&d_x, 4096, s1);
    cudaEventRecord(ready, s1);
    cudaStreamWaitEvent(s2, ready, 0);
"""
BOTH = "    look<<<1, 32, 0, s1>>>(d_x);\n"
"""with a use in the first stream as well, freeing in the second one is no way out"""
END = """\
    cudaStreamSynchronize(s1);
    return 0;
}
"""
BODY = """\
    look<<<1, 32, 0, s2>>>(d_x);
    CHECK(cudaFreeAsync(d_x, s1));
"""
RACE = f"{HEAD}int main() {{\n{BEGIN}{BOTH}{BODY}{END}"

SHAPE = re.compile(r"[\s{}]")

Run = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(capsys: Run, *arguments: str) -> tuple[int, str, str]:
    status = main(["check", *arguments])
    output = capsys.readouterr()
    assert "Traceback" not in output.err
    return status, output.out, output.err


def fixed(capsys: Run, text: str | bytes, name: str = "a.cu", *options: str) -> str:
    """Fix a program, require that nothing above a note is left, and return its text."""
    data = text.encode() if isinstance(text, str) else text
    Path(name).write_bytes(data)
    status, out, err = run(capsys, "--fix", name, *options)
    assert status == 0, out + err
    result = Path(name).read_bytes()
    assert result != data
    before = result
    assert run(capsys, "--fix", name, *options)[0] == 0
    assert Path(name).read_bytes() == before, "a second run changes nothing"
    return result.decode(errors="surrogateescape")


def test_diff_is_a_patch_that_git_applies(capsys: Run) -> None:
    os.makedirs("src/deep")
    Path("src/deep/race.cu").write_text(RACE, encoding="utf-8")
    status, out, err = run(capsys, "--diff", "src")
    assert status == 1
    assert out.startswith("--- a/src/deep/race.cu\n+++ b/src/deep/race.cu\n@@ ")
    assert "streamsan: src/deep/race.cu:16: SS102: fix: " in err
    assert Path("src/deep/race.cu").read_text(encoding="utf-8") == RACE, "--diff writes nothing"
    Path("p.diff").write_text(out, encoding="utf-8")
    subprocess.run(["git", "init", "-q", "."], check=True)
    subprocess.run(["git", "apply", "p.diff"], check=True)
    assert run(capsys, "src")[0] == 0
    assert run(capsys, "--diff", "src")[:2] == (0, "")


def test_right_stream_comes_first(capsys: Run) -> None:
    text = fixed(capsys, f"{HEAD}int main() {{\n{BEGIN}{BODY}    cudaStreamSynchronize(s2);\n    return 0;\n}}\n")
    assert "CHECK(cudaFreeAsync(d_x, s2));" in text
    assert "streamsan_event" not in text


def test_event_goes_through_the_check_of_its_neighbour(capsys: Run) -> None:
    text = fixed(capsys, RACE)
    expected = """\
    {
        cudaEvent_t streamsan_event;
        CHECK(cudaEventCreateWithFlags(&streamsan_event, cudaEventDisableTiming));
        CHECK(cudaEventRecord(streamsan_event, s2));
        CHECK(cudaStreamWaitEvent(s1, streamsan_event, 0));
        CHECK(cudaEventDestroy(streamsan_event));
    }
    CHECK(cudaFreeAsync(d_x, s1));
"""
    assert RACE.replace("    CHECK(cudaFreeAsync(d_x, s1));\n", expected) == text


def test_line_endings_tabs_and_a_missing_newline_stay(capsys: Run) -> None:
    text = RACE.replace("    ", "\t").replace("\n", "\r\n").removesuffix("\r\n")
    result = fixed(capsys, text)
    assert result.replace("\r\n", "").count("\n") == 0
    assert not result.endswith("\n")
    assert "\t{\r\n\t\tcudaEvent_t streamsan_event;\r\n" in result
    added = result.replace("\r\n", "\n").split("\n")
    assert [line for line in added if line in text.replace("\r\n", "\n").split("\n")] == text.split("\r\n")


def test_bytes_that_are_no_utf8_stay(capsys: Run) -> None:
    text = RACE.replace("    CHECK(", "    /* caf\u00e9 \u00df */ CHECK(").encode("latin-1")
    result = fixed(capsys, text, "a.cu", "--ignore", "SS603").encode(errors="surrogateescape")
    assert b"/* caf\xe9 \xdf */ CHECK(cudaFreeAsync(d_x, s1));" in result
    assert b"streamsan_event" in result


def test_byte_order_mark_stays(capsys: Run) -> None:
    assert fixed(capsys, b"\xef\xbb\xbf" + RACE.encode()).startswith("\ufeff#include")


@pytest.mark.parametrize(
    "body",
    [
        "    look<<<1, 32, 0, s2>>>(d_x);\n    if (d_x) CHECK(cudaFreeAsync(d_x, s1));\n",
        "    look<<<1, 32, 0, s2>>>(d_x);\n    if (d_x)\n        CHECK(cudaFreeAsync(d_x, s1));  // gone\n",
        "    look<<<1, 32, 0, s2>>>(d_x);\n    if (!d_x) return 1; else CHECK(cudaFreeAsync(d_x, s1));\n",
        "    look<<<1, 32, 0, s2>>>(d_x);\n    for (int i = 0; i < 1; ++i)\n        CHECK(cudaFreeAsync(d_x, s1));\n",
        "    look<<<1, 32, 0, s2>>>(d_x); CHECK(cudaFreeAsync(d_x, s1));\n",
        "    look<<<1, 32, 0, s2>>>(d_x);\n    switch (1) {\n    case 1: cudaFreeAsync(d_x, s1); break;\n    }\n",
        "    look<<<1, 32, 0, s2>>>(d_x);\n    do cudaFreeAsync(d_x, s1); while (0);\n",
        "    look<<<1, 32, 0, s2>>>(d_x);\n    CHECK(cudaFreeAsync(\n        d_x,  // the memory\n        s1));\n",
        "    look<<<1, 32, 0, s2>>>(d_x);\n    cudaError_t status = cudaFreeAsync(d_x, s1);\n    (void)status;\n",
        "    look<<<1, 32, 0, s2>>>(d_x);\n    if (cudaFreeAsync(d_x, s1) != cudaSuccess) return 1;\n",
        "    look<<<1, 32, 0, s2>>>(d_x);\n    auto release = [&] { cudaFreeAsync(d_x, s1); };\n    release();\n",
    ],
)
def test_statements_of_all_shapes(capsys: Run, body: str) -> None:
    text = f"{HEAD}int main() {{\n{BEGIN}{BOTH}{body}{END}"
    result = fixed(capsys, text)
    assert result.count("{") == result.count("}")
    assert "cudaStreamWaitEvent(s1, streamsan_event, 0)" in result
    others = "\n".join(line for line in result.split("\n") if "streamsan_event" not in line)
    assert SHAPE.sub("", others) == SHAPE.sub("", text), "nothing but the event and braces came in"
    assert not any(len(line) > 120 for line in result.split("\n"))


def test_two_findings_in_one_line(capsys: Run) -> None:
    begin = BEGIN.replace("float* d_x;", "float *d_x, *d_y;").replace(
        "    cudaEventRecord", "    cudaMallocAsync(&d_y, 4096, s1);\n    cudaEventRecord"
    )
    body = "    look<<<1, 32, 0, s2>>>(d_x);\n    look<<<1, 32, 0, s2>>>(d_y);\n"
    body += "    cudaFreeAsync(d_x, s1); cudaFreeAsync(d_y, s1);\n"
    result = fixed(capsys, f"{HEAD}int main() {{\n{begin}{body}{END}")
    assert "cudaFreeAsync(d_x, " in result
    assert "cudaFreeAsync(d_y, " in result


def test_two_programs_share_a_header(capsys: Run) -> None:
    header = "#pragma once\ninline void release(float* p, cudaStream_t stream) {\n    cudaFreeAsync(p, stream);\n}\n"
    Path("release.cuh").write_text(header, encoding="utf-8")
    wrong = RACE.replace("CHECK(cudaFreeAsync(d_x, s1))", "release(d_x, s1)").replace(
        "#define", '#include "release.cuh"\n#define'
    )
    right = wrong.replace(BOTH, "").replace("release(d_x, s1)", "release(d_x, s2)")
    right = right.replace("cudaStreamSynchronize(s1)", "cudaStreamSynchronize(s2)")
    Path("wrong.cu").write_text(wrong, encoding="utf-8")
    Path("right.cu").write_text(right, encoding="utf-8")
    status, out, err = run(capsys, "--fix", "wrong.cu", "right.cu")
    assert status == 0, out + err
    assert Path("right.cu").read_text(encoding="utf-8") == right
    assert "streamsan_event" in Path("wrong.cu").read_text(encoding="utf-8")
    assert Path("release.cuh").read_text(encoding="utf-8") == header


def test_files_elsewhere_are_not_touched(capsys: Run, tmp_path: Path) -> None:
    os.makedirs("project")
    os.makedirs("library")
    body = f"inline int run() {{\n{BEGIN}{BOTH}{BODY}{END}"
    Path("library/run.cuh").write_text(f"{HEAD}{body}", encoding="utf-8")
    Path("project/a.cu").write_text('#include "run.cuh"\nint main() { return run(); }\n', encoding="utf-8")
    status, _, err = run(capsys, "--fix", "project/a.cu", "-I", "library")
    assert status == 1
    assert "no automatic edit: the edit would be in library/run.cuh, which may not be written, or was not named" in err
    assert Path("library/run.cuh").read_text(encoding="utf-8") == f"{HEAD}{body}"


def test_a_header_beside_is_edited(capsys: Run) -> None:
    body = f"inline int run() {{\n{BEGIN}{BOTH}{BODY}{END}"
    Path("run.cuh").write_text(f"{HEAD}{body}", encoding="utf-8")
    Path("a.cu").write_text('#include "run.cuh"\nint main() { return run(); }\n', encoding="utf-8")
    assert run(capsys, "--fix", "a.cu")[0] == 0
    assert "streamsan_event" in Path("run.cuh").read_text(encoding="utf-8")


def test_suppressed_and_unselected_findings_stay(capsys: Run) -> None:
    race = RACE.replace("    return 0;", "    cudaStreamSynchronize(s2);\n    return 0;")
    suppressed = race.replace("d_x, s1));", "d_x, s1));  // streamsan: ignore[SS102] measured")
    Path("a.cu").write_text(suppressed, encoding="utf-8")
    assert run(capsys, "--diff", "a.cu")[:2] == (0, "")
    assert run(capsys, "--fix", "a.cu")[0] == 0
    assert Path("a.cu").read_text(encoding="utf-8") == suppressed
    Path("a.cu").write_text(race, encoding="utf-8")
    assert run(capsys, "--diff", "--ignore", "SS102", "a.cu")[:2] == (0, "")
    assert run(capsys, "--diff", "--select", "SS5", "a.cu")[:2] == (0, "")
    assert run(capsys, "--diff", "--select", "SS102", "a.cu")[0] == 1


def test_a_right_program_keeps_its_file(capsys: Run) -> None:
    right = RACE.replace(BOTH, "").replace("s1));", "s2));")
    right = right.replace("cudaStreamSynchronize(s1)", "cudaStreamSynchronize(s2)")
    Path("a.cu").write_text(right, encoding="utf-8")
    os.utime("a.cu", (1, 1))
    run(capsys, "--fix", "a.cu")
    assert os.stat("a.cu").st_mtime == 1


def test_mode_and_link_stay(capsys: Run) -> None:
    os.makedirs("real")
    Path("real/a.cu").write_text(RACE, encoding="utf-8")
    os.chmod("real/a.cu", 0o640)
    os.symlink("real/a.cu", "a.cu")
    assert run(capsys, "--fix", "a.cu")[0] == 0
    assert os.path.islink("a.cu")
    assert stat.S_IMODE(os.stat("real/a.cu").st_mode) == 0o640
    assert "streamsan_event" in Path("real/a.cu").read_text(encoding="utf-8")
    assert os.listdir("real") == ["a.cu"]


def test_a_read_only_file_stays(capsys: Run) -> None:
    Path("a.cu").write_text(RACE, encoding="utf-8")
    os.chmod("a.cu", 0o444)
    status, _, err = run(capsys, "--fix", "a.cu")
    assert status == 1
    assert "SS102: no automatic edit: the edit would be in a.cu, which may not be written" in err
    assert Path("a.cu").read_text(encoding="utf-8") == RACE


def test_a_file_that_changes_meanwhile_stays(capsys: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.cu").write_text(RACE, encoding="utf-8")
    seek = fixing.seek

    def then_change(*arguments: object) -> fixing.Edited:
        edited = seek(*arguments)  # type: ignore[arg-type]
        Path("a.cu").write_text(RACE + "// mine\n", encoding="utf-8")
        return edited

    monkeypatch.setattr(fixing, "seek", then_change)
    status, _, err = run(capsys, "--fix", "a.cu")
    assert status == 2
    assert "streamsan: a.cu: the file changed while it was checked: nothing was written" in err
    assert Path("a.cu").read_text(encoding="utf-8") == RACE + "// mine\n"


def test_traces_have_no_text_to_edit(capsys: Run) -> None:
    trace = Path(__file__).parents[1] / "traces" / "h200"
    file = str(sorted(trace.glob("*.sst"))[0])
    for option in ("--diff", "--fix"):
        status, out, err = run(capsys, option, file)
        assert (status, out) == (2, "")
        assert err.count("edits need source") == 1


def test_diff_and_fix_together_are_refused(capsys: Run) -> None:
    Path("a.cu").write_text(RACE, encoding="utf-8")
    assert run(capsys, "--diff", "--fix", "a.cu")[0] == 2


def test_waits_without_a_consumer_are_never_removed(capsys: Run) -> None:
    litmus = Path(__file__).parents[1] / "litmus" / "ss504_sync_after_alloc.wrong.cu"
    Path("a.cu").write_bytes(litmus.read_bytes())
    status, out, err = run(capsys, "--diff", "--notes", "a.cu")
    assert (status, out) == (0, "")
    assert "is not removed automatically" in err


@pytest.mark.parametrize(
    ("body", "fixed"),
    [
        ("cudaFreeAsync(data, s);", True),
        ("if (data) { cudaStreamSynchronize(s); cudaFreeAsync(data, s); }", True),
        ("cudaError_t e = cudaFreeAsync(data, s); if (e != cudaSuccess) abort();", True),
        ("size = n; cudaFreeAsync(data, s);", False),
        ("cudaFreeAsync(data, s); log_size(n);", False),
        ("cudaFreeAsync(data, s); cudaMallocAsync(&spare, n, s);", False),
    ],
)
def test_only_a_function_that_does_nothing_but_release_moves(capsys: Run, body: str, fixed: bool) -> None:
    text = (
        "#include <cuda_runtime.h>\n#include <cstdlib>\n__global__ void k(float* p, int n) { p[threadIdx.x] = n; }\n"
        "float *data, *spare;\nint size;\ncudaStream_t s;\nvoid log_size(int n) { size += n; }\n"
        f"void retire(int n) {{ {body} }}\nint main() {{\n    cudaStreamCreate(&s);\n"
        "    cudaMallocAsync(&data, 4096, s);\n"
        "    retire(2);\n    k<<<1, 256, 0, s>>>(data, size);\n    cudaStreamSynchronize(s);\n}\n"
    )
    Path("a.cu").write_text(text, encoding="utf-8")
    main(["check", "--fix", "a.cu"])
    said = capsys.readouterr().err
    assert ("move line 12 behind line 13" in said, "line 12 does more than that" in said) == (fixed, not fixed)
    assert (Path("a.cu").read_text(encoding="utf-8") != text) == fixed


@pytest.mark.parametrize(
    "between", ["#ifdef TWICE\n    k<<<1, 1, 0, s>>>();\n#endif\n", "    if (0) k<<<1, 1, 0, s>>>();\n"]
)
def test_waits_that_code_which_was_not_read_may_need_stay(capsys: Run, between: str) -> None:
    text = (
        "#include <cuda_runtime.h>\n__global__ void k() {}\nint main() {\n    cudaStream_t s;\n"
        f"    cudaStreamCreate(&s);\n    k<<<1, 1, 0, s>>>();\n"
        f"    cudaStreamSynchronize(s);\n{between}    cudaStreamSynchronize(s);\n}}\n"
    )
    Path("a.cu").write_text(text, encoding="utf-8")
    main(["check", "--fix", "--notes", "--select", "SS504", "a.cu"])
    assert Path("a.cu").read_text(encoding="utf-8") == text
    assert "may need the wait" in capsys.readouterr().out
    Path("a.cu").write_text(text.replace(between, ""), encoding="utf-8")
    main(["check", "--fix", "--notes", "--select", "SS504", "a.cu"])
    assert Path("a.cu").read_text(encoding="utf-8").count("cudaStreamSynchronize") == 1


def test_dominated_waits_go_together(capsys: Run) -> None:
    wait = "    cudaStreamSynchronize(s2);\n"
    text = RACE.replace(
        "    CHECK(cudaFreeAsync(d_x, s1));\n", f"{wait}{wait}{wait}    cudaFreeAsync(d_x, s1);\n{wait}"
    )
    expected = text.replace(f"{wait}{wait}{wait}", wait).replace(f"s1);\n{wait}", "s1);\n")
    assert fixed(capsys, text, "a.cu", "--notes") == expected
    assert fixed(capsys, text, "a.cu", "--select", "SS504") == expected


def test_notes_that_are_not_shown_are_left_alone(capsys: Run) -> None:
    wait = "    cudaStreamSynchronize(s1);\n"
    Path("a.cu").write_text(RACE.replace(BODY, "").replace(wait, wait + wait), encoding="utf-8")
    status, out, err = run(capsys, "--diff", "a.cu")
    assert (status, out) == (0, "")
    assert "notes were left alone" in err or "1 note was left alone" in err
    assert run(capsys, "--diff", "--notes", "a.cu")[1]


def test_a_second_run_with_notes_changes_nothing(capsys: Run) -> None:
    litmus = Path(__file__).parents[1] / "litmus" / "ss102_event_recorded_too_early.wrong.cu"
    fixed(capsys, litmus.read_bytes(), "a.cu", "--notes")


def test_patch_of_a_file_without_a_newline_at_its_end() -> None:
    patch = unified_diff("a.cu", b"one\ntwo", b"one\nthree")
    assert patch.endswith(b"-two\n\\ No newline at end of file\n+three\n\\ No newline at end of file\n")
    assert unified_diff("a.cu", b"same", b"same") == b""


def test_rewrite_refuses_what_is_not_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "a.cu"
    path.write_bytes(b"now")
    with pytest.raises(RewriteError, match="changed"):
        rewrite(str(path), b"then", b"new")
    rewrite(str(path), b"now", b"new")
    assert path.read_bytes() == b"new"


def test_a_wait_that_is_not_needed_any_more_stays(capsys: Run) -> None:
    litmus = Path(__file__).parents[1] / "litmus" / "ss108_malloc_freed.wrong.cu"
    Path("a.cu").write_bytes(litmus.read_bytes())
    waits = [number for number, line in enumerate(litmus.read_text(encoding="utf-8").split("\n"), 1) if "Sync" in line]
    _, out, err = run(capsys, "--diff", "a.cu")
    assert "\n-" not in out.replace("\n--- ", "")
    assert f"(the wait of line {waits[0]} is not needed any more then)" in err, "the line is that of the file as it is"
    for options in (["--ignore", "SS504"], ["--select", "SS108"]):
        assert "not needed any more" not in run(capsys, "--diff", *options, "a.cu")[2]


def test_patch_names_files_with_spaces(capsys: Run) -> None:
    Path("my race.cu").write_text(RACE, encoding="utf-8")
    status, out, _ = run(capsys, "--diff", "my race.cu")
    assert status == 1
    Path("p.diff").write_text(out, encoding="utf-8")
    subprocess.run(["git", "init", "-q", "."], check=True)
    subprocess.run(["git", "apply", "p.diff"], check=True)
    assert "streamsan_event" in Path("my race.cu").read_text(encoding="utf-8")


def test_traces_beside_sources_are_no_reason_to_stop(capsys: Run) -> None:
    Path("a.cu").write_text(RACE, encoding="utf-8")
    trace = sorted((Path(__file__).parents[1] / "traces" / "h200").glob("*.right.sst"))[0]
    status, out, err = run(capsys, "--diff", "a.cu", str(trace))
    assert (status, "edits need source" in err) == (1, False)
    assert out.startswith("--- a/a.cu\n")


@pytest.mark.parametrize(
    "check",
    [
        "#define CHECK(call) do { cudaError_t s2 = (call); if (s2 != cudaSuccess) throw 1; } while (0)",
        "#define TRY(call) cudaError_t s2 = (call); if (s2) throw 1\n#define CHECK(call) { TRY(call); }",
    ],
)
def test_a_check_does_not_go_around_a_name_that_it_declares(capsys: Run, check: str) -> None:
    text = RACE.replace(HEAD.split("\n")[1], check)
    after = fixed(capsys, text)
    assert "CHECK(cudaEventCreateWithFlags(&streamsan_event, cudaEventDisableTiming));" in after
    assert "\n        cudaEventRecord(streamsan_event, s2);\n" in after
    assert "CHECK(cudaStreamWaitEvent(s1, streamsan_event, 0));" in after


def test_an_event_has_no_name_that_is_a_macro(capsys: Run) -> None:
    after = fixed(capsys, RACE.replace("__global__", "#define streamsan_event 17\n__global__"))
    assert "cudaEventRecord(streamsan_event_2, s2)" in after
    assert "cudaEventRecord(streamsan_event_2, s2)" in fixed(capsys, f"#define streamsan_event(x) x\n{RACE}", "b.cu")
