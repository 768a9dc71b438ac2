"""`cuda.nvrtc`, the name of `cuda.bindings.nvrtc` until version 12."""

import importlib
import sys

sys.modules[__name__] = importlib.import_module("cuda.bindings.nvrtc")
