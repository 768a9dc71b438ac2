"""Launches, copies and fills as the recorder writes them, from synthetic callbacks, under sanitizers."""

from __future__ import annotations

import pytest
from recorded_scenarios import Scenarios, scenarios

from streamsan.trace.rows import Rows
from streamsan.vocabulary import HandleKind, MemoryKind, OperationKind, SlotFlag, ValueOperation, WaitClass

DEVICE, HOST = 0x7F0000000000, 0x7E0000000000
ONE, TWO, READY = 0x1001, 0x1002, 0x2001
MEGABYTE = 1 << 20
A, B = DEVICE, DEVICE + 4 * MEGABYTE
CONDITIONAL, STRIDED = int(SlotFlag.CONDITIONAL), int(SlotFlag.STRIDED)
LAUNCH, COPY, MEMSET, PREFETCH = (
    OperationKind.LAUNCH,
    OperationKind.COPY,
    OperationKind.MEMSET,
    OperationKind.PREFETCH,
)


pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Scenarios:
    return scenarios(tmp_path_factory, "address", "work")


# -- names of kernels -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("symbol", "said"),
    [
        ("_Z5scalePfPKfi", "scale|typed|*r."),
        ("_ZN12_GLOBAL__N_14scanIfLi4EEEvPKT_PS1_NS_6StructE", "(anonymous namespace)::scan<float, 4>|typed|r*."),
        ("triton_poi_fused_add_0", "triton_poi_fused_add_0|untyped|"),
        ("i", "i|untyped|"),
        ("_Znot mangled", "_Znot mangled|untyped|"),
        ("= void k()", "k|typed|"),
        ("= void k(float const*, float* const, float const* const, float const**, T const* const*)", "k|typed|r*r*r"),
        ("= void k(int const (*) [4], int (*) [4], void (*)(float const*), Foo&, Foo const&)", "k|typed|r*.*r"),
        ("= void k(unsigned long, A<float const*>, std::pair<int, float const*> const*, float const volatile*)",
         "k|typed|..rr"),
        ("= void k<ns::operator<(A, B)::{lambda(int const*)#1}>(ns::f(int, int)::{lambda(float const*, int)#2}, int*)",
         "k<ns::operator<(A, B)::{lambda(int const*)#1}>|typed|.*"),
        ("= void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >"
         "(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)",
         "at::native::vectorized_elementwise_kernel<4, ...>|typed|..."),
    ],
)  # fmt: skip
def test_names_of_kernels(recorded: Scenarios, symbol: str, said: str) -> None:
    assert recorded.names([symbol]) == [said]


def test_no_name_does_harm(recorded: Scenarios) -> None:
    wild = [
        "= )",
        "= ((((",
        "= k(<<<",
        "= k(a<b>>>,,)",
        "= operator<",
        "= void ",
        "= k(operator<<<)",
        "= " + "a<" * 500 + "(" + "b," * 500,
    ]
    said = recorded.names([*wild, "_Z5scalePfPKfi"])
    assert len(said) == len(wild) + 1
    assert said[-1] == "scale|typed|*r."


# -- launches -------------------------------------------------------------------------------------
def test_launches(recorded: Scenarios) -> None:
    launches = recorded.operations("launches", LAUNCH)
    assert [each.label for each in launches] == ["scale"] * 3 + ["plain_c_kernel"] + ["scale"] * 3
    to_a, from_b = (A, 0, "OPAQUE", 0), (B, 0, "READ", 0)
    assert launches[0].references == [to_a, from_b]
    assert launches[1].references == [to_a]  # once, and not only read
    assert launches[2].references == []  # numbers, and memory that was never CUDA's
    assert launches[3].references == [to_a, (B, 0, "OPAQUE", 0)]
    assert launches[4].references == [(A + 512, 0, "OPAQUE", 0), from_b]
    assert [each.view.status for each in launches] == [0, 0, 0, 0, 0, 1, 0]
    assert [each.view.stream for each in launches] == [ONE, 1, ONE, ONE, ONE, ONE, 2]
    assert all(not each.view.flags & SlotFlag.ENTER for each in launches)


