"""Texture and surface objects: numbers for what they were made of. The simulated device reads nothing through them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from streamsan.model.answers import answers
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.hardware import Machine
from streamsan.model.statuses import INVALID_VALUE
from streamsan.model.values import Fields, Handle, Outcome, Value

_RESOURCE: Final = "pResDesc"
_MEMORY: Final = (
    "res.linear.devPtr", "res.pitch2D.devPtr", "res.array.array", "res.array.hArray",
    "res.mipmap.mipmap", "res.mipmap.hMipmappedArray",
)  # fmt: skip


def memory_behind(structures: Mapping[str, Fields]) -> Value:
    """Return the pointer, or array, that an object made of these descriptions leads to; None where nobody knows."""
    described = structures.get(_RESOURCE, {})
    return next((described[name] for name in _MEMORY if described.get(name)), None)


@answers("cudaCreateTextureObject", "cuTexObjectCreate", "cudaCreateSurfaceObject", "cuSurfObjectCreate")
def _create(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    if _RESOURCE not in call.structures:
        return Outcome(INVALID_VALUE)
    number = core.fresh_handle()
    call.thread.process.described[number] = {name: dict(fields) for name, fields in call.structures.items()}
    return call.gives(number)


@answers("cudaDestroyTextureObject", "cuTexObjectDestroy", "cudaDestroySurfaceObject", "cuSurfObjectDestroy")
def _destroy(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    call.thread.process.described.pop(_number(call), None)
    return Outcome()


@answers(
    "cudaGetTextureObjectResourceDesc",
    "cudaGetTextureObjectTextureDesc",
    "cudaGetTextureObjectResourceViewDesc",
    "cudaGetSurfaceObjectResourceDesc",
    "cuTexObjectGetResourceDesc",
    "cuTexObjectGetTextureDesc",
    "cuTexObjectGetResourceViewDesc",
    "cuSurfObjectGetResourceDesc",
)
def _description(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    known = call.thread.process.described.get(_number(call))
    if known is None:
        return Outcome(INVALID_VALUE)
    return call.gives_fields(known.get(call.signature.outs[0].name, {}))


def _number(call: Call) -> int:
    values = (call.values.get(name) for name in ("texObject", "surfObject"))
    value = next((each for each in values if each is not None), 0)
    return value.value if isinstance(value, Handle) else value if isinstance(value, int) else 0
