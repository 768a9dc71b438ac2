"""SS205: handles that are used after they died."""

from __future__ import annotations

from streamsan.findings.finding import Severity
from streamsan.order.facts import Fact, Operation
from streamsan.rules.case import Case
from streamsan.rules.rule import Rule, Wording
from streamsan.vocabulary import FactVariant, OperationKind, RelatedRole, RuleCode

_TYPE = {
    FactVariant.STALE_STREAM: "stream",
    FactVariant.STALE_EVENT: "event",
    FactVariant.STALE_CONTEXT: "context",
}

_OTHER_TYPES = (
    ("GraphExec", "executable graph"),
    ("GraphLaunch", "executable graph"),
    ("GraphUpload", "executable graph"),
    ("Graph", "graph"),
    ("MemPool", "pool"),
    ("FromPool", "pool"),
    ("Module", "module"),
    ("Library", "library"),
    ("UserObject", "user object"),
    ("CommandBuffer", "command buffer"),
    ("SubBuffer", "sub-buffer"),
    ("MemObject", "sub-buffer"),
    ("Kernel", "kernel"),
    ("Program", "program"),
    ("Sampler", "sampler"),
)


class StaleHandle(Rule):
    """SS205."""

    code = RuleCode.STALE_HANDLE
    definition = "A stream, event, graph, pool or context is used after it was destroyed, or after a reset."
    severity = Severity.ERROR
    without_fix = "whether the handle should live longer, or the call come earlier, is the program's decision"
    without_witness = "the handle is gone in every execution"

    def cause(self, fact: Fact) -> tuple[object, ...] | None:
        """Whoever destroyed a handle too early has destroyed it for all later uses."""
        roles = (RelatedRole.CREATE, RelatedRole.DESTROY, RelatedRole.RESET)
        sites = tuple(operation.site for role, operation in fact.related if role in roles)
        return (fact.variant, *sites) if any(sites) else None

    def wording(self, case: Case) -> Wording:
        use = case.operation
        death = case.first(RelatedRole.DESTROY, RelatedRole.RESET)
        created = case.first(RelatedRole.CREATE)
        kind = _TYPE.get(case.fact.variant) or _other_type(case, use, death)
        label = case.names.site(created.site).label if created is not None else ""
        label = label or (case.stream_label(use) if kind == "stream" else "")
        name = f"{kind} `{label}`" if label else f"an {kind}" if kind.startswith("e") else f"a {kind}"
        reset = death is not None and death.kind is OperationKind.DEVICE_RESET
        with_context = death is not None and death.kind is OperationKind.CONTEXT_DESTROY and kind != "context"
        how = "the reset destroyed it" if reset else "its context was destroyed" if with_context else "it was destroyed"
        related = []
        if created is not None:
            related.append(case.related(RelatedRole.CREATE, created, "made here"))
        if death is not None:
            related.append(case.related(RelatedRole.DESTROY, death, _death(death)))
        related.append(case.related(RelatedRole.USE, use, f"used here, after {how}"))
        line = case.line(death)
        return Wording(
            message=f"{case.call(use)} uses {name} after {how}",
            related=tuple(related),
            contract=case.contract("reset" if reset else "context" if with_context else "destroyed"),
            witness=(
                f"{case.call(death)} destroys {name}" if death is not None else f"{name} is destroyed",
                f"{case.call(use)} is given a handle that names nothing, or a newer object with the same value",
            ),
            fix=f"move the call before line {line}, or drop it" if line else "use the handle before it is destroyed",
        )


def _other_type(case: Case, use: Operation, death: Operation | None) -> str:
    """Return what sort of handle it is that is no stream, event or context: what destroyed it says so."""
    apis = [case.api(operation) for operation in (death, use) if operation is not None]
    return next((noun for api in apis for part, noun in _OTHER_TYPES if part in api), "handle")


def _death(death: Operation) -> str:
    if death.kind is OperationKind.DEVICE_RESET:
        return "the reset destroys it here"
    if death.kind is OperationKind.CONTEXT_DESTROY:
        return "destroyed here, with its context"
    return "destroyed here"
