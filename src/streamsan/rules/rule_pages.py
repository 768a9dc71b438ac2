"""The rules' pages and the facts: docs/rules and docs/facts.md of the repository; a wheel has them in this folder."""

from __future__ import annotations

import re
from pathlib import Path

_PACKAGED = Path(__file__).parent
_REPOSITORY = Path(__file__).resolve().parents[3] / "docs"
_ROW = re.compile(r"\|\s*([A-Z]-\d+)\s*\|(.*)\|\s*")


def page(code: str) -> str | None:
    """Return the Markdown text of a rule's page, None where it is not installed."""
    place = page_file(code)
    return place.read_text(encoding="utf-8") if place else None


def page_file(code: str) -> Path | None:
    """Return the file of a rule's page, None where it is not installed."""
    return _first(_PACKAGED / f"{code}.md", _REPOSITORY / "rules" / f"{code}.md")


def fact(name: str) -> str | None:
    """Return a measured fact ("F-05") as Markdown: what was tried and what came of it; None where there is none."""
    section, columns = "", [""]
    facts = _first(_PACKAGED / "facts.md", _REPOSITORY / "facts.md")
    for line in facts.read_text(encoding="utf-8").splitlines() if facts else ():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif line.startswith("| id |"):
            columns = _cells(line)
        row = _ROW.fullmatch(line)
        if row and row[1] == name:
            said = zip(columns[1:], _cells(line)[1:], strict=False)
            return f"# {name}: {section}\n\n" + "".join(f"- {column}: {text}\n" for column, text in said)
    return None


def _cells(row: str) -> list[str]:
    """Return the cells of a table's row."""
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


def _first(*places: Path) -> Path | None:
    """Return the first of some files that is there."""
    return next((place for place in places if place.is_file()), None)
