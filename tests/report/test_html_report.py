"""The page of `--format html`: what is in it, and that nothing of an input can get out of its data."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamsan.findings.finding import Confidence, Edit, Finding, Fix, Location, Related, Severity
from streamsan.findings.scene import Scene, SceneBar, SceneLane, SceneOperation
from streamsan.report import Problem, Report
from streamsan.report.formats import draws, render
from streamsan.report.html.embedding import Arrays, json_in_script
from streamsan.timeline import timeline_of
from streamsan.trace import Site, TraceBuilder
from streamsan.vocabulary import OperationKind as Kind
from streamsan.vocabulary import StreamKind

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    "]]>&lt;\"'`${alert(1)}",
    "\u2028\u2029\u202e\x00\x1b[31m",
    "'; alert(1) //",
)


class Page(HTMLParser):
    """The elements of a page, as a browser's parser cuts them: scripts end at the first closing tag."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        """of each element that has begun, what stands in it up to the next tag"""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        self.texts.append("")
        self.open = True

    def handle_endtag(self, tag: str) -> None:
        self.open = False

    def handle_data(self, text: str) -> None:
        if self.tags and self.open:
            self.texts[-1] += text

    def of_script(self, name: str) -> str:
        """The text of the script element with an id."""
        return self.texts[[each.get("id") for _, each in self.tags].index(name)]


def hostile_report(words: str) -> Report:
    builder = TraceBuilder(words)
    builder.thread(0, words)
    site = builder.site(Site(words, 3, function=words, label=words))
    builder.append(Kind.STREAM_CREATE, thread=0, object=10, detail=StreamKind.NON_BLOCKING, site=site)
    builder.append(Kind.LAUNCH, thread=0, stream=10, site=site, api=words)
    scene = Scene(
        lanes=(SceneLane("stream", words),),
        operations=(SceneOperation(0, -1, 1, 0, "launch", words, words, 3, "use", words),),
        bars=(SceneBar(words, 0, -1),),
        run=words,
    )
    finding = Finding(
        "SS102",
        words,
        Severity.ERROR,
        Confidence.PROVEN,
        words,
        Location(words, 3, 1, words),
        related=(Related("use", words, 2, words),),
        witness=(words,),
        fix=Fix(words, True, (Edit(words, 1, 1, 1, 2, words),)),
        properties={words: words},
        scene=scene,
        no_scene=words,
    )
    text = "\n".join([words] * 5)
    return Report(
        (finding,),
        1,
        2,
        sources={words: text},
        problems=(Problem(words, words), Problem(words, words, remark=True)),
        timelines=[timeline_of(builder.finish())],
    )


@pytest.mark.parametrize("words", HOSTILE)
def test_nothing_of_an_input_becomes_markup_or_script(words: str) -> None:
    usual, hostile = Page(render(hostile_report("usual"), "html")), Page(render(hostile_report(words), "html"))
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in usual.tags]
    assert all(not name.startswith("on") for _, attributes in hostile.tags for name in attributes)
    data = json.loads(hostile.of_script("report"))
    assert data["findings"][0]["headline"].replace("\ufffd", "") == "".join(
        each for each in words if each.isprintable()
    )


def test_data_in_a_script_is_ascii_without_brackets() -> None:
    text = json_in_script({"<key>": ["</script>", "\u2028", "\u202e", 1, None, True]})
    assert text.isascii()
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"<key>": ["</script>", "\ufffd", "\ufffd", 1, None, True]}


