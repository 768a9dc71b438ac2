"""Every API with any values on a machine that is known: the model never fails, and failed calls give nothing."""

from __future__ import annotations

import itertools

import pytest
from simulated import HOST, Simulated

from row_groups import check_apis, families
from streamsan.effects import Api
from streamsan.model.values import Handle, Outcome, Pointer
from streamsan.platforms import CUDA

ALL = list(CUDA.effects)
WILD = [0, 1, -5, 1 << 70, HOST, 2.5, "text", None, Pointer(4096, 4096, 99), Handle("stream", 77), Handle("event", 1),
        Handle("pool", 0), Handle("other", 5), 64]  # fmt: skip
FIELDS = {"0": HOST, "1": 64, "ptr": HOST, "pitch": -1, "width": 1 << 70, "height": 0, "depth": 3, "x": 8, "y": -8,
          "location.id": 99, "0.location.id": 1, "0.flags": "x", "type": 1, "id": -7, "value": None,
          "0.operation": 1, "extent.width": 4, "srcPtr.ptr": HOST, "WidthInBytes": 3}  # fmt: skip


def checked(api: Api, outcome: Outcome) -> None:
    names = {parameter.name for version in api.versions for parameter in version.parameters} | {"return"}
    assert {name.split(".")[0] for name in outcome.outputs} <= names
    assert outcome.status <= 0 or not outcome.outputs.keys() - {"return"}


@pytest.mark.parametrize("family", families(ALL))
def test_any_call_is_survived(family: list[Api]) -> None:
    check_apis(family, survived)


def survived(api: Api) -> None:
    program = Simulated()
    memory, stream = program.memory(), program.make("cudaStreamCreate", 1)
    pool, event = program.make("cudaDeviceGetDefaultMemPool", 1, 0), program.make("cudaEventCreate", 1)
    most = max(len(version.parameters) for version in api.versions)
    structures = {parameter.name: FIELDS for version in api.versions for parameter in version.parameters}
    for values in [WILD, [memory, stream, 1, 64, pool, event], [memory], [stream], [pool], [event]]:
        for start in range(len(values)):
            mixture = list(itertools.islice(itertools.cycle(values), start, start + most))
            checked(api, program.call(api.name, *mixture))
            checked(api, program.call(api.name, *mixture, structures=structures))
    program.builder.finish()
