"""A regular expression that is compiled when it is first used.

A check of a small source loads two hundred of them and uses some dozens.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _LatePattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        # Called for what is not there yet: from then on a method is the pattern's own, as quick as ever.
        found = getattr(re.compile(*self._given), name)
        setattr(self, name, found)
        return found


def late_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return what behaves as the compiled pattern where its methods are called. Functions of `re` do not take it.

    Raises re.error at the first use of a pattern that is none.
    """
    return cast(re.Pattern[str], _LatePattern(pattern, flags))
