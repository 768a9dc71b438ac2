"""A recorded wait that no line of the program asks for is not called redundant: there is nothing to take out."""

from __future__ import annotations

import pytest
from hand_made import HandMade

from streamsan.order.facts import Fact
from streamsan.rules.pipeline import findings_of
from streamsan.vocabulary import FactVariant, OperationKind, RuleCode

LINES = {7: "    sys.exit(main())", 8: "    uploaded.wait()", 9: "    copied.synchronize()"}


def codes(names: HandMade, line: int, kind: OperationKind = OperationKind.EVENT_SYNCHRONIZE) -> list[str]:
    wait = names.operation(kind, line, "clWaitForEvents")
    fact = Fact(code=RuleCode.REDUNDANT_SYNC, variant=FactVariant.DOMINATED, operation=wait)
    return [finding.code for finding in findings_of(names, [fact])]


@pytest.mark.parametrize(("line", "found"), [(7, []), (8, ["SS504"]), (9, ["SS504"]), (10, ["SS504"])])
def test_an_object_of_python_that_waits_as_it_goes(line: int, found: list[str]) -> None:
    assert codes(HandMade("a.py", "opencl", "recording", source_lines={"a.py": LINES}), line) == found


def test_other_waits_and_other_languages_have_lines_without_the_word() -> None:
    recorded = HandMade("a.py", "opencl", "recording", source_lines={"a.py": LINES})
    assert codes(recorded, 7, OperationKind.STREAM_SYNCHRONIZE) == ["SS504"]
    assert codes(HandMade("a.c", "opencl", "recording", source_lines={"a.c": LINES}), 7) == ["SS504"]
    assert codes(HandMade("a.py", "cuda", "simulation", source_lines={"a.py": LINES}), 7) == ["SS504"]


def test_a_wait_that_a_library_makes_by_itself() -> None:
    names = HandMade("a.c", "opencl", "recording")
    names.of_libraries = (len(names.sites),)
    assert codes(names, 7) == []