def test_words_of_structures(recorded: Scenarios) -> None:
    launches = recorded.operations("structures", LAUNCH)
    assert [each.references for each in launches] == [
        [(A, 0, "OPAQUE", 0), (B, 0, "READ", 0)],
        [(A, 0, "OPAQUE", 0), (B, 0, "OPAQUE", CONDITIONAL)],
        [(A, 0, "OPAQUE", CONDITIONAL), (B, 0, "OPAQUE", CONDITIONAL)],
        [(A, 0, "OPAQUE", 0)],
    ]
    # The launch itself is sure, though nothing that it uses is.
    assert all(not each.view.flags & CONDITIONAL for each in launches)


def test_argument_buffers(recorded: Scenarios) -> None:
    launches = recorded.operations("argument_buffers", LAUNCH)
    assert [[address for address, *_ in each.references] for each in launches] == [[A, B], [A], [A, B], [], [A]]


def test_a_driver_that_does_not_tell_parameters(recorded: Scenarios) -> None:
    launches = recorded.operations("older_driver", LAUNCH)
    assert launches[0].references == [(A, 0, "OPAQUE", 0), (B, 0, "READ", 0)]
    assert launches[1].references == launches[2].references == []
    (said,) = recorded.operations("older_driver", OperationKind.NOT_UNDERSTOOD)
    assert "does not tell the parameters" in said.label


def test_more_addresses_than_fit(recorded: Scenarios) -> None:
    launches = recorded.operations("many_arguments", LAUNCH)
    assert [len(each.references) for each in launches] == [40, 510, 510]
    assert len({address for address, *_ in launches[1].references}) == 510
    assert len(recorded.operations("many_arguments", OperationKind.NOT_UNDERSTOOD)) == 1


def test_configured_launches(recorded: Scenarios) -> None:
    found = recorded.operations("configured", LAUNCH, OperationKind.EVENT_RECORD)
    assert [(each.kind, each.view.stream, each.view.detail, each.view.status) for each in found] == [
        (LAUNCH, ONE, WaitClass.NONE, 0),
        (OperationKind.EVENT_RECORD, ONE, 0, 0),
        (LAUNCH, ONE, WaitClass.PROGRAMMATIC, 0),
        (LAUNCH, 1, WaitClass.NONE, 0),
        (LAUNCH, ONE, WaitClass.NONE, 0),
        (LAUNCH, ONE, WaitClass.NONE, 719),
        (LAUNCH, TWO, WaitClass.NONE, 719),
    ]
    assert found[1].view.object == READY


def test_a_handle_that_names_another_kernel_after_its_module_was_unloaded(recorded: Scenarios) -> None:
    first, second = recorded.operations("reloaded_module", LAUNCH)
    assert (first.label, first.references) == ("one", [(A, 0, "READ", 0)])
    assert (second.label, second.references) == ("two", [(A, 0, "READ", 0), (B, 0, "OPAQUE", 0)])


# -- copies and fills -----------------------------------------------------------------------------
def test_copies_and_what_the_host_waits_for(recorded: Scenarios) -> None:
    found = recorded.operations("copies", COPY)
    none, before, complete, maybe = (WaitClass(number) for number in range(4))
    assert [each.view.detail for each in found] == [
        *(before, complete, complete, WaitClass.BETWEEN_CONTEXTS),
        *(maybe, none, WaitClass.OBSERVED_COMPLETE, none, none),  # to pageable memory: L-10
        *(complete, none, none),
        *(complete, complete, complete),
    ]
    assert [each.view.stream for each in found] == [1] * 4 + [ONE] * 5 + [1, 1, ONE, 1, 1, 2]
    assert found[0].references == [(A, 100, "WRITE", 0), (HOST + 64 * MEGABYTE, 100, "READ", 0)]
    assert found[12].references == []  # no bytes
    assert found[13].view.status == 700


