"""Imported once by the process from which all others fork: what every simulated case needs."""

import sys

import streamsan.sim.installation
import streamsan.sim.session
import streamsan.testing.device_under_test
from conformance import worker
from conformance.registry import all_cases
from streamsan.python_program.call_text import PythonSources

all_cases()
for _name, _module in list(sys.modules.items()):
    if _name.startswith("conformance") and _module.__file__:
        PythonSources().call(_module.__file__, 1, 0, 1, 1)
__all__ = ["streamsan", "worker"]
