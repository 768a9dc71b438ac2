"""SS305, SS401: memory that nobody frees."""

from __future__ import annotations

from streamsan.findings.finding import Contract, Location, Observed, Related, Severity
from streamsan.order.facts import Fact
from streamsan.order.framework_memory import keeper_of
from streamsan.rules.case import Case
from streamsan.rules.pool_calls import is_own_pools
from streamsan.rules.rule import Rule, Wording
from streamsan.vocabulary import FactVariant, FreeClass, MemoryKind, OperationKind, RelatedRole, RuleCode

LOOP_CONTRACT = Contract(
    "memory stays allocated until it is freed; a captured graph cannot be launched again with its allocations alive",
    "CUDA Programming Guide, Graph Memory Nodes",
)
LEAK_CONTRACT = Contract("memory stays allocated until it is freed", "CUDA Runtime API, Memory Management")


class UnbalancedAllocation(Rule):
    """SS305. Reported where the memory is allocated: that is the call without a partner."""

    code = RuleCode.UNBALANCED_ALLOCATION
    definition = "A loop drops the last pointer to memory in each iteration, or a graph allocates what nothing frees."
    severity = Severity.WARNING
    without_fix = "where the memory is needed for the last time is the program's decision"
    without_witness = "no order matters: the memory grows in every execution"
    outranks = (RuleCode.LEAK, RuleCode.GRAPH_MEMORY_LEAK)

    def decided_by_caller(self, fact: Fact) -> bool:
        """Only the allocation itself matters: which stream it is ordered in changes nothing about its pointer."""
        return fact.may_be_equal or (fact.allocation is not None and fact.allocation.assumed)

    def weak(self, fact: Fact) -> bool:
        """Code that cannot be seen may have kept the pointer."""
        return super().weak(fact) or fact.assumed

    def location(self, case: Case) -> Location:
        return case.allocation_location() or case.location(case.operation)

    def wording(self, case: Case) -> Wording:
        if case.fact.variant is FactVariant.NO_FREE:
            return self._of_graph(case)
        lost = case.first(RelatedRole.OTHER) or case.operation
        memory = case.memory()
        stream_ordered = case.allocation is not None and case.allocation.kind is MemoryKind.STREAM_ORDERED
        is_object = case.allocation is not None and case.allocation.kind is MemoryKind.CL_BUFFER
        message = f"each iteration allocates {memory} and drops the pointer to it without a free"
        if is_object:
            message = f"each iteration makes {memory} and drops the handle of it without a release"
        return Wording(
            message=message,
            related=(
                *case.allocated(),
                *(case.used(operation) for operation in case.all_of(RelatedRole.USE)),
                case.related(RelatedRole.OTHER, lost, f"the last {_way_to(case)} to it is lost here"),
            ),
            contract=case.contract("lost") or (LOOP_CONTRACT if stream_ordered else LEAK_CONTRACT),
            observed=Observed(
                "a graph captured from such a loop launches once; the second launch fails: cudaErrorInvalidValue",
                "G-01",
            )
            if stream_ordered
            else None,
            witness=(
                f"an iteration {'makes' if is_object else 'allocates'} {memory}",
                f"the next one overwrites the {_way_to(case)}",
                "the memory is never freed",
            ),
            fix=_free(case, "at the end of each iteration"),
        )

    @staticmethod
    def _of_graph(case: Case) -> Wording:
        memory = case.memory() if case.memory_name() else "memory"
        related: list[Related] = [*case.allocated()]
        for operation in case.all_of(RelatedRole.CREATE, RelatedRole.USE, RelatedRole.OTHER):
            launched = operation.kind is OperationKind.GRAPH_LAUNCH
            text = "(launched here)" if launched else f"({case.call(operation)})"
            related.append(case.related(RelatedRole.OTHER, operation, text))
        name = case.bare_memory()
        return Wording(
            message=f"the graph allocates {memory}, and nothing frees it, in the graph or after it",
            related=tuple(related),
            contract=LOOP_CONTRACT,
            observed=Observed("the second launch of such a graph fails: cudaErrorInvalidValue", "G-01"),
            witness=(
                f"a launch allocates {memory}",
                "nothing frees it",
                "a second launch fails, and the memory outlives the graph (G-03)",
            ),
            fix=f"end the captured work with cudaFreeAsync({name}, stream); or after each launch, in its stream",
        )


_OBJECTS = (
    ("Queue", "queue", "clReleaseCommandQueue"),
    ("Context", "context", "clReleaseContext"),
    ("CommandBuffer", "command buffer", "clReleaseCommandBufferKHR"),
    ("Semaphore", "semaphore", "clReleaseSemaphoreKHR"),
    ("SubBuffer", "sub-buffer", "clReleaseMemObject"),
    ("Image", "image", "clReleaseMemObject"),
    ("Kernel", "kernel", "clReleaseKernel"),
    ("Program", "program", "clReleaseProgram"),
    ("Sampler", "sampler", "clReleaseSampler"),
)
"""what the call that made an object has in its name; what it is called; what releases it"""
_EVENT = ("event", "clReleaseEvent")
"""of all calls that enqueue"""


