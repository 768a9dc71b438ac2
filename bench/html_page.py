"""The page of `--format html` of a long run: does ten times the run cost ten times as much?

    python bench/html_page.py
    python bench/html_page.py --operations 100000 1000000
    python bench/html_page.py --traces torch-100k.sst torch-1m.sst

Makes traces of so many operations, and a page of each. Prints the CPU seconds of the check without a page and with it,
the page's megabytes, and, where playwright and a Chromium are, the seconds until a browser shows the whole run, and
until it shows a zoomed part of it; the ratio holds each row against the first: below the ratio of the operations it is
at most linear.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import engine_trace

from streamsan.cli import main as streamsan
from streamsan.trace.reader import read

OPERATIONS = (100_000, 1_000_000)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")


def cpu_seconds(*words: str) -> float:
    """Return the CPU seconds of this process that a command line takes."""
    start = time.process_time()
    streamsan(words)
    return time.process_time() - start


def browser_seconds(page_file: Path) -> tuple[float, float] | None:
    """Return the seconds until a browser shows a page's run, and from there a zoomed part; None: there is none."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if not CHROMIUM:
        return None
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1360, "height": 900})
        drawn = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        start = time.perf_counter()
        page.goto(page_file.as_uri())
        page.click("#tab-Run")
        page.wait_for_selector("canvas[style*='width']")
        page.evaluate(drawn)
        loaded = time.perf_counter() - start
        start = time.perf_counter()
        for _ in range(10):
            page.click("button[aria-label='Zoom in']")
            page.evaluate(drawn)
        zoomed = (time.perf_counter() - start) / 10
        browser.close()
    return loaded, zoomed


def row(trace: Path, first: int, folder: Path) -> int:
    """Print the row of one trace; return its operations. `first`: those of the first row, 0 in it."""
    page, text = folder / "page.html", folder / "text.txt"
    operations = read(str(trace)).operations
    checked = cpu_seconds("check", "--exit-zero", "--report", str(text), str(trace))
    paged = cpu_seconds("report", str(trace), "-o", str(page))
    browser = browser_seconds(page)
    shown = "       -        -" if browser is None else f"{browser[0]:8.2f} {browser[1] * 1000:8.0f}"
    size = page.stat().st_size / 1e6
    ratio = operations / (first or operations)
    print(f"{operations:12,} {ratio:6.1f} {checked:8.2f} {paged:8.2f} {size:6.1f} {shown}", flush=True)
    return operations


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, nargs="+", default=OPERATIONS)
    parser.add_argument("--traces", type=Path, nargs="+", default=(), help="recordings, in place of made traces")
    arguments = parser.parse_args()
    print(f"{'operations':>12} {'ratio':>6} {'check s':>8} {'page s':>8} {'MB':>6} {'shown s':>8} {'zoom ms':>8}")
    first = 0
    with tempfile.TemporaryDirectory() as folder:
        for trace in arguments.traces or made_traces(arguments.operations, Path(folder)):
            operations = row(trace, first, Path(folder))
            first = first or operations
    return 0


def made_traces(sizes: Sequence[int], folder: Path) -> Iterator[Path]:
    """Make traces of so many operations, one after the other."""
    for operations in sizes:
        trace = folder / f"{operations}.sst"
        engine_trace.ALLOCATIONS = min(100_000, operations // 20)
        engine_trace.write(trace, operations)
        yield trace


if __name__ == "__main__":
    sys.exit(main())
