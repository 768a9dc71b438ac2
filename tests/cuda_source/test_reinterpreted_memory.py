"""Memory that a program takes for something else by a cast: where its steps lead, and what loops touch through it."""

from __future__ import annotations

from pathlib import Path

import pytest

from expectations import check_text

MAPPED = """
#include <CL/cl.h>
struct record {{ unsigned id; float value; }};
float total(cl_command_queue queue, cl_mem buffer, int count) {{
    cl_event mapped;
    cl_int status;
    void *p = clEnqueueMapBuffer(queue, buffer, CL_FALSE, CL_MAP_READ, 0, 4096, 0, NULL, &mapped, &status);
    {before}
    float sum = 0;
    {loop}
    clWaitForEvents(1, &mapped);
    clEnqueueUnmapMemObject(queue, buffer, p, 0, NULL, NULL);
    clFinish(queue);
    clReleaseEvent(mapped);
    return sum;
}}
"""
LOOPS = [
    "for (int i = 0; i < 256; i++) sum += *(const float *)((const char *)p + 16 * i);",
    "for (int i = 0; i < 256; i++) sum += *(const float *)(16 * i + (const char *)p);",
    "for (int i = 0; i < count; i++) { const struct record *r = (const struct record *)p + i; sum += r->value; }",
    "for (int i = 0; i < count; i++) { const float *r = &((const float *)p)[4 * i]; sum += r[1]; }",
]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_touches_what_its_casts_lead_to(loop: str, tmp_path: Path) -> None:
    wrong = check_text(MAPPED.format(before="", loop=loop), tmp_path, "program.c")
    assert [(found.code, found.location.line) for found in wrong if found.severity != "note"] == [("SS103", 10)]
    right = check_text(MAPPED.format(before="clWaitForEvents(1, &mapped);", loop=loop), tmp_path, "program.c")
    assert [found for found in right if found.severity != "note"] == []


def test_what_a_pointer_points_to_is_not_where_the_pointer_lies(tmp_path: Path) -> None:
    loop = "for (int i = 0; i < count; i++) { const float *r = ((const float **)p)[i]; sum += r[1]; }"
    found = check_text(MAPPED.format(before="", loop=loop), tmp_path, "program.c")
    assert {each.code for each in found} <= {"SS103", "SS504"}


READS = """
#include <CL/cl.h>
#include <stdlib.h>
void get(cl_command_queue queue, cl_mem a, cl_mem b) {{
    float *result = (float *)malloc(4096);
    clEnqueueReadBuffer(queue, a, CL_FALSE, 0, 2048, result, 0, NULL, NULL);
    clEnqueueReadBuffer(queue, b, CL_TRUE, 0, 1024, {place}, 0, NULL, NULL);
    {use};
    clFinish(queue);
    free(result);
}}
"""


@pytest.mark.parametrize(
    ("use", "loud"),
    [
        ("result[511] = 1", True),
        ("result[512] = 1", False),
        ("*(float *)((char *)result + 2044) = 1", True),
        ("*(float *)((char *)result + 2048) = 1", False),
        ("((double *)result)[255] = 1", True),
        ("((double *)result)[256] = 1", False),
        ("char *c = (char *)result; c += 2048; *(float *)c = 1", False),
    ],
)
def test_steps_are_of_what_memory_is_taken_for(use: str, loud: bool, tmp_path: Path) -> None:
    text = READS.format(place="result + 768", use=use).replace("CL_TRUE", "CL_FALSE")
    codes = {found.code for found in check_text(text, tmp_path, "program.c")}
    assert ("SS108" in codes) == loud


@pytest.mark.parametrize(("place", "loud"), [("(char *)result + 2048", False), ("(char *)result + 1024", True)])
def test_copies_go_where_a_cast_leads(place: str, loud: bool, tmp_path: Path) -> None:
    text = READS.format(place=place, use="").replace(
        "cl_command_queue queue,", "cl_command_queue queue, cl_command_queue other,"
    )
    text = text.replace("clEnqueueReadBuffer(queue, b, CL_TRUE", "clEnqueueReadBuffer(other, b, CL_TRUE")
    codes = {found.code for found in check_text(text, tmp_path, "program.c")}
    assert ("SS109" in codes) == loud
