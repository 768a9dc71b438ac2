import numpy as np
from numpy.typing import NDArray

_Operation = tuple[int, int, int, int, int, int, int, int, int, int, int, bool, int]
_Allocation = tuple[int, int, int, int, bool, int]
_Related = tuple[int, _Operation]
_Rows = tuple[int, int, int, int, int]
_Touch = tuple[int, int, _Rows, tuple[int, int], bool, bool, _Operation | None]
_Fact = tuple[
    int,
    int,
    _Operation,
    list[_Related],
    _Allocation | None,
    int,
    bool,
    bool,
    bool,
    bool,
    bool,
    int,
    int,
    _Touch | None,
    _Touch | None,
]

EDGE_KINDS: tuple[str, ...]
"""the sorts of edges; bit i of `without` leaves out the i-th, to test the tests"""

class ReferencePatches:
    """What machine code says of launches' references; see native/order/reference_patches.hpp."""

    def __init__(
        self,
        verdicts: NDArray[np.uint8],
        bits: NDArray[np.uint8],
        begins: NDArray[np.uint64],
        sizes: NDArray[np.uint64],
        firsts: NDArray[np.uint64],
        counts: NDArray[np.uint64],
        rooms: NDArray[np.uint8],
        talks: NDArray[np.uint8],
        own_bits: int,
        further_bits: int,
    ) -> None: ...
    def patch(
        self,
        words: NDArray[np.uint64],
        launches: NDArray[np.int64],
        patched: NDArray[np.uint8],
        talkers: NDArray[np.uint8],
    ) -> bool: ...

class Engine:
    def __init__(
        self,
        thread_process: list[int],
        requirements: bool = False,
        asking: list[int] = ...,
        setting: list[int] = ...,
        recording: bool = False,
        begins_at: int = 0,
        without: int = 0,
    ) -> None: ...
    def feed(self, slots: bytes | NDArray[np.uint8]) -> None: ...
    def judge_from(self, sequence: int) -> None: ...
    def watch(self, sequences: list[int], early: list[int] = ...) -> None: ...
    def before(self, sequence: int) -> tuple[bool, list[int], list[int]]: ...
    def has_met(self, sequence: int) -> bool: ...
    def is_before(self, earlier: int, asked: int) -> bool: ...
    def retime(
        self,
        predicts: bool,
        sequences: NDArray[np.uint64],
        threads: NDArray[np.uint16],
        times: NDArray[np.int64],
        own: NDArray[np.int64],
        unbound: NDArray[np.uint8],
        fills: NDArray[np.uint16],
        engines: NDArray[np.uint8],
        predicted: NDArray[np.int64],
        inserted_wait: int,
    ) -> None: ...
    def finish(self) -> None: ...
    def facts(self) -> list[_Fact]: ...
    def needed_waits(self) -> list[tuple[int, int]]: ...
    def inside(self) -> list[_Operation]: ...
    def explanations(self) -> list[tuple[int, int, int, bytes]]: ...
    def unmet(self) -> list[tuple[int, int, int]]: ...
    @property
    def operations(self) -> int: ...
    @property
    def problems(self) -> int: ...
    @property
    def blocks(self) -> bool: ...
    @property
    def launched(self) -> bool: ...
    @property
    def used_host_memory(self) -> bool: ...
    @property
    def allocations(self) -> int: ...
    @property
    def timelines(self) -> int: ...
