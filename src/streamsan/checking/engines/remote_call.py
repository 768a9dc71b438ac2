"""A task on a worker of another machine: it is given packed, and opened where the worker has the same streamsan."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import lru_cache
from threading import Lock

from streamsan.vocabulary.version import VERSION

_ONE_AT_A_TIME = Lock()
"""A worker may have several threads: a check has a folder that it works in, and limits, which are its process'"""


class OtherVersionError(Exception):
    """A worker has another version of streamsan."""


def packed(task: Callable[[str], object]) -> bytes:
    """Return a task as it is sent to workers."""
    return pickle.dumps(task)


def call(version: str, task: bytes, path: str) -> object:
    """Do a packed task with a path. Raises OtherVersionError where `version` is not that of this process."""
    if version != VERSION:
        raise OtherVersionError(f"the workers have streamsan {VERSION}, and this is {version}")
    with _ONE_AT_A_TIME:
        return _opened(task)(path)


@lru_cache(maxsize=4)
def _opened(task: bytes) -> Callable[[str], object]:
    opened: Callable[[str], object] = pickle.loads(task)
    return opened


def cannot_check(error: BaseException) -> str:
    """Return in one line why no worker can do a task, of what came of one of them."""
    reason: BaseException | None = error
    while reason is not None:
        if isinstance(reason, OtherVersionError):
            return str(reason)
        if isinstance(reason, ModuleNotFoundError):
            name = (reason.name or "").partition(".")[0]
            return f"the cluster has no `{name}`: install the same version of it wherever the cluster runs"
        reason = reason.__cause__ or reason.__context__
    return f"a worker failed: {type(error).__name__}: {' '.join(str(error).split())[:120]}"
