"""A redacted trace has none of the texts that identify people and machines, and its findings are the same."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from fake_device import PROGRAMS, FakeDevice
from streamsan.recorder.completion import complete
from streamsan.recorder.redacted_file import redact_file
from streamsan.recorder.redaction import Redaction
from streamsan.trace import Site, Thread, TraceError
from streamsan.trace.layout import SLOT, TEXT
from streamsan.trace.modules import Module
from streamsan.trace.own_code import is_own_module, is_own_source
from streamsan.trace.reader import read
from streamsan.trace.symbols import Frame
from streamsan.trace.view import iterate
from streamsan.trace.writer import TraceWriter
from streamsan.vocabulary import OperationKind

SECRETS = ["alice", "Alice Smith", "workhorse7", "hunter2", "/home/", "secret-project"]
REDACTION = Redaction(["alice", "Alice Smith", "workhorse7", "root"], ["/home/alice", "/mnt/secret-project/a b"])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/alice/secret-project/app.cu", "app.cu"),
        ("/home/alice/with blanks/app.cu", "app~2.cu"),
        ("src/app.cu", "src/app.cu"),
        ("<stdin>", "<stdin>"),
        ("alice-worker", "*-worker"),
        ("malice", "malice"),
        ("find_root(root*)", "find_root(root*)"),
        ("alice::Net::forward(workhorse7::T)", "*::Net::forward(*::T)"),
        ("cannot open /home/alice/x.cubin: no such file", "cannot open x.cubin: no such file"),
        ("disk full: /mnt/secret-project/a b/c.sst", "disk full: c.sst"),
        ("operator/(A const&, B<1>)", "operator/(A const&, B<1>)"),
        ("a / b / c", "a / b / c"),
    ],
)
def test_texts(text: str, shown: str) -> None:
    redaction = Redaction(["alice", "workhorse7", "root"], ["/home/alice", "/mnt/secret-project/a b"])
    assert redaction.text("/home/alice/secret-project/app.cu") == "app.cu"
    assert redaction.text(text) == shown


@pytest.mark.parametrize(
    "path",
    [
        "/home/alice/venv/lib/python3.12/site-packages/torch/nn.py",
        "/usr/include/c++/13/bits/stl_vector.h",
        "/home/alice/app/src/main.cu",
        "/opt/conda/lib/python3.12/threading.py",
    ],
)
def test_what_is_installed_stays_so(path: str) -> None:
    shown = REDACTION.text(path)
    assert is_own_source(shown) == is_own_source(path)
    assert "alice" not in shown
    module = path.replace(".py", ".so")
    assert is_own_module(REDACTION.module(module)) == is_own_module(module)


def recording(path: Path, *, close: bool = True) -> None:
    metadata = {
        "run": "ab" * 8,
        "process": 1,
        "command": ["/home/alice/secret-project/app", "--password=hunter2"],
        "stopped": "/home/alice/run.sst: no space left on device",
    }
    with TraceWriter(path, origin="recording", metadata=metadata) as writer:
        writer.add_threads([Thread(0, "alice-worker")])
        writer.add_modules([Module("/home/alice/secret-project/app", "ab" * 20), Module("/usr/lib/libc.so.6")])
        writer.add_sites([Site("/home/alice/secret-project/train.py", 7, function="alice_step"), Site("", 0, module=1)])
        writer.add_symbols({(1, 0): [Frame("/home/alice/secret-project/app.cu", 3, 1, "main")]})
        slots = np.zeros(4, SLOT)
        slots["sequence"], slots["kind"], slots["site"] = [1, 2, 0, 0], 8, [1, 2, 0, 0]
        slots["more"][1] = 2
        texts = slots[2:].view(TEXT)
        said = b"cuModuleLoad: cannot open /home/alice/secret-project/kernels.cubin on workhorse7"
        for slot, part in zip(texts, (said[:56], said[56:]), strict=True):
            slot["kind"], slot["text"], slot["length"] = OperationKind.TEXT, part.ljust(56, b"\0"), len(part)
        slots["sequence"][2:] = np.frombuffer(texts.tobytes(), SLOT)["sequence"]
        writer.append_slots(slots)
        if not close:
            writer.abandon()


@pytest.mark.parametrize("close", [True, False])
def test_nothing_of_it_is_left_in_the_file(tmp_path: Path, close: bool) -> None:
    path = tmp_path / "a.sst"
    recording(path, close=close)
    before = read(path)
    redact_file(str(path), REDACTION)
    content = path.read_bytes()
    assert [secret for secret in SECRETS if secret.encode() in content] == []
    trace = read(path)
    assert (trace.complete, trace.operations) == (before.complete, before.operations) == (close, 2)
    assert (trace.metadata["redacted"], trace.metadata["run"]) == (True, "ab" * 8)
    assert trace.metadata["stopped"] == "run.sst: no space left on device"
    assert [module.path for module in trace.modules[1:]] == ["app", "libc.so.6"]
    assert [trace.site(number).file for number in (1, 2)] == ["train.py", "app.cu"]
    assert [view.text for view in iterate(trace)] == ["", "cuModuleLoad: cannot open kernels.cubin on *"]


def test_a_second_redaction_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    recording(path)
    redact_file(str(path), REDACTION)
    content = path.read_bytes()
    redact_file(str(path), REDACTION)
    assert path.read_bytes() == content


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    recording(tmp_path / "b.sst")
    before = (tmp_path / "b.sst").read_bytes()
    (tmp_path / "a.sst").symlink_to("b.sst")
    with pytest.raises(TraceError, match="cannot be written"):
        redact_file(str(tmp_path / "a.sst"), REDACTION)
    assert (tmp_path / "b.sst").read_bytes() == before


@pytest.mark.deep
@pytest.mark.parametrize(
    "name", sorted(set(re.findall(r"\b\w+_(?:wrong|right)\b", PROGRAMS.read_text())) - {"no_cuda_right"})
)
def test_findings_of_a_redacted_recording_are_the_same(fake_device: FakeDevice, tmp_path: Path, name: str) -> None:
    plain = fake_device.run(tmp_path, [fake_device.programs, name], "-o", "plain.sst")
    redacted = fake_device.run(tmp_path, [fake_device.programs, name], "-o", "redacted.sst", "--redact")
    assert (redacted.codes, redacted.loud) == (plain.codes, plain.loud)
    folder = str(PROGRAMS.parents[4]).encode()
    assert not any(folder in path.read_bytes() for path in tmp_path.glob("redacted*.sst"))


def test_a_file_that_cannot_be_redacted_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    metadata = {"process": os.getppid(), "command": ["app", "--password=hunter2"]}
    TraceWriter(path, origin="recording", metadata=metadata).abandon()
    done = complete([str(path)], 0.0, source=True, redaction=REDACTION)
    assert done.files == []
    assert done.problems == [f"{path}: removed, as it could not be redacted: its process is still running"]
    assert not path.exists()


def test_a_redacted_trace_has_no_source_lines(tmp_path: Path) -> None:
    source = tmp_path / "app.cu"
    source.write_text("free(p);\n")
    for redaction in (None, REDACTION):
        path = tmp_path / "a.sst"
        with TraceWriter(path, origin="recording", metadata={"command": ["app"]}) as writer:
            writer.add_sites([Site(str(source), 1)])
        done = complete([str(path)], 4e9, source=True, redaction=redaction)
        assert (done.files, done.problems) == ([str(path)], [])
        assert bool(read(path).source_lines) == (redaction is None)
