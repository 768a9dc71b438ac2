"""The words for what a kernel does with memory. They need no grammar: programs for the device carry them along."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from streamsan.vocabulary import AccessMode


class Use(NamedTuple):
    """How a kernel uses the memory behind a pointer parameter."""

    mode: AccessMode
    """READ where the pointee is const and the body does not cast that away, or the visible body only reads; WRITE where
    it only writes; READ_WRITE also where every access is atomic; OPAQUE where the pointer escapes, is used by atomics
    among other accesses, or there is no body to read"""
    flags: int = 0
    """SlotFlag.ATOMIC: every access is an atomic operation, and there is one. SlotFlag.TOUCHES: every launch surely
    accesses the first element, and writes it if the kernel ever writes; so two launches that are given the same
    address, one of which writes, surely meet in it"""


class Start(Enum):
    """What a kernel does if it may begin before the one before it has ended (programmatic dependent launch)."""

    WAITS = "waits"
    """it waits before it does anything, or nobody knows: there is no body, or not all that it calls is known"""
    PARTLY = "partly"
    """it uses the memory of some parameters first, or lets the next kernel begin"""
    AT_ONCE = "at once"
    """it never waits"""
