"""`bench/kernel_truth.py` notices where machine code and instrumentation do not say the same of a launch."""

from __future__ import annotations

import random
import struct
import sys
from pathlib import Path

import pytest
from launched_traces import SIZE, Recorded, cubin

from streamsan.launched_code.image_folder import image_folder
from streamsan.launched_code.kernel_readings import read_kernels
from streamsan.launched_code.reference_patches import kernel_of
from streamsan.launched_code.remembered_kernels import RememberedKernels, kernels_folder
from streamsan.machine_code.disassembler import disassemblers
from streamsan.trace import Reference, family
from streamsan.trace.rows import Rows
from streamsan.vocabulary import AccessMode, MemoryKind, OperationKind, SeenAccesses, SlotFlag

sys.path.append(str(Path(__file__).parents[2] / "bench"))

from byte_sets import ByteSet
from kernel_comparison import Compared, Place, compared
from kernel_truth import maker, printed

pytestmark = pytest.mark.skipif(not disassemblers(), reason="no nvdisasm")

READ, WRITE, BOTH, OPEN = AccessMode.READ, AccessMode.WRITE, AccessMode.READ_WRITE, AccessMode.OPAQUE
N = 256
END = 4 * N


class Seen(Recorded):
    """A recording in which launches were seen by instrumentation."""

    def __init__(self, folder: Path, name: str = "extent_kernels") -> None:
        super().__init__(folder, [cubin(name=name)], accesses=True)
        self.stream_ = self.stream(1)

    def launched(self, shape: int, addresses: list[int], seen: list[Reference], whole: bool = True) -> None:
        launch = self.launch(self.stream_, shape, *addresses)
        detail = SeenAccesses.ALL if whole else SeenAccesses.SOME
        self.say(OperationKind.LAUNCH_ACCESSES, object=launch, detail=detail, references=seen)

    def result(self, shapes: int = 8) -> Compared:
        path = self.write()
        trace = family.read(path)
        kernels = map(kernel_of, list(trace.launch_shapes)[1:])
        folder = image_folder(path, trace.metadata)
        return compared(trace, read_kernels(kernels, folder, RememberedKernels(kernels_folder()), None), shapes)


def adds(r: Recorded) -> int:
    """The shape of `vector_add(a, b, c, n)`, which writes c."""
    return r.shape("vector_add", 0, 8, 16, arguments=struct.pack("<QQQi", 0, 0, 0, N))


def at(address: int, mode: AccessMode, size: int = END, flags: int = 0, rows: Rows | None = None) -> Reference:
    return Reference(address, size, 0, mode, flags, rows)


def places(found: Compared) -> dict[tuple[int | str, ...], Place]:
    (known,) = found.places.values()
    return known


def verdicts(found: Compared) -> dict[tuple[int | str, ...], str]:
    return {words: place.verdict() for words, place in places(found).items()}


def test_what_fits_is_exact(tmp_path: Path) -> None:
    r = Seen(tmp_path)
    a, b, c = (r.memory() for _ in range(3))
    r.launched(adds(r), [a, b, c], [at(a, READ), at(b, READ), at(c, WRITE)])
    found = r.result()
    assert verdicts(found) == {(0,): "exact", (8,): "exact", (16,): "exact"}
    assert [place.extents for place in places(found).values()] == [{"exact": 1}] * 3
    assert (found.launches, found.stray, found.unseen) == (1, {}, set())


