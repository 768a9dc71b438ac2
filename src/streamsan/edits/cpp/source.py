"""A CUDA C++ source, read for edits."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from streamsan.cuda_syntax import read_unit
from streamsan.edits.cpp.calls import Chains
from streamsan.edits.cpp.edits import Writer
from streamsan.edits.cpp.insertion import Layout
from streamsan.edits.cpp.text import SourceBytes
from streamsan.edits.source import Contents
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.trace import Trace


class SourceWriting(Writer):
    """What writes steps as CUDA C++."""

    def __init__(self, chains: Chains, files: Mapping[str, SourceBytes], trace: EditableTrace) -> None:
        super().__init__(chains, Layout(files), trace)
        self.files: Mapping[str, SourceBytes] = files


def read(
    path: str,
    defines: Mapping[str, str],
    include_dirs: Sequence[str],
    original: Callable[[str], bytes],
    contents: Contents,
) -> Callable[[EditableTrace], SourceWriting]:
    """Read a source with new contents of files. Returns what gives for a trace of it that which writes its steps."""
    unit = read_unit(
        Path(path), defines=dict(defines), include_dirs=[Path(folder) for folder in include_dirs], contents=contents
    )
    files: dict[str, SourceBytes] = {}
    for file in unit.files:
        known = contents.get(os.path.realpath(file))
        files[file] = SourceBytes(original(file) if known is None else known)

    def writing(trace: EditableTrace) -> SourceWriting:
        assert isinstance(trace.trace, Trace)
        return SourceWriting(Chains(unit, trace.trace), files, trace)

    return writing
