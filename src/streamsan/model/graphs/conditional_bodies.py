"""Which bodies of conditional nodes surely run: those that the condition's default at a launch chooses, where no kernel
can have changed it by then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from streamsan.model.streams_and_graphs import BodyNode, Condition, Node
from streamsan.model.values import Handle
from streamsan.vocabulary import NodeKind

_IF, _WHILE, _SWITCH = range(3)
"""cudaGraphConditionalNodeType"""


class Choice(Struct, frozen=True):
    """A conditional node in a body, and the positions of the nodes of each of its own bodies."""

    node: Node
    bodies: tuple[range, ...]


def mark_conditional(body: Sequence[BodyNode], choices: Iterable[Choice]) -> None:
    """Mark the nodes that a launch may leave out."""
    for choice in choices:
        surely = _chosen(choice, body)
        for number, positions in enumerate(choice.bodies):
            for position in positions if number != surely else ():
                body[position].conditional = True


def _chosen(choice: Choice, body: Sequence[BodyNode]) -> int | None:
    """Return the number of the body that runs at least once in each launch; None: perhaps none does."""
    condition = choice.node.condition
    if condition is None or condition.default is None or not choice.bodies:
        return None
    own = range(choice.bodies[0].start, choice.bodies[-1].stop)
    if any(_may_set(node, condition) for position, node in enumerate(body) if position not in own):
        return None
    chosen: int | None = condition.default
    if choice.node.parameters.get("type") in (_IF, _WHILE):
        chosen = 0 if condition.default else 1
    elif choice.node.parameters.get("type") != _SWITCH:
        chosen = None
    return chosen if chosen is not None and chosen < len(choice.bodies) else None


def _may_set(node: BodyNode, condition: Condition) -> bool:
    """Return whether a node may set the condition: a kernel that is given its handle, and what nobody knows."""
    if node.kind is not NodeKind.KERNEL:
        return node.kind is NodeKind.OPAQUE
    arguments = node.node.kernel_arguments
    if arguments is None or node.node.payload is not None:
        return True  # of a simulated kernel only pointers are known
    return any(isinstance(each[0], Handle) and each[0].value == condition.handle for each in arguments)
