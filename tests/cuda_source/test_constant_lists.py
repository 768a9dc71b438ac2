# ruff: noqa: E501 - programs under test stay as a person would type them
"""Initialisers that are constants cost no steps, and hold what they say."""

from __future__ import annotations

import pytest
from reading import kinds, operations, reading_of, run_main

from streamsan.cuda_source import Limits

FEW_STEPS = Limits(steps=300, file_steps=300, most_steps=300)
MAIN = "\nint main() { float* p; cudaMalloc(&p, table_size); cudaFree(p); }\n"
NUMBERS = ", ".join(str(number) for number in range(1000))
LISTS = {
    "bytes": "unsigned char table[] = { " + ", ".join(f"0x{number % 256:02x}" for number in range(1000)) + " };",
    "floats": "static const float table[] = {" + ",".join(f"-{number}.5f" for number in range(1000)) + "};",
    "rows": "const float table[][4] = {" + ",".join("{1.f, 2, -3.f, +4}" for _ in range(300)) + "};",
    "short-rows": "".join(f"static const int row{number}[] = {{1, 2, 3, 4}};\n" for number in range(200)),
    "structures": "struct Named { int key; float value; const char* name; };\nconst Named table[] = {"
    + ",".join(f'{{{number}, {number}.5f, "n{number}"}}' for number in range(300))
    + "};",
    "designators": "struct Pair { int a; int b; };\nconst Pair table[] = {"
    + ",".join("{.a = 1, .b = 2}" for _ in range(300))
    + "};",
    "names": "enum Kind { RED, GREEN };\n#define BOTH (RED | 4)\n#define SHIFTED(x) ((x) << GREEN)\nconst int table[] = {"
    + ", ".join("SHIFTED(3) + BOTH, (int)sizeof(double), RED ? 1 : 2" for _ in range(300))
    + "};",
    "constant-memory": "__constant__ float table[1000] = {" + NUMBERS + "};",
    "vector": "#include <vector>\nstatic const std::vector<int> table = {" + NUMBERS + "};",
    "std-array": "#include <array>\nstatic const std::array<int, 1000> table = {" + NUMBERS + "};",
    "many-scalars": "\n".join(f"const int number{number} = {number} * 2;" for number in range(300)),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_constants_costs_no_steps(name, tmp_path):
    reading = reading_of("const int table_size = 64;\n" + LISTS[name] + MAIN, tmp_path, FEW_STEPS)
    assert [world.truncated for world in reading.worlds] == [False]
    assert kinds(operations(reading.worlds[0])) == ["ALLOC", "FREE"]


def test_a_hundred_thousand_bytes_leave_main_to_be_read(tmp_path):
    rows = ",\n".join("  " + ", ".join(f"0x{row * 12 + byte & 255:02x}" for byte in range(12)) for row in range(8_334))
    text = f"unsigned char image[] = {{\n{rows}\n}};\nunsigned int table_size = 100008;{MAIN}"
    reading = reading_of(text, tmp_path)
    assert kinds(operations(reading.worlds[0])) == ["ALLOC", "FREE"]
    assert not reading.worlds[0].truncated


def test_a_list_that_calls_something_costs_what_it_does(tmp_path):
    text = (
        "int table_size = 64; int next(int x) { return x + 1; }\nint table[] = {"
        + ", ".join(["next(1)"] * 500)
        + "};"
        + MAIN
    )
    assert reading_of(text, tmp_path, FEW_STEPS).worlds[0].truncated


def test_a_loop_over_a_list_costs_steps(tmp_path):
    text = (
        "#include <vector>\nint main() { for (int i = 0; i < 60; ++i) { std::vector<int> v = {"
        + NUMBERS
        + "}; cudaDeviceSynchronize(); } }"
    )
    assert reading_of(text, tmp_path, Limits(steps=3000)).worlds[0].truncated


SIZES = "\n".join(
    (
        "const int sizes[] = {" + ", ".join(str(number * 4) for number in range(200)) + "};",
        "const int grid[][3] = {" + ", ".join(f"{{{row}, {row + 1}, {row + 2}}}" for row in range(100)) + "};",
        "struct Entry { const char* name; int size[2]; };",
        "const Entry entries[] = {" + ", ".join(f'{{"e", {{{row}, {row * 2}}}}}' for row in range(100)) + "};",
        "enum Kind { SMALL = 16 };\n#define TWICE(x) ((x) * 2)",
        "const int named[] = {" + ", ".join(["TWICE(SMALL)", "-SMALL"] * 50) + "};",
        "int changed[] = {" + ", ".join(["8"] * 100) + "};",
        "int longer[200] = {" + ", ".join(["8"] * 100) + "};",
    )
)


@pytest.mark.parametrize(
    ("size", "known"),
    [
        ("sizes[150]", 600),
        ("grid[80][2]", 82),
        ("entries[70].size[1]", 140),
        ("named[98]", 32),
        ("named[99] + 20", 4),
        ("sizeof(longer)", 800),
        ("longer[99]", 8),
        ("longer[150] + 1", 1),
    ],
)
def test_elements_hold_what_the_list_says(size, known, tmp_path):
    body = f"float* p; cudaMalloc(&p, {size}); cudaFree(p);"
    assert run_main(body, tmp_path, SIZES)[0].size == known


@pytest.mark.parametrize(
    ("before", "known"),
    [
        ("changed[90] = 24;", 24),
        ("int copy[100]; memcpy(copy, changed, sizeof(changed)); changed[90] = copy[90] + 1;", 9),
        ("std::vector<int> v(changed, changed + 100); changed[90] = v[90] + 2;", 10),
        ("int SMALL = 40; changed[90] = named[98] + SMALL;", 72),
    ],
)
def test_elements_are_as_good_as_made_at_once(before, known, tmp_path):
    body = f"{before} float* p; cudaMalloc(&p, changed[90]); cudaFree(p);"
    ops = run_main(body, tmp_path, SIZES)
    assert next(op for op in ops if op.kind == "ALLOC" and op.label == "p").size == known


@pytest.mark.parametrize(
    "change",
    ["memset(changed, 0, sizeof(changed));", "load(changed + 90);", "for (int i = 0; i < n; ++i) changed[i] = i * n;"],
)
def test_elements_that_were_overwritten_are_forgotten(change, tmp_path):
    text = f"{SIZES}\nvoid load(int* to);\nint main(int n, char**) {{ {change} float* p; cudaMalloc(&p, changed[90] + 1); cudaFree(p); }}"
    for world in reading_of(text, tmp_path).worlds:
        assert next(op for op in operations(world) if op.kind == "ALLOC" and op.label == "p").size != 9


def test_elements_that_run_code_are_made_at_once(tmp_path):
    text = (
        "struct Stream { cudaStream_t s; Stream(int) { cudaStreamCreate(&s); } ~Stream() { cudaStreamDestroy(s); } };\n"
    )
    text += "Stream streams[] = {" + ", ".join(["1"] * 70) + "};\nint main() { }\n"
    assert kinds(operations(reading_of(text, tmp_path).worlds[0])).count("STREAM_CREATE") == 70
