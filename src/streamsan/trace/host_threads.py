"""Host threads by name, told apart where several have the same."""

from __future__ import annotations

from collections.abc import Sequence

from streamsan.trace.trace import Thread

DRIVERS = "host function"
"""the name of the driver's threads, which run host functions"""
UNNAMED = "thread of "
"""how the names begin of threads that the program gives none: "thread of line 16" """
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def thread_name(threads: Sequence[Thread], index: int) -> str:
    """Return what to call a thread: "host thread `worker`", "the second host thread `worker`"."""
    name = threads[index].name if index < len(threads) else ""
    if not name:
        return f"host thread {index}"
    if name == DRIVERS:
        return "a thread of the driver"
    same = [number for number, thread in enumerate(threads) if thread.name == name]
    which = "" if len(same) == 1 else f"{_ordinal(same.index(index))} "
    if name.startswith(UNNAMED):
        return f"the {which}{name}"
    return f"the {which}host thread `{name}`" if which else f"host thread `{name}`"


def _ordinal(position: int) -> str:
    return _ORDINALS[position] if position < len(_ORDINALS) else f"{position + 1}th"
