"""From CUDA C++ source to traces: `syntax` reads text into a tree, `interpreter` walks it and drives the model."""

from streamsan.cuda_source.interpreter.explore import read
from streamsan.cuda_source.interpreter.limits import Limits
from streamsan.cuda_source.world import Reading, World

__all__ = ["Limits", "Reading", "World", "read"]
