"""Run a PyTorch program with each capture told to check at a replay that the graph's inputs are alive.

`python bench/checked_graphs.py PROGRAM` ends with a line that counts what PyTorch said. A version that cannot check
says so and ends with status 77. PyTorch's answer is an exception: the program ends at its first one.
"""

from __future__ import annotations

import inspect
import runpy
import sys

import torch

NOT_IN_THIS_VERSION = 77
OPTION = "check_input_liveness"


class CheckedGraph(torch.cuda.graph):
    """A capture that keeps what a replay needs to tell whether inputs are alive."""

    def __init__(self, *words, **options) -> None:
        super().__init__(*words, **{OPTION: True, **options})


def main() -> int:
    """Run the program that the command line names."""
    if OPTION not in inspect.signature(torch.cuda.graph.__init__).parameters:
        print(f"PyTorch {torch.__version__} has no {OPTION}")
        return NOT_IN_THIS_VERSION
    torch.cuda.graph = CheckedGraph
    sys.argv = sys.argv[1:]
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except RuntimeError as error:
        print(error, file=sys.stderr)
        print("LIVENESS SUMMARY: 1 error")
        return 1
    print("LIVENESS SUMMARY: 0 errors")
    return 0


if __name__ == "__main__":
    sys.exit(main())
