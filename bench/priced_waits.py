"""What waits cost, predicted and won: programs with a wait, recorded once, against the same programs without it.

Each program of `bench/priced_waits` runs plainly with its wait and without (`changed`), in turns, and prints how long
its loop took. Then it is recorded with `--times`, and the report's price of the line that is marked `asked` is held
against what was won. Where they differ by more than 10 % the line ends with `off`, and the status is 1. Needs a GPU,
nvcc and CUPTI's headers, and PyTorch for some; what is not there is said and left out.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from recording import Way, WorkloadError, compiled, recorded, value_of

HERE = Path(__file__).resolve().parent / "priced_waits"
STREAMSAN = [sys.executable, "-m", "streamsan"]
MARK = "asked"
TOLERANCE = 0.10


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5, help="plain runs of each")
    parser.add_argument("--only", default="", help="programs whose name holds this")
    parser.add_argument("--keep", type=Path, help="folder for the recordings, and what was won (won.json)")
    given = parser.parse_args(arguments)
    _recording_takes()
    print(
        f"\n{'program':<24} {'with':>10} {'without':>10} {'won':>10} {'predicted':>10} {'+-':>9}   off by", flush=True
    )
    off, won = 0, {}
    with tempfile.TemporaryDirectory() as work:
        folder = given.keep or Path(work)
        folder.mkdir(parents=True, exist_ok=True)
        for source in sorted(HERE.glob("*.cu")) + sorted(HERE.glob("*.py")):
            if given.only not in source.stem:
                continue
            try:
                off += _program(source, folder, given.turns, won)
            except (subprocess.CalledProcessError, OSError, StopIteration) as error:
                said = getattr(error, "stderr", "") or repr(error)
                print(f"{source.stem:<24} left out: {str(said).strip()[-600:]}", flush=True)
        (folder / "won.json").write_text(json.dumps(won, indent=1) + "\n")
    sys.exit(1 if off else 0)


def _recording_takes() -> None:
    """Print what a recording with times adds to a launch (`RECORDING_TAKES` of wait_costs/measured_run.py)."""
    with tempfile.TemporaryDirectory() as work:
        try:
            program = compiled(Path(work), "storm.cu")
            recording = Way("--times", recorded(Path(work), "--times"))
            pairs = [
                (value_of([program, "50000", "1"], Way("plain")), value_of([program, "50000", "1"], recording))
                for _ in range(5)
            ]
        except (WorkloadError, subprocess.CalledProcessError, OSError) as error:
            print(f"the storm failed: {error}", flush=True)
            return
    plain, told = (statistics.median(values) for values in zip(*pairs, strict=True))
    print(f"a launch takes {plain:.2f} us, recorded with times {told:.2f} us: {told / plain:.2f}x", flush=True)


def _program(source: Path, folder: Path, turns: int, all_won: dict[str, dict[str, float]]) -> bool:
    """Measure one program; add what was won, in ms, and tell whether the prediction is off."""
    command = [sys.executable, str(source)] if source.suffix == ".py" else [_compiled(source, folder)]
    with_wait, without = [], []
    for _ in range(turns):
        with_wait.append(_milliseconds(command))
        without.append(_milliseconds([*command, "changed"]))
    before, after = statistics.median(with_wait), statistics.median(without)
    trace = folder / f"{source.stem}.sst"
    run = [
        *STREAMSAN,
        "run",
        "--times",
        "-o",
        str(trace),
        "--report",
        str(folder / f"{source.stem}.txt"),
        "--",
        *command,
    ]
    subprocess.run(run, check=False, capture_output=True, text=True)
    predicted, spread = _price(trace, source)
    won = before - after
    all_won[source.stem] = {"line": _line(source), "with": before, "without": after, "won": won}
    error = abs(predicted - won) / abs(won) if won else 0.0
    is_off = error > TOLERANCE
    mark = "   off" if is_off else ""
    print(
        f"{source.stem:<24} {before:>7.2f} ms {after:>7.2f} ms {won:>7.2f} ms {predicted:>7.2f} ms {spread:>6.2f} ms"
        f"   {error:6.1%}{mark}",
        flush=True,
    )
    return is_off


def _price(trace: Path, source: Path) -> tuple[float, float]:
    """Return what the report says of the marked line, in ms."""
    line = _line(source)
    done = subprocess.run(
        [*STREAMSAN, "check", "--exit-zero", "--format", "json", str(trace)], check=True, capture_output=True, text=True
    )
    report = json.loads(done.stdout)
    for run in report["run_costs"]:
        for cost in run["waits"]:
            if cost["line"] == line:
                return cost["saves_ns"] / 1e6, cost["saves_spread_ns"] / 1e6
    raise OSError(f"no price of line {line}: {json.dumps(report['run_costs'])[:500]}")


def _line(source: Path) -> int:
    """Return the line that is asked about."""
    return next(n for n, text in enumerate(source.read_text().splitlines(), 1) if text.endswith(MARK))


def _compiled(source: Path, folder: Path) -> str:
    target = folder / source.stem
    command = ["nvcc", "-O2", "-g", "-lineinfo", "-std=c++17", "-o", str(target), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return str(target)


def _milliseconds(command: Sequence[str]) -> float:
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    main()
