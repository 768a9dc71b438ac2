from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamsan.cli import main
from streamsan.trace import Reference, Site, Trace, TraceBuilder
from streamsan.trace.writer import write
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, OperationKind, StreamKind

Run = pytest.CaptureFixture[str]
LOAD, COMPUTE = 0x100, 0x200


def racing_trace(steps: int = 1) -> Trace:
    """Allocated and freed on one stream, used on another, of which the first knows nothing."""
    builder = TraceBuilder("app", origin="recording")
    thread = builder.thread(0, "main")

    def site(line: int, label: str = "") -> int:
        return builder.site(Site("pipeline.cu", line, 5, line, 30, "main", "", label))

    builder.append(OperationKind.MAIN_BEGIN, thread=thread)
    for line, handle, name in ((3, LOAD, "load"), (4, COMPUTE, "compute")):
        builder.append(
            OperationKind.STREAM_CREATE,
            thread=thread,
            api="cudaStreamCreate",
            site=site(line, name),
            object=handle,
            detail=StreamKind.NON_BLOCKING,
        )
    for step in range(steps):
        memory = Reference(0x7000_0000, 4096, step + 1, AccessMode.WRITE)
        builder.append(
            OperationKind.ALLOC,
            thread=thread,
            api="cudaMallocAsync",
            site=site(5, "d_x"),
            stream=LOAD,
            references=[memory],
            detail=MemoryKind.STREAM_ORDERED,
        )
        builder.append(OperationKind.STREAM_SYNCHRONIZE, thread=thread, site=site(6), stream=LOAD)
        builder.append(OperationKind.LAUNCH, thread=thread, site=site(7, "scale"), stream=COMPUTE, references=[memory])
        builder.append(
            OperationKind.FREE,
            thread=thread,
            api="cudaFreeAsync",
            site=site(8),
            stream=LOAD,
            references=[memory],
            detail=FreeClass.ASYNC,
        )
    return builder.finish()


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_trace_whose_source_is_not_here(capsys: Run) -> None:
    write(racing_trace(), "run.sst")
    assert main(["check", "run.sst"]) == 1
    output = capsys.readouterr()
    assert output.err == ""
    first, *rest = output.out.splitlines()
    assert first.startswith("error[SS102]: kernel `scale` may still be ")
    assert first.endswith(" `d_x` when it is freed")
    assert rest[:5] == [
        " --> pipeline.cu:8:5",
        "  = pipeline.cu:5: allocated here, in the order of stream `load`",
        "  = pipeline.cu:7: used here, in the order of stream `compute`: it writes all of `d_x`",
        "  = pipeline.cu:8: freed here, in the order of stream `load`: nothing orders stream `load` after the kernel",
        "  = contract: memory must not be accessed once the stream reaches the free (CUDA Runtime API, cudaFreeAsync)",
    ]
    counts, remark = output.out.splitlines()[-2:]
    assert counts.endswith("in 1 file, 7 operations")
    assert remark.startswith("(a recording does not show ")


def test_a_trace_whose_source_is_here(capsys: Run) -> None:
    Path("pipeline.cu").write_text("\n".join(f"call_{line}();" for line in range(1, 20)), encoding="utf-8")
    write(racing_trace(), "run.sst")
    assert main(["check", "run.sst"]) == 1
    assert "\n8 | call_8();   freed here, in the order of stream `load`" in capsys.readouterr().out


def test_a_trace_quotes_sources_only(capsys: Run) -> None:
    Path("secret.txt").write_text("token\n" * 20, encoding="utf-8")
    trace = racing_trace()
    sites = [Site("secret.txt", site.line, 5, label=site.label) if site.line else site for site in trace.sites]
    trace.sites = tuple(sites)
    write(trace, "run.sst")
    assert main(["check", "run.sst"]) == 1
    output = capsys.readouterr().out
    assert "secret.txt:8" in output
    assert "token" not in output


def test_instances_are_counted(capsys: Run) -> None:
    write(racing_trace(200), "run.sst")
    assert main(["check", "run.sst", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert [(f["code"], f["properties"]["instances"]) for f in document["findings"] if f["code"] == "SS102"] == [
        ("SS102", 200)
    ]
    assert document["summary"]["operations"] == 803


def test_a_trace_cut_off_is_checked_as_far_as_it_goes(capsys: Run) -> None:
    write(racing_trace(2000), "whole.sst")
    data = Path("whole.sst").read_bytes()
    Path("cut.sst").write_bytes(data[: len(data) * 2 // 3])
    assert main(["check", "cut.sst"]) == 1
    output = capsys.readouterr()
    assert "error[SS102]" in output.out
    assert any("partial result" in line for line in output.err.splitlines())
    assert all(line.startswith("streamsan: cut.sst: ") for line in output.err.splitlines())
    assert main(["check", "cut.sst", "--format", "json"]) == 1
    problems = json.loads(capsys.readouterr().out)["summary"]["problems"]
    assert any("partial result" in problem["message"] for problem in problems)


@pytest.mark.parametrize("kept", [1, 8, 63, 64, 100])
def test_a_trace_cut_in_its_header_is_one_line(capsys: Run, kept: int) -> None:
    write(racing_trace(), "whole.sst")
    Path("cut.sst").write_bytes(Path("whole.sst").read_bytes()[:kept])
    status = main(["check", "cut.sst"])
    output = capsys.readouterr()
    assert status in (0, 2)
    assert output.err.startswith("streamsan: cut.sst: ")
    assert "Traceback" not in output.err


def test_damaged_traces_never_end_in_a_traceback(capsys: Run) -> None:
    write(racing_trace(3), "whole.sst")
    whole = Path("whole.sst").read_bytes()
    for position in range(0, len(whole), 41):
        Path("bad.sst").write_bytes(whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :])
        assert main(["check", "bad.sst"]) in (0, 1, 2)
        err = capsys.readouterr().err
        assert "Traceback" not in err
        assert "internal error" not in err
        assert all(line.startswith("streamsan: bad.sst: ") for line in err.splitlines())


def test_the_same_trace_twice_is_checked_once(capsys: Run) -> None:
    write(racing_trace(), "run.sst")
    assert main(["check", "run.sst", "./run.sst", "."]) == 1
    assert capsys.readouterr().out.count("error[SS102]") == 1
