"""Synthetic calls about memory and work, recorded by the handlers of the CUDA recorder."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from trace_writer_driver import ENVIRONMENT, build, run

from streamsan.trace.reader import read
from streamsan.trace.references import Reference
from streamsan.trace.view import OperationView, iterate
from streamsan.vocabulary import OperationKind, SlotFlag

SOURCES = [
    f"recorder/cuda/{name}.cpp"
    for name in (
        *("launches", "kernels", "parameter_modes", "parameter_calls", "batches", "not_understood"),
        *("copies", "transfers", "fills", "migrations", "stream_memory_ops", "arrays", "array_calls"),
        *("memory_calls", "live_memory", "vmm", "imports", "pools", "modules"),
        *("calls", "api_names", "live_handles", "streams", "events"),
    )
]
SOURCES += ["recorder/memory/*.cpp", "recorder/trace_writer/*.cpp", "recorder/tests/cuda_work/*.cpp"]

DEVICE = 0x7F0000000000
HOST = 0x7E0000000000
ONE, TWO, READY = 0x1001, 0x1002, 0x2001
MEGABYTE = 1 << 20
A, B = DEVICE, DEVICE + 4 * MEGABYTE


@dataclass(frozen=True)
class Recorded:
    """One operation, as short as a test can say it."""

    kind: OperationKind | int
    api: str
    label: str
    view: OperationView

    @property
    def references(self) -> list[tuple[int, int, str, int]]:
        """Address, size, mode and flags of each. Those of the first are in the slot's own flags."""
        found = [of(reference) for reference in self.view.references]
        if found and self.view.address == found[0][0]:
            found[0] = (*found[0][:3], self.view.flags & SlotFlag.STRIDED)
        return found


def of(reference: Reference) -> tuple[int, int, str, int]:
    """Return a reference as a test writes it."""
    return reference.address, reference.size, reference.mode.name, int(reference.flags)


class Scenarios:
    """The program that records scenarios, and what it has recorded."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program, self.folder = program, folder

    def path(self, name: str) -> Path:
        """Record a scenario; return the file."""
        path = self.folder / f"{name}.sst"
        if not path.exists():
            run(self.program, name, path)
        return path

    def operations(self, name: str, *kinds: OperationKind) -> list[Recorded]:
        """Record a scenario; return its operations of these kinds, of all kinds when none is named."""
        return [each for each in self._all(name) if not kinds or each.kind in kinds]

    def _all(self, name: str) -> Iterator[Recorded]:
        trace = read(self.path(name))
        for view in iterate(trace):
            yield Recorded(view.kind, trace.apis[view.api], trace.site(view.site).label if view.site else "", view)

    def names(self, symbols: Sequence[str]) -> list[str]:
        """Return what the recorder reads in symbols of kernels: label|typed|one character for each parameter."""
        said = subprocess.run(
            [self.program, "names"], input="\n".join(symbols) + "\n", capture_output=True, text=True, check=True,
            env=ENVIRONMENT, timeout=60,
        )  # fmt: skip
        assert said.stderr == ""
        return said.stdout.splitlines()


def scenarios(folders: pytest.TempPathFactory, sanitizer: str) -> Scenarios:
    """Compile the program under a sanitizer, once for all modules."""
    return Scenarios(build(folders, sanitizer, SOURCES), folders.mktemp(f"work_{sanitizer}"))
