"""What the functions of a library for many devices are called, by the label that their uses of memory have."""

from __future__ import annotations

_NOUNS = {
    "ncclAllGather": "the all-gather",
    "ncclAllReduce": "the all-reduce",
    "ncclBroadcast": "the broadcast",
    "ncclGroupEnd": "the group of collectives",
    "ncclRecv": "the receive",
    "ncclReduce": "the reduction",
    "ncclReduceScatter": "the reduce-scatter",
    "ncclSend": "the send",
}


def collective_noun(label: str) -> str:
    """Return "the all-reduce" for the label of such a use; "" for any other label."""
    return _NOUNS.get(label, "")


def collective_name(label: str) -> str:
    """Return "the all-reduce (`ncclAllReduce`)"; "" for any other label."""
    noun = collective_noun(label)
    return f"{noun} (`{label}`)" if noun else ""