def test_copies_that_wait_are_numbered_when_they_return(recorded: Scenarios) -> None:
    numbers = [each.view.sequence for each in recorded.operations("copies")]
    assert numbers == sorted(numbers)
    first = recorded.operations("copies", COPY)[0].view.sequence
    assert first - 1 not in numbers  # was this copy's, until it returned
    assert first - 2 in numbers


def test_a_copy_by_the_host_is_its_own_access(recorded: Scenarios) -> None:
    (access,) = recorded.operations("copies", OperationKind.HOST_ACCESS)
    assert access.references == [(HOST, 100, "WRITE", 0), (HOST + 64 * MEGABYTE, 100, "READ", 0)]
    (copy,) = (each for each in recorded.operations("copies", COPY) if each.api == "cuMemcpy")
    assert copy.references == []
    assert copy.view.sequence + 1 == access.view.sequence


def test_copies_in_rows_and_slices(recorded: Scenarios) -> None:
    found = recorded.operations("shaped_copies", COPY)
    rows = [(A, 640, "WRITE", 0), (HOST + 2 * 256 + 16, 9 * 256 + 64, "READ", STRIDED)]
    assert found[0].references == found[1].references == rows
    slices = [(A + 512 * 1024, 768, "WRITE", 0), (A + 128 * 8, 2 * 128 * 8 + 3 * 128 + 64, "READ", STRIDED)]
    assert found[2].references == slices
    assert found[0].rows == found[1].rows == [None, Rows(64, 256, 10)]
    assert found[2].rows == [None, Rows(64, 128, 4, 128 * 8, 3)]
    assert found[3].references == found[4].references == []
    assert all(size <= 1 << 62 for _, size, *_ in found[5].references)


def test_arrays_have_places_of_their_own(recorded: Scenarios) -> None:
    first, second = recorded.operations("array_copies", OperationKind.ALLOC)[1:]
    assert (first.view.detail, first.view.size, second.view.size) == (MemoryKind.ARRAY, 8192, 8192 + 2048 + 512)
    base, other = first.view.address, second.view.address
    assert base >> 57
    assert other >= base + 8192  # the handle came back, the array did not
    copies = recorded.operations("array_copies", COPY)
    assert copies[0].references[0] == (base + 256, 512, "WRITE", 0)
    assert copies[1].references == [(base, 128, "WRITE", 0), (base + 512, 128, "READ", 0)]
    assert copies[3].references[0] == (base + 3 * 256 + 8, 256 + 16, "WRITE", STRIDED)
    assert copies[3].rows[0] == Rows(16, 256, 2)
    assert [mode for _, _, mode, _ in copies[4].references] == ["READ"]  # to an array that nobody made
    assert copies[5].references[1] == (other, 0, "READ", 0)
    frees = recorded.operations("array_copies", OperationKind.FREE)
    assert [(each.view.address, each.view.status) for each in frees] == [(base, 0), (base, 400), (other, 0)]


def test_texture_and_surface_objects_say_what_they_were_made_of(recorded: Scenarios) -> None:
    array, levels = recorded.operations("image_objects", OperationKind.ALLOC)[1:]
    made = recorded.operations("image_objects", OperationKind.HANDLE_CREATE)
    texture, surface = HandleKind.TEXTURE, HandleKind.SURFACE
    sizes = (1 << 56) - 1
    said = [(each.view.detail, each.view.object, each.view.address, each.view.size & sizes, each.view.size >> 56)
            for each in made]  # fmt: skip
    assert said == [
        (texture, 1, A + 256, 4096, 16),
        (texture, 2, A, 19 * 512 + 100, 1),
        (texture, 3, A, 0, 0),  # of blocks of texels
        (surface, 1, array.view.address, 8192, 4),
        (texture, 4, array.view.address, 0, 0),  # of a view, where it begins is not said
        (texture, 5, levels.view.address, 0, 0),
        (surface, 2, levels.view.address, 0, 0),
        (surface, 3, 0, 0, 0),  # an array that nobody made
    ]
    gone = recorded.operations("image_objects", OperationKind.HANDLE_DESTROY)
    assert [(each.view.detail, each.view.object, each.view.status) for each in gone] == [
        (texture, 1, 0),
        (surface, 1, 1),
    ]
    refused = recorded.operations("image_objects", OperationKind.CALL)
    assert [(each.api, each.view.status) for each in refused] == [("cuTexObjectCreate", 1)] * 2


