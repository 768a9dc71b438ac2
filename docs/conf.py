"""The documents as a site: `sphinx-build -W -c docs . build/site`, then open build/site/index.html.

The documents are written for a code host. So the repository itself is the folder of sources, and a link between two
files means the same there and in the site. What follows says which files are pages, and in which order.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from pygments.lexers.c_cpp import CLexer
from sphinx.errors import ExtensionError

RULES = sorted(f"docs/rules/{path.stem}" for path in Path(__file__).parent.glob("rules/SS*.md"))
CONTENTS = {
    "Guides": [
        *("docs/guides/reset", "docs/guides/graph-allocations", "docs/guides/release", "docs/guides/cost-of-a-free"),
        *("docs/guides/whose-memory", "docs/guides/what-it-costs", "docs/guides/blind-spots"),
        *("docs/guides/compute-sanitizer", "docs/guides/old-code-base", "docs/guides/glossary"),
    ],
    "Use": [
        *("docs/command-line", "docs/in-your-tools", "docs/recording", "docs/opencl", "docs/simulated-device"),
        *("docs/simulated-device-examples", "docs/pytest", "docs/fixes", "docs/witness", "docs/wait-costs"),
        *("docs/html-report", "docs/exports", "docs/fleet", "docs/editor"),
    ],
    "Rules": ["docs/rules/README", *RULES],
    "How right it is": [
        *("docs/facts", "docs/conformance", "docs/costs", "docs/public-bugs", "docs/public-sources"),
        "docs/framework-suites",
    ],
    "Inside": ["docs/architecture", "docs/trace-format", "docs/dependencies", "CONTRIBUTING", "CHANGELOG"],
}

_FOREIGN = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>")

project = "streamsan"
root_doc = "README"
include_patterns = ["*.md", "docs/*.md", "docs/*/*.md"]
exclude_patterns = [".venv", "build", "src"]
extensions = ["myst_parser"]
myst_heading_anchors = 4
highlight_language = "text"
html_theme = "furo"
html_title = "streamsan"
html_copy_source = False
html_show_sphinx = False


def setup(app: Any) -> None:
    """Tell Sphinx what the documents need."""
    app.add_lexer("opencl", CLexer)
    app.connect("source-read", _with_contents)
    app.connect("build-finished", _finished)


def _with_contents(_app: Any, name: str, source: list[str]) -> None:
    """Give the first page what the site has, as the sidebar shows it."""
    if name == root_doc:
        for caption, pages in CONTENTS.items():
            listed = "\n".join(f"/{page}" for page in pages)
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{listed}\n```\n"


def _finished(app: Any, exception: Exception | None) -> None:
    """Let the site begin where web servers look, and refuse one that would load something from elsewhere."""
    site = Path(app.outdir)
    if exception is not None or app.builder.name != "html":
        return
    for page in site.rglob("*.html"):
        if found := _FOREIGN.search(page.read_text(encoding="utf-8")):
            raise ExtensionError(f"{page} loads from elsewhere: {found[0]}")
    shutil.copyfile(site / "README.html", site / "index.html")
