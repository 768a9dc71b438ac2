"""Random small programs: does the order engine decide as all their executions do?

    python bench/oracle.py --programs 200000 --seed 1
    python bench/oracle.py --programs 20000 --seed 1 --unknown-callers

Each program is given to the engine as a trace, and to an oracle that goes through the executions that the contract
allows (tests/property/execution_oracle). Both must find the same operations wrong, and the same waits redundant. What
they do not agree on is shrunk and printed; the exit status is then 1. One program of `--walk-every` is also walked
through state by state, if it has few enough states, to see that the oracle's faster search says the same.

With `--unknown-callers` the programs have streams, events, memory and calls of code that nobody can see. The oracle
looks at all programs that such a one may stand for: the engine may be sure only of what is wrong in all of them, must
at least doubt that, and may call no wait redundant that one of them needs.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "property"))

from execution_oracle.campaign import Tally, campaign


def main() -> int:
    """Compare, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--walk-every", type=int, default=16, metavar="N", help="0: none (default: 16)")
    parser.add_argument("--unknown-callers", action="store_true", help="with objects of callers that nobody can see")
    arguments = parser.parse_args()
    began = time.monotonic()
    tally = Tally()
    parts = campaign(
        arguments.programs,
        arguments.seed,
        arguments.processes,
        arguments.walk_every,
        unknown=arguments.unknown_callers,
    )
    for tally in parts:
        if sys.stderr.isatty():
            print(f"\r{tally.programs} programs, {len(tally.disagreements)} disagreements", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    report(tally, time.monotonic() - began)
    return 1 if tally.disagreements else 0


def report(tally: Tally, seconds: float) -> None:
    """Print the tally."""
    for disagreement in tally.disagreements[:20]:
        print(disagreement, end="\n\n")
    programs = tally.programs
    rules = ", ".join(f"{rule} {count}" for rule, count in sorted(tally.rules.items()))
    print(
        f"programs       {programs}, of {tally.operations} operations; {programs / max(seconds, 1e-9):.0f} per second"
    )
    print(f"wrong          {tally.wrong}")
    print(f"right          {programs - tally.wrong}")
    print(f"redundant wait {tally.redundant} programs with one or more")
    print(f"found          {rules}")
    print(f"walked         {tally.walked} programs through all of their {tally.states} states")
    print(f"disagreements  {len(tally.disagreements)}")


if __name__ == "__main__":
    sys.exit(main())
