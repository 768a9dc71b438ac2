"""What stands in the statements of one kernel: a launch with other numbers walks them again, but looks no deeper."""

from __future__ import annotations

from msgspec import Struct

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes


class StatementFacts(Struct, frozen=True):
    """Facts about one statement, or expression."""

    node: object
    """itself: it is known by its identity as long as it is kept"""
    assigned: tuple[str, ...]
    """the variables that it may change"""
    returns: bool
    leaves: bool
    """it may leave a loop around it"""


class KnownFacts:
    """Those of the statements that were asked for."""

    def __init__(self) -> None:
        self._known: dict[int, StatementFacts] = {}

    def of(self, node: object) -> StatementFacts:
        """Return the facts about a statement."""
        found = self._known.get(id(node))
        if found is None:
            parts = list(nodes(node))
            returns = any(isinstance(part, tree.Return) for part in parts)
            leaves = returns or any(isinstance(part, tree.Break | tree.Continue) for part in parts)
            assigned = dict.fromkeys(name for part in parts if (name := _assigns(part)))
            found = self._known[id(node)] = StatementFacts(node, tuple(assigned), returns, leaves)
        return found


def _assigns(part: object) -> str:
    """Return the variable that a part assigns to, "" for none."""
    target: object = None
    if isinstance(part, tree.Assign):
        target = part.target
    elif isinstance(part, tree.Unary) and part.operator in ("++", "--", "post++", "post--", "&"):
        target = part.operand
    return target.name if isinstance(target, tree.Name) else ""
