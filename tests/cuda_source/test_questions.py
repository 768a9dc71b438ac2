"""What code that is not visible is asked in the same words has the same answer, in whatever function."""

from __future__ import annotations

import pytest
from reading import loud

PROGRAM = """#include <cuda_runtime.h>
#include <cstdlib>
{declared}
int* data;
void init({parameters}, int n) {{
    const bool managed = {asked};
    if (managed) cudaMallocManaged(&data, n * sizeof(int));
    else data = new int[n];
}}
void run({parameters}, int n) {{
    init({arguments}, n);
    {between}
    const bool managed = {asked_again};
    if (managed) cudaFree(data);
    else delete[] data;
}}
"""
NOT_INCLUDED = ('#include "options.h"', "Options& options", "options", 'options.getBool("managed")')
DECLARED = (
    "struct Options { bool getBool(const char* name) const; void parse(const char* text); };",
    "Options& options",
    "options",
    'options.getBool("managed")',
)
ENVIRONMENT = ("", "int unused", "unused", 'getenv("MANAGED") != nullptr')
ARGUMENTS = ("", "int argc, char** argv", "argc, argv", 'checkCmdLineFlag(argc, (const char**)argv, "managed")')
WAYS = pytest.mark.parametrize(
    "way", [NOT_INCLUDED, DECLARED, ENVIRONMENT, ARGUMENTS], ids=["unknown", "declared", "environment", "arguments"]
)


def found(folder, way, asked_again=None, between=""):
    declared, parameters, arguments, asked = way
    program = PROGRAM.format(
        declared=declared,
        parameters=parameters,
        arguments=arguments,
        asked=asked,
        asked_again=asked_again or asked,
        between=between,
    )
    return {finding.code for finding in loud(program, folder)}


@WAYS
def test_an_option_has_one_answer_in_two_functions(tmp_path, way):
    assert found(tmp_path, way) == set()


@WAYS
def test_what_is_freed_the_wrong_way_is_told(tmp_path, way):
    assert found(tmp_path, way, asked_again=f"!({way[3]})") == {"SS202"}


def test_another_option_has_another_answer(tmp_path):
    assert found(tmp_path, DECLARED, asked_again='options.getBool("prefetch")') == {"SS202"}


def test_an_object_that_is_changed_may_answer_otherwise(tmp_path):
    assert found(tmp_path, DECLARED, between='options.parse("--managed");') == {"SS202"}
