from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamsan.findings.path_patterns import path_matches


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("a.cu", "a.cu", True),
        ("a.cu", "src/a.cu", True),
        ("src/a.cu", "/home/me/src/a.cu", True),
        ("src/*.cu", "src/a.cu", True),
        ("src/*.cu", "src/deep/a.cu", False),
        ("src/**/a.cu", "src/very/deep/a.cu", True),
        ("src/**/a.cu", "src/a.cu", True),
        ("src/**", "src/deep/a.cu", True),
        ("./src/a.cu", "src/a.cu", True),
        ("/src/a.cu", "/src/a.cu", True),
        ("/src/a.cu", "/home/src/a.cu", False),
        ("a.cu", "ba.cu", False),
        ("?.cu", "a.cu", True),
        ("a[1].cu", "a1.cu", False),
        ("x/**/a.cu", "/w/x/y/z/a.cu", True),
        ("/y/**", "/x/y/a.cu", False),
        ("?.cu", "/x/ab.cu", False),
        ("[a].cu", "/x/[a].cu", True),
        ("**/**/a.cu", "/a.cu", True),
    ],
)
def test_patterns(pattern: str, path: str, matches: bool) -> None:
    assert path_matches(pattern, path) is matches


@pytest.mark.timeout(60)
def test_no_pattern_takes_long() -> None:
    # Hours, where each star is tried again with each of the others.
    assert not path_matches("*a" * 200 + "b", "/" + "a" * 4000)
    assert not path_matches("**/a/" * 100 + "b", "/" + "a/" * 2000)


@settings(deadline=None)  # six stars have a hundred thousand ways
@given(st.lists(st.sampled_from(["a", "b", "**"]), max_size=6), st.lists(st.sampled_from("ab"), min_size=1, max_size=6))
def test_folders_as_a_search_of_all_ways_has_it(parts: list[str], folders: list[str]) -> None:
    stars = parts.count("**")
    ways = product(range(len(folders) + 1), repeat=stars)
    expected = any(_written_out(parts, way, folders) for way in ways)
    assert path_matches("/" + "/".join(parts), "/" + "/".join(folders)) is expected


def _written_out(parts: list[str], lengths: tuple[int, ...], folders: list[str]) -> bool:
    """Tell whether the folders match when each `**` takes so many of them."""
    rest, taken = list(folders), iter(lengths)
    for part in parts:
        count = next(taken) if part == "**" else 1
        head, rest = rest[:count], rest[count:]
        if len(head) < count or (part != "**" and head != [part]):
            return False
    return not rest
