"""Shorthand for tests of what calls the API: every call that a program made, as the device model got it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from reading import reading_of

from streamsan.model.device_model import DeviceModel
from streamsan.model.values import Outcome


@dataclass(frozen=True)
class Made:
    """One call."""

    api: str
    arguments: Sequence[Any]
    structures: Mapping[str, Mapping[str, Any]]
    kernel_arguments: Sequence[Any] | None
    outcome: Outcome


def calls_of(text: str, folder: Path, patch: pytest.MonkeyPatch) -> list[Made]:
    """Return the calls of a program's first path, in order."""
    made: list[Made] = []
    original = DeviceModel.call

    def call(self: DeviceModel, thread: Any, api: str, arguments: Any, site: int, **more: Any) -> Outcome:
        outcome = original(self, thread, api, arguments, site, **more)
        made.append(Made(api, arguments, more.get("structures") or {}, more.get("kernel_arguments"), outcome))
        return outcome

    patch.setattr(DeviceModel, "call", call)
    assert len(reading_of(text, folder).worlds) == 1
    return made


def one(made: list[Made], api: str) -> Made:
    """Return the one call of an API."""
    found = [call for call in made if call.api == api]
    assert len(found) == 1, [call.api for call in made]
    return found[0]
