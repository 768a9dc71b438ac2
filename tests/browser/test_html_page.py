"""The page of `--format html` in a real browser: select, step, zoom, find, filter. See `screenshots/`."""

from __future__ import annotations

import lzma
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streamsan.cli import main
from streamsan.timeline.scenes import MOST_SCENES, TOO_MANY

ROOT = Path(__file__).resolve().parents[2]
LITMUS, POOLS = ROOT / "tests" / "litmus", ROOT / "tests" / "traces" / "pools"
Show = Callable[..., Any]


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes a page of an input, once."""
    folder, made = tmp_path_factory.mktemp("pages"), {}

    def page(*arguments: str) -> Path:
        if arguments not in made:
            made[arguments] = folder / f"{len(made)}.html"
            assert main(["report", *arguments, "-o", str(made[arguments])]) == 0
        return made[arguments]

    return page


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], str]:
    """Writes a trace of about so many operations."""
    sys.path.insert(0, str(ROOT / "bench"))
    import engine_trace

    def trace(operations: int) -> str:
        path = tmp_path_factory.mktemp("traces") / f"{operations}.sst"
        # Most of a small one would be its first allocations.
        engine_trace.ALLOCATIONS = min(100_000, operations // 20)
        engine_trace.write(path, operations)
        return str(path)

    return trace


def settle(page: Any) -> None:
    """Wait until what was done is drawn: state, effects and canvases each take a frame."""
    page.evaluate("(async () => { for (let i = 0; i < 4; i++) await new Promise(requestAnimationFrame); })()")


def colours(page: Any, selector: str) -> int:
    """How many colours a canvas has: few where nothing was drawn."""
    found: int = page.eval_on_selector(
        selector,
        """canvas => {
          const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          const seen = new Set();
          for (let i = 0; i < data.length; i += 4) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
          return seen.size;
        }""",
    )
    return found


def shown(page: Any) -> tuple[float, float]:
    """The part of a run that the canvas shows."""
    settle(page)
    part = page.locator(".shown")
    return float(part.get_attribute("data-begin")), float(part.get_attribute("data-end"))


def open_run(page: Any) -> None:
    page.click("#tab-Run")
    page.wait_for_selector("canvas[style*='width']")
    settle(page)


def test_a_wrong_program_shows_what_is_missing_and_plays_it(show: Show, pages: Callable[..., Path]) -> None:
    page = show(pages(str(LITMUS / "ss102_fan_out_one_event.wrong.cu")))
    missing = page.locator(".edge.missing")
    assert missing.locator("text").text_content() == "nothing orders them"
    assert page.locator(".operation.reported text").first.text_content() == "cudaFreeAsync"
    box = page.locator(".operation.reported rect").bounding_box()
    assert 0 < box["x"] < 1360 - box["width"]  # what it is about is in sight without scrolling
    steps = page.locator(".witness li").count()
    for step in range(1, steps + 1):
        page.click("button[aria-label='Step forward']")
        assert page.locator(".witness li.now").count() == 1
        assert page.locator(".at").text_content() == f"step {step} of {steps}"
    assert page.locator("button[aria-label='Step forward']").is_disabled()
    assert page.locator(".operation.now text").first.text_content() == "project"
    assert "project<<<" in page.locator("tr.current code").first.text_content()
    assert page.locator(".next-owner.gone").count() == 1
    page.locator(".controls .play").focus()
    page.keyboard.press("Home")
    assert page.locator(".operation.dim").count() == 0


def test_the_witness_plays_by_itself(show: Show, pages: Callable[..., Path]) -> None:
    page = show(pages(str(LITMUS / "ss102_fan_out_one_event.wrong.cu")))
    page.click(".controls .play")
    page.wait_for_selector(".witness li.now")
    page.click(".controls .play")
    assert page.locator(".controls .play").text_content() == "Play"


def test_operations_are_reached_by_keys(show: Show, pages: Callable[..., Path]) -> None:
    page = show(pages(str(ROOT / "examples" / "pipeline.cu")))
    page.focus(".scene-scroll")
    page.keyboard.press("ArrowRight")
    first = page.locator("figcaption").text_content()
    page.keyboard.press("ArrowRight")
    assert page.locator("figcaption").text_content() != first
    assert page.locator(".operation.focused").count() == 1
    page.focus("#tab-Findings")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("#tab-Run", "aria-selected") == "true"


def test_findings_are_filtered_by_words_and_severity(show: Show, pages: Callable[..., Path]) -> None:
    page = show(pages(str(ROOT / "examples" / "pipeline.cu")))
    assert page.locator(".row").count() == 2
    page.fill("input[type=search]", "redundant")
    assert page.locator(".row .code").all_text_contents() == ["SS504"]
    page.fill("input[type=search]", "no such word")
    assert page.locator(".row").count() == 0
    page.fill("input[type=search]", "")
    page.click(".severities .chip.note")
    assert page.locator(".row .code").all_text_contents() == ["SS102"]
    page.click(".severities .chip.note")
    page.locator(".row").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.locator(".row[aria-current] .code").text_content() == "SS504"
    assert "SS504" in page.locator(".detail h2").text_content()


def test_a_right_program_shows_its_run(show: Show, pages: Callable[..., Path]) -> None:
    page = show(pages(str(LITMUS / "ss102_fan_out_one_event.right.cu")))
    page.wait_for_selector("canvas[style*='width']")
    settle(page)
    assert colours(page, "canvas") > 8
    page.click("#tab-Findings")
    assert "Nothing found" in page.locator(".empty").text_content()


def test_a_recording_of_pytorch_is_walked_through(show: Show, pages: Callable[..., Path]) -> None:
    page = show(pages(str(POOLS / "ss105_bucket.wrong.sst")))
    page.click(".where .link")
    page.wait_for_selector(".selected .what")
    assert page.locator(".selected .marks .code").first.text_content() == "SS105"
    begin, end = shown(page)
    assert end - begin < 200
    before = page.locator(".selected dd").nth(1).text_content()
    page.click("button[aria-label='Next on this lane']")
    assert page.locator(".selected dd").nth(1).text_content() != before
    page.click("text=By time")
    settle(page)
    assert colours(page, "canvas") > 8
    page.click("#tab-Memory")
    page.wait_for_selector("canvas[style*='width']")
    page.click("text=Blocks of pools")
    page.click("text=By pool")
    settle(page)
    assert page.locator(".groups tbody th").all_text_contents() == ["CUDACachingAllocator"]
    assert "MiB" in page.locator(".groups tbody td").first.text_content()
    page.click("#tab-Waits")
    assert page.locator(".waits tbody tr").count() > 0
    assert page.locator(".waits thead th").all_text_contents() == [
        *("Wait", "Times", "Host waited", "Adds order", "Findings"),
    ]
    page.click(".waits tbody .link")
    page.wait_for_selector(".selected .what")


@pytest.fixture(scope="session")
def of_pytorch(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Unpacks a recording of a training run on an H200 (bench/recorder/mlp.py)."""

    def trace(name: str) -> str:
        path = tmp_path_factory.mktemp("recordings") / f"{name}.sst"
        path.write_bytes(lzma.decompress((ROOT / "tests" / "traces" / "long" / f"{name}.sst.xz").read_bytes()))
        return str(path)

    return trace


