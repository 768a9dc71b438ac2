"""What kernels in CUDA C++ do with the memory behind texture and surface objects."""

from __future__ import annotations

import pytest

from streamsan.cuda_syntax.tree import Function
from streamsan.cuda_syntax.unit import read_text
from streamsan.kernels.behaviour import KernelBehaviours
from streamsan.kernels.uses import Use
from streamsan.vocabulary import AccessMode, SlotFlag

BEFORE = """
struct Field { cudaSurfaceObject_t heights; int side; };
__device__ void put(const Field& f, float v, int x, int y) { surf2Dwrite(v, f.heights, x * sizeof(float), y); }
__device__ float get(cudaTextureObject_t t, float x) { return tex1D<float>(t, x); }
void unknown(cudaSurfaceObject_t);
"""
I = "int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y; "  # noqa: E741
READ, WRITE, OPAQUE = AccessMode.READ, AccessMode.WRITE, AccessMode.OPAQUE


def use(text: str) -> Use | None:
    """Return the use of a kernel's first parameter that leads to memory."""
    unit = read_text(f"{BEFORE}\n__global__ void kernel({text}")
    kernel = next(each for each in unit.declarations if isinstance(each, Function) and each.kernel)
    return next(iter(KernelBehaviours(unit).of(kernel).uses.values()))


@pytest.mark.parametrize(
    ("text", "mode", "touches"),
    [
        (f"cudaTextureObject_t t, float* o) {{ {I} o[i] = tex2D<float>(t, i + 0.5f, j); }}", READ, True),
        (f"CUtexObject t, float* o) {{ {I} o[i] = tex1Dfetch<float>(t, i); }}", READ, True),
        (f"cudaTextureObject_t t, float* o) {{ {I} o[i] = get(t, 2 * i); }}", READ, True),
        (f"cudaTextureObject_t t, float* o) {{ {I} o[i] = tex1D<float>(t, i + 1.5f); }}", READ, False),
        (f"cudaTextureObject_t t, float* o, float at) {{ {I} o[i] = tex1D<float>(t, at); }}", READ, False),
        (f"cudaTextureObject_t t, float* o) {{ {I} o[i] = tex2DLod<float>(t, i, j, 0); }}", READ, False),
        ("cudaTextureObject_t t) { }", READ, False),
        (f"cudaSurfaceObject_t s) {{ {I} surf2Dwrite(1.0f, s, i * 4, j); }}", WRITE, True),
        (f"cudaSurfaceObject_t s) {{ {I} surf2Dwrite(1.0f, s, i * 4, j + 1); }}", WRITE, False),
        (f"const cudaSurfaceObject_t s) {{ {I} surf1Dwrite(1.0f, s, i * 4); }}", WRITE, True),
        (f"cudaSurfaceObject_t s, float* o) {{ {I} o[i] = surf1Dread<float>(s, i * 4); }}", READ, True),
        (f"cudaSurfaceObject_t s, float* o) {{ {I} float v; surf1Dread(&v, s, i * 4); o[i] = v; }}", READ, True),
        (f"cudaSurfaceObject_t s) {{ {I} surf2DLayeredwrite(1.0f, s, i * 4, j, 0); }}", WRITE, True),
        (f"cudaSurfaceObject_t s, int layer) {{ {I} surf2DLayeredwrite(1.0f, s, i * 4, j, layer); }}", WRITE, False),
        ("cudaSurfaceObject_t s) { unknown(s); }", OPAQUE, False),
        (f"Field f) {{ {I} put(f, 1, i, j); }}", WRITE, True),
    ],
)
def test_uses_of_images(text: str, mode: AccessMode, touches: bool) -> None:
    found = use(text)
    assert found is not None
    assert (found.mode, bool(found.flags & SlotFlag.TOUCHES)) == (mode, touches)


def test_a_surface_that_is_read_and_written() -> None:
    found = use(
        f"cudaSurfaceObject_t s) {{ {I} float v = surf1Dread<float>(s, i * 4); surf1Dwrite(v + 1, s, i * 4); }}"
    )
    assert found == Use(AccessMode.READ_WRITE, SlotFlag.TOUCHES)


def test_a_field_that_is_not_used() -> None:
    assert use("Field f, float* o) { o[0] = f.side; }") is None
