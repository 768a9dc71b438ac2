"""A recorded program behaves as if it were not: output and exit status of frameworks' scripts with and without.

`python bench/transparency.py` runs each script of `bench/transparent` twice; needs a GPU and the frameworks. The litmus
programs are compared in the same way by `bench/recorded_litmus.py`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "transparent"


def main() -> int:
    """Run all scripts; return 1 if one behaves differently."""
    different = 0
    with tempfile.TemporaryDirectory(prefix="streamsan-transparency-") as folder:
        for script in sorted(FOLDER.glob("*.py")):
            command = [sys.executable, str(script)]
            report = Path(folder) / "report.txt"
            plain = subprocess.run(command, capture_output=True, text=True, check=False)
            recorder = [sys.executable, "-m", "streamsan", "run", "--report", str(report), "--"]
            recorded = subprocess.run([*recorder, *command], capture_output=True, text=True, check=False)
            same = (plain.returncode, plain.stdout) == (recorded.returncode, recorded.stdout)
            different += not same
            counts = report.read_text(encoding="utf-8").strip().splitlines()[-1] if report.exists() else "no report"
            print(f"{script.name:<24} {'same' if same else 'DIFFERENT'} (status {plain.returncode}); {counts}")
            if not same:
                print(f"--- plain\n{plain.stdout}{plain.stderr}\n--- recorded\n{recorded.stdout}{recorded.stderr}")
            elif plain.returncode != 0:
                print(plain.stderr[-2000:])
    return 1 if different else 0


if __name__ == "__main__":
    raise SystemExit(main())