@pytest.mark.parametrize(
    ("seen", "words", "expected"),
    [
        (lambda a, b, c: [at(a, BOTH), at(b, READ), at(c, WRITE)], (0,), "writes, though said to be reads"),
        (lambda a, b, c: [at(a, READ), at(b, READ), at(c, BOTH)], (16,), "reads, though said to be writes"),
        (lambda a, b, c: [at(a, READ), at(b, READ), at(c, BOTH, flags=SlotFlag.ATOMIC)], (16,), "updates, though"),
        (lambda a, b, c: [at(a, READ, END + 4), at(b, READ), at(c, WRITE)], (0,), "1024 to 1028, outside of 0 to 1024"),
        (lambda a, b, c: [at(a, READ), at(b, READ), at(c + 4, WRITE, END - 4)], (16,), "not bytes 0 to 4 of 0 to "),
        (lambda a, b, c: [at(a, READ), at(b, READ)], (16,), "not bytes 0 to 1024"),
        (
            lambda a, b, c: [at(a, READ), at(b, READ), at(c, WRITE, 1016, rows=Rows(8, 16, 64))],
            (16,),
            "not bytes 8 to 16, 24 to 32 and 62 more ranges",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_contradicted(tmp_path: Path, seen, words, expected) -> None:  # type: ignore[no-untyped-def]
    r = Seen(tmp_path)
    a, b, c = (r.memory() for _ in range(3))
    r.launched(adds(r), [a, b, c], seen(a, b, c))
    found = places(r.result())
    assert [each for each, place in found.items() if place.verdict() == "contradicted"] == [words]
    assert any(expected in each for each in found[words].contradictions)


def test_what_was_not_seen_whole_contradicts_nothing_by_missing(tmp_path: Path) -> None:
    r = Seen(tmp_path)
    a, b, c = (r.memory() for _ in range(3))
    r.launched(adds(r), [a, b, c], [at(a, READ), at(b, READ)], whole=False)
    assert verdicts(r.result()) == {(0,): "exact", (8,): "exact", (16,): "more"}


def test_words_into_one_allocation_are_one_place(tmp_path: Path) -> None:
    r = Seen(tmp_path)
    a, c = r.memory(), r.memory()
    r.launched(adds(r), [a, a + END, c], [at(a, READ, 2 * END), at(c, WRITE)])
    assert verdicts(r.result()) == {(0, 8): "exact", (16,): "exact"}


def test_bounds_and_open_modes_are_taken_as_what_they_are(tmp_path: Path) -> None:
    r = Seen(tmp_path)
    a, b, c = (r.memory() for _ in range(3))
    bound = at(a, READ, flags=SlotFlag.ASSUMED)
    r.launched(adds(r), [a, b, c], [bound, at(b, READ), at(c, OPEN, 0)], whole=False)
    assert [place.verdict() for place in places(r.result()).values()] == ["exact"] * 3


def test_atomic_operations_in_a_row_have_no_size(tmp_path: Path) -> None:
    r = Seen(tmp_path)
    counts, sums = r.memory(), r.memory()
    shape = r.shape("scaled_atomics", 0, 8, arguments=struct.pack("<QQi", 0, 0, N))
    atomic = SlotFlag.ATOMIC | SlotFlag.TOUCHES
    r.launched(shape, [counts, sums], [at(counts, BOTH, 0, atomic), at(sums, BOTH, 0, atomic)])
    assert [place.verdict() for place in places(r.result()).values()] == ["exact"] * 2


def test_memory_behind_pointers_in_memory_contradicts_nothing(tmp_path: Path) -> None:
    r = Seen(tmp_path, "kernels")
    table, row = r.memory(), r.memory()
    shape = r.shape("pointers_in_memory", 0, arguments=struct.pack("<Qi", 0, 1))
    r.launched(shape, [table], [at(table, READ, 8), at(row, WRITE)])
    found = r.result()
    assert found.stray == {}
    assert verdicts(found) == {(0,): "exact"}
    r.launched(shape, [table], [at(table, BOTH, 8)])
    assert verdicts(r.result()) == {(0,): "open"}


def test_memory_to_which_nothing_leads_is_told(tmp_path: Path) -> None:
    r = Seen(tmp_path)
    a, b, c, other = (r.memory() for _ in range(4))
    r.launched(adds(r), [a, b, c], [at(a, READ), at(b, READ), at(c, WRITE), at(other, WRITE)])
    found = r.result()
    assert list(found.stray.values()) == [f"writes {other:#x}"]
    assert printed(found, dict.fromkeys(found.places, "our own")) == 1


def test_a_flag_at_the_end_of_an_allocation_is_not_in_the_next_one(tmp_path: Path) -> None:
    r = Seen(tmp_path)
    a, b, c = (r.memory() for _ in range(3))
    r.say(OperationKind.ALLOC, references=[Reference(a + SIZE, SIZE)], detail=MemoryKind.PLAIN)
    r.launched(adds(r), [a, b, c], [at(a + SIZE - 1, OPEN, 0)], whole=False)
    assert r.result().stray == {}


def test_variables_are_places_of_their_symbol(tmp_path: Path) -> None:
    r = Seen(tmp_path, "kernels")
    counter = r.memory("counter", MemoryKind.DEVICE_SYMBOL)
    shape = r.shape("counts", arguments=b"")
    r.launched(shape, [], [at(counter, BOTH, 0, SlotFlag.ATOMIC | SlotFlag.TOUCHES)])
    assert places(r.result())[("counter",)].verdict() == "exact"


def test_kernels_without_code_may_do_anything_and_launches_may_be_unseen(tmp_path: Path) -> None:
    r = Seen(tmp_path)
    a, b, c = (r.memory() for _ in range(3))
    r.launch(r.stream_, adds(r), a, b, c)
    unknown = r.shape("vector_add", 0, names=("0" * 32,))
    r.launched(unknown, [a], [at(a, WRITE)])
    found = r.result()
    assert [kernel[1] for kernel in found.unseen] == [r.names]
    assert list(found.unread.values()) == ["their code is not beside the trace"]
    assert [place.verdict() for place in places(found).values()] == ["may"]


def test_extents_of_so_many_different_launches_are_compared(tmp_path: Path) -> None:
    r = Seen(tmp_path)
    a, b, c = (r.memory() for _ in range(3))
    for n in (N, N - 1, N - 2):
        shape = r.shape("vector_add", 0, 8, 16, arguments=struct.pack("<QQQi", 0, 0, 0, n))
        r.launched(shape, [a, b, c], [at(a, READ, 4 * n), at(b, READ, 4 * n), at(c, WRITE, 4 * n)])
    assert [place.extents["exact"] for place in places(r.result(2)).values()] == [2, 2, 2]


def test_recordings_are_put_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    r = Seen(tmp_path)
    a, b, c = (r.memory() for _ in range(3))
    r.launched(adds(r), [a, b, c], [at(a, READ), at(b, READ), at(c, WRITE)])
    r.launched(adds(r), [a, b, c], [at(a, READ), at(b, READ), at(c, WRITE, SIZE)])
    found = r.result()
    together = Compared()
    together.add(found)
    together.add(found)
    assert [place.launches for place in places(together).values()] == [4] * 3
    assert printed(together, dict.fromkeys(together.places, "our own")) == 1
    said = capsys.readouterr().out
    assert "| our own | 1 | 3 | 2 (66.7%) | 0 (0.0%) | 0 (0.0%) | 0 (0.0%) | 1 (33.3%) |" in said
    assert "CONTRADICTED our own: vector_add, words (16,): writes bytes 1024 to" in said


def test_kernels_are_told_apart_by_name_and_program() -> None:
    assert maker("_Z6squarePf", "sample-vectorAdd.sst") == "NVIDIA's samples"
    assert maker("ampere_sgemm_64x64_nn", "cupy_kernels-libraries.sst") == "cuBLAS"
    assert maker("cupy_add", "cupy_kernels-ufuncs.sst") == "CuPy"


def test_sets_of_bytes_are_sets() -> None:
    chance = random.Random(7)
    for _ in range(300):
        ranges = [[(begin, begin + chance.randrange(6)) for begin in chance.choices(range(40), k=chance.randrange(6))]
                  for _ in range(2)]  # fmt: skip
        one, other = map(ByteSet, ranges)
        mine, theirs = ({byte for pair in each for byte in range(*pair)} for each in ranges)
        assert (one | other) == ByteSet([(byte, byte + 1) for byte in mine | theirs])
        assert (one - other) == ByteSet([(byte, byte + 1) for byte in mine - theirs])
        assert one.within(10, 20) == ByteSet([(byte, byte + 1) for byte in mine if 10 <= byte < 20])
        assert (one.begin, one.end) == ((min(mine), max(mine) + 1) if mine else (0, 0))
    assert ByteSet.of_rows(5, 2, 4, 2, 100, 2) == ByteSet([(5, 7), (9, 11), (105, 107), (109, 111)])
