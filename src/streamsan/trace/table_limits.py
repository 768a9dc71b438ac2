"""Limits of a file's side tables, for who reads or writes one of them alone: without NumPy."""

from __future__ import annotations

MOST_MODULES = 1 << 16
MOST_MODULE_BYTES = 4096
"""In a module's path, and in its build id."""
MOST_LAUNCH_SHAPES = 1 << 17
NOT_TOLD = 0xFFFF
"""`reference` of two `file_layout.PLACE`s in a row: `offset` is where bytes begin, and end, that are not told"""
