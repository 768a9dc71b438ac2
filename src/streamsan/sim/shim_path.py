"""Where the import shim lies."""

from __future__ import annotations

import os

SHIM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shim")
"""The folder that, before all others in `sys.path`, makes `cuda.bindings` the simulated one."""
