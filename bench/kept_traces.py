"""Recordings as tests keep them: one lane, no path of the machine, machine code of all of them in one folder.

A program that asks in a loop whether work is over asks 100,000 times: of those answers the first of each turn is kept.
Beside an image of machine code lies what `nvdisasm` prints of it (NAME.json), so that a test needs no disassembler.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from streamsan.trace import Trace, family, writer
from streamsan.trace.launch_shapes import CODE
from streamsan.trace.store import MemorySlots, Slots
from streamsan.vocabulary import OperationKind

CODE_FOLDER = "code"
LARGEST_IMAGE = 64 << 10
"""bytes: the images of a framework are kept by nobody"""
NOT_READY = 600
_LOCAL = ("source", "command")
"""members of the metadata that tell of the machine"""


def keep(recording: Path, target: Path, renamed: Mapping[str, str]) -> None:
    """Keep a recording as `target`, its machine code beside it.

    `renamed`: beginnings of paths, and what is written in their place.
    """
    trace = without_paths(family.read(str(recording)), _renaming(renamed))
    trace.path = target.name
    images = recording.with_suffix(".code")
    if images.is_dir():
        trace.metadata[CODE] = CODE_FOLDER
        _keep_images(images, target.parent / CODE_FOLDER)
    writer.write(trace, target)


def without_paths(trace: Trace, renamed: Callable[[str], str]) -> Trace:
    """Return the same trace with other paths."""
    return Trace(
        trace.path,
        MemorySlots(without_polls(np.concatenate(list(trace.chunks())))),
        threads=trace.threads,
        apis=trace.apis,
        sites=[replace(site, file=renamed(site.file)) for site in trace.sites],
        platform=trace.platform,
        origin=trace.origin,
        complete=trace.complete,
        modules=[replace(module, path=renamed(module.path)) for module in trace.modules],
        symbols={
            address: tuple(replace(frame, file=renamed(frame.file)) for frame in frames)
            for address, frames in trace.symbols.items()
        },
        source_lines={renamed(file): lines for file, lines in trace.source_lines.items()},
        launch_shapes=trace.launch_shapes,
        metadata={name: value for name, value in trace.metadata.items() if name not in _LOCAL},
    )


def without_polls(slots: Slots) -> Slots:
    """Leave out queries that are answered "not yet" right behind the same one of the same thread."""
    asks = np.isin(slots["kind"], (OperationKind.EVENT_QUERY, OperationKind.STREAM_QUERY))
    asks &= (slots["status"] == NOT_READY) & (slots["more"] == 0)
    again = asks[1:] & asks[:-1]
    for field in ("kind", "thread", "object", "stream"):
        again &= slots[field][1:] == slots[field][:-1]
    return slots[np.append(True, ~again)]


def _renaming(renamed: Mapping[str, str]) -> Callable[[str], str]:
    def of(path: str) -> str:
        for old, new in renamed.items():
            if path.startswith(old):
                return new + path[len(old) :]
        return path

    return of


def _keep_images(images: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for image in images.glob("*.cubin"):
        target = folder / image.name
        if target.exists() or image.stat().st_size > LARGEST_IMAGE:
            continue
        listing = subprocess.run(["nvdisasm", "--emit-json", str(image)], capture_output=True, check=False)
        if listing.returncode == 0:
            target.with_suffix(".json").write_bytes(listing.stdout)
        else:
            print(f"{image.name}: {listing.stderr.decode()}", file=sys.stderr)
        shutil.copyfile(image, target)
