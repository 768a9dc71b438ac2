"""A member of a class that no header declares: `image.channel[0]` and what `&image.channel[0]` points to are one."""

from __future__ import annotations

import pytest
from reading import loud

GROWN = """#include <cuda_runtime.h>
#include "image.h"
void decode(int count, int size) {{
    Image image;
    image.channel[0] = NULL;
    for (int i = 0; i < count; i++) {{
        {before}
        cudaMalloc(&image.channel[0], size);
    }}
    {after}
}}
"""


def found(folder, before="", after="cudaFree(image.channel[0]);"):
    return {each.code for each in loud(GROWN.format(before=before, after=after), folder)}


@pytest.mark.parametrize("test", ["image.channel[0]", "image.channel[0] != NULL"])
def test_a_buffer_that_is_freed_before_it_is_made_anew(tmp_path, test):
    assert found(tmp_path, before=f"if ({test}) cudaFree(image.channel[0]);") == set()


def test_one_that_is_not(tmp_path):
    assert found(tmp_path) == {"SS305"}


def test_one_that_is_used_after_it_was_freed(tmp_path):
    use = "cudaFree(*image.channel); cudaMemset(image.channel[0], 0, size);"
    assert found(tmp_path, before="if (image.channel[0]) cudaFree(image.channel[0]);", after=use) == {"SS101"}
