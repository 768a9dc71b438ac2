"""What a user sets in the editor, under `streamsan`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

LONGEST_CHECK = 120.0
"""seconds of one check, where the user says nothing"""
Refusal = Callable[[list[str]], str]
"""says why words are no arguments of a check in an editor, "" where they are"""


class SettingError(Exception):
    """A setting says what it may not. `str()` is the reason in one line."""


class EditorSettings(Struct, frozen=True):
    """The settings."""

    arguments: tuple[str, ...] = ()
    """options of `streamsan check`, as on the command line"""
    timeout: float = LONGEST_CHECK
    """seconds after which a check is ended"""
    while_typing: bool = True
    """whether a buffer is checked that is not saved"""

    @classmethod
    def of(cls, value: Any, refusal: Refusal) -> EditorSettings:
        """Make them of what the client sends; what it does not name has its default. Raises SettingError."""
        if value is None:
            return cls()
        if not isinstance(value, Mapping):
            raise SettingError("streamsan: the settings are no object")
        words = value.get("arguments") or []
        if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
            raise SettingError("streamsan.arguments: no list of strings")
        if reason := refusal(list(words)):
            raise SettingError(f"streamsan.arguments: {reason}")
        timeout = value.get("timeout", LONGEST_CHECK)
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= 86400:
            raise SettingError("streamsan.timeout: no number of seconds above 0")
        typing = value.get("whileTyping", True)
        if not isinstance(typing, bool):
            raise SettingError("streamsan.whileTyping: neither true nor false")
        return cls(tuple(words), float(timeout), typing)
