"""Shorthand for the interpreter's tests: source text in, operations of each world out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from streamsan import check
from streamsan.cuda_source import Limits, Reading, World, read
from streamsan.findings.finding import Finding, Severity
from streamsan.trace.site import Site
from streamsan.vocabulary import OperationKind

HEAD = """#include <cuda_runtime.h>
__global__ void fill(float* out, int n) { out[0] = n; }
__global__ void add(const float* in, float* out) { out[0] = in[0]; }
"""
HEAD_LINES = HEAD.count("\n")
QUIET = {
    OperationKind.THREAD_START,
    OperationKind.MAIN_BEGIN,
    OperationKind.MAIN_END,
    OperationKind.PROCESS_EXIT,
    OperationKind.CONTEXT_CREATE,
    OperationKind.CONTEXT_CURRENT,
}


@dataclass(frozen=True)
class Op:
    """An operation with its names in place of numbers. Lines count from the first line after HEAD."""

    kind: str
    line: int
    label: str
    stream: int
    object: int
    address: int
    size: int
    flags: int
    status: int
    thread: int
    detail: int
    function: str
    caller: Site
    text: str


def operations(world: World, quiet: bool = True) -> list[Op]:
    """Return a world's operations; those that every program has are left out."""
    found: list[Op] = []
    for chunk in world.trace.chunks():
        for slot in chunk:
            number = int(slot["kind"])
            if number >= OperationKind.REFERENCES or (quiet and OperationKind(number) in QUIET):
                continue
            site = world.trace.site(int(slot["site"]))
            found.append(
                Op(
                    OperationKind(number).name,
                    site.line - HEAD_LINES,
                    site.label,
                    int(slot["stream"]),
                    int(slot["object"]),
                    int(slot["address"]),
                    int(slot["size"]),
                    int(slot["flags"]),
                    int(slot["status"]),
                    int(slot["thread"]),
                    int(slot["detail"]),
                    site.function,
                    world.trace.site(site.caller),
                    site.text,
                )
            )
    return found


def reading_of(text: str, folder: Path, limits: Limits | None = None) -> Reading:
    """Read a program, strictly: an error of the interpreter fails the test."""
    path = folder / "program.cu"
    path.write_text(HEAD + text, encoding="utf-8")
    return read(path, strict=True, limits=limits)


def loud(text: str, folder: Path) -> list[Finding]:
    """Return the errors and warnings of a whole program."""
    path = folder / "program.cu"
    path.write_text(text, encoding="utf-8")
    return [finding for finding in check([path]).findings if finding.severity is not Severity.NOTE]


def run(text: str, folder: Path) -> list[Op]:
    """Return the operations of a program whose first entry has one path."""
    return operations(only_world(reading_of(text, folder)))


def only_world(reading: Reading) -> World:
    """Return the only path of the first entry; what nobody calls, and what conditions rule out, is read beside it."""
    worlds = [each for each in reading.worlds if each.entry == reading.worlds[0].entry and not each.contrary]
    assert len(worlds) == 1, [(world.entry, world.decisions) for world in worlds]
    return worlds[0]


def run_main(body: str, folder: Path, before: str = "") -> list[Op]:
    """Return the operations of a main that has one path; `before` stands on the line before main's."""
    return run(f"{before}\nint main() {{\n{body}\n}}\n", folder)


def kinds(ops: list[Op]) -> list[str]:
    """Return the kinds alone."""
    return [op.kind for op in ops]
