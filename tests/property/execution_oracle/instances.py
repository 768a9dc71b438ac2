"""Programs with objects of unknown callers, as the programs that they may stand for.

A stream that somebody else made may be of any kind, one of the default streams, or the same as another unknown one; an
event may have been recorded by anybody, or by nobody; memory may be of any kind; code that nobody can see may have done
nothing, or waited for everything and left work everywhere; a node in the body of a conditional node may not run. Of
such a program the engine may be certain only of what is wrong in all of these, must at least doubt that, and may doubt
only what is wrong in one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from execution_oracle.lifetimes import ON_EVENT, ON_STREAM, is_ordered
from execution_oracle.program import LEGACY, PER_THREAD, Known, Node, Op, Program
from streamsan.vocabulary import MemoryKind, NodeKind, SlotFlag, StreamKind
from streamsan.vocabulary import OperationKind as Kind

KINDS = (MemoryKind.PLAIN, MemoryKind.STREAM_ORDERED)
"""of unknown memory; that kernels are meant to meet in it, as in managed memory they may, is not assumed"""
Guess = StreamKind | int
"""of a stream: its kind, or which other one it is"""


def is_concrete(program: Program) -> bool:
    """Whether there is nothing in it of which the kind is not known."""
    if _may_leave_out(program):
        return False
    unknown = any(op.flags & SlotFlag.ASSUMED or op.kind is Kind.OPAQUE_CALL for op in program.ops)
    return not unknown and not unknown_streams(program) and not _has_unknown_events(program)


def instances(program: Program) -> Iterator[Program]:
    """Yield the programs that it may stand for: itself, if nothing in it is unknown."""
    if _may_leave_out(program):
        for runs in (True, False):
            yield from instances(_decided(program, runs))
        return
    if is_concrete(program):
        whole = program.ops[0].kind is Kind.MAIN_BEGIN
        yield program if whole else replace(program, before=_default_streams(program))
        return
    streams = unknown_streams(program)
    memory = [index for index, op in enumerate(program.ops) if op.kind is Kind.ALLOC and op.flags & SlotFlag.ASSUMED]
    tells = (False, True) if _has_unknown_events(program) or _has_opaque_calls(program) else (False,)
    choices = [list(_guesses(program, streams, at)) for at in range(len(streams))]
    used = {reference.address for op in program.ops for reference in op.references if op.kind is not Kind.ALLOC}
    memory = [index for index in memory if program.ops[index].references[0].address in used]
    for guesses in product(*choices):
        for kind, everything in product(KINDS if memory else KINDS[:1], tells):
            yield _instance(program, dict(zip(streams, guesses, strict=True)), frozenset(memory), kind, everything)


def _may_leave_out(program: Program) -> bool:
    return any(node.conditional for op in program.ops if op.body is not None for node in op.body.nodes)


def _decided(program: Program, runs: bool) -> Program:
    """The program whose launches run all nodes of conditional bodies, or none."""

    def decided(node: Node) -> Node:
        if not node.conditional:
            return node
        return replace(node, conditional=False) if runs else Node(NodeKind.EMPTY)

    ops = [
        op if op.body is None else replace(op, body=replace(op.body, nodes=tuple(map(decided, op.body.nodes))))
        for op in program.ops
    ]
    return replace(program, ops=tuple(ops))


def unknown_streams(program: Program) -> list[int]:
    """Return the streams that unknown code made, or that nobody is seen to make."""
    known = {LEGACY, PER_THREAD, 0}
    unknown: dict[int, None] = {}
    for op in program.ops:
        if op.kind is Kind.STREAM_CREATE:
            if op.flags & SlotFlag.ASSUMED:
                unknown[op.object] = None
            known.add(op.object)
        elif op.kind in ON_STREAM or is_ordered(op) or op.kind is Kind.CAPTURE_BEGIN:
            handle = op.object if op.kind is Kind.STREAM_DESTROY else op.stream
            if handle not in known:
                unknown[handle] = None
    return list(unknown)


def _has_unknown_events(program: Program) -> bool:
    known = set()
    for op in program.ops:
        if op.kind is Kind.EVENT_CREATE:
            if op.flags & SlotFlag.ASSUMED:
                return True
            known.add(op.object)
        elif op.kind in ON_EVENT and op.object not in known:
            return True
        nodes = () if op.body is None else op.body.nodes
        if any(node.kind is NodeKind.EVENT_WAIT and node.object not in known for node in nodes):
            return True
    return False


def _has_opaque_calls(program: Program) -> bool:
    return any(op.kind is Kind.OPAQUE_CALL for op in program.ops)


def _guesses(program: Program, streams: list[int], at: int) -> Iterator[Guess]:
    yield StreamKind.NON_BLOCKING
    yield StreamKind.BLOCKING
    # What waits for an event on the unknown stream, or launches a graph there, has the default stream wait for it
    # if it is that: the engine follows this no further.
    waits = any(
        op.kind in (Kind.STREAM_WAIT_EVENT, Kind.GRAPH_LAUNCH) and op.stream == streams[at] for op in program.ops
    )
    destroyed = waits or any(op.kind is Kind.STREAM_DESTROY and op.object == streams[at] for op in program.ops)
    if program.origin == "recording" or destroyed:
        return  # handles are what they were
    yield LEGACY
    if at == 0:
        yield PER_THREAD
    yield from streams[:at]


def _default_streams(program: Program) -> tuple[Known, ...]:
    context = next(op.object for op in program.ops if op.kind is Kind.CONTEXT_CREATE)
    return Known(LEGACY, StreamKind.LEGACY, context), Known(PER_THREAD, StreamKind.PER_THREAD, context)


def _instance(
    program: Program, guesses: dict[int, Guess], memory: frozenset[int], kind: MemoryKind, everything: bool
) -> Program:
    same: dict[int, int] = {}
    defaults = _default_streams(program)
    whole = program.ops[0].kind is Kind.MAIN_BEGIN
    handles = [guess for guess in guesses.values() if not isinstance(guess, StreamKind)]
    before = [each for each in defaults if not whole or each.handle in handles]
    context = defaults[0].context
    stated = {op.object for op in program.ops if op.kind is Kind.STREAM_CREATE and op.flags & SlotFlag.ASSUMED}
    for handle, guess in guesses.items():
        if isinstance(guess, StreamKind):
            before.append(Known(handle, guess, context, handle in stated))
        else:
            same[handle] = same.get(guess, guess)
    ops: list[Op] = []
    for index, op in enumerate(program.ops):
        stream = same.get(op.stream, op.stream)
        if op.kind is Kind.STREAM_CREATE and op.flags & SlotFlag.ASSUMED:
            ops.append(Op(Kind.CALL, op.thread))
            continue
        if index in memory:
            ops.append(replace(op, detail=kind))
            continue
        ops.append(replace(op, stream=stream) if stream != op.stream else op)
    return Program(tuple(ops), program.threads, program.origin, tuple(before), everything)
