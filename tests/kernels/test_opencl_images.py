"""Kernels in OpenCL C that use images: how, and whether every launch uses the first pixel."""

from __future__ import annotations

import pytest

from streamsan.kernels.opencl_images import LONGEST_CALL, images_as_memory
from streamsan.kernels.opencl_texts import OpenclText
from streamsan.vocabulary import AccessMode, SlotFlag

READ, WRITE, BOTH = AccessMode.READ, AccessMode.WRITE, AccessMode.READ_WRITE
SURE = int(SlotFlag.TOUCHES)
TEXT = """
const sampler_t S = CLK_NORMALIZED_COORDS_FALSE;
__kernel void shade(write_only image2d_t to, float v) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(to, p, (float4)(v));
}
__kernel void sobel(__read_only image2d_t in, __write_only image2d_t out) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= get_image_width(in) || y >= get_image_height(in)) return;
    float4 g = read_imagef(in, S, (int2)(x - 1, y)) + read_imagef(in, S, (int2)(x, y));
    write_imagef(out, (int2)(x, y), g);
}
__kernel void copy(read_only image2d_t from, write_only image2d_t to) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(to, p, read_imagef(from, S, p));
}
__kernel void shifted(write_only image2d_t out, int by) {
    write_imagef(out, (int2)(get_global_id(0) + by, get_global_id(1)), (float4)(0, 0, 0, 1));
}
__kernel void scaled(read_only image2d_t in, write_only image2d_t out, __global const float *by) {
    float2 at = (float2)(0.5f, get_global_id(1));
    float4 k = (float4)(by[0], by[1], 0, 0);
    write_imagef(out, (int2)(get_global_id(0), get_global_id(1)), read_imagef(in, S, at) * k);
}
static void put(write_only image2d_t to, int2 at) { write_imagef(to, at, (float4)(1)); }
__kernel void by_a_function(write_only image2d_t to) { put(to, (int2)(get_global_id(0), get_global_id(1))); }
__kernel void in_place(read_write image2d_t image) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(image, p, read_imagef(image, p) * 2);
}
__kernel void maybe(write_only image2d_t to, __global const int *mask) {
    if (mask[get_global_id(0)]) write_imagef(to, (int2)(get_global_id(0), 0), (float4)(1));
}
__kernel void no_image(__global int2 *out) { out[get_global_id(0)] = (int2)(1, get_global_id(0)); }
"""


@pytest.mark.parametrize(
    ("kernel", "modes"),
    [
        ("shade", [(WRITE, SURE), None]),
        ("sobel", [(READ, SURE), (WRITE, SURE)]),
        ("copy", [(READ, SURE), (WRITE, SURE)]),
        ("shifted", [(WRITE, 0), None]),
        ("scaled", [(READ, 0), (WRITE, SURE), (READ, SURE)]),
        ("by_a_function", [(WRITE, SURE)]),
        ("in_place", [(BOTH, SURE)]),
        ("maybe", [(WRITE, 0), (READ, SURE)]),
        ("no_image", [(WRITE, SURE)]),
    ],
)
def test_images_are_used_as_qualifiers_and_text_say(kernel: str, modes: list[tuple[AccessMode, int] | None]) -> None:
    found = OpenclText(TEXT).modes(kernel)
    assert found is not None
    assert list(found) == modes


def test_a_call_that_does_not_end_stays_as_it_is() -> None:
    for text in ("image2d_t a; read_imagef(a, s, (int2)(1, 2", "image2d_t a; read_imagef(" + "(" * LONGEST_CALL):
        assert images_as_memory(text) == text.replace("image2d_t", "int *")


def test_nested_calls_are_read_in_time_that_grows_with_their_length() -> None:
    text = "image2d_t a;" + "read_imagef(a, s, " * 2000 + "0" + ")" * 2000
    assert "[" in images_as_memory(text)
