"""The families of instructions, read from `opcodes.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

_FAMILIES: Final = {
    family: frozenset(names.split())
    for family, names in tomllib.loads(Path(__file__).with_name("opcodes.toml").read_text("utf-8")).items()
}

NO_RESULT: Final = _FAMILIES["no_result"]
COPIES: Final = _FAMILIES["copies"]
NUMBERS: Final = dict.fromkeys(_FAMILIES["numbers"], 1) | dict.fromkeys(_FAMILIES["wide_numbers"], 2)
"""instructions whose result is a number -> the registers that it has at least"""
READS: Final = _FAMILIES["reads"]
WRITES: Final = _FAMILIES["writes"]
UPDATES: Final = _FAMILIES["updates"]
COPIES_TO_SHARED: Final = _FAMILIES["copies_to_shared"]
BULK_COPIES: Final = _FAMILIES["bulk_copies"]
SHARED: Final = _FAMILIES["shared"]
LOCAL: Final = _FAMILIES["local"]
CONSTANT_LOADS: Final = _FAMILIES["constant_loads"]
OF_RESOURCES: Final = _FAMILIES["of_resources"]
IMAGE_READS: Final = _FAMILIES["image_reads"]
IMAGE_WRITES: Final = _FAMILIES["image_writes"]
IMAGE_UPDATES: Final = _FAMILIES["image_updates"]
KNOWN_CALLS: Final = _FAMILIES["known_calls"]
