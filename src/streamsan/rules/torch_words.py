"""How PyTorch writes what its programs may be told to do: streams wait for streams there."""

from __future__ import annotations

from streamsan.order.facts import Operation
from streamsan.rules.case import Case
from streamsan.rules.collective_names import collective_noun
from streamsan.vocabulary import RelatedRole

DEFAULT = "torch.cuda.default_stream()"
SYNCHRONIZE = "torch.cuda.synchronize()"


def is_of_torch(case: Case) -> bool:
    """Tell whether the memory is a block of PyTorch's caching allocator."""
    made = case.first(RelatedRole.ALLOC)
    return made is not None and case.api(made).startswith("CUDACachingAllocator::")


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