@pytest.mark.parametrize("operations", [100_000, 1_000_000])
def test_a_long_run_is_zoomed_panned_and_searched(
    show: Show, pages: Callable[..., Path], synthetic: Callable[[int], str], operations: int
) -> None:
    walk_through(show(pages(synthetic(operations))), operations, "cudaStreamSynchronize")


@pytest.mark.parametrize(("name", "operations"), [("torch_100k", 107_527), ("torch_1m", 1_027_327)])
def test_a_long_run_of_pytorch_is_zoomed_panned_and_searched(
    show: Show, pages: Callable[..., Path], of_pytorch: Callable[[str], str], name: str, operations: int
) -> None:
    path = pages(of_pytorch(name))
    assert path.stat().st_size < 60_000_000
    walk_through(show(path), operations, "cudaDeviceSynchronize")


def walk_through(page: Any, operations: int, wait: str) -> None:
    """Zoom, pan, find a wait, follow its edge, look at the memory."""
    open_run(page)
    begin, end = shown(page)
    assert begin == 0
    assert abs(end - operations) < operations / 100
    assert colours(page, "canvas") > 5
    box = page.locator("canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 120)
    for _ in range(12):
        page.mouse.wheel(0, -500)
    narrow = shown(page)
    assert narrow[1] - narrow[0] < operations / 20
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6 - 200, box["y"] + 120)
    page.mouse.up()
    assert shown(page)[0] > narrow[0]
    page.focus("canvas")
    page.keyboard.press("0")
    assert shown(page) == (begin, end)
    page.fill("input[aria-label='Find operations']", wait)
    assert "found" in page.locator(".found").text_content()
    page.click("button[aria-label='Next match']")
    assert page.locator(".selected strong").first.text_content() == wait
    close = shown(page)
    assert close[1] - close[0] < 1000
    assert page.locator(".selected dd .link").count() >= 1  # the edge from the stream's last operation
    page.click(".selected dd .link")
    assert page.locator(".selected strong").first.text_content() != wait
    page.click("#tab-Memory")
    page.wait_for_selector(".groups tbody tr")
    settle(page)
    assert colours(page, "canvas") > 2


