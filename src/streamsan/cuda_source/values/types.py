"""Types with templates and aliases resolved, and their sizes on a 64-bit Linux host."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

SCALAR_SIZES = {
    "void": 1, "bool": 1, "char": 1, "signed char": 1, "unsigned char": 1, "int8_t": 1, "uint8_t": 1, "std::byte": 1,
    "short": 2, "unsigned short": 2, "int16_t": 2, "uint16_t": 2, "__half": 2, "half": 2, "__nv_bfloat16": 2,
    "int": 4, "unsigned": 4, "unsigned int": 4, "signed": 4, "float": 4, "int32_t": 4, "uint32_t": 4, "wchar_t": 4,
    "uint": 4, "cudaError_t": 4, "cudaError": 4, "CUresult": 4, "CUdevice": 4, "pid_t": 4, "half2": 4, "__half2": 4,
    "long": 8, "unsigned long": 8, "long long": 8, "unsigned long long": 8, "double": 8, "size_t": 8, "ssize_t": 8,
    "int64_t": 8, "uint64_t": 8, "intptr_t": 8, "uintptr_t": 8, "ptrdiff_t": 8, "off_t": 8, "CUdeviceptr": 8,
    "long double": 16,
    "cudaStream_t": 8, "CUstream": 8, "cudaEvent_t": 8, "CUevent": 8, "CUcontext": 8, "cudaGraph_t": 8,
    "cudaGraphExec_t": 8, "cudaMemPool_t": 8, "CUmemoryPool": 8, "CUmodule": 8, "CUfunction": 8, "cudaArray_t": 8,
    "cudaIpcMemHandle_t": 64, "CUipcMemHandle": 64, "cudaIpcEventHandle_t": 64, "CUipcEventHandle": 64,
    "cudaMemPoolPtrExportData": 64, "CUmemPoolPtrExportData": 64, "cudaMemFabricHandle_t": 64, "CUmemFabricHandle": 64,
    "char2": 2, "uchar2": 2, "char4": 4, "uchar4": 4, "short2": 4, "ushort2": 4, "short4": 8, "ushort4": 8,
    "int2": 8, "uint2": 8, "float2": 8, "int3": 12, "uint3": 12, "float3": 12, "dim3": 12,
    "int4": 16, "uint4": 16, "float4": 16, "double2": 16, "longlong2": 16, "ulonglong2": 16, "double3": 24,
    "cl_bool": 4, "cl_mem_flags": 8, "cl_bitfield": 8, "cl_map_flags": 8, "cl_device_type": 8,
    "cl_command_queue_properties": 8, "cl_mem_migration_flags": 8, "cl_svm_mem_flags": 8, "cl_queue_properties": 8,
    "cl_mem_properties": 8, "cl_context_properties": 8, "cl_mem": 8, "cl_context": 8, "cl_command_queue": 8,
    "cl_event": 8, "cl_kernel": 8, "cl_program": 8, "cl_sampler": 8, "cl_platform_id": 8, "cl_device_id": 8,
    "cl_command_buffer_khr": 8, "cl_semaphore_khr": 8,
    "double4": 32, "longlong4": 32, "cuFloatComplex": 8, "cuComplex": 8, "cuDoubleComplex": 16,
}  # fmt: skip
"""Bytes of the types that are built in, or that CUDA's or OpenCL's headers define."""
for _element, _size in (("char", 1), ("short", 2), ("int", 4), ("long", 8), ("half", 2), ("float", 4), ("double", 8)):
    for _sign in ("", "u") if _element in ("char", "short", "int", "long") else ("",):
        # A vector of three takes the place of four.
        SCALAR_SIZES |= {
            f"cl_{_sign}{_element}{n if n > 1 else ''}": _size * (4 if n == 3 else n) for n in (1, 2, 3, 4, 8, 16)
        }

UNSIGNED_BITS = {
    "unsigned char": 8, "uint8_t": 8, "unsigned short": 16, "uint16_t": 16, "unsigned": 32, "unsigned int": 32,
    "uint32_t": 32, "uint": 32, "unsigned long": 64, "unsigned long long": 64, "size_t": 64, "uint64_t": 64,
    "uintptr_t": 64, "CUdeviceptr": 64, "cl_uchar": 8, "cl_ushort": 16, "cl_uint": 32, "cl_ulong": 64,
}  # fmt: skip
SIGNED_BITS = {
    "char": 8, "signed char": 8, "int8_t": 8, "short": 16, "int16_t": 16, "int": 32, "signed": 32, "int32_t": 32,
    "long": 64, "long long": 64, "int64_t": 64, "ssize_t": 64, "ptrdiff_t": 64, "intptr_t": 64, "off_t": 64,
    "cl_char": 8, "cl_short": 16, "cl_int": 32, "cl_long": 64,
}  # fmt: skip
FLOATING = {"float", "double", "long double", "__half", "half", "cl_float", "cl_double", "cl_half"}

HANDLE_TYPES = {
    "cudaStream_t", "CUstream", "cudaEvent_t", "CUevent", "CUcontext", "cudaGraph_t", "cudaGraphExec_t",
    "cudaMemPool_t", "CUmemoryPool", "cudaArray_t", "CUarray", "CUdeviceptr", "cudaGraphNode_t", "CUgraph",
    "CUgraphExec", "CUgraphNode", "cudaGraphConditionalHandle", "CUgraphConditionalHandle", "cudaGraphDeviceNode_t",
    "cudaUserObject_t", "CUuserObject", "CUmodule", "CUfunction", "CUkernel", "CUlibrary", "cudaFunction_t",
    "cudaKernel_t", "cudaLibrary_t", "cudaMipmappedArray_t", "cudaArray_const_t", "CUmipmappedArray",
    "CUmemGenericAllocationHandle", "cudaExternalMemory_t", "CUexternalMemory", "cudaExternalSemaphore_t",
    "CUexternalSemaphore", "cudaIpcMemHandle_t", "CUipcMemHandle", "cudaIpcEventHandle_t", "CUipcEventHandle",
    "cudaMemPoolPtrExportData", "CUmemPoolPtrExportData", "cudaMemFabricHandle_t", "CUmemFabricHandle", "CUgreenCtx",
    "cl_mem", "cl_context", "cl_command_queue", "cl_event", "cl_kernel", "cl_program", "cl_sampler", "cl_platform_id",
    "cl_device_id", "cl_command_buffer_khr", "cl_semaphore_khr",
}  # fmt: skip
"""Types whose values the device model gives out."""

_WORDS = {"unsigned", "signed", "long", "short", "int", "char", "double", "float", "bool", "void"}


class CType(Struct, frozen=True):
    """A resolved type. Template arguments are types or constants; `array` holds the dimensions, outermost first."""

    name: str
    arguments: tuple[Any, ...] = ()
    pointers: int = 0
    reference: str = ""
    const: bool = False
    array: tuple[Any, ...] = ()
    function: bool = False

    def element(self) -> CType:
        """The type behind a pointer, or of an array's elements."""
        if self.array:
            # Written out: this is asked for each element, and `replace` takes three times as long.
            return CType(self.name, self.arguments, self.pointers, "", self.const, self.array[1:], self.function)
        if self.pointers:
            return CType(self.name, self.arguments, self.pointers - 1, "", self.const, self.array, self.function)
        return self

    def pointer_to(self) -> CType:
        """The type of this type's address."""
        if self.array:
            return replace(self, array=self.array[1:], pointers=self.pointers + 1, reference="")
        return replace(self, pointers=self.pointers + 1, reference="")

    def plain(self) -> CType:
        """The type of the value that a reference names."""
        return replace(self, reference="") if self.reference else self

    def bare(self) -> CType:
        """Without reference and const."""
        return replace(self, reference="", const=False)


