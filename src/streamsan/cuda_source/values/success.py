"""What means success: the results of calls that nobody can see take the branch on which they succeeded.

The error branches of a library's calls are as unlikely as those of CUDA's own, which are not explored either. In every
C API whose results are enumerated, the one that means success is 0.
"""

from __future__ import annotations

from functools import lru_cache

from streamsan.patterns.late_pattern import late_pattern


class Success(int):
    """The value of a name that means success."""


_SUCCESS = late_pattern(
    r"(?:(?<![a-zA-Z])|(?<=[a-z])|_)k?(?:SUCCESS|OK|NO_?ERROR|SUCCEEDED|Success|Ok|NoError|Succeeded)$"
)
_NOT_SUCCESS = late_pattern(r"(?i)(?:not?_?|un)(?:success|ok|succeeded)$")
_STATUS_TYPE = late_pattern(
    r"^(?:\w*(?:[sS]tatus|STATUS|[eE]rror|[rR]esult|[eE]rr)_t|(?:cu|nv|npp|Npp|NV|CU|Vk|hip|roc)\w*(?:Status|STATUS|Result|[rR]esult|Error)"
    r"|HRESULT|NTSTATUS)$"
)
_SUCCEEDED = late_pattern(r"^(?:[iI]s_?)?(?:ok|OK|Ok|[sS]uccess(?:ful)?|[sS]ucceeded)$")


@lru_cache(maxsize=4096)
def means_success(name: str) -> bool:
    """Tell whether an identifier or enumerator names the status of a call that succeeded."""
    return _SUCCESS.search(name) is not None and _NOT_SUCCESS.search(name) is None


def is_status_type(name: str) -> bool:
    """Tell whether a type's name says that its values are statuses, 0 being success."""
    return _STATUS_TYPE.match(name.rpartition("::")[2]) is not None


def asks_for_success(name: str) -> bool:
    """Tell whether a function's name asks an object whether it succeeded (`status.ok()`)."""
    return _SUCCEEDED.match(name) is not None
