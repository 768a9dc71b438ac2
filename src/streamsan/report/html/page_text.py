"""The file around the data: head, policy, style, script. It loads nothing, and runs no script but its own."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from streamsan.report.printable import printable

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="streamsan">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="page"></div>
<noscript><p>This page draws with a script, and scripts are off. The findings as text:</p><pre>{text}</pre></noscript>
<script type="application/json" id="report">{data}</script>
{arrays}
<script>{script}</script>
</body>
</html>
"""


def page_text(title: str, data: str, arrays: Sequence[str], text: str) -> str:
    """Return the whole page. `data` comes from `json_in_script`, `arrays` are base64; `title` and `text` are plain."""
    script, style = _bundled("page.js"), _bundled("page.css")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    packed = "\n".join(
        f'<script type="text/plain" id="array-{number}">{array}</script>' for number, array in enumerate(arrays)
    )
    return _PAGE.format(
        policy=policy,
        title=escape(printable(title)),
        style=style,
        text=escape("\n".join(map(printable, text.split("\n")))),
        data=data,
        arrays=packed,
        script=script,
    )


def _bundled(name: str) -> str:
    return (files("streamsan.report.html") / "bundle" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
