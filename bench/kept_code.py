"""Which launches of a recorded program have their machine code?

    streamsan run --no-check -o run.sst -- python train.py
    python bench/kept_code.py run.sst

Prints for each kernel how many launches and nodes of graphs name one image of machine code, several, or none, and how
many launch shapes it has; then the variables of the device that are known, and the size of the folder.
"""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from pathlib import Path

from streamsan.launched_code.image_folder import why_left_out
from streamsan.trace import Trace, family
from streamsan.trace.launch_shapes import CODE
from streamsan.trace.view import iterate
from streamsan.vocabulary import MemoryKind, NodeKind, OperationKind

ONE, SEVERAL, NONE, NO_SHAPE = range(4)


def code_of(trace: Trace, number: int) -> int:
    """Return what is known of the code of a launch with this shape."""
    if number == 0 or number >= len(trace.launch_shapes):
        return NO_SHAPE
    names = trace.launch_shapes[number].code
    return ONE if len(names) == 1 else SEVERAL if names else NONE


def main() -> None:
    """Print what a trace has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    path = parser.parse_args().trace
    trace = family.read(path)
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    shapes: dict[str, set[int]] = defaultdict(set)
    variables: list[tuple[str, int, int]] = []
    launches = 0
    for view in iterate(trace):
        node = view.kind is OperationKind.GRAPH_NODE and view.detail == NodeKind.KERNEL
        if view.kind is OperationKind.LAUNCH or node:
            launches += 1
            name = trace.site(view.site).label or "?"
            counts[name][code_of(trace, view.shape)] += 1
            shapes[name].add(view.shape)
        elif view.kind is OperationKind.ALLOC and view.detail == MemoryKind.DEVICE_SYMBOL:
            variables.append((trace.site(view.site).label, view.size, launches))
    print("launches with one image | several | none | no shape | shapes | kernel")
    for name, (one, several, none, no_shape) in sorted(counts.items(), key=lambda entry: -sum(entry[1])):
        print(f"{one:7} | {several:7} | {none:7} | {no_shape:7} | {len(shapes[name]):7} | {name[:80]}")
    for name, size, before in variables:
        print(f"variable {name or '?'}: {size} bytes, known before launch {before + 1}")
    folder = Path(os.path.dirname(path), str(trace.metadata.get(CODE, "")))
    images = list(folder.glob("*.cubin")) if trace.metadata.get(CODE) else []
    print(f"{len(images)} images, {sum(image.stat().st_size for image in images) / 1e6:.1f} MB;", end=" ")
    print(f"left out: {why_left_out(trace.metadata) or 'nothing'}; {len(trace.launch_shapes) - 1} launch shapes")


if __name__ == "__main__":
    main()
