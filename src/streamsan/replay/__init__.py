"""Replays a witness on the simulated device: the words that go wrong in an execution the contract allows, or the error.

The device knows nothing of the order engine. It performs the operations of the trace with the executor of `streamsan
sim` and refuses an execution that its own streams, events, waits and graphs do not allow: so a replay is also a second
opinion on the engine. What kernels compute is not in a trace; what they write depends on all that they read.
"""

from __future__ import annotations

from msgspec import Struct

from streamsan.evidence.witness.witness import Witness
from streamsan.replay.damage import Comparison, Damage
from streamsan.replay.execution import layouts_of, run_in_order, run_wrong
from streamsan.replay.naming import names_of
from streamsan.replay.policies import RefusedError
from streamsan.replay.replayed_steps import NoReplayError
from streamsan.replay.script import script_of
from streamsan.trace import TraceError


class Replay(Struct, frozen=True):
    """What a replay showed."""

    damage: tuple[Damage, ...] = ()
    """what went wrong; nothing where `problem` says why not"""
    problem: str = ""
    """why there was no replay, or why it shows nothing; "" otherwise"""
    refused: bool = False
    """the device's own order does not allow the witness: a defect of this tool"""
    ran: bool = False
    """whether both executions ran"""


def replay(witness: Witness) -> Replay:
    """Run a witness on the simulated device, and the same calls in their order."""
    try:
        script = script_of(witness)
        name = names_of(witness.trace, script.steps.values())
        layouts = layouts_of(script.steps.values())
        wrong = run_wrong(script, layouts, name)
        right = run_in_order(script, layouts, name)
    except NoReplayError as error:
        return Replay(problem=str(error))
    except (TraceError, OSError):
        return Replay(problem="the trace can no longer be read")
    except RefusedError as error:
        return Replay(problem=f"the witness cannot be replayed: {error}", refused=True)
    found = Comparison(witness, script, layouts, right, wrong, name).damage()
    return Replay(tuple(found), "" if found else "no word of what the trace shows goes wrong by it", ran=True)