INT = CType("int")
CHAR = CType("char")
UNKNOWN = CType("")


@lru_cache(maxsize=1 << 14)
def canonical_name(name: str) -> str:
    """Return the one spelling of a built-in type: `long unsigned int` is `unsigned long`."""
    if name.startswith("std::") and name[5:] in SCALAR_SIZES:
        return name[5:]
    words = name.split()
    if len(words) < 2 or not all(word in _WORDS for word in words):
        for lead in ("struct ", "class ", "enum ", "union ", "typename ", "const ", "volatile "):
            if name.startswith(lead):
                return canonical_name(name[len(lead) :])
        return name
    unsigned = "unsigned" in words
    if "char" in words:
        return "unsigned char" if unsigned else "signed char" if "signed" in words else "char"
    if "double" in words:
        return "long double" if "long" in words else "double"
    longs = words.count("long")
    base = "long long" if longs > 1 else "long" if longs else "short" if "short" in words else "int"
    return f"unsigned {base}" if unsigned else base


def wrap(value: int, name: str) -> int:
    """Return an integer as a variable of the named type holds it."""
    bits = UNSIGNED_BITS.get(name)
    if bits is not None:
        return value & ((1 << bits) - 1)
    bits = SIGNED_BITS.get(name)
    if bits is not None:
        value &= (1 << bits) - 1
        return value - (1 << bits) if value >> (bits - 1) else value
    return value


class TypePack(tuple[Any, ...]):
    """The arguments that a parameter pack of a class template takes."""
