"""Jobs of many processes on the fake device: one report, in which findings of several ranks are one and name them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from fake_device import FakeDevice, expected
from forked import streamsan
from streamsan.recorder.run_files import run_files
from streamsan.trace import family

# Each test records several processes from their start to their end.
pytestmark = pytest.mark.deep

LAUNCHER = """
import os, subprocess, sys
places = {places}
programs, names = sys.argv[1], sys.argv[2:]
ranks = []
for rank, name in enumerate(names):
    own = dict(os.environ, **{{key: value.format(rank=rank, size=len(names)) for key, value in places.items()}})
    ranks.append(subprocess.Popen([programs, *name.split()], env=own))
for each in ranks:
    each.wait()
"""
SPAWNER = """
import ctypes, multiprocessing, os, sys

def rank(number, set_rank):
    if set_rank:
        os.environ.update(RANK=str(number), WORLD_SIZE="2")
    runtime = ctypes.CDLL("libcudart.so.13")
    memory = ctypes.c_void_p()
    runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(4096))
    runtime.cudaFree(memory)
    if number == 1:
        runtime.cudaFree(memory)

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    ranks = [context.Process(target=rank, args=(number, sys.argv[2] == "set")) for number in range(2)]
    for each in ranks:
        each.start()
    for each in ranks:
        each.join()
"""
TORCHRUN = {"RANK": "{rank}", "WORLD_SIZE": "{size}", "LOCAL_RANK": "{rank}", "SLURM_PROCID": "0"}
MPIRUN = {
    "OMPI_COMM_WORLD_RANK": "{rank}",
    "OMPI_COMM_WORLD_SIZE": "{size}",
    "OMPI_COMM_WORLD_LOCAL_RANK": "{rank}",
}
SLURM = {"SLURM_PROCID": "{rank}", "SLURM_STEP_NUM_TASKS": "{size}", "SLURM_LOCALID": "{rank}"}


def launcher(folder: Path, places: dict[str, str]) -> str:
    """Return a script that starts a program for each rank, as a launcher with these variables does."""
    script = folder / "launcher.py"
    script.write_text(LAUNCHER.format(places=places))
    return str(script)


@pytest.mark.parametrize("places", [TORCHRUN, MPIRUN, SLURM], ids=["torchrun", "mpirun", "srun"])
def test_what_all_ranks_do_wrong_is_one_finding(
    places: dict[str, str], fake_device: FakeDevice, tmp_path: Path
) -> None:
    script = launcher(tmp_path, places)
    names = ["double_free_wrong"] * 3
    ran = fake_device.run(tmp_path, [sys.executable, script, fake_device.programs, *names], "-o", "run.sst")
    assert ran.loud == expected("double_free_wrong").loud
    (finding,) = (each for each in ran.report["findings"] if each["severity"] == "error")
    assert finding["ranks"] == [0, 1, 2]
    files = run_files(str(tmp_path / "run.sst"))
    metadata = [family.reader.read(file.path).metadata for file in files]
    assert sorted((each["rank"], each["world_size"], each["local_rank"]) for each in metadata) == [
        (0, 3, 0),
        (1, 3, 1),
        (2, 3, 2),
    ]
    text = streamsan(tmp_path, "check", "run.sst").stdout
    assert "(ranks 0-2)\n" in text


def test_what_one_rank_does_wrong_names_it(fake_device: FakeDevice, tmp_path: Path) -> None:
    script = launcher(tmp_path, TORCHRUN)
    names = ["double_free_right", "use_races_free_wrong", "double_free_wrong", "use_races_free_wrong"]
    ran = fake_device.run(tmp_path, [sys.executable, script, fake_device.programs, *names])
    ranks = {each["code"]: each["ranks"] for each in ran.report["findings"] if each["severity"] == "error"}
    assert ranks == {"SS102": [1, 3], "SS201": [2]}


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
@pytest.mark.parametrize(("variables", "ranks"), [("set", [1]), ("none", [])])
def test_processes_that_python_starts_have_the_rank_that_they_set(
    method: str, variables: str, ranks: list[int], fake_device: FakeDevice, tmp_path: Path
) -> None:
    script = tmp_path / "spawner.py"
    script.write_text(SPAWNER)
    ran = fake_device.run(tmp_path, [sys.executable, str(script), method, variables])
    assert [each["ranks"] for each in ran.report["findings"] if each["code"] == "SS201"] == [ranks]
    assert not [each for each in ran.problems if "partial result" in each]


def test_a_job_of_one_process_has_no_ranks(fake_device: FakeDevice, tmp_path: Path) -> None:
    ran = fake_device.run(
        tmp_path,
        [fake_device.programs, "double_free_wrong"],
        environment={"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"},
    )
    assert [each["ranks"] for each in ran.report["findings"] if each["severity"] == "error"] == [[]]


def test_a_killed_rank_gives_what_it_did_and_is_named(fake_device: FakeDevice, tmp_path: Path) -> None:
    script = launcher(tmp_path, TORCHRUN)
    names = ["double_free_right", "ends kill 3", "double_free_wrong"]
    ran = fake_device.run(tmp_path, [sys.executable, script, fake_device.programs, *names])
    assert [each["ranks"] for each in ran.report["findings"] if each["severity"] == "error"] == [[2]]
    (problem,) = (each for each in ran.problems if "partial result" in each)
    assert "(rank 1): partial result" in problem


def test_traces_of_ranks_that_were_recorded_apart_are_one_report(fake_device: FakeDevice, tmp_path: Path) -> None:
    for rank in (0, 1):
        places = {"RANK": str(rank), "WORLD_SIZE": "2"}
        command = [fake_device.programs, "double_free_wrong"]
        options = ("-o", f"rank-{rank}.sst", "--no-check")
        fake_device.run(tmp_path, command, *options, environment=places, checked=False)
    for jobs in ("1", "2"):
        done = streamsan(tmp_path, "check", "rank-0.sst", "rank-1.sst", "--format", "json", "--jobs", jobs)
        found = [each for each in json.loads(done.stdout)["findings"] if each["severity"] == "error"]
        assert [each["ranks"] for each in found] == [[0, 1]]
