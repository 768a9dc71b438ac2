"""What recording costs where PyTorch makes and drops tensors, each of which is a block of its pool.

`python bench/tensors.py` runs 100,000 of them in each turn, plain beside recorded, in processes that take turns: the
blocks are told by PyTorch itself, so nothing can be switched off within one process. Needs a GPU and PyTorch.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from recording import HERE, Served, Way, neighbours, recorded

STEPS = 100
"""of 1,000 tensors"""
OPTIONS: dict[str, tuple[str, ...]] = {"streamsan run": (), "streamsan run --no-sites": ("--no-sites",)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each way to record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=10, help="of 100,000 tensors each")
    given = parser.parse_args(arguments)
    command = [sys.executable, str(HERE / "tensors.py"), "serve"]
    with tempfile.TemporaryDirectory(prefix="streamsan-tensors-") as name:
        ways = [Way("plain")]
        for title, options in OPTIONS.items():
            folder = Path(name) / title.replace(" ", "")
            folder.mkdir()
            ways.append(Way(title, recorded(folder, *options)))
        plain, *others = (Served(command, way) for way in ways)
        for process in (plain, *others):
            process.wait()
        for other in others:
            taken, ratio = neighbours(
                lambda: plain.milliseconds(STEPS), lambda other=other: other.milliseconds(STEPS), given.turns
            )
            print(f"  plain {statistics.median(taken):8.4f} us a tensor   {other.name:<28} {ratio:7.3f}x", flush=True)
        for process in (plain, *others):
            process.end()


if __name__ == "__main__":
    main()
