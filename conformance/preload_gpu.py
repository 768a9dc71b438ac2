"""Imported once by the process from which all others fork: the bindings, which initialise nothing by themselves."""

import importlib

from conformance.registry import all_cases

for _name in ("driver", "nvrtc", "runtime"):
    importlib.import_module(f"cuda.bindings.{_name}")
all_cases()
