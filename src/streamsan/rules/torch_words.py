"""How PyTorch writes what its programs may be told to do: streams wait for streams there."""

from __future__ import annotations

from streamsan.order.facts import Operation
from streamsan.patterns.late_pattern import late_pattern
from streamsan.rules.case import Case
from streamsan.rules.collective_names import collective_noun
from streamsan.rules.python_calls import is_in_python
from streamsan.vocabulary import MemoryKind, RelatedRole

_ALLOCATOR = "CUDACachingAllocator::"
"""begins what PyTorch's caching allocator says"""
DEFAULT = "torch.cuda.default_stream()"
CURRENT = "torch.cuda.current_stream()"
SYNCHRONIZE = "torch.cuda.synchronize()"
_ASYNCHRONOUS = late_pattern(r"async|\bi(?:send|recv)\b")


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


def waiting_stream(case: Case, operation: Operation | None) -> str:
    """Return what to write for the stream that is to wait before an operation.

    The stream of a process group has no name in the program: a collective begins behind what is current when it is
    called.
    """
    return CURRENT if _is_collective(case, operation) else torch_stream(case, operation)


def is_awaited_by_its_work(case: Case, operation: Operation) -> bool:
    """Tell whether it is a collective whose call returns a work that is to be waited for, as far as its line says."""
    text = _text(case, operation.site)
    return bool(_is_collective(case, operation) and case.line(operation) and (not text or _ASYNCHRONOUS.search(text)))


def stream_waits(case: Case, runs: Operation | None, waits: Operation | None) -> str:
    """Return the call that lets the stream of one operation wait for that of another."""
    stream = waiting_stream(case, waits)
    if runs is not None and is_awaited_by_its_work(case, runs):
        return f"wait() of the work that line {case.line(runs)} returns, with {stream} current"
    return f"{stream}.wait_stream({torch_stream(case, runs)})"


def has_event(case: Case, site: int) -> bool:
    """Tell whether the program has the event that a site records: PyTorch's copies and waits have some of their own."""
    text = _text(case, site) if is_written_with_torch(case) else ""
    return not text or "record" in text


def host_waits(case: Case, runs: Operation | None) -> str:
    """Return the call that lets the host wait for the stream of an operation."""
    return f"{torch_stream(case, runs)}.synchronize()"


def _is_collective(case: Case, operation: Operation | None) -> bool:
    return operation is not None and bool(collective_noun(case.names.site(operation.site).label))


def _text(case: Case, number: int) -> str:
    """Return the line of the program that a site stands for, "" where it is not known."""
    site = case.names.site(number)
    return case.names.source_lines.get(site.file, {}).get(site.line, "")
