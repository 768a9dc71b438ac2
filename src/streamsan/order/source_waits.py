"""What is to be said of the waits of a trace of source."""

from __future__ import annotations

from streamsan.order.consumers import SourceTrace, unconsumed_waits
from streamsan.order.engine import Analysis
from streamsan.order.facts import Fact
from streamsan.order.wide_waits import wide_waits


def facts_on_waits(trace: SourceTrace, analysis: Analysis, wide: bool = True) -> list[Fact]:
    """Return the facts on waits that nothing needs (SS504) and, with `wide`, that cover too much (SS503).

    `analysis` is the engine's analysis of the same trace. Nothing for traces that are not of source.
    """
    unconsumed = unconsumed_waits(trace, analysis)
    return [*unconsumed, *(wide_waits(trace, analysis, unconsumed) if wide else [])]