def test_the_page_loads_nothing_and_runs_only_its_own_script() -> None:
    text = render(hostile_report("usual"), "html")
    page = Page(text)
    (policy,) = (each["content"] for tag, each in page.tags if tag == "meta" and "http-equiv" in each)
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http" not in policy
    for tag, kind in (("script", "script-src"), ("style", "style-src")):
        (own,) = (part for part in policy.split("; ") if part.startswith(kind))
        (body,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert own == f"{kind} 'sha256-{base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()}'"
    assert not any({"src", "href"} & each.keys() for _, each in page.tags)


def test_without_a_script_the_findings_are_there_as_text() -> None:
    text = render(hostile_report("a `kernel` <b>"), "html")
    assert "<noscript>" in text
    assert "error[SS102]: a `kernel` &lt;b&gt;" in text


def unpacked(page: Page, packed: dict[str, Any]) -> list[float]:
    """One column, as the script unpacks it."""
    names = {"Uint8": "<u1", "Uint16": "<u2", "Uint32": "<u4", "Int32": "<i4", "Float32": "<f4", "Float64": "<f8"}
    data = gzip.decompress(base64.b64decode(page.of_script(f"array-{packed['at']}")))
    column = np.frombuffer(data, names[packed["type"]])
    assert len(column) == packed["length"]
    return np.cumsum(column, dtype=column.dtype).tolist() if packed["differences"] else column.tolist()  # type: ignore[no-any-return]


def test_the_run_is_in_the_page() -> None:
    builder = TraceBuilder("run.sst", origin="recording")
    builder.thread(0, "main")
    start = 10**18
    for number in range(3):
        builder.append(Kind.ALLOC, thread=0, references=[], time=start + number * 10**9, duration=2000)
    timeline = timeline_of(builder.finish())
    page = Page(render(Report((), 1, 3, timelines=[timeline]), "html"))
    (run,) = json.loads(page.of_script("report"))["runs"]
    assert unpacked(page, run["lane"]) == [0, 0, 0]
    assert [round(time * run["unit"], -6) for time in unpacked(page, run["time"])] == [0, 10**9, 2 * 10**9]
    assert run["lanes"] == [["host", "host thread `main`", 0, -1]]


def test_columns_come_back_as_they_were() -> None:
    arrays = Arrays()
    columns = [np.array([5, 4, 2**32 - 1], np.uint32), np.array([-1, 7], np.int32), np.array([0.5, 1e18])]
    packed = [arrays.add(columns[0], differences=True), arrays.add(columns[1]), arrays.add(columns[2])]
    for column, each in zip(columns, packed, strict=True):
        data = np.frombuffer(gzip.decompress(base64.b64decode(arrays.packed[each["at"]])), column.dtype)
        back = np.cumsum(data, dtype=column.dtype) if each["differences"] else data
        assert back.tolist() == column.tolist()


def test_a_fix_has_its_patch() -> None:
    finding = Finding(
        "SS102",
        "use-races-free",
        Severity.ERROR,
        Confidence.PROVEN,
        "m",
        Location("a.cu", 2),
        fix=Fix("s", True, (Edit("a.cu", 2, 3, 2, 6, "new\n  more"),)),
    )
    page = Page(render(Report((finding,), 1, 1, sources={"a.cu": "one\n  old;\nthree"}), "html"))
    (data,) = json.loads(page.of_script("report"))["findings"]
    assert data["diff"] == [
        "--- a/a.cu",
        "+++ b/a.cu",
        "@@ -1,3 +1,4 @@",
        " one",
        "-  old;",
        "+  new",
        "+  more;",
        " three",
    ]


def test_an_edit_that_lies_outside_its_file_gives_no_patch() -> None:
    finding = Finding(
        "SS102",
        "use-races-free",
        Severity.ERROR,
        Confidence.PROVEN,
        "m",
        Location("a.cu", 2),
        fix=Fix("s", True, (Edit("a.cu", 9, 1, 9, 1, "x"),)),
    )
    page = Page(render(Report((finding,), 1, 1, sources={"a.cu": "one"}), "html"))
    assert json.loads(page.of_script("report"))["findings"][0]["diff"] == []


def test_only_formats_that_draw_ask_for_it() -> None:
    assert draws("html")
    assert not draws("json")


def test_a_bundle_closes_no_element() -> None:
    import streamsan.report.html as room

    for name, tag in (("page.js", "script"), ("page.css", "style")):
        text = (Path(room.__path__[0]) / "bundle" / name).read_text(encoding="utf-8")
        assert f"</{tag}" not in text.lower()
        assert "<!--" not in text
