"""The files of one run are one trace: processes, threads, names and sites renumbered, operations merged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from streamsan.analysis.inputs import analyse_path
from streamsan.checking.folders import expand
from streamsan.cli import main
from streamsan.trace import Site, Thread, TraceError, family
from streamsan.trace.layout import SLOT
from streamsan.trace.modules import Module
from streamsan.trace.store import Slots
from streamsan.trace.symbols import Frame
from streamsan.trace.view import iterate
from streamsan.trace.writer import TraceWriter, write
from streamsan.vocabulary import MemoryKind, OperationKind

CALL, FORK, ALLOC = OperationKind.CALL, OperationKind.FORK, OperationKind.ALLOC


def operations(
    sequences: Sequence[int],
    *,
    thread: int = 0,
    api: int = 0,
    site: int = 0,
    kind: OperationKind = CALL,
    object: int = 0,
) -> Slots:
    slots = np.zeros(len(sequences), SLOT)
    slots["sequence"], slots["thread"], slots["kind"] = sequences, thread, kind
    slots["api"], slots["site"], slots["object"] = api, site, object
    return slots


def member(
    path: Path,
    lanes: Sequence[Slots],
    *,
    process: int,
    run: str = "r1",
    apis: Sequence[str] = ("",),
    threads: Sequence[str] = ("main",),
    sites: Sequence[Site] = (),
    modules: Sequence[Module] = (),
    snapshot: Slots | None = None,
    close: bool = True,
    **metadata: object,
) -> None:
    given = {"run": run, "process": process, **metadata}
    with TraceWriter(path, origin="recording", apis=apis, metadata=given) as writer:
        writer.add_threads([Thread(0, name) for name in threads])
        writer.add_modules(modules)
        writer.add_sites(sites)
        if snapshot is not None:
            writer.append_slots(snapshot, 0, snapshot=True)
        for number, slots in enumerate(lanes, 1):
            writer.append_slots(slots, number)
        if not close:
            writer.abandon()


def test_processes_are_renumbered_and_merged(tmp_path: Path) -> None:
    root, child = tmp_path / "a.sst", tmp_path / "a.100.sst"
    member(
        root,
        [
            np.concatenate([operations([1, 3], api=1, site=1), operations([4], kind=FORK, object=100)]),
            operations([8], thread=1, api=2, site=2),
        ],
        process=99,
        apis=("", "cuInit", "cuMemAlloc"),
        threads=("main", "worker"),
        sites=[Site("a.py", 1), Site("a.py", 2, caller=1)],
    )
    member(
        child,
        [operations([5, 9], api=1, site=2)],
        process=100,
        forked=True,
        apis=("", "cuMemFree"),
        sites=[Site("b.py", 10), Site("b.py", 20, caller=1)],
    )
    trace = family.read(str(root))
    assert trace.threads == [Thread(0, "main"), Thread(0, "worker"), Thread(1, "main")]
    assert trace.apis == ["", "cuInit", "cuMemAlloc", "cuMemFree"]
    found = [(o.sequence, o.thread, trace.apis[o.api], trace.site(o.site).line, o.object) for o in iterate(trace)]
    assert found == [
        (1, 0, "cuInit", 1, 0),
        (3, 0, "cuInit", 1, 0),
        (4, 0, "", 0, 1),
        (5, 2, "cuMemFree", 20, 0),
        (8, 1, "cuMemAlloc", 2, 0),
        (9, 2, "cuMemFree", 20, 0),
    ]
    assert [frame.line for frame in trace.stack(4)] == [20, 10]
    assert (trace.operations, trace.complete, trace.problems) == (6, True, [])
    assert trace.metadata["processes"] == [99, 100]
    # The whole run is checked whichever file is named, and the copy of it is one file.
    assert list(iterate(family.read(str(child)))) == list(iterate(trace))
    write(trace, tmp_path / "copy.sst")
    assert list(iterate(family.read(str(tmp_path / "copy.sst")))) == list(iterate(trace))


def test_continuations_are_not_renumbered(tmp_path: Path) -> None:
    for name, process, first in (("a.sst", 1000, 1), ("a.77.sst", 77, 2)):
        slots = np.zeros(4, SLOT)
        slots["kind"], slots["more"] = (
            [OperationKind.STREAM_CREATE, 241, OperationKind.STREAM_CREATE, 241],
            [1, 0, 1, 0],
        )
        slots["sequence"] = [first, 0, first + 2, 0]
        raw = slots.view(np.uint8).reshape(4, 64)
        raw[1::2, :56], raw[1::2, 56] = ord("x"), 56
        member(tmp_path / name, [slots], process=process, sites=[Site("a.py", 1)] * 3)
    trace = family.read(str(tmp_path / "a.sst"))
    assert [(o.sequence, o.text) for o in iterate(trace)] == [(number, "x" * 56) for number in range(1, 5)]


def test_native_frames_of_every_file(tmp_path: Path) -> None:
    for number, (name, process) in enumerate((("a.sst", 5), ("a.6.sst", 6), ("a.7.sst", 7))):
        sites = [Site("", 0, module=1, offset=0x10), Site("", 0, module=2, offset=0x20, caller=1)]
        modules = [Module("/app/one"), Module("/app/two")] if process != 6 else []
        with TraceWriter(tmp_path / name, origin="recording", metadata={"run": "r", "process": process}) as writer:
            writer.add_threads([Thread(0, "main")])
            writer.add_modules(modules)
            writer.add_sites(sites if modules else [])
            if modules:
                symbols = {(m, 0x10 * m): (Frame(f"/src/{name}.{m}", m, 0, "f()"),) for m in (1, 2)}
                writer.add_symbols(symbols)
            writer.append_slots(operations([number + 1], site=2 if modules else 0))
    trace = family.read(str(tmp_path / "a.sst"))
    assert [trace.site(operation.site).file for operation in iterate(trace)] == ["/src/a.sst.2", "", "/src/a.7.sst.2"]
    assert [frame.file for frame in trace.stack(4)] == ["/src/a.7.sst.2", "/src/a.7.sst.1"]
    assert len(trace.symbols) == len(dict(trace.symbols)) == 4
    assert [module.path for module in trace.modules] == ["", "/app/one", "/app/two", "/app/one", "/app/two"]


def test_only_the_run_of_the_file_counts(tmp_path: Path) -> None:
    member(tmp_path / "a.sst", [operations([1])], process=1)
    member(tmp_path / "a.50.sst", [operations([2])], process=50)
    member(tmp_path / "a.51.sst", [operations([3])], process=51, run="another")
    member(tmp_path / "b.52.sst", [operations([4])], process=52)
    (tmp_path / "a.53.sst").write_bytes(b"no trace")
    member(tmp_path / "a.50-2.sst", [operations([5])], process=50)
    names = [Path(path).name for path in family.members(str(tmp_path / "a.sst"))]
    assert names == ["a.sst", "a.50.sst", "a.50-2.sst"]
    assert family.members(str(tmp_path / "a.51.sst")) == [str(tmp_path / "a.51.sst")]
    assert family.members(str(tmp_path / "none.sst")) == [str(tmp_path / "none.sst")]
    assert [o.sequence for o in iterate(family.read(str(tmp_path / "a.sst")))] == [1, 2, 5]


def test_a_name_that_looks_like_a_process(tmp_path: Path) -> None:
    member(tmp_path / "run.2.sst", [operations([1])], process=1)
    member(tmp_path / "run.2.60.sst", [operations([2])], process=60)
    member(tmp_path / "run.sst", [operations([3])], process=3, run="before")
    for name in ("run.2.sst", "run.2.60.sst"):
        found = family.members(str(tmp_path / name))
        assert [Path(path).name for path in found] == ["run.2.sst", "run.2.60.sst"]


def test_a_child_that_began_anew_is_no_child_of_the_fork(tmp_path: Path) -> None:
    fork = np.concatenate([operations([1]), operations([2], kind=FORK, object=70)])
    member(tmp_path / "a.sst", [fork], process=1)
    member(tmp_path / "a.70.sst", [operations([3])], process=70, forked=False)
    trace = family.read(str(tmp_path / "a.sst"))
    assert [o.object for o in iterate(trace)] == [0, 2, 0]
    assert [thread.process for thread in trace.threads] == [0, 1]
    member(tmp_path / "a.70.sst", [operations([3])], process=70)
    assert [o.object for o in iterate(family.read(str(tmp_path / "a.sst")))] == [0, 1, 0]


def test_a_process_id_that_was_given_twice(tmp_path: Path) -> None:
    forks = np.concatenate([operations([n], kind=FORK, object=70) for n in (2, 5)])
    member(tmp_path / "a.sst", [forks], process=1)
    member(tmp_path / "a.70.sst", [operations([3])], process=70)
    member(tmp_path / "a.70-2.sst", [operations([6])], process=70)
    trace = family.read(str(tmp_path / "a.sst"))
    assert [(o.sequence, o.object, trace.threads[o.thread].process) for o in iterate(trace)] == [
        (2, 1, 0),
        (3, 0, 1),
        (5, 2, 0),
        (6, 0, 2),
    ]


def test_parts_of_one_process(tmp_path: Path) -> None:
    old = [operations([1, 2, 4], site=1), operations([3], thread=1)]
    sites = [Site("a.py", 1), Site("a.py", 2)]
    both = ("main", "worker")
    member(tmp_path / "a.old.sst", old, process=9, threads=both, sites=sites)
    new = [operations([10, 12], site=2), operations([11], thread=1)]
    member(tmp_path / "a.sst", new, process=9, threads=both, sites=sites, snapshot=operations([2, 3], site=1))
    trace = family.read(str(tmp_path / "a.sst"))
    assert [(o.sequence, o.thread, trace.site(o.site).line) for o in iterate(trace)] == [
        (1, 0, 1),
        (2, 0, 1),
        (3, 1, 0),
        (4, 0, 1),
        (10, 0, 2),
        (11, 1, 0),
        (12, 0, 2),
    ]
    assert trace.threads == [Thread(0, "main"), Thread(0, "worker")]
    assert (trace.problems, trace.operations) == ([], 7)
    (tmp_path / "a.old.sst").unlink()
    alone = family.read(str(tmp_path / "a.sst"))
    assert [o.sequence for o in iterate(alone)] == [2, 3, 10, 11, 12]
    (line,) = alone.problems
    assert line.startswith("the recording begins at operation 10: ")


def test_a_damaged_member_is_a_problem_and_the_rest_is_checked(tmp_path: Path) -> None:
    member(tmp_path / "a.sst", [operations([1, 4])], process=1)
    member(tmp_path / "a.2.sst", [operations([2, 3])], process=2)
    content = (tmp_path / "a.2.sst").read_bytes()
    # Its operations contradict themselves.
    at = content.index(operations([3]).tobytes())
    (tmp_path / "a.2.sst").write_bytes(content[:at] + operations([2]).tobytes() + content[at + 64 :])
    trace = family.read(str(tmp_path / "a.sst"))
    assert [o.sequence for o in iterate(trace)] == [1, 4]
    (line,) = trace.problems
    assert line.startswith("a.2.sst: damaged: sequences that do not increase")
    # Its tables do.
    at = content.index(b"sstSEGM\n", 200)
    (tmp_path / "a.2.sst").write_bytes(content[: at + 16] + b"\1" + content[at + 17 :])
    trace = family.read(str(tmp_path / "a.sst"))
    assert [o.sequence for o in iterate(trace)] == [1, 4]
    (line,) = trace.problems
    assert line.startswith("a.2.sst is left out: damaged")
    checked = analyse_path(str(tmp_path / "a.sst"))
    assert checked.operations == 2
    assert checked.problems == (line,)
    with pytest.raises(TraceError):
        family.read(str(tmp_path / "a.2.sst"))


def test_killed_processes_are_prefixes(tmp_path: Path) -> None:
    member(tmp_path / "a.sst", [operations([1, 4])], process=1)
    member(tmp_path / "a.2.sst", [operations([2]), operations([3, 5])], process=2, close=False)
    trace = family.read(str(tmp_path / "a.sst"))
    assert [o.sequence for o in iterate(trace)] == [1, 2, 3, 4, 5]
    assert (trace.complete, trace.operations) == (False, 5)
    (line,) = analyse_path(str(tmp_path / "a.sst")).problems
    assert line.startswith("a.2.sst: partial result: the writer was cut off")


def test_one_sequence_in_two_files_is_damage(tmp_path: Path) -> None:
    member(tmp_path / "a.sst", [operations([1, 2])], process=1)
    member(tmp_path / "a.2.sst", [operations([2])], process=2)
    with pytest.raises(TraceError, match="two operations of one sequence"):
        list(family.read(str(tmp_path / "a.sst")).chunks())


def test_why_recording_stopped_is_said(tmp_path: Path) -> None:
    member(tmp_path / "a.sst", [operations([1])], process=1, stopped="no space\nleft on device")
    assert analyse_path(str(tmp_path / "a.sst")).problems == (
        "recording stopped before the program did: no space left on device",
    )


def test_a_run_is_one_input(tmp_path: Path) -> None:
    for name, process, sequence in (("a.sst", 1, 1), ("a.2.sst", 2, 2), ("a.2.old.sst", 2, 3)):
        member(tmp_path / name, [operations([sequence])], process=process)
    member(tmp_path / "c.sst", [operations([1])], process=1, run="other")
    for paths in (
        [str(tmp_path)],
        [str(tmp_path / "a.2.sst"), str(tmp_path / "c.sst")],
        [str(tmp_path / "a.sst"), str(tmp_path / "a.2.sst"), str(tmp_path)],
    ):
        expanded = expand(paths)
        inputs, problems = expanded.inputs, expanded.unreadable
        assert sorted(Path(item.path).name for item in inputs) == ["a.sst", "c.sst"]
        assert problems == []


def test_a_child_that_uses_cuda_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def alloc(sequence: int, address: int, site: int) -> Slots:
        slots = operations([sequence], kind=ALLOC, api=1, site=site)
        slots["detail"], slots["address"], slots["size"] = MemoryKind.PLAIN, address, 4096
        return slots

    sites = [Site("train.py", 12, function="main"), Site("train.py", 20, function="worker")]
    parent = np.concatenate([alloc(1, 0x1000, 1), operations([2], kind=FORK, object=31, site=1)])
    member(tmp_path / "a.sst", [parent], process=30, apis=("", "cuMemAlloc_v2"), sites=sites)
    child = alloc(3, 0x2000, 2)
    child["status"] = 3  # not initialised: what the driver answers in a forked child
    member(tmp_path / "a.31.sst", [child], process=31, apis=("", "cuMemAlloc_v2"), sites=sites)
    assert main(["check", str(tmp_path), "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    (finding,) = [finding for finding in report["findings"] if finding["code"] == "SS204"]
    assert (finding["location"]["file"], finding["location"]["line"]) == ("train.py", 20)
    assert report["summary"]["files"] == 1


def test_a_claim_about_the_beginning_is_not_believed(tmp_path: Path) -> None:
    member(tmp_path / "a.sst", [operations([1])], process=1, begins_at="x")
    member(tmp_path / "a.2.sst", [operations([2])], process=2, begins_at=[7])
    trace = family.read(str(tmp_path / "a.sst"))
    assert "begins_at" not in trace.metadata
    assert trace.operations == 2
    snapshot = operations([3])
    member(tmp_path / "a.2.sst", [operations([9])], process=2, snapshot=snapshot)
    assert family.read(str(tmp_path / "a.sst")).metadata["begins_at"] == 9
