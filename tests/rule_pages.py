"""The pages of docs/rules and the programs in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PAGES = Path(__file__).resolve().parents[1] / "docs" / "rules"
_BLOCK = re.compile(
    r"^```(?P<language>cuda|python|opencl) (?P<kind>wrong|right)[^\n]*\n(?P<text>.*?)^```[ \t]*$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """A program of a page."""

    code: str
    language: str
    kind: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.code}-{self.language}-{self.kind}-{self.number}"


def blocks(language: str = "") -> Iterator[Block]:
    """Return the programs of all pages, or those of a language: cuda, python, opencl."""
    for path in sorted(PAGES.glob("SS*.md")):
        for number, match in enumerate(_BLOCK.finditer(path.read_text(encoding="utf-8")), 1):
            if language in ("", match["language"]):
                yield Block(path.stem, match["language"], match["kind"], number, match["text"])
