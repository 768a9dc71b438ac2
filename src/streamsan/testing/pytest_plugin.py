"""The pytest plugin: tests run on a simulated device and fail on what is wrong with their order.

    def test_pipeline(simulated_device):
        from cuda.bindings import runtime as cudart
        ...

    @pytest.mark.streamsan(schedule="lazy", driver="h200")
    def test_other(simulated_device): ...

    def test_on_the_gpu(streamsan_check): ...

runs on the real device, is recorded, and fails on what is wrong in it (`streamsan.sections`).

Test modules that import `cuda.bindings` at their top need `--simulate-cuda` (or `simulate_cuda = true` in the
configuration): then every import of it in the run is the simulated one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from streamsan.sections.section import Section
    from streamsan.testing.device_under_test import Device

_OPTIONS = frozenset({"schedule", "driver", "devices", "memory", "kernels"})


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--simulate-cuda` and `--streamsan-check`."""
    group = parser.getgroup("streamsan")
    group.addoption("--simulate-cuda", action="store_true", help="make every import of cuda.bindings the simulated one")
    parser.addini("simulate_cuda", "make every import of cuda.bindings the simulated one", type="bool", default=False)
    early = "load streamsan's recorder with CUDA, for tests that use streamsan_check, before any test is imported"
    group.addoption("--streamsan-check", action="store_true", help=early)
    parser.addini("streamsan_check", early, type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, and the simulated modules too where that is asked for."""
    config.addinivalue_line(
        "markers",
        "streamsan(schedule=, driver=, devices=, memory=, kernels=): how the fixture simulated_device behaves here",
    )
    if config.getoption("--simulate-cuda") or config.getini("simulate_cuda"):
        from streamsan.sim.installation import Installation

        installation = Installation()
        installation.__enter__()
        config.add_cleanup(lambda: installation.__exit__(None, None, None))
    if config.getoption("--streamsan-check") or config.getini("streamsan_check"):
        _prepare()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Make CUDA load the recorder, where a test asks for it, before the first one runs."""
    if any("streamsan_check" in getattr(item, "fixturenames", ()) for item in session.items):
        _prepare()


def _prepare() -> None:
    from streamsan.recorder.preconditions import RecordingError
    from streamsan.sections import prepare

    # Why not, the fixture says where it is used.
    with suppress(RecordingError):
        prepare()


@pytest.fixture
def streamsan_check() -> Iterator[Section]:
    """What this test does on the GPU, recorded; the test fails on findings at warning or above."""
    from streamsan.recorder.preconditions import RecordingError
    from streamsan.sections.present_recorder import NoDriverError
    from streamsan.sections.section import Section

    try:
        section = Section()
    except NoDriverError as error:
        pytest.skip(f"streamsan: {error}")
    except RecordingError as error:
        pytest.fail(f"streamsan: nothing is recorded: {error}", pytrace=False)
    yield section
    # What the ends of other fixtures did belongs to it.
    if not section.told:
        section.check()


@pytest.fixture
def simulated_device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """A simulated device for one test; the test fails on findings at warning or above."""
    from streamsan.testing import device

    marker = request.node.get_closest_marker("streamsan")
    options = {} if marker is None else dict(marker.kwargs)
    unknown = sorted(options.keys() - _OPTIONS)
    if unknown or (marker is not None and marker.args):
        raise pytest.UsageError(
            f"the marker streamsan takes {', '.join(sorted(_OPTIONS))}: not {unknown or marker.args}"
        )
    with device(**options) as found:
        yield found
    # After the block: what was still pending, and what the ends of other fixtures did, belong to it.
    if not found.told:
        found.check()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Fail the test itself, not its teardown, on what is wrong so far; beside another failure, show the report."""
    device: Device | None = pyfuncitem.funcargs.get("simulated_device")  # type: ignore[assignment]
    section: Section | None = pyfuncitem.funcargs.get("streamsan_check")  # type: ignore[assignment]
    watched: list[Device | Section] = [each for each in (device, section) if each is not None]
    try:
        result = yield
    except BaseException as error:
        if device is not None:
            device.gave_up()
        for each in watched if isinstance(error, Exception) else ():
            wrong = each.problem()
            if wrong:
                pyfuncitem.add_report_section("call", "streamsan", wrong)
        raise
    for each in watched:
        each.check()
    return result
