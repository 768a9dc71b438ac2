"""`cuda.cudart`, the name of `cuda.bindings.runtime` until version 12."""

import importlib
import sys

sys.modules[__name__] = importlib.import_module("cuda.bindings.runtime")