class Leak(Rule):
    """SS401. Reported where the memory is allocated."""

    code = RuleCode.LEAK
    definition = "Memory is still allocated at a reset, at the destruction of its context or at exit."
    severity = Severity.NOTE
    without_fix = "where the memory is needed for the last time is the program's decision"
    without_witness = "nothing goes wrong by itself: the memory is never given back, in any execution"
    explains_failure = False

    def holds(self, case: Case) -> bool:
        """Nobody frees a managed variable: it lives as long as its module. What a framework's pool keeps is its own."""
        made = case.allocation
        if made is not None and made.kind is MemoryKind.POOL_BLOCK:
            return is_own_pools(case.api(case.operation))
        return not case.is_managed_variable()

    def location(self, case: Case) -> Location:
        return case.allocation_location() or case.location(case.operation)

    def wording(self, case: Case) -> Wording:
        end = case.first(RelatedRole.OTHER, RelatedRole.RESET) or case.operation
        variant = case.fact.variant
        if variant is FactVariant.UNRELEASED:
            return _unreleased(case)
        if case.allocation is not None and case.allocation.kind is MemoryKind.POOL_BLOCK:
            return _kept_block(case)
        if keeper := keeper_of(case.names, case.fact):
            return _kept_by_framework(case, keeper)
        related: list[Related] = [*case.allocated()]
        if variant is FactVariant.LOST_SCOPE:
            related.append(case.related(RelatedRole.OTHER, end, f"the last {_way_to(case)} to it is lost here"))
            when = f"is never freed: the last {_way_to(case)} to it goes out of scope"
        elif variant is FactVariant.LEAK_AT_RESET:
            destroys = end.kind is OperationKind.CONTEXT_DESTROY
            when = f"is still allocated when {'its context is destroyed' if destroys else 'the device is reset'}"
            related.append(case.related(RelatedRole.RESET, end, "still allocated here"))
        else:
            when = "is never freed"
        memory = case.memory()
        stream_ordered = case.allocation is not None and case.allocation.kind is MemoryKind.STREAM_ORDERED
        survives = stream_ordered and variant is FactVariant.LEAK_AT_RESET
        return Wording(
            message=f"{memory} {when}",
            related=tuple(related),
            contract=case.contract("pool" if survives else "leak"),
            observed=case.observed("pool") if survives else None,
            fix=_free(case, "after the last use"),
        )


def _unreleased(case: Case) -> Wording:
    """Return what is said of an object that is no memory."""
    made = case.operation
    noun, call = _EVENT
    if made.kind is not OperationKind.EVENT_CREATE or "Semaphore" in case.api(made):
        noun, call = next((names for part, *names in _OBJECTS if part in case.api(made)), ("object", "its release"))
    many = case.fact.count
    message = f"{many:,} {noun}s that are made here are never released" if many > 1 else f"the {noun} is never released"
    return Wording(
        message=message,
        related=(case.related(RelatedRole.CREATE, made, "made here"),),
        contract=case.contract("leak"),
        fix=f"after its last use: {call}",
    )


def _kept_block(case: Case) -> Wording:
    """Return what is said of blocks that their pool has not got again."""
    many, memory = case.fact.count, case.memory()
    message = f"{memory} is never given back to its pool"
    if many > 1:
        message = f"{many:,} blocks that are handed out here are never given back to their pool"
    return Wording(
        message=message,
        related=tuple(case.allocated()),
        contract=case.contract("leak"),
        fix="after its last use: give the block back",
    )


def _kept_by_framework(case: Case, keeper: str) -> Wording:
    """Return what is said of memory that a framework keeps for itself."""
    others = case.fact.count - 1
    and_others = f" and {others:,} other allocation{'s' * (others > 1)}" if others else ""
    return Wording(
        message=f"{keeper} keeps {case.memory()}{and_others} until the process ends: its own caches and workspaces",
        related=tuple(case.allocated()),
        contract=case.contract("leak"),
    )


def _way_to(case: Case) -> str:
    """Return what a program reaches the memory by."""
    return "handle" if case.allocation is not None and case.allocation.kind is MemoryKind.CL_BUFFER else "pointer"


def _free(case: Case, where: str) -> str:
    name = case.bare_memory()
    kind = case.allocation.kind if case.allocation is not None else MemoryKind.UNKNOWN
    if not case.memory_name() and kind is MemoryKind.UNKNOWN:
        return f"free the memory {where}"
    if kind in (MemoryKind.STREAM_ORDERED, MemoryKind.GRAPH):
        stream = case.stream_argument(case.first(RelatedRole.ALLOC))
        return f"{where}: {case.phrase('free_async', memory=name, stream=stream)}"
    call = case.platform.release(kind)
    family = case.platform.frees.get(FreeClass.DEVICE)
    if (
        not call
        or (family is not None and case.platform.accepts(FreeClass.DEVICE, kind))
        or case.platform.pageable(kind)
    ):
        call = case.platform.release(MemoryKind.PLAIN)
    return f"{where}: {call}({name});"
