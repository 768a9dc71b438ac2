"""Wrong programs go wrong on the simulated device, right ones do not: each pair under many schedules.

    python bench/schedules.py --seeds 1000 [NAME...]

Each program of `schedule_programs/` and the pipelines of `examples/` runs in this process, once for each seed and once
each for "eager" and "lazy", and says how many words came out wrong; one that fails counts as wrong. Prints one line for
each pair; the exit status is 1 if a wrong program was right under every schedule, or a right one wrong under any.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import streamsan.testing

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(__file__).resolve().parent / "schedule_programs"


def pairs() -> Iterator[tuple[str, Path, Path]]:
    """Yield name, wrong program, right program."""
    yield "examples/pipeline", ROOT / "examples/pipeline.py", ROOT / "examples/pipeline_fixed.py"
    for wrong in sorted(PROGRAMS.glob("*_wrong.py")):
        name = wrong.name.removesuffix("_wrong.py")
        yield name, wrong, wrong.with_name(f"{name}_right.py")


def load(path: Path) -> ModuleType:
    """Return the program as a module of its own, made afresh: it holds handles of one simulated device."""
    spec = importlib.util.spec_from_file_location("program", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wrong_words(path: Path, schedule: int | str) -> int:
    """Return how many words the program computes wrongly under a schedule; -1 if it fails."""
    with streamsan.testing.device(schedule=schedule) as device:
        sys.modules.pop("gpu", None)
        program = load(path)
        device.kernels.update(getattr(program, "SIMULATED_KERNELS", {}))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                return int(program.main())
            except RuntimeError:
                return -1


def wrong_schedules(path: Path, schedules: Sequence[int | str]) -> list[int | str]:
    """Return the schedules under which a program computes wrong words or fails."""
    return [schedule for schedule in schedules if wrong_words(path, schedule) != 0]


def main() -> int:
    """Run the pairs that are asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="pairs to run; all without any")
    parser.add_argument("--seeds", type=int, default=1000)
    arguments = parser.parse_args()
    sys.path.insert(0, str(PROGRAMS))
    schedules: list[int | str] = [*range(arguments.seeds), "eager", "lazy"]
    status = 0
    for name, wrong, right in pairs():
        if arguments.names and name not in arguments.names:
            continue
        bad, good = wrong_schedules(wrong, schedules), wrong_schedules(right, schedules)
        ok = bool(bad) and not good
        status |= not ok
        print(
            f"{name}: wrong program wrong under {len(bad)} of {len(schedules)} schedules"
            f"{' (lazy among them)' if 'lazy' in bad else ''}, right twin under {len(good)}"
            f"{'' if ok else ': NOT AS IT SHOULD BE'}",
            flush=True,
        )
    return status


if __name__ == "__main__":
    sys.exit(main())
