"""Imports go down the layers of docs/architecture.md, or stay in their room. No imports lead round in a circle."""

from __future__ import annotations

from house.modules import imports, layers, modules

BESIDE = {"generate"}
"""rooms that nobody imports, and that may import all"""


def test_the_architecture_names_each_room_once() -> None:
    rooms = [room for layer in layers() for room in layer]
    assert sorted(rooms) == sorted({module.room for module in modules().values()} - {""} - BESIDE)


def test_imports_go_down() -> None:
    height = {room: number for number, layer in enumerate(layers()) for room in layer}
    height[""] = len(height)  # `python -m streamsan`
    upward = set()
    for name, imported in imports().items():
        room = modules()[name].room
        for other in imported - {"streamsan"}:  # the version
            target = modules()[other].room
            if target in BESIDE - {room} or (room not in BESIDE | {target} and height[room] <= height[target]):
                upward.add((name.removeprefix("streamsan."), other.removeprefix("streamsan.")))
    assert sorted(upward) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert sorted(_in_circles(imports())) == []


def _in_circles(edges: dict[str, frozenset[str]]) -> set[str]:
    """Return the modules from which imports lead back to themselves."""
    return {name for name in edges if name in _reached(name, edges)}


def _reached(start: str, edges: dict[str, frozenset[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = edges[waiting.pop()] - found
        found |= new
        waiting += new
    return found
