"""What a report says of memory that was overwritten when it was given back (`streamsan run --poison`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamsan.trace.poison_counts import LEFT, poison_counts

_NOT_KNOWN = "memory that was given back was overwritten (--poison); the process did not live to say how much"


def poison_remark(metadata: Mapping[str, Any]) -> str:
    """Return the line on how many pieces of memory were overwritten, and why others were not; "" for other runs."""
    counts = poison_counts(metadata)
    if counts is None:
        return ""
    if not counts:
        return _NOT_KNOWN
    freed, blocks = counts.get("freed", 0), counts.get("blocks", 0)
    done = f"--poison overwrote {_counted(freed, 'allocation')} when freed and {_counted(blocks, 'block')} of pools"
    left = sorted(((counts.get(name, 0), why) for name, why in LEFT.items()), key=lambda each: -each[0])
    reasons = [f"{count}: {why}" for count, why in left if count]
    total = sum(count for count, _ in left)
    return f"{done}; {total} were left as they were ({'; '.join(reasons)})" if reasons else done


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
