"""Numbers that a loop reads from a file: not known behind it, also where its turns were not all followed."""

from __future__ import annotations

import pytest
from reading import loud

IMAGE = """#include <cuda.h>
#include <cstdio>
bool load(FILE* file, unsigned* width) {{
    char line[64];
    unsigned read = 0, wide = 0, high = 0;
    while (read < {numbers}) {{
        if (fgets(line, 64, file) == NULL) return false;
        if (line[0] == '#') continue;
        read += sscanf(line, "%u %u", &wide, &high);
    }}
    *width = {told};
    return true;
}}
int main(int argc, char** argv) {{
    cuInit(0);
    unsigned width;
    if (!load(fopen(argv[1], "r"), &width)) return 1;
    CUarray array;
    CUDA_ARRAY_DESCRIPTOR wanted;
    wanted.Format = CU_AD_FORMAT_FLOAT;
    wanted.NumChannels = 1;
    wanted.Width = width;
    wanted.Height = 4;
    cuArrayCreate(&array, &wanted);
    cuArrayDestroy(array);
}}
"""


@pytest.mark.parametrize(("numbers", "told", "codes"), [("2", "wide", set()), ("2", "0", {"SS601"})])
def test_a_width_that_was_read_is_not_known(tmp_path, numbers, told, codes):
    assert {each.code for each in loud(IMAGE.format(numbers=numbers, told=told), tmp_path)} == codes
