"""The fake device calls back with the names and numbers that the real one has."""

from __future__ import annotations

import json
import re

from fake_device import FAKE
from streamsan.platforms import CUDA

CALL = re.compile(r"\b(?:\w+_call|forward|add_node)\((?:\s*kernel->mangled,)?\s*(\d+), \"(\w+)\"")
TABLE = CUDA.folder / "callbacks.json"


def test_callback_ids_are_those_of_the_api() -> None:
    table = json.loads(TABLE.read_text())
    calls = {match.groups() for file in FAKE.glob("*.cpp") for match in CALL.finditer(file.read_text())}
    assert len(calls) > 90
    for number, name in calls:
        domain = "runtime" if name.startswith("cuda") else "driver"
        spellings = [
            spelling for spelling in table[domain] if spelling == name or re.fullmatch(rf"{name}_v\d{{4,5}}", spelling)
        ]
        assert any(table[domain][spelling][0] == int(number) for spelling in spellings), (domain, name, spellings)
