"""A header of OpenCL for test programs, made from what the platform's data says of the interface: none needs to be
installed."""

from __future__ import annotations

import json
import re
from typing import Any

from streamsan.platforms import OPENCL

_POINTER_WIDE = ("cl_context_properties", "cl_device_partition_property", "cl_pipe_properties")
_WIDE = re.compile(r"cl_(\w*flags\w*|bitfield|\w*properties|device_type|ulong)$")
_STRUCTURES = """\
typedef struct { cl_uint image_channel_order, image_channel_data_type; } cl_image_format;
typedef struct {
    cl_uint image_type;
    size_t image_width, image_height, image_depth, image_array_size, image_row_pitch, image_slice_pitch;
    cl_uint num_mip_levels, num_samples;
    cl_mem buffer;
} cl_image_desc;
typedef struct { size_t origin, size; } cl_buffer_region;
"""
_BASE = {
    **{"cl_char": "signed char", "cl_uchar": "unsigned char", "cl_short": "short", "cl_ushort": "unsigned short"},
    **{"cl_int": "int", "cl_uint": "unsigned", "cl_long": "long", "cl_ulong": "unsigned long", "cl_bool": "cl_uint"},
    **{"cl_float": "float", "cl_double": "double"},
}


def header() -> str:
    """Return what a program includes as CL/cl.h: the functions of 1.0 to 3.0, and the constants."""
    functions: dict[str, Any] = json.loads((OPENCL.folder / "functions.json").read_text())
    constants: dict[str, int] = json.loads((OPENCL.folder / "constants.json").read_text())
    core = {name: row for name, row in functions.items() if re.fullmatch(r"-?\d\.\d", row[0])}
    words = {word for _, _, result, parameters in core.values() for text in (result, *(kind for kind, _ in parameters))
             for word in re.findall(r"\bcl_\w+", text)}  # fmt: skip
    handles = {"cl_platform_id", "cl_device_id", "cl_context", "cl_command_queue", "cl_mem", "cl_program", "cl_kernel",
               "cl_event", "cl_sampler"}  # fmt: skip
    lines = ["#pragma once", "#include <stddef.h>", "#define CL_CALLBACK", "#define CL_TRUE 1", "#define CL_FALSE 0"]
    lines += ["#define CL_API_ENTRY", "#define CL_API_CALL", *_guarded('extern "C" {')]
    lines += [f"typedef {kind} {name};" for name, kind in _BASE.items()]
    lines += [f"typedef struct _{name} *{name};" for name in sorted(handles)]
    structures = {"cl_image_format", "cl_image_desc", "cl_buffer_region"}
    for word in sorted(words - handles - structures - set(_BASE)):
        kind = "long" if word in _POINTER_WIDE else "cl_ulong" if _WIDE.fullmatch(word) else "cl_uint"
        lines.append(f"typedef {kind} {word};")
    lines.append(_STRUCTURES)
    lines += [f"#define {name} {number}" for name, number in constants.items() if name not in ("CL_TRUE", "CL_FALSE")]
    for name, (_, _, result, parameters) in core.items():
        listed = ", ".join(kind if "(" in kind else _declared(kind, parameter) for kind, parameter in parameters)
        lines.append(f"{result} {name}({listed or 'void'});")
    return "\n".join([*lines, *_guarded("}")]) + "\n"


def _guarded(line: str) -> list[str]:
    return ["#ifdef __cplusplus", line, "#endif"]


def _declared(kind: str, name: str) -> str:
    array = re.search(r"\[\d*\]$", kind)
    return f"{kind[: array.start()]} {name}{array[0]}" if array else f"{kind} {name}"