def test_batches(recorded: Scenarios) -> None:
    copies = recorded.operations("batches", COPY)
    assert copies[0].references == [(A, 100, "WRITE", 0)]  # its source was read during the call
    assert copies[1].references == [(A + 1024, 200, "WRITE", 0), (A, 200, "READ", 0)]
    assert copies[3].references == [(A + 65536, 64, "WRITE", 0), (A, 16 * 32 + 3 * 32 + 8, "READ", STRIDED)]
    assert copies[3].rows == [None, Rows(8, 32, 4, 16 * 32, 2)]
    moved = recorded.operations("batches", PREFETCH)
    assert [each.references[0][2] for each in moved] == ["READ", "READ", "WRITE", "WRITE"]
    assert [each.view.status for each in moved] == [0, 0, 1, 1]


def test_fills_and_migrations(recorded: Scenarios) -> None:
    fills = recorded.operations("fills", MEMSET)
    assert [each.references for each in fills] == [
        [(A, 100, "WRITE", 0)],
        [(A, 400, "WRITE", 0)],
        [(A, 2 * 256 + 20, "WRITE", STRIDED)],
        [],
    ]
    assert [each.rows for each in fills] == [[None], [None], [Rows(20, 256, 3)], []]
    assert [each.view.detail for each in fills] == [WaitClass.NONE] * 3 + [WaitClass.COMPLETE]
    (access,) = recorded.operations("fills", OperationKind.HOST_ACCESS)
    assert access.references == [(HOST, 100, "WRITE", 0)]
    assert [each.references for each in recorded.operations("fills", PREFETCH)] == [
        [(A, 4096, "READ", 0)],
        [(A, 0, "READ", 0)],
    ]


def test_values_in_memory(recorded: Scenarios) -> None:
    found = recorded.operations("value_operations", OperationKind.STREAM_MEMORY_OP)
    assert [(each.view.detail, each.references) for each in found] == [
        (ValueOperation.WAIT_GEQ, [(A, 1, "READ", 0)]),
        (ValueOperation.WRITE_64, [(A + 8, 1, "WRITE", 0)]),
        (ValueOperation.WAIT_AND_64, [(A, 1 << 40, "READ", 0)]),
        (ValueOperation.WRITE, [(A + 16, 7, "WRITE", 0)]),
        (ValueOperation.UNKNOWN, [(A + 24, 0, "WRITE", 0)]),
    ]


# -- whole programs, through the engine -----------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("free_races", {"SS102"}),
        ("uses_unordered", {"SS109"}),
        ("unmaps_in_use", {"SS104"}),
        ("staged_copy_freed", {"SS107"}),
    ],
)
def test_wrong_programs_are_found_and_right_ones_are_silent(recorded: Scenarios, name: str, codes: set[str]) -> None:
    wrong, right = (recorded.check(f"{name}_{word}").findings for word in ("wrong", "right"))
    assert {finding.code for finding in wrong if finding.severity.name != "NOTE"} == codes
    assert [finding for finding in right if finding.severity.name != "NOTE"] == []


@pytest.mark.parametrize(
    "name", ["launches", "copies", "allocations", "mappings", "imports", "batches", "array_copies"]
)
def test_every_file_can_be_checked(recorded: Scenarios, name: str) -> None:
    recorded.check(name)


def test_threads_launch_while_modules_are_unloaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    found = scenarios(tmp_path_factory, "thread", "work").operations("threads", LAUNCH)
    assert len(found) == 4 * 200
    for each in found:
        lane = each.view.stream - 0x3000
        assert each.references == [(DEVICE + lane * 256 * MEGABYTE, 0, "OPAQUE", 0)]
        assert each.label == "scale"
