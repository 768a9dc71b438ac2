"""The cases, a file for each family."""

from __future__ import annotations

import importlib
import pkgutil


def load() -> None:
    """Import every file of cases; each registers its own."""
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        importlib.import_module(f"{__name__}.{module.name}")
