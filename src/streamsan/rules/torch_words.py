"""How PyTorch writes what its programs may be told to do: streams wait for streams there."""

from __future__ import annotations

from streamsan.order.facts import Operation
from streamsan.rules.case import Case
from streamsan.rules.collective_names import collective_noun
from streamsan.rules.python_calls import is_in_python
from streamsan.vocabulary import MemoryKind, RelatedRole

_ALLOCATOR = "CUDACachingAllocator::"
"""begins what PyTorch's caching allocator says"""
DEFAULT = "torch.cuda.default_stream()"
SYNCHRONIZE = "torch.cuda.synchronize()"


def is_of_torch(case: Case) -> bool:
    """Tell whether the memory is a block of PyTorch's caching allocator."""
    made = case.first(RelatedRole.ALLOC)
    return made is not None and case.api(made).startswith(_ALLOCATOR)


def is_written_with_torch(case: Case) -> bool:
    """Tell whether what mends the case is to be said in PyTorch's words: a line of Python, in a program that uses it.

    The memory may be pinned, say, and not its allocator's; what another pool hands out is another library's.
    """
    if is_of_torch(case):
        return True
    if case.allocation is not None and case.allocation.kind is MemoryKind.POOL_BLOCK:
        return False
    operations = (case.operation, *(operation for _, operation in case.fact.related))
    in_python = any(is_in_python(case, operation) for operation in operations)
    return in_python and any(name.startswith(_ALLOCATOR) for name in case.names.apis)


def torch_stream(case: Case, operation: Operation | None) -> str:
    """Return what to write for the stream of an operation."""
    written = case.stream_argument(operation)
    return DEFAULT if written == case.phrase("default_stream") else written


def stream_waits(case: Case, runs: Operation | None, waits: Operation | None) -> str:
    """Return the call that lets the stream of one operation wait for that of another."""
    call = f"{torch_stream(case, waits)}.wait_stream({torch_stream(case, runs)})"
    line = case.line(runs) if runs is not None and collective_noun(case.names.site(runs.site).label) else 0
    # The stream of a process group has no name in the program.
    return f"{call}, or there wait() of the work that line {line} returns" if line else call


def host_waits(case: Case, runs: Operation | None) -> str:
    """Return the call that lets the host wait for the stream of an operation."""
    return f"{torch_stream(case, runs)}.synchronize()"
