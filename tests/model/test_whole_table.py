"""Every API, any number of arguments, any values: the model never fails, and never fills what a failed call left."""

from __future__ import annotations

import itertools

import pytest
from model_program import Program

from row_groups import check_apis, families
from streamsan.effects import Api
from streamsan.model.handlers import HANDLERS
from streamsan.model.values import Handle, Outcome, Pointer, Symbol
from streamsan.platforms import CUDA

ALL = list(CUDA.effects)
WILD = [None, 0, 1, -5, 1 << 70, 2.5, "text", Symbol(1, "a", "parameter"), Symbol(2, "b", "uninitialised"),
        Symbol(3, "c", "opaque"), Pointer(4096, 4096, 99), Handle("stream", 77), Handle("event", 1)]  # fmt: skip


def test_every_effect_has_a_handler() -> None:
    assert set(HANDLERS) == {api.effect for api in CUDA.effects}


def checked(api: Api, outcome: Outcome) -> None:
    # Structures that a call fills come field by field; some of those it reads have fields that it fills.
    names = {parameter.name for version in api.versions for parameter in version.parameters} | {"return"}
    assert {name.partition(".")[0] for name in outcome.outputs} <= names
    assert outcome.status <= 0 or not outcome.outputs.keys() - {"return"}


@pytest.mark.parametrize("family", families(ALL))
def test_any_call_is_survived(family: list[Api]) -> None:
    check_apis(family, survived)


def survived(api: Api) -> None:
    program = Program()
    most = max(len(version.parameters) for version in api.versions)
    for count in range(most + 2):
        checked(api, program.call(api.name, *[None] * count))
    for value in WILD:
        checked(api, program.call(api.name, *[value] * most))
    mixture = itertools.islice(itertools.cycle(WILD), most)
    checked(api, program.call(api.name, *mixture))
    program.builder.finish()


def test_unknown_names_are_survived() -> None:
    program = Program()
    outcome = program.call("cudaMakeCoffee", Pointer(1, 1, 1), None)
    assert outcome == Outcome(0, {})
    assert program.kinds() == ["NOT_UNDERSTOOD", "OPAQUE_CALL"]
    assert "cudaMakeCoffee" in program.operations()[1].label
