"""Directives, includes, bad bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from notation import note

from streamsan.cuda_syntax.compiler_options import CompilerOptions
from streamsan.cuda_syntax.condition import ConditionError, Definition, evaluate
from streamsan.cuda_syntax.tree import Function
from streamsan.cuda_syntax.unit import read_text, read_unit

MACROS = {
    "ONE": Definition(None, "1"),
    "TWO": Definition(None, "(ONE + ONE)"),
    "MAX": Definition(["a", "b"], "((a) > (b) ? (a) : (b))"),
    "CAT": Definition(["a", "b"], "a ## b"),
    "LOOP": Definition(None, "LOOP"),
    "VERSION": Definition(None, "13000L"),
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("0x10 + 010 - 0b11", 21),
        ("UNKNOWN", 0),
        ("TWO * 3", 6),
        ("defined(ONE) && !defined NONE", 1),
        ("VERSION >= 12000 ? 5 : 6", 5),
        ("MAX(TWO, 7)", 7),
        ("CAT(1, 2)", 12),
        ("LOOP", 0),
        ("1 || 1 / 0", 1),
        ("(1 << 3) | 1", 9),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("'a' == 97", 1),
        ("UNKNOWN(3, 4) + 1", 1),
        ("__has_include(<x.h>)", 1),
        ('__has_include("y.h")', 0),
        ("__has_cpp_attribute(nodiscard)", 0),
        ("not 0 && ~0 == -1", 1),
    ],
)
def test_condition(text: str, value: int) -> None:
    assert evaluate(text.replace("not 0", "!0"), MACROS, lambda name: "x.h" in name) == value


@pytest.mark.parametrize("text", ["", "1 +", "(1", "1 2", "defined", "defined(", "@", "MAX(1", "1 ? 2", "(" * 100_000])
def test_condition_that_is_none(text: str) -> None:
    with pytest.raises(ConditionError):
        evaluate(text, MACROS, lambda name: False)


def functions(text: str, **defines: str) -> list[str]:
    return [
        d.name for d in read_text(text, options=CompilerOptions.of(defines)).declarations if isinstance(d, Function)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#if 0\nvoid a();\n#else\nvoid b();\n#endif", ["b"]),
        ("#ifdef __CUDACC__\nvoid a();\n#endif", ["a"]),
        ("#ifdef __CUDA_ARCH__\nvoid a();\n#endif", []),
        ("#if CUDART_VERSION >= 11020\nvoid a();\n#elif 1\nvoid b();\n#else\nvoid c();\n#endif", ["a"]),
        ("#if 0\n#if 1\nvoid a();\n#endif\nvoid x();\n#elif GIVEN\nvoid b();\n#endif", ["b"]),
        ("#define X 3\n#if X == 3\nvoid a();\n#endif\n#undef X\n#ifdef X\nvoid b();\n#endif", ["a"]),
        ("#if 0 // don't\nit's \"broken ( text\n#endif\nvoid a();", ["a"]),
        ("#if defined(A) \\\n || /* also\n */ 1\nvoid a();\n#endif", ["a"]),
        ("/*\n#if 0\n*/ void a();", ["a"]),
        ('const char* s = R"(\n#if 0\n)"; void a();', ["a"]),
        ("void\\\n a();", ["a"]),
    ],
)
def test_conditionals(text: str, expected: list[str]) -> None:
    unit = read_text(text, options=CompilerOptions.of({"GIVEN": "1"}))
    assert [d.name for d in unit.declarations if isinstance(d, Function)] == expected
    assert unit.problems == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("#if 1\nvoid a();", "#if without #endif"),
        ("#endif\nvoid a();", "#endif without #if"),
        ("#else\nvoid a();", "#else without #if"),
        ("#if 1\n#else\n#else\n#endif\nvoid a();", "#else after #else"),
        ("#if (\n#endif\nvoid a();", "#if: the condition ends early"),
        ("#ifdef\n#endif\nvoid a();", "#ifdef without a name"),
        ("#define 3\nvoid a();", "#define without a name"),
        ("#define F(a\nvoid a();", "#define F: the parameters have no end"),
    ],
)
def test_broken_directives(text: str, problem: str) -> None:
    unit = read_text(text)
    assert problem in [p.text for p in unit.problems]
    assert "a" in [getattr(d, "name", "") for d in unit.declarations]


def test_places_survive_directives_and_line_ends() -> None:
    unit = read_text("\ufeff#if 0\r\nnothing\r\n#endif\r\n  /* x */ int f();\r\n")
    assert unit.declarations[0].span[1:] == (4, 11, 4, 19)


def test_includes_in_order_of_text(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "main.cu").write_text(
        '#include <cstdio>\n#include "cuda_runtime.h"\nint a;\n#include "x.h"\n#include "gone.h"\n'
        "#include <far.h>\nint b;\n#ifdef FROM_X\nint c;\n#endif\n"
    )
    (tmp_path / "x.h").write_text('#pragma once\n#include "main.cu"\n#include "x.h"\n#define FROM_X\nint x;\n')
    (tmp_path / "deep" / "far.h").write_text("int far;\n")
    unit = read_unit(tmp_path / "main.cu", CompilerOptions(include_dirs=(tmp_path / "deep",)))
    assert [getattr(d, "name", "") for d in unit.declarations] == ["a", "x", "far", "b", "c"]
    assert unit.declarations[1].span.file == str(tmp_path / "x.h")
    assert unit.system_includes == ["cstdio", "cuda_runtime.h"]
    assert [(p.span.line, p.text) for p in unit.missing_includes] == [(5, "gone.h was not found")]
    assert set(unit.files) == {str(tmp_path / n) for n in ("main.cu", "x.h", "deep/far.h")}
    assert unit.problems == []


def test_statements_in_an_included_file_make_no_fragment(tmp_path: Path) -> None:
    (tmp_path / "main.cu").write_text('#include "body.inc"\nint a;\n')
    (tmp_path / "body.inc").write_text("\n" * 50 + "cudaFree(p);\nBENCHMARK(x);\n")
    unit = read_unit(tmp_path / "main.cu")
    assert not unit.fragment
    assert [getattr(d, "name", "") for d in unit.declarations] == ["a"]


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "bad.cu"
    path.write_bytes(b"void f() { /* \xff\xfe */ g(); }\0\nvoid h();\n")
    unit = read_unit(path)
    assert [d.name for d in unit.declarations if isinstance(d, Function)] == ["f", "h"]
    assert [p.text for p in unit.problems] == ["not UTF-8: byte 0xff at offset 14", "NUL bytes"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="gone"):
        read_unit(tmp_path / "gone.cu")


def test_macros() -> None:
    unit = read_text(
        "#define N (1 << 20)\n"
        "#define CHECK(x) do { if (x) die(#x); } while (0)\n"
        "#define SEQ(p) free(p); p = 0\n"
        "#define VALUE(x) ({ int y = x; y; })\n"
        "#define NAME(a, b) a##_##b\n"
        "#define LOG(fmt, ...) printf(fmt, __VA_ARGS__)\n"
        "#define EMPTY\n"
        "#define BROKEN(x) if (x) {\n"
        "#define TWICE 1\n#define TWICE 2\n"
        "#define LAUNCH(k, s) \\\n  k<<<1, 1, 0, s>>>()\n"
    )
    macros = unit.macros

    def shape(name: str) -> str:
        macro = macros[name]
        if macro.expression is not None:
            return note(macro.expression)
        return "-" if macro.statements is None else "; ".join(note(s) for s in macro.statements)

    assert shape("N") == "(1 << 20)"
    assert shape("CHECK") == "if (x) die('#x')"
    assert shape("SEQ") == "free(p); (p = 0)"
    assert shape("VALUE") == "({int y = x; y})"
    assert shape("NAME") == "a##_##b"
    assert shape("LOG") == "printf(fmt, __VA_ARGS__)"
    assert macros["LOG"].variadic
    assert macros["LOG"].parameters == ["fmt", "__VA_ARGS__"]
    assert shape("EMPTY") == ""
    assert shape("BROKEN") == "-"
    assert shape("TWICE") == "2"
    assert macros["TWICE"].redefined
    assert shape("LAUNCH") == "k<<<1, 1, 0, s>>>()"
    launch = macros["LAUNCH"].expression
    assert launch is not None
    assert (launch.span.line, launch.span.column) == (12, 3)
    assert macros["N"].parameters is None
    assert unit.problems == []


def test_macros_that_qualify_are_replaced() -> None:
    unit = read_text(
        '#define GLOBAL __global__\n#define HD __host__ __device__\n#define API __attribute__((visibility("default")))\n'  # noqa: E501
        "#define NS_BEGIN namespace ns {\n#define NS_END }\n#define INLINE HD inline\n"
        'NS_BEGIN\nGLOBAL void k(int* p) { }\nHD float sq(float x);\nAPI INLINE int api(); const char* s = "API";\nNS_END\n'  # noqa: E501
    )
    assert unit.problems == []
    k, sq, api, s = unit.declarations
    assert isinstance(k, Function)
    assert (k.name, k.kernel) == ("ns::k", True)
    assert (k.parameters[0].name, k.span.line, k.span.end_column) == ("p", 8, 26)
    assert isinstance(sq, Function)
    assert not sq.device_only
    assert isinstance(api, Function)
    assert note(s) == "const char* ns::s = 'API'"
