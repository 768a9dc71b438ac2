"""Input files for the programs of `opencl_suites.toml`: small ones, the same each time."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterable
from pathlib import Path

NODES, SIDE, LAYERS = 2048, 64, 8


def write_inputs(folder: Path) -> None:
    """Write all input files into a folder."""
    numbers = random.Random(1)
    _graph(folder / "graph.txt", numbers)
    for name, low, high in (("temp", 300.0, 340.0), ("power", 0.0, 0.01)):
        for layers, size in (("", SIDE * SIDE), (f"x{LAYERS}", SIDE * SIDE * LAYERS)):
            _lines(folder / f"{name}_{SIDE}{layers}", (f"{numbers.uniform(low, high):.6f}" for _ in range(size)))
    features = 34
    rows = (f"{row} " + " ".join(f"{numbers.random():.4f}" for _ in range(features)) for row in range(512))
    _lines(folder / "kmeans.txt", rows)
    keys = 5000
    _lines(folder / "mil.txt", [str(keys), *map(str, numbers.sample(range(10**6), keys))])
    _lines(folder / "command.txt", ["j 600 300", "", "k 1000", ""])
    _hurricanes(folder, numbers)
    _domain(folder / "domain.txt", numbers)
    _images(folder, numbers)


def _lines(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def _graph(path: Path, numbers: random.Random) -> None:
    """Nodes with where their edges begin and how many there are; the source; edges with costs."""
    edges = [[numbers.randrange(NODES) for _ in range(numbers.randint(1, 6))] for _ in range(NODES)]
    lines, start = [str(NODES)], 0
    for of_node in edges:
        lines.append(f"{start} {len(of_node)}")
        start += len(of_node)
    _lines(path, [*lines, "", "0", "", str(start), *(f"{node} 1" for of_node in edges for node in of_node)])


def _hurricanes(folder: Path, numbers: random.Random) -> None:
    """Records of 49 bytes with a place in columns 28 to 38."""
    _lines(folder / "filelist.txt", ["cane4_0.db"])
    places = [(numbers.uniform(10, 60), numbers.uniform(10, 99)) for _ in range(2000)]
    lines = (
        f"1950  1  1  0   1 CANE      {latitude:5.1f} {longitude:5.1f}".ljust(48) for latitude, longitude in places
    )
    _lines(folder / "cane4_0.db", lines)


def _domain(path: Path, numbers: random.Random) -> None:
    """Cells with their area, and of each of four neighbours its number and the normal of the face."""
    cells = 1024
    lines = [str(cells)]
    for _ in range(cells):
        faces = " ".join(f"{numbers.randint(1, cells)} 0.1 0.1 0.1" for _ in range(4))
        lines.append(f"{numbers.uniform(0.5, 1.0):.4f} {faces}")
    _lines(path, lines)


def _images(folder: Path, numbers: random.Random) -> None:
    columns, rows = 458, 502
    pixels = " ".join(str(numbers.randrange(256)) for _ in range(columns * rows))
    _lines(folder / "srad" / "image.pgm", ["P2", "# random", f"{columns} {rows}", "255", pixels])
    size = SIDE * SIDE * 3
    header = struct.pack("<2sIHHI", b"BM", 54 + size, 0, 0, 54)
    header += struct.pack("<IiiHHIIiiII", 40, SIDE, SIDE, 1, 24, 0, size, 2835, 2835, 0, 0)
    (folder / "rgb.bmp").write_bytes(header + bytes(numbers.randrange(256) for _ in range(size)))
