"""Which bytes a launch of a kernel in OpenCL C touches, as far as its indices can be followed."""

from __future__ import annotations

import pytest

from streamsan.kernels.opencl_texts import OpenclText
from streamsan.model.opencl.work_items import WorkItems
from streamsan.vocabulary import AccessMode

TEXT = """
#define N 64
#define AT(p, i) ((p)[(i) + 1])
int next(global const int *p, int at) { return p[at + 1]; }
kernel void plain(global const int *a, global float *b) { size_t i = get_global_id(0); b[i] = a[i] + a[i + 2]; }
kernel void member(global const int *a, global float4 *b) { b[get_global_id(0)].x = a[0]; }
kernel void guarded(global int *a, int n) { int i = get_global_id(0); if (i >= n) return; a[i] *= 2; }
kernel void nested(global int *a, int n) { int i = get_global_id(0); if (i < n && i != 0) { a[i] = 1; } }
kernel void clamped(global const int *u, global int *o) {
    int i = get_global_id(0), l = max(i - 1, 0), r = min(i + 1, N - 1);
    o[i] = u[l] + u[r] + u[i];
}
kernel void edges(global const int *u, global int *o) {
    int i = get_global_id(0), n = get_global_size(0);
    int l = i ? u[i - 1] : 0;
    o[i] = l + (i < n - 1 ? u[i + 1] : 0);
}
kernel void rows(global uchar *o, int w) { int x = get_global_id(0), y = get_global_id(1); o[y * w + x] = 1; }
kernel void loop(global const int *v, global int *r, int n, int slot) {
    int s = 0;
    for (int i = 0; i < n; i++) s += v[i];
    r[slot] = s;
}
kernel void maybe(global const int *m, global int *r) { int i = get_global_id(0); if (m[i]) r[i] = 1; }
kernel void scatter(global const int *m, global int *r) { r[m[get_global_id(0)]] = 1; }
kernel void called(global const int *m, global int *r) { int i = get_global_id(0); r[i] = next(m, i) + AT(m, i); }
kernel void broken(global const int *m, global int *r) {
    for (int i = 0; i < 8; i++) { if (m[i]) break; r[i] = 1; }
    r[9] = 2;
}
kernel void even(global int *r) { int i = get_global_id(0); r[2 * i] = 1; }
kernel void cut_late(global int *b, int n) {
    int i = get_global_id(0), l = max(i - 1, 0);
    if (i < n) { b[l] = 1; }
}
kernel void count(global const uchar *a, global int *b) { atomic_inc(&b[a[get_global_id(0)]]); }
kernel void grouped(global const int *a, global int *b) {
    int g = get_group_id(0), l = get_local_id(0);
    b[g] = a[g * get_local_size(0) + l];
}
kernel void turns(global int *b, int n) {
    int i = get_global_id(0);
    while (i < n) { b[i] = 1; i += get_global_size(0); }
}
kernel void moved(global int *b, int n) {
    global int *p = b + get_global_id(0) * 4;
    p[0] = 1; p[3] = 2; p += n; *p = 3;
}
kernel void masked(global int *b, int n) { b[get_global_id(0) & 7] = n; b[get_global_id(0) % 5] = 1; }
kernel void mirrored(global int *b, int n) { b[n - 1 - get_global_id(0)] = 1; }
kernel void same(global int *b, int n) { int i = get_global_id(0); b[max(i - 1, 0) + i] = 1; }
kernel void cast_away(global int *b, int n) { global char *p = (global char *)b; p[n] = 1; b[0] = 2; }
kernel void overwritten(global int *b, int n) { int i = get_global_id(0); if (n > i) i = b[i]; b[i] = 1; }
"""
READ_TEXT = OpenclText(TEXT)
R, W = AccessMode.READ, AccessMode.WRITE


def reached(name: str, *numbers: int, first: int = 0, count: int = 32, group: int = 0, rows: int = 1) -> object:
    """Return what each argument is used for: (mode, begin, end, sure). `numbers`: arguments from the second on."""
    items = WorkItems((first, 0, 0), (count, rows, 1), (group, 1, 1) if group else None)
    found = READ_TEXT.reach(name, items, dict(enumerate(numbers, 1)))
    return {at: [tuple(each) for each in pieces] for at, pieces in found.items()}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (reached("plain"), {0: [(R, 0, 136, True)], 1: [(W, 0, 128, True)]}),
        (reached("plain", first=32), {0: [(R, 128, 264, True)], 1: [(W, 128, 256, True)]}),
        (reached("member"), {0: [(R, 0, 4, True)], 1: [(W, 0, 512, False)]}),
        (reached("guarded", 20), {0: [(W, 0, 80, True), (R, 0, 80, True)]}),
        (reached("guarded", 20, first=32), {}),
        (reached("guarded"), {0: [(W, 0, 128, False), (R, 0, 128, False)]}),
        (reached("nested", 20), {0: [(W, 4, 80, True)]}),
        (reached("clamped"), {0: [(R, 0, 132, True)], 1: [(W, 0, 128, True)]}),
        (reached("clamped", first=32), {0: [(R, 124, 256, True)], 1: [(W, 128, 256, True)]}),
        (reached("edges"), {0: [(R, 0, 128, True)], 1: [(W, 0, 128, True)]}),
        (reached("rows", 32, rows=4), {0: [(W, 0, 128, True)]}),
        (reached("rows", 64, rows=4), {0: [(W, 0, 224, False)]}),
        (reached("loop", 0, 20, 3), {0: [(R, 0, 80, True)], 1: [(W, 12, 16, True)]}),
        (reached("loop"), {0: [(R, 0, None, False)], 1: [(W, 0, None, False)]}),
        (reached("maybe"), {0: [(R, 0, 128, True)], 1: [(W, 0, 128, False)]}),
        (reached("scatter"), {0: [(R, 0, 128, True)], 1: [(W, 0, None, False)]}),
        (reached("called"), {0: [(R, 4, 132, True)], 1: [(W, 0, 128, True)]}),
        (reached("broken"), {0: [(R, 0, 32, False)], 1: [(W, 0, 40, False), (W, 36, 40, True)]}),
        (reached("even"), {0: [(W, 0, 252, False)]}),
        (reached("cut_late", 20), {0: [(W, 0, 124, False)]}),
        (reached("count"), {0: [(R, 0, 32, True)]}),
        (reached("grouped", group=8), {0: [(R, 0, 128, True)], 1: [(W, 0, 16, True)]}),
        (reached("grouped"), {}),
        (reached("turns", 100), {0: [(W, 0, None, False)]}),
        (reached("moved", 2), {0: [(W, 0, 512, False)]}),
        (reached("moved"), {0: [(W, 0, None, False)]}),
        (reached("masked"), {0: [(W, 0, 32, False)]}),
        (reached("mirrored", 32), {0: [(W, 0, 128, True)]}),
        (reached("same"), {0: [(W, 0, 248, False)]}),
        (reached("cast_away", 3), {}),
        (reached("overwritten", 8), {0: [(W, 0, None, False), (R, 0, 32, True)]}),
    ],
)
def test_what_a_launch_touches(found: object, expected: object) -> None:
    assert found == expected
