"""The inline helpers of CUDA's headers that make values: vectors, extents, pitched pointers, half precision."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.interpreter.library import function, harmless
from streamsan.cuda_source.interpreter.library.face import CallSite, Machine
from streamsan.cuda_source.interpreter.library.memory import value_of
from streamsan.cuda_source.interpreter.types import UNKNOWN
from streamsan.cuda_source.interpreter.values import Cell, Operand, StructObject

_INTEGERS = ("char", "short", "int", "long", "longlong")
_SCALARS = (*_INTEGERS, *(f"u{name}" for name in _INTEGERS), "float", "double")


def structure(machine: Machine, name: str, fields: dict[str, Any]) -> StructObject:
    """Return an object of a structure of CUDA's headers."""
    made = StructObject(None, machine.fresh(name, "opaque"))
    for field, value in fields.items():
        cell = Cell(value, UNKNOWN, field, made)
        made.fields[field] = cell
        machine.objects.adopt(cell)
    return made


def _maker(name: str, fields: tuple[str, ...]) -> None:
    @function(name)
    def make(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
        given = {field: value_of(machine, operands, i, call) for i, field in enumerate(fields) if i < len(operands)}
        return machine.statements.temporary(structure(machine, name, given))


for _scalar in _SCALARS:
    for _count in (1, 2, 3, 4):
        _maker(f"make_{_scalar}{_count}", ("x", "y", "z", "w")[:_count])
for _prefix in ("cuda", "hip"):
    _maker(f"make_{_prefix}Extent", ("width", "height", "depth"))
    _maker(f"make_{_prefix}Pos", ("x", "y", "z"))
    _maker(f"make_{_prefix}PitchedPtr", ("ptr", "pitch", "xsize", "ysize"))
for _complex in ("cuComplex", "cuFloatComplex", "cuDoubleComplex"):
    _maker(f"make_{_complex}", ("x", "y"))

harmless(
    "cuCreal", "cuCimag", "cuCrealf", "cuCimagf", "cuCadd", "cuCmul", "cuCsub", "cuCdiv", "cuConj", "cuConjf",
    "cuCaddf",
    "cuCmulf", "cuCsubf", "cuCabs", "cuCabsf", "cuCfmaf", "cuCfma", "make_half2", "make_bfloat162", "__float2half_rn",
    "__half2float", "__float2half", "__float2bfloat16", "__bfloat162float", "__float2half2_rn", "__floats2half2_rn",
    "__halves2half2", "__low2float", "__high2float", "__half2half2", "__double2half", "__int2half_rn",
    "__half_as_short",
    "__half_as_ushort", "__ushort_as_half", "__float2bfloat16_rn", "__double2bfloat16", "__ldg", "__float_as_int",
    "__int_as_float", "__float_as_uint", "__uint_as_float", "__brev", "__clz", "__ffs", "__popcll", "__hadd", "__hmul",
    "__hsub", "__hfma", "__hgt", "__hlt", "__nv_fp8_e4m3", "__nv_fp8_e5m2", "rsqrtf", "rsqrt", "__fdividef", "__expf",
    prefixes=("cuda::std::numeric_limits", "cuda::ceil_div", "cuda::std::is_", "cooperative_groups::", "cg::"),
)  # fmt: skip
