"""`cuda.cuda`, the name of `cuda.bindings.driver` until version 12."""

import importlib
import sys

sys.modules[__name__] = importlib.import_module("cuda.bindings.driver")
