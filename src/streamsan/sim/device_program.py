"""What a program for the device offers: its kernels with their parameters, and its variables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from msgspec import Struct

from streamsan.kernels.uses import Start
from streamsan.vocabulary import AccessMode


class KernelParameter(Struct, frozen=True):
    """A parameter of a kernel, at its place in the buffer of parameters."""

    name: str
    offset: int
    size: int
    """bytes"""
    pointer: bool = False
    """True: an address; False: a value, which may still hold addresses (a structure, a 64-bit integer)"""
    dtype: np.dtype[Any] | None = None
    """of the value, or of what is pointed to; None: not known"""
    count: int = 1
    """elements of `dtype` in the value, or in what the pointer points to (4 for `float4`)"""
    const: bool = False
    """a pointer to const"""
    mode: AccessMode = AccessMode.OPAQUE
    flags: int = 0
    """SlotFlag bits of its reference: TOUCHES, ATOMIC"""
    early: tuple[AccessMode, int] | None = None
    """mode and flags of what the kernel does there before it may wait for the kernel before it; None: nothing surely"""
    fields: tuple[KernelParameter, ...] = ()
    """the pointers that a structure holds, at their offsets in it"""
    used: bool = True
    """False: a pointer in a structure that the kernel surely never uses"""
    polled: bool = False
    """it polls a word there, until other work has written it"""


class KernelType(Struct, frozen=True):
    """A kernel of a program."""

    name: str
    """as the source writes it, with namespaces and template arguments"""
    lowered: str
    """as the linker knows it"""
    parameters: tuple[KernelParameter, ...] | None = None
    """None: not known"""
    aliases: frozenset[str] = frozenset()
    """name expressions that mean it"""
    start: Start = Start.WAITS
    unread: str = ""
    """what there is of it where its body cannot be read: "PTX", "machine code" """

    @property
    def plain(self) -> str:
        """The name without namespaces and template arguments."""
        return self.name.partition("<")[0].rpartition("::")[2]

    @property
    def size(self) -> int:
        """Bytes of its buffer of parameters."""
        return max((one.offset + one.size for one in self.parameters or ()), default=0)


class DeviceVariable(Struct, frozen=True):
    """A `__device__`, `__constant__` or `__managed__` variable."""

    name: str
    lowered: str
    size: int
    """bytes; 0: not known"""
    managed: bool = False
    initial: bytes = b""
    """what it holds at first, zeros beyond"""


class Program(Struct, frozen=True):
    """What a module is made of."""

    kernels: tuple[KernelType, ...] = ()
    variables: tuple[DeviceVariable, ...] = ()
    any_kernel: bool = False
    """machine code whose kernels nobody can list: any name is one"""

    def merged(self, others: Iterable[Program]) -> Program:
        """Return one program of several (a linker's result)."""
        parts = [self, *others]
        return Program(
            tuple(kernel for part in parts for kernel in part.kernels),
            tuple(variable for part in parts for variable in part.variables),
            any(part.any_kernel for part in parts),
        )
