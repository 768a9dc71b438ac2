"""The rules' pages: docs/rules of the repository; a wheel carries them in this folder."""

from __future__ import annotations

from pathlib import Path

_PACKAGED = Path(__file__).parent
_REPOSITORY = Path(__file__).resolve().parents[3] / "docs" / "rules"


def page(code: str) -> str | None:
    """Return the Markdown text of a rule's page, None where it is not installed."""
    for folder in (_PACKAGED, _REPOSITORY):
        path = folder / f"{code}.md"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    return None
