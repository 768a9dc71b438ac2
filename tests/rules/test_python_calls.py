"""What a framework does for a line of Python is told in the words of the line (SS504), or as its own (SS401)."""

from __future__ import annotations

import pytest
from hand_made import HandMade

from streamsan.findings.finding import Finding
from streamsan.order.facts import Fact
from streamsan.order.framework_memory import keeper_of
from streamsan.rules.pipeline import findings_of
from streamsan.trace.site import Site
from streamsan.vocabulary import FactVariant, MemoryKind, OperationKind, RuleCode

TORCH = "/v/lib/python3.12/site-packages/torch"
SYNCHRONIZE = Site(f"{TORCH}/cuda/__init__.py", 1162, function="synchronize")
WAIT_STREAM = Site(f"{TORCH}/cuda/streams.py", 77, function="Stream.wait_stream")
ENTER = Site(f"{TORCH}/cuda/graphs.py", 239, function="graph.__enter__")
OLD_ENTER = Site(f"{TORCH}/cuda/graphs.py", 239, function="__enter__")
LINES = {7: "    torch.cuda.synchronize()", 8: "    with torch.cuda.graph(graph):", 9: "    block_until_ready(x)"}


def redundant(line: int, called: Site | None, kind: OperationKind = OperationKind.CONTEXT_SYNCHRONIZE) -> list[Finding]:
    names = HandMade("a.py", "cuda", "recording", source_lines={"a.py": LINES})
    wait = names.operation(kind, line, "cudaDeviceSynchronize")
    if called is not None:
        names.library_calls = {wait.site: called}
    return findings_of(names, [Fact(RuleCode.REDUNDANT_SYNC, FactVariant.DOMINATED, wait)])


@pytest.mark.parametrize(
    ("line", "called", "name"),
    [
        (7, SYNCHRONIZE, "`torch.cuda.synchronize()` adds nothing"),
        (8, WAIT_STREAM, "`Stream.wait_stream()` adds nothing"),
        (9, ENTER, "`cudaDeviceSynchronize` is redundant"),  # the line itself asks for a wait
        (7, None, "`cudaDeviceSynchronize` is redundant"),
    ],
)
def test_a_wait_is_called_what_the_line_calls(line: int, called: Site | None, name: str) -> None:
    (finding,) = redundant(line, called)
    assert finding.message.startswith(f"{name}: all it waits for")


@pytest.mark.parametrize("called", [ENTER, OLD_ENTER])
def test_what_a_function_of_a_framework_waits_for_is_no_wait_of_the_line(called: Site) -> None:
    assert redundant(8, called) == []
    assert redundant(10, called) == []  # of which the text is not known


def leak(
    text: str, file: str = "a.py", kind: MemoryKind = MemoryKind.PINNED, api: str = "CUDACachingAllocator::malloc"
) -> str:
    names = HandMade("a.py", "cuda", "recording", source_lines={file: {5: text}})
    names.api(api)
    operation = names.operation(OperationKind.PROCESS_EXIT, 1)
    memory = names.memory("", 5, kind)
    names.sites[memory.site] = Site(file, 5 if file else 0)
    return keeper_of(names, Fact(RuleCode.LEAK, FactVariant.LEAK_AT_EXIT, operation, allocation=memory))


def test_what_pytorch_keeps_for_itself() -> None:
    assert leak("    host = x.pin_memory()") == "PyTorch"
    assert leak("", f"{TORCH}/nn/functional.py", MemoryKind.PLAIN) == "PyTorch"
    assert leak("", "") == "PyTorch"


def test_what_a_program_asks_for_itself_is_its_own() -> None:
    assert leak("    error, host = cudart.cudaHostAlloc(n, 0)") == ""
    assert leak("    host = x.pin_memory()", api="cudaHostAlloc") == ""  # without PyTorch
    assert leak("    host = x.pin_memory()", kind=MemoryKind.STREAM_ORDERED) == ""
    assert leak("  cudaHostAlloc(&p, n, 0);", "a.cu") == ""