def test_dark_and_print(show: Show, pages: Callable[..., Path]) -> None:
    path = pages(str(ROOT / "examples" / "pipeline.cu"))
    background = "getComputedStyle(document.documentElement).backgroundColor"
    light, dark = show(path, color_scheme="light"), show(path, color_scheme="dark")
    assert light.evaluate(background) != dark.evaluate(background)
    light.emulate_media(media="print")
    light.wait_for_selector("main.printed")
    assert light.locator(".printed .detail").count() == 1  # the note is hidden unless it was asked for
    assert light.locator("nav").count() == 0


def test_hostile_names_stay_text(show: Show, tmp_path: Path) -> None:
    folder = tmp_path / "<img src=x onerror=alert(1)>"
    folder.mkdir()
    source = folder / "a.cu"
    text = (LITMUS / "ss102_fan_out_one_event.wrong.cu").read_text()
    source.write_text(text.replace("weights", "w").replace("// Shared", "// </script><script>alert(2)</script> Shared"))
    page_file = tmp_path / "out.html"
    assert main(["report", str(source), "-o", str(page_file)]) == 0
    page = show(page_file)
    assert "<img src=x" in page.locator(".where").text_content()
    assert page.locator("img").count() == 0


def test_a_finding_without_a_picture_says_why(show: Show, tmp_path: Path) -> None:
    source, page_file = tmp_path / "many.cu", tmp_path / "out.html"
    races = "".join(
        f"float* p{number}; cudaMallocAsync(&p{number}, 64, a); cudaStreamSynchronize(a);\n"
        f"look<<<1, 1, 0, b>>>(p{number});\ncudaFreeAsync(p{number}, a);\n"
        for number in range(MOST_SCENES + 1)
    )
    head = "__global__ void look(const float* p) { float x = p[0]; }\nint main() {\ncudaStream_t a, b;\n"
    source.write_text(f"{head}cudaStreamCreate(&a); cudaStreamCreate(&b);\n{races}return 0; }}\n")
    assert main(["report", str(source), "-o", str(page_file), "--select", "SS102"]) == 0
    page = show(page_file)
    assert (page.locator(".scene").count(), page.locator(".no-scene").count()) == (1, 0)
    page.locator(".row").last.click()
    settle(page)
    assert page.locator(".no-scene").text_content() == f"No picture: {TOO_MANY}."
    assert page.locator(".scene").count() == 0
