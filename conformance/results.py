"""Files of results: what was observed, on what, when."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.registry import Observations

VERSION = 1
_TEXTS = ("platform", "device", "driver", "date")


class ResultsError(Exception):
    """A file holds no results. `str()` is one line with its name and the reason."""


@dataclass(slots=True)
class Results:
    """One run."""

    platform: str
    device: str
    driver: str
    date: str
    cuda: int = 0
    """version that the driver supports, as cudaDriverGetVersion gives it"""
    devices: int = 1
    cases: dict[str, Observations] = field(default_factory=dict)

    def write(self, path: str) -> None:
        """Write a file: the old one, or the whole new one, is there at any time. Raises OSError."""
        content = {
            "version": VERSION,
            "platform": self.platform,
            "device": self.device,
            "driver": self.driver,
            "cuda": self.cuda,
            "devices": self.devices,
            "date": self.date,
            "cases": dict(sorted(self.cases.items())),
        }
        partial = f"{path}.partial"
        with open(partial, "w", encoding="utf-8") as output:
            json.dump(content, output, indent=1, sort_keys=False)
            output.write("\n")
        os.replace(partial, path)


def read(path: str) -> Results:
    """Read a file. Raises ResultsError."""
    try:
        with open(path, encoding="utf-8") as source:
            content = json.load(source)
    except OSError as error:
        raise ResultsError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise ResultsError(f"{path}: no results of a conformance run: {error}") from error
    if not isinstance(content, Mapping) or not isinstance(content.get("cases"), Mapping):
        raise ResultsError(f"{path}: no results of a conformance run: it has no cases")
    if content.get("version") != VERSION:
        raise ResultsError(f"{path}: version {content.get('version')!r}; this reads version {VERSION}")
    cases: dict[str, Observations] = {}
    for name, observed in content["cases"].items():
        if not isinstance(observed, Mapping) or not all(_is_observation(value) for value in observed.values()):
            raise ResultsError(f"{path}: case '{name}' holds no observations")
        cases[name] = dict(observed)
    if not all(isinstance(content.get(key), str) for key in _TEXTS):
        raise ResultsError(f"{path}: it does not say what it was made on")
    cuda, devices = content.get("cuda", 0), content.get("devices", 1)
    if not isinstance(cuda, int) or not isinstance(devices, int):
        raise ResultsError(f"{path}: it does not say what it was made on")
    platform, device, driver, date = (content[key] for key in _TEXTS)
    return Results(platform, device, driver, date, cuda, devices, cases)


def _is_observation(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(each, int | str) for each in value)
    return isinstance(value, bool | int | str)
