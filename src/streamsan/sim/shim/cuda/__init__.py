"""Stands before an installed `cuda` package: `cuda.bindings` is the simulated one, other parts are as installed."""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
__path__ = [_here] + [
    folder
    for folder in (os.path.join(entry, "cuda") for entry in sys.path if isinstance(entry, str))
    if os.path.isdir(folder) and os.path.abspath(folder) != _here
]
