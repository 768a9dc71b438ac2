"""What kernels are launched with, as the recorder writes it: grid, block, arguments, places of addresses in these."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from recorded_scenarios import Scenarios, scenarios_in_all_ways

from sanitized_programs import UNDER_SANITIZERS
from streamsan.trace import Trace, family, reader
from streamsan.trace.launch_shapes import ByteRun, LaunchShape, PointerPlace
from streamsan.trace.table_limits import MOST_LAUNCH_SHAPES
from streamsan.trace.view import OperationView, iterate
from streamsan.vocabulary import NodeKind, OperationKind, SlotFlag

SCALE = "_Z5scalePfPKfi"
GRID, BLOCK, SHARED = (4, 3, 2), (32, 2, 1), 64
FIRST_TWO = (PointerPlace(0, 0), PointerPlace(1, 8))
WHOLE_SHAPES = 1 << 16
NEW_SHAPES = 1 << 10  # of one kernel, each met once
NEW_SHAPE_BYTES = 256 << 10


@pytest.fixture(scope="module", params=["plain", *UNDER_SANITIZERS])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Scenarios:
    return scenarios_in_all_ways(request, tmp_path_factory, "shapes")


def launches(trace: Trace) -> list[OperationView]:
    return [view for view in iterate(trace) if view.kind is OperationKind.LAUNCH]


def shapes(trace: Trace) -> list[LaunchShape]:
    return [trace.launch_shapes[view.shape] for view in launches(trace)]


def scaled(count: int) -> bytes:
    """Return the argument buffer of `scale`: two addresses, which are not told, and a number."""
    return struct.pack("<QQi", 0, 0, count)


def test_a_launch_has_its_shape_and_equal_ones_have_the_same(recorded: Scenarios) -> None:
    trace = recorded.trace("launches")
    ids = [view.shape for view in launches(trace)]
    assert ids == [1, 1, 1, 2, 3, 4, 5, 6, 7, 7]
    first, *_, nothing, mixed, _ = shapes(trace)
    assert first == LaunchShape(SCALE, (), GRID, BLOCK, SHARED, FIRST_TWO, scaled(7))
    assert trace.launch_shapes[2].arguments == scaled(8)
    assert trace.launch_shapes[3].grid == (5, 3, 2)
    assert trace.launch_shapes[4].places == (PointerPlace(0, 0), PointerPlace(0, 8))
    assert trace.launch_shapes[5] == LaunchShape(
        SCALE, (), GRID, BLOCK, SHARED, (PointerPlace(0, 0),), struct.pack("<QQi", 0, 0x1234, 7)
    )
    assert nothing == LaunchShape("_Z7nothingv", (), GRID, BLOCK, SHARED)
    assert mixed.arguments == struct.pack("<bxxxiQb", 1, 3, 0, 2)
    assert mixed.places == (PointerPlace(0, 8),)


def test_the_first_reference_keeps_its_generation(recorded: Scenarios) -> None:
    for view in launches(recorded.trace("launches")):
        assert view.object == 0
        assert all(reference.generation == 0 for reference in view.references)


def test_every_launch_call_says_its_shape(recorded: Scenarios) -> None:
    found = shapes(recorded.trace("kinds_of_calls"))
    whole = LaunchShape(SCALE, (), GRID, BLOCK, SHARED, FIRST_TWO, scaled(7))
    assert found[:4] == [whole] * 4
    assert found[4] == LaunchShape(
        SCALE, (), GRID, BLOCK, SHARED, FIRST_TWO[:1], bytes(8) + struct.pack("<Q", 0x7F0000400000)[:4]
    )
    assert found[5] == LaunchShape(SCALE, (), (4, 3, 1), BLOCK, SHARED, FIRST_TWO, scaled(7))
    assert found[6] == LaunchShape(SCALE, (), (1, 1, 1), BLOCK, SHARED, FIRST_TWO, scaled(7))


class Draws:
    """The numbers of shapes.cpp."""

    def __init__(self) -> None:
        self.state = 7

    def below(self, end: int) -> int:
        self.state = (self.state * 1664525 + 1013904223) % (1 << 32)
        return (self.state >> 16) % end


def test_launches_that_were_met_before_are_told_as_if_they_were_new(recorded: Scenarios) -> None:
    trace = recorded.trace("in_any_order")
    device, part = 0x7F0000000000, 4 << 20
    a, b, later = device, device + part, device + 2 * part
    values = (a, b, a + 8, 0x1234, 0, later)
    draws = Draws()
    for count, view in enumerate(launches(trace)):
        kernel, blocks, number = draws.below(3), 1 + draws.below(2), draws.below(2)
        drawn = [values[draws.below(6)] for _ in range(3)]
        if kernel == 0:
            symbol, buffer = SCALE, struct.pack("<QQi", drawn[0], drawn[1], number)
            words = (0, 8)
        elif kernel == 1:
            symbol, buffer = "_Z5mixedciPdc", struct.pack("<bxxxiQb", number, number, drawn[0], 1)
            words = (8,)
        else:
            symbol = "_Z5inner5Inneri"
            structure = [0] * 50
            structure[3], structure[4], structure[20], structure[49] = drawn[0], drawn[1], number, drawn[2]
            buffer = struct.pack("<50Qi", *structure, number)
            words = (24, 32, 392)
        memory = {a, b, a + 8} | ({later} if count >= 600 else set())
        expected, places = bytearray(buffer), []
        addresses: list[int] = []
        for offset in words:
            (word,) = struct.unpack_from("<Q", buffer, offset)
            if word in memory:
                if word not in addresses:
                    addresses.append(word)
                places.append(PointerPlace(addresses.index(word), offset))
                expected[offset : offset + 8] = bytes(8)
        shape = LaunchShape(symbol, (), (blocks, 3, 2), BLOCK, SHARED, tuple(places), bytes(expected))
        assert trace.launch_shapes[view.shape] == shape
        found = [reference.address for reference in view.references if reference.address]
        assert found == addresses
    assert count == 1199


def test_launches_with_many_addresses_are_told_as_if_they_were_new(recorded: Scenarios) -> None:
    trace = recorded.trace("many_addresses")
    a, megabyte = 0x7F0000000000, 1 << 20
    later = a + 8 * megabyte
    draws = Draws()
    structure = [0] * 500
    for count, view in enumerate(launches(trace)):
        structure[0:48:2] = [a + 512 * index for index in range(24)]
        changed = draws.below(3)
        if changed == 0:
            structure[6] = structure[2]
        if changed == 1:
            structure[10] = later
        if changed == 2:
            structure[8] = 0x1234
        structure[401] = a + 64 if changed == 2 else 7
        structure[450] = count
        blocks = 1 + draws.below(2)
        shape = trace.launch_shapes[view.shape]
        addresses: list[int] = []
        leftovers: list[int] = []
        places, expected = [], list(structure)
        for index, word in enumerate(structure):
            told = not any(run.begin <= 8 * index < run.end for run in shape.not_told)
            address = a <= word < a + 8 * megabyte or (word == later and count >= 1000)
            if address and told:
                if word not in addresses:
                    addresses.append(word)
                places.append(PointerPlace(addresses.index(word), 8 * index))
            elif address:
                leftovers.append(word)
            if address or not told:
                expected[index] = 0
        found = [reference.address for reference in view.references if reference.address]
        assert found == list(dict.fromkeys([*addresses, *leftovers]))
        assert shape.grid == (blocks, 3, 2)
        assert shape.places == tuple(places)
        assert shape.arguments == struct.pack("<500Q", *expected)
        assert shape.not_told or count < 100
    assert count == 1499


def test_a_buffer_that_ends_early_keeps_its_shape(recorded: Scenarios) -> None:
    found = shapes(recorded.trace("short_buffers"))
    assert [len(shape.arguments) for shape in found] == [12, 12, 12, 20, 12, 12, 12, 20]


def test_no_launch_is_lost_whose_buffer_ends_long_before_its_parameters(recorded: Scenarios) -> None:
    found = shapes(recorded.trace("short_buffers_that_differ"))
    assert len(found) == 40
    assert {len(shape.arguments) for shape in found} == {96}
    assert {shape.places[0] for shape in found} == {PointerPlace(0, 0)}
    assert found[-1].not_told == (ByteRun(40, 48),)
    assert found[-1] == found[8]


def test_a_driver_that_does_not_tell_parameters(recorded: Scenarios) -> None:
    by_name, buffer = shapes(recorded.trace("older_driver"))
    assert by_name == LaunchShape(SCALE, (), GRID, BLOCK, SHARED)  # where its addresses stand is not known
    assert buffer == LaunchShape(SCALE, (), (1, 1, 1), (32, 1, 1), 0, FIRST_TWO, scaled(7))


def test_a_redacted_trace_has_no_values_of_arguments(recorded: Scenarios) -> None:
    path, _ = recorded.record("launches", "redact=1")
    found = shapes(family.read(str(path)))
    assert {shape.arguments for shape in found} == {b""}
    assert found[0] == LaunchShape(SCALE, (), GRID, BLOCK, SHARED, FIRST_TWO)


def test_bytes_that_differ_each_time_are_not_told_for_ever(recorded: Scenarios) -> None:
    trace = recorded.trace("step_counter")
    found = shapes(trace)
    counter = (ByteRun(16, 20),)
    less = LaunchShape(SCALE, (), GRID, BLOCK, SHARED, FIRST_TWO, scaled(0), counter)
    whole = NEW_SHAPES + 1  # the last one shows that they are too many
    assert [shape.arguments for shape in found[:whole]] == [scaled(count) for count in range(whole)]
    assert {shape.not_told for shape in found[:whole]} == {()}
    assert found[whole:3001] == [less] * (3001 - whole)
    same, number, nothing, mixed = found[3001:]
    assert same.places == (PointerPlace(0, 0), PointerPlace(0, 8))
    assert (number.places, number.arguments) == (FIRST_TWO[:1], struct.pack("<QQi", 0, 0x1234, 0))
    assert same.not_told == number.not_told == counter
    assert nothing == LaunchShape("_Z7nothingv", (), GRID, BLOCK, SHARED)
    assert mixed.grid == GRID
    assert len(trace.launch_shapes) == 1 + whole + 5


def test_where_everything_differs_the_places_are_left(recorded: Scenarios) -> None:
    found = shapes(recorded.trace("everything_differs"))
    assert found[:NEW_SHAPES] == [
        LaunchShape(SCALE, (), (count + 1, 3, 2), BLOCK, SHARED, FIRST_TWO, scaled(count))
        for count in range(NEW_SHAPES)
    ]
    assert found[NEW_SHAPES:] == [LaunchShape(SCALE, (), places=FIRST_TWO)] * (2500 - NEW_SHAPES)


def test_padding_is_not_told_but_all_else_is(recorded: Scenarios) -> None:
    trace = recorded.trace("padding")
    views = launches(trace)
    for count, view in enumerate(views):
        shape = trace.launch_shapes[view.shape]
        told = not shape.not_told
        if count % 50 == 49:  # one of the words is an address
            assert shape.places == (PointerPlace(0, 16), PointerPlace(1, 24))
            assert [reference.address for reference in view.references] == [0x7F0000400000, 0x7F0000000000]
            assert told
        else:
            assert shape.places == (PointerPlace(0, 24),)
            assert told or shape.not_told == (ByteRun(16, 24),)
        padding = count if told and count % 50 != 49 else 0
        assert shape.arguments == struct.pack("<i4xQQQ", count % 5, 7, padding, 0)
        assert shape.grid == GRID
    assert sum(not trace.launch_shapes[view.shape].not_told for view in views) <= NEW_SHAPES + len(views) // 50
    assert len(trace.launch_shapes) < NEW_SHAPES + 20


def test_leftovers_that_are_addresses_come_last_and_have_no_place(recorded: Scenarios) -> None:
    trace = recorded.trace("leftovers")
    a, b = 0x7F0000000000, 0x7F0000400000
    views = launches(trace)
    later = [view for view in views if trace.launch_shapes[view.shape].not_told]
    assert len(later) > 1000
    assert len({view.shape for view in later}) == 1
    shape = trace.launch_shapes[later[0].shape]
    assert shape.places == (PointerPlace(0, 24), PointerPlace(1, 320))
    assert shape.not_told == (ByteRun(80, 88),)
    assert shape.arguments == bytes(400) + struct.pack("<i", 7)
    for count, view in enumerate(views):
        found = [reference.address for reference in view.references if reference.address]
        assert sorted(found) == sorted([a, a + 8, b] if count % 5 == 4 else [a, a + 8])
        assert all(
            reference.mode & SlotFlag.CONDITIONAL or reference.flags & SlotFlag.CONDITIONAL
            for reference in view.references
            if reference.address
        )
    assert [reference.address for reference in later[-1].references if reference.address] == [a, a + 8, b]


def test_addresses_of_the_host_are_soon_told_no_more_but_numbers_are(recorded: Scenarios) -> None:
    trace = recorded.trace("host_addresses")
    by_symbol: dict[str, list[LaunchShape]] = {}
    for shape in shapes(trace):
        by_symbol.setdefault(shape.symbol, []).append(shape)
    padded, inner, counted = (by_symbol[name] for name in ("_Z6paddediiPf", "_Z5inner5Inneri", "_Z7countedmmPf"))
    assert [shape.not_told for shape in padded] == [()] * 8 + [(ByteRun(16, 24),)] * 92
    assert {shape.arguments[:16] for shape in padded} == {struct.pack("<i4xQ", 7, 7)}
    assert len({shape.arguments for shape in padded[8:]}) == 1
    assert [struct.unpack_from("<Q", shape.arguments, 88)[0] for shape in inner] == list(range(100))
    assert {shape.not_told for shape in inner} == {()}
    offsets = [struct.unpack_from("<QQ", shape.arguments) for shape in counted]
    assert offsets == [((count << 50) + 7, (4 << 20) + 1000 * count) for count in range(100)]
    assert {shape.not_told for shape in counted} == {()}


def test_arguments_that_come_back_are_kept(recorded: Scenarios) -> None:
    trace = recorded.trace("tiles")
    tiles = [*range(700), *range(700), *range(700, 1400), *range(700, 1400)]
    assert [shape.arguments for shape in shapes(trace)] == [scaled(tile) for tile in tiles]
    assert len(trace.launch_shapes) == 1 + 1400


def test_large_structures_that_differ_are_told_whole_up_to_their_bytes(recorded: Scenarios) -> None:
    found = shapes(recorded.trace("large_structures"))
    places = (PointerPlace(0, 24), PointerPlace(1, 3992))
    whole = [shape for shape in found if not shape.not_told]
    rest = found[len(whole) :]
    assert {shape.places for shape in found} == {places}
    assert {shape.not_told for shape in rest} == {(ByteRun(56, 64), ByteRun(72, 80))}
    assert [struct.unpack_from("<Q", shape.arguments, 88)[0] for shape in found] == [k // 25 for k in range(200)]
    assert len(whole) == NEW_SHAPE_BYTES // (4 + 40 + 2 * 4 + 4000) + 1  # length, head, places, arguments


def test_words_of_large_structures_that_never_come_again_are_soon_told_no_more(recorded: Scenarios) -> None:
    found = shapes(recorded.trace("words_that_never_come_again"))
    changing = (ByteRun(56, 64), ByteRun(72, 80), ByteRun(88, 96))
    last_told = max(number for number, shape in enumerate(found) if shape.not_told != changing)
    assert last_told < 40
    words = [struct.unpack_from("<QQQ", shape.arguments, 104)[::2] for shape in found]
    assert words == [(64 * part, step % 3) for step in range(100) for part in range(2)], "what comes again"
    assert len({(shape.arguments, shape.places) for shape in found[last_told + 1 :]}) == 6


@pytest.mark.deep
def test_beyond_the_bound_a_shape_keeps_its_symbol_and_places(recorded: Scenarios) -> None:
    trace = recorded.trace("counters")
    found = shapes(trace)
    kept = [shape for shape in found if shape != LaunchShape(shape.symbol, (), places=FIRST_TWO)]
    assert len(found) == 80_000
    assert len(kept) == WHOLE_SHAPES
    assert len({(shape.symbol, shape.arguments) for shape in kept}) == WHOLE_SHAPES
    assert WHOLE_SHAPES < len(trace.launch_shapes) <= WHOLE_SHAPES + 80 < MOST_LAUNCH_SHAPES


def test_shapes_move_to_the_next_file(recorded: Scenarios) -> None:
    path, _ = recorded.record("rotation")
    assert path.with_suffix(".old.sst").exists()
    for part in (path, path.with_suffix(".old.sst")):
        trace = reader.read(part)
        ids = np.array([view.shape for view in launches(trace)])
        assert len(ids)
        assert ids.all()
        assert ids.max() < len(trace.launch_shapes)
        assert {trace.launch_shapes[int(number)].symbol for number in ids[:100]} == {SCALE}


def test_kernel_nodes_of_graphs_have_shapes(recorded: Scenarios) -> None:
    trace = recorded.trace("nodes_of_graphs")
    kinds = (OperationKind.GRAPH_NODE, OperationKind.GRAPH_NODE_UPDATE)
    nodes = [view for view in iterate(trace) if view.kind in kinds]
    for view in nodes:
        shape = trace.launch_shapes[view.shape]
        assert bool(shape.symbol) == (view.detail == NodeKind.KERNEL)
        assert {place.reference for place in shape.places} == set(range(len(view.references) if shape.symbol else 0))
    told = [trace.launch_shapes[view.shape].arguments for view in nodes if view.shape]
    assert sorted(told) == [scaled(7)] * 2 + [scaled(8)] * 2
