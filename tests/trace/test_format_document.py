"""docs/trace-format.md is the specification: its tables and its example are compared with the code."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from streamsan.trace import Reference, Site, Trace, TraceBuilder, file_layout, layout, slot_fields, table_limits
from streamsan.trace.file_layout import SegmentFlag, SegmentType
from streamsan.trace.reader import read
from streamsan.trace.view import iterate
from streamsan.trace.writer import TraceWriter
from streamsan.vocabulary import AccessMode, OperationKind

DOCUMENT = (Path(__file__).parents[2] / "docs" / "trace-format.md").read_text(encoding="utf-8")
STRUCTURES = {
    **{name: getattr(layout, name) for name in ("SLOT", "REFERENCES", "TEXT", "ROWS")},
    **{name: getattr(file_layout, name) for name in ("FILE_HEADER", "SEGMENT_HEADER", "SITE", "SYMBOL", "SOURCE_LINE")},
    **{name: getattr(file_layout, name) for name in ("THREAD", "API", "END", "LAUNCH_SHAPE", "PLACE")},
}


def table(heading: str) -> list[list[str]]:
    """Return the cells of the first table under a heading."""
    section = DOCUMENT.split(heading, 1)[1]
    rows = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)
    assert rows
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[0].splitlines()[2:]]


def fields(dtype: np.dtype[np.void]) -> list[tuple[int, int, str, str]]:
    """Return (offset, bytes, type, name) of each field."""
    assert dtype.fields
    return [
        (offset, field.itemsize, field.str.lstrip("<|"), name) for name, (field, offset, *_) in dtype.fields.items()
    ]


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures(name: str) -> None:
    rows = table(f"\n### `{name}`")
    documented = [(int(row[0]), int(row[1]), row[2].strip("`"), row[3].strip("`")) for row in rows]
    assert documented == fields(STRUCTURES[name])
    ends = [offset + size for offset, size, _, _ in documented]
    assert [offset for offset, _, _, _ in documented] == [0, *ends[:-1]]


def test_segment_types() -> None:
    rows = re.findall(r"^\| (\d+) \| `([A-Z_]+)` \|", DOCUMENT, re.MULTILINE)
    assert {name: int(number) for number, name in rows} == {kind.name: kind.value for kind in SegmentType}
    assert f"bit 0: {SegmentFlag(1).name}" in DOCUMENT


def test_constants() -> None:
    assert file_layout.MAGIC.hex(" ").upper() in DOCUMENT
    assert f"0x{file_layout.COMMIT_GUARD:X} in the upper 16 bits" in DOCUMENT
    assert f"0x{file_layout.BYTE_ORDER:08X}" in DOCUMENT
    assert f"version {file_layout.MAJOR}.{file_layout.MINOR}\n" in DOCUMENT
    assert f"{file_layout.MOST_SEGMENTS} segments, {file_layout.MOST_LANES} lanes" in DOCUMENT
    assert (file_layout.MOST_METADATA, file_layout.MOST_TABLE_BYTES) == (1 << 20, 128 << 20)
    assert f"at most {file_layout.MOST_STRING_BYTES})" in DOCUMENT
    assert f"at most {table_limits.MOST_MODULE_BYTES})" in DOCUMENT
    assert f"{file_layout.MOST_STRINGS} strings" in DOCUMENT
    assert f"{table_limits.MOST_LAUNCH_SHAPES} launch shapes" in DOCUMENT
    assert f"kind from {slot_fields.FIRST_CONTINUATION_KIND} to 255" in DOCUMENT
    assert f"kind {OperationKind.REFERENCES.value}, one or two" in DOCUMENT
    assert f"kind {OperationKind.TEXT.value}, text" in DOCUMENT
    assert f"kind {OperationKind.ROWS.value}, which bytes" in DOCUMENT


def test_kinds_with_a_reference_in_the_slot() -> None:
    paragraph = DOCUMENT.split("**References.**")[1].split("have their first", 1)[0]
    assert {OperationKind[name] for name in re.findall(r"[A-Z_]{3,}", paragraph)} == slot_fields.REFERENCE_KINDS


def example() -> Trace:
    builder = TraceBuilder("copy.cu", origin="recording")
    thread = builder.thread(0, "main")
    builder.append(
        OperationKind.COPY,
        thread=thread,
        api="cudaMemcpyAsync",
        site=builder.site(Site("copy.cu", 7, 5, 7, 60, function="main")),
        stream=0x5000,
        references=[
            Reference(0x7F0000001000, 4096, 1, AccessMode.WRITE),
            Reference(0x5500DEAD0000, 4096, 0, AccessMode.READ),
        ],
        time=1500,
        duration=3000,
    )
    return builder.finish()


def hexdump(content: bytes) -> str:
    lines: list[str] = []
    before = b""
    for at in range(0, len(content), 16):
        row = content[at : at + 16]
        if row == before == bytes(16):
            if lines[-1] != "*":
                lines.append("*")
            continue
        before = row
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(f"{at:04x}  {row[:8].hex(' ')}  {row[8:].hex(' ')}  |{text}|")
    return "\n".join([*lines, f"{len(content):04x}"])


def test_example(tmp_path: Path) -> None:
    trace, path = example(), tmp_path / "copy.sst"
    with TraceWriter(path, origin=trace.origin, apis=trace.apis, metadata={"tool": "example"}) as writer:
        writer.add_threads(trace.threads)
        writer.add_sites(trace.sites[1:])
        for chunk in trace.chunks():
            writer.append_slots(chunk)
    content = path.read_bytes()
    shown = DOCUMENT.split("```hexdump\n")[1].split("\n```")[0]
    assert shown == hexdump(content)
    assert f"{len(content)} bytes, written by" in DOCUMENT
    (slot,) = re.findall(r"The slot at 0x(\w+) is a COPY \(kind", DOCUMENT)
    ((kind, at),) = re.findall(r"kind 0x(\w+) at 0x(\w+)\)", DOCUMENT)
    assert int(at, 16) - int(slot, 16) == 58
    assert content[int(at, 16)] == int(kind, 16) == OperationKind.COPY
    assert list(iterate(read(path))) == list(iterate(trace))
