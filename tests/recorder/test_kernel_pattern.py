"""Patterns of kernels' names mean to the C library what they mean to Python."""

from __future__ import annotations

import ctypes
import re

import pytest

from streamsan.recorder.kernel_pattern import extended

NAMES = (
    *("scale", "_Z5scalePfPKfi", "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>"),
    *("ampere_sgemm_128x64_tn", "triton_poi_fused_add_0", "cutlass::Kernel2<cutlass_80_wmma_tensorop_f16_s161616gemm>"),
    *("a-b", "a]b", "a^b", "a{2}b", "aab", "ab", "a.b", "x y", "", "[1]", "$", "_", "-", "^", "]"),
)
EXTENDED = 1
LIBRARY = ctypes.CDLL(None)


def found(pattern: str, name: str) -> bool:
    """Search as the recorder does it."""
    compiled = ctypes.create_string_buffer(512)
    assert LIBRARY.regcomp(compiled, pattern.encode(), EXTENDED) == 0, pattern
    try:
        return LIBRARY.regexec(compiled, name.encode(), 0, None, 0) == 0
    finally:
        LIBRARY.regfree(compiled)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # brackets that a later Python may read otherwise
@pytest.mark.parametrize(
    "pattern",
    [
        *("scale", "^scale$", "gemm|scale", "(?:gemm|scale)_", "(?P<kind>s|d)gemm", r"\d+x\d+", r"_Z\d", r"^\w+$"),
        *(r"\bat::", r"\Bgemm", r"\Avoid\b.*?Fill", r"gemm\Z", r"a\.b", "a.b", "a+?b", "a*b", "a??b"),
        *("a{,2}b", "^a{2}b"),
        *("a{1,}b", "a{b", "a{}b", "a{,}b", "a}b", "a{2}b", r"a\{2\}b", "a]b", "[]]", "[^]]", r"[\]]", r"[\^]", "[^^]"),
        *("[a^]", "[-a]", "[a-]", r"[\w.]b", r"[^\w\s]", r"[\d]", "[0-9]x", r"[+--]", "[[]", "x|", "()", r"\[1\]", "$"),
        *(r"\$", r"\-", r"\s", r"\S\s\S", r"\D", r"\W", "<4, ", "(a|(b|c))", "a$|^a", "[:]", "[a:]", r"[\.\-]", "[^-]"),
        *(r"[\\]", r"\\", "é", "[_^]", "[-^]", "[]^-]"),
    ],
)
def test_the_same_is_found(pattern: str) -> None:
    posix = extended(pattern)
    assert [name for name in NAMES if found(posix, name)] == [name for name in NAMES if re.search(pattern, name)], posix


@pytest.mark.parametrize(
    "pattern", ["(?i)gemm", "(?=a)", "(?!a)b", "(?<=a)b", r"(a)\1", r"\x41", r"\n", r"[\W]", "a++b", "a{300}", "[é]"]
)
def test_what_only_python_has_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="it "):
        extended(pattern)
