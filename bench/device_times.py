"""Whether `streamsan run --times` says when work ran. Needs a GPU and nvcc.

A program (bench/recorder/device_times.cu) gives the device work of known length, one piece at a time, and measures each
with events. The recording must have one span for each, as long as the events say to a tenth and 60 us (on an H200
they have 12 to 50 us around the work), behind the call and before the wait for it has returned. Exit status 1:
something differs.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from recording import compiled, recorded

from streamsan.trace import family
from streamsan.trace.view import OperationView, iterate
from streamsan.vocabulary import DeviceEngine, OperationKind

WORK = {OperationKind.LAUNCH, OperationKind.COPY, OperationKind.MEMSET, OperationKind.GRAPH_LAUNCH}
OF_A_ROUND = 8
ENGINES = {"in": DeviceEngine.COPY_IN, "out": DeviceEngine.COPY_OUT}
ALLOWED_SHARE, ALLOWED = 0.1, 60.0
"""of a length, and in microseconds"""
CLOCKS_APART = 20.0
"""microseconds: the device's clock is compared with the host's now and then"""


def problem(what: str, measured: float, work: OperationView, wait: OperationView, spans: list[OperationView]) -> str:
    """Return what is wrong with the spans of a piece of work, "" for nothing."""
    if not spans:
        return "no span"
    begin, end = min(each.time for each in spans), max(each.time + each.size for each in spans)
    if {each.detail for each in spans} != {ENGINES.get(what, DeviceEngine.COMPUTE)}:
        return "another engine"
    if abs((end - begin) / 1000 - measured) > ALLOWED_SHARE * measured + ALLOWED:
        return "another length"
    early, late = (work.time - begin) / 1000, (end - wait.time - wait.duration) / 1000
    return "" if max(early, late) <= CLOCKS_APART else "at another time"


def main() -> int:
    """Record the program, and compare."""
    with tempfile.TemporaryDirectory(prefix="streamsan-times-") as name:
        folder = Path(name)
        command = [*recorded(folder, "--times"), compiled(folder, "device_times.cu")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        trace = family.read(str(folder / "bench.sst"))
    print(done.stderr, end="")
    operations = list(iterate(trace))
    work = [each for each in operations if each.kind in WORK]
    told = [each for each in operations if each.kind is OperationKind.DEVICE_TIME]
    waits = [each for each in operations if each.kind is OperationKind.STREAM_SYNCHRONIZE]
    measured = [line.split() for line in done.stdout.splitlines()]
    wrong = 0
    for number, ((what, length), issued, wait) in enumerate(zip(measured, work, waits, strict=True)):
        spans = [each for each in told if each.object == issued.sequence]
        said = problem(what, float(length), issued, wait, spans)
        shown = " ".join(f"+{(each.time - issued.time) / 1000:.1f} for {each.size / 1000:.1f} us" for each in spans)
        share = max((each.address for each in spans), default=0)
        print(f"{what:<7} events {float(length):>8.1f} us, spans {shown}, share {share}: {said or 'right'}", flush=True)
        wrong += bool(said) and number >= OF_A_ROUND
    return int(wrong != 0)


if __name__ == "__main__":
    sys.exit(main())
