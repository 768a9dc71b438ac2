"""The command: `python -m conformance`."""

from __future__ import annotations

import argparse
import concurrent.futures
import multiprocessing
import os
import sys
import time
from fnmatch import fnmatchcase
from pathlib import Path

from conformance import comparison, machine, results, runner, worker
from conformance.registry import Case, Observations, all_cases

SUCCESS, DIFFERENT, UNUSABLE = 0, 1, 2
MOST_NAMED = 8
RECORDED = str(Path(__file__).resolve().parent / "results" / "h200.json")


def main(words: list[str] | None = None) -> int:
    """Run the command; return its exit status: 0, 1 for differences without a known reason, 2 for unusable input."""
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument("--list", action="store_true", help="list the cases")
    parser.add_argument("--on", choices=("gpu", "sim"), help="where to run them")
    parser.add_argument("--driver", choices=("contract", "h200"), default="h200", help="of the simulated device")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="cases or families (patterns)")
    parser.add_argument("-o", dest="output", default="", metavar="FILE", help="write what was observed")
    parser.add_argument("--update", action="store_true", help="keep what FILE has of cases that are not run now")
    parser.add_argument("--against", default=RECORDED, metavar="FILE", help="recorded results to compare with")
    parser.add_argument("--jobs", type=int, default=0, help="processes at a time, where nothing is timed")
    options = parser.parse_args(words)
    cases = _chosen(list(all_cases().values()), options.only)
    if not cases:
        return _refuse("no case has such a name")
    if options.list:
        for case in cases:
            print(f"{case.name:<48} {case.statement} [{', '.join(case.covers)}]")
        print(f"{len(cases)} cases")
        return SUCCESS
    if options.on is None:
        parser.error("--on gpu or --on sim, or --list")
    return _on_gpu(cases, options) if options.on == "gpu" else _on_sim(cases, options)


def _chosen(cases: list[Case], names: list[str]) -> list[Case]:
    patterns = [*names, *(f"{name}/*" for name in names)]
    return [case for case in cases if not names or any(fnmatchcase(case.name, pattern) for pattern in patterns)]


def _on_gpu(cases: list[Case], options: argparse.Namespace) -> int:
    if not options.output:
        return _refuse("--on gpu needs -o FILE")
    try:
        # In a process of its own: those that run cases come from one that has not initialised CUDA.
        spawning = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawning) as process:
            found = process.submit(machine.of_gpu).result()
    except (RuntimeError, concurrent.futures.process.BrokenProcessPool) as error:
        return _refuse(str(error))
    devices = found.devices
    if options.update:
        try:
            before = results.read(options.output)
        except results.ResultsError as error:
            return _refuse(str(error))
        if (before.device, before.driver) != (found.device, found.driver):
            return _refuse(f"{options.output}: was made on {before.device}, driver {before.driver}")
        found.devices = max(found.devices, before.devices)
        known = all_cases()
        found.cases.update({name: observed for name, observed in before.cases.items() if name in known})
    jobs = options.jobs or min(10, max(1, (os.cpu_count() or 2) - 2))
    plan = runner.Plan("gpu", devices=devices, jobs=jobs)
    began = time.monotonic()
    now: dict[str, Observations] = {}

    def report(name: str, observed: Observations) -> None:
        now[name] = found.cases[name] = observed
        found.write(options.output)

    try:
        runner.run(cases, plan, report)
        found.write(options.output)
    except OSError as error:
        return _refuse(f"{options.output}: {error.strerror}")
    unclear = sorted(name for name, observed in now.items() if worker.UNCLEAR in observed)
    failed = sorted(name for name, observed in now.items() if worker.FAILED in observed)
    print(
        f"{len(now)} of {len(cases)} cases on {found.device}, driver {found.driver}, in "
        f"{time.monotonic() - began:.0f} s; {len(unclear)} unclear, {len(failed)} failed; written to {options.output}"
    )
    for name in unclear:
        print(f"  {name}: unclear")
    for name in failed:
        print(f"  {name}: {now[name][worker.FAILED]}")
    return SUCCESS


def _on_sim(cases: list[Case], options: argparse.Namespace) -> int:
    try:
        recorded = results.read(options.against)
    except results.ResultsError as error:
        return _refuse(str(error))
    most = max(case.devices for case in cases)
    found = machine.of_simulation(options.driver, most)
    jobs = options.jobs or min(4, os.cpu_count() or 1)
    plan = runner.Plan("sim", options.driver, most, jobs)

    def report(name: str, observed: Observations) -> None:
        found.cases[name] = observed

    runner.run(cases, plan, report)
    if options.output:
        try:
            found.write(options.output)
        except OSError as error:
            return _refuse(f"{options.output}: {error.strerror}")
    ordered = {case.name: found.cases[case.name] for case in cases if case.name in found.cases}
    what = f"{recorded.device}, driver {recorded.driver}, {recorded.date}"
    result = comparison.of_results(recorded, ordered, options.driver)
    for difference in result.differences:
        print(difference)
    explained = {difference.case for difference in result.differences} - {each.case for each in result.unexplained}
    print(
        f"{result.agreeing} of {result.compared} agree with {what}"
        + (f"; {len(explained)} differ for known reasons" if explained else "")
        + (f"; {result.undefined} undefined ones are not compared" if result.undefined else "")
    )
    if result.not_compared:
        names = ", ".join(result.not_compared[:MOST_NAMED]) + (", ..." if len(result.not_compared) > MOST_NAMED else "")
        print(f"{len(result.not_compared)} have no clear answer recorded: {names}")
    for pattern in result.needless:
        print(f"known_differences.toml: {pattern}: nothing differs")
    return DIFFERENT if result.unexplained or result.needless else SUCCESS


def _refuse(reason: str) -> int:
    print(f"conformance: {reason}", file=sys.stderr)
    return UNUSABLE


if __name__ == "__main__":
    sys.exit(main())
