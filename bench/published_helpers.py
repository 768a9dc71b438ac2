"""The private packages of cuda.bindings that NVIDIA's tests and examples import, taken from the checkout itself."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ROOT / "tests" / "sim" / "published" / "kernels.py"
PRIVATE = ("_test_helpers", "_example_helpers")
"""packages that releases do not have"""
TEXT = """
import importlib.util, os, runpy, sys

class Private:
    @staticmethod
    def find_spec(name, path=None, target=None):
        package, _, last = name.rpartition(".")
        folder = os.path.join({bindings!r}, last)
        if package == "cuda.bindings" and last in {private!r} and os.path.isdir(folder):
            file = os.path.join(folder, "__init__.py")
            return importlib.util.spec_from_file_location(name, file, submodule_search_locations=[folder])

sys.meta_path.insert(0, Private)
SIMULATED_KERNELS = runpy.run_path({kernels!r})["SIMULATED_KERNELS"]
"""


def kernels_file(checkout: Path, folder: Path) -> Path:
    """Write the file of kernel bodies for a checkout into a folder. It is run first in each simulated process."""
    bindings = checkout / "cuda_bindings" / "cuda" / "bindings"
    made = folder / "kernels.py"
    made.write_text(TEXT.format(bindings=str(bindings), private=PRIVATE, kernels=str(KERNELS)), encoding="utf-8")
    return made
