"""The pytest plugin: tests run on a simulated device and fail on what is wrong with their order.

    def test_pipeline(simulated_device):
        from cuda.bindings import runtime as cudart
        ...

    @pytest.mark.streamsan(schedule="lazy", driver="h200")
    def test_other(simulated_device): ...

Test modules that import `cuda.bindings` at their top need `--simulate-cuda` (or `simulate_cuda = true` in the
configuration): then every import of it in the run is the simulated one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from streamsan.testing.device_under_test import Device

_OPTIONS = frozenset({"schedule", "driver", "devices", "memory", "kernels"})


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--simulate-cuda`."""
    group = parser.getgroup("streamsan")
    group.addoption("--simulate-cuda", action="store_true", help="make every import of cuda.bindings the simulated one")
    parser.addini("simulate_cuda", "make every import of cuda.bindings the simulated one", type="bool", default=False)


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
    try:
        result = yield
    except BaseException as error:
        if device is not None:
            device.gave_up()
        if device is not None and isinstance(error, Exception):
            wrong = device.problem()
            if wrong:
                pyfuncitem.add_report_section("call", "streamsan", wrong)
        raise
    if device is not None:
        device.check()
    return result
