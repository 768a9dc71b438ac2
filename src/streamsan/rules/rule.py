"""What every rule is: a code, a name, a definition, and how one of its facts becomes a finding."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from streamsan.findings.finding import (
    Basis,
    Confidence,
    Contract,
    Finding,
    Fix,
    Location,
    Observed,
    Related,
    Severity,
)
from streamsan.order.facts import Fact
from streamsan.rules.callers import callers
from streamsan.rules.case import RECORDING, Case
from streamsan.rules.driver_names import calls_the_driver, in_driver_names, of_driver
from streamsan.vocabulary import EdgeClass, OperationKind, RelatedRole, SlotFlag

_TAKES_ARGUMENTS = (OperationKind.LAUNCH, OperationKind.GRAPH_LAUNCH, OperationKind.GRAPH_NODE)


@dataclass(frozen=True, slots=True)
class Wording:
    """What a rule says of one case."""

    message: str
    related: tuple[Related, ...] = ()
    contract: Contract | None = None
    observed: Observed | None = None
    witness: tuple[str, ...] = ()
    fix: str = ""


class Rule(ABC):
    """One rule. Subclasses set the class variables and say what they say."""

    number: ClassVar[int]
    name: ClassVar[str]
    definition: ClassVar[str]
    """one line, for `streamsan rule`"""
    severities: ClassVar[str]
    """the default severity in words, for `streamsan rule`: "warning; note at process exit" """
    without_witness: ClassVar[str] = ""
    """why a finding has no witness, in a clause; "" for rules whose findings say how it goes wrong"""
    without_fix: ClassVar[str] = ""
    """why findings of this rule have no verified fix, "" where edits are tried"""

    @property
    def code(self) -> str:
        """`SS102`."""
        return f"SS{self.number}"

    @abstractmethod
    def severity(self, fact: Fact) -> Severity:
        """Return the severity of a fact that nothing weakens."""

    @abstractmethod
    def wording(self, case: Case) -> Wording:
        """Return what to say of a case."""

    def location(self, case: Case) -> Location:
        """Return where the finding is reported: at the fact's operation, unless a rule knows better."""
        return case.location(case.operation)

    def no_fix(self, fact: Fact) -> str:
        """Return why there is no edit to try for a fact, "" where nothing speaks against one."""
        return self.without_fix

    def weak(self, fact: Fact) -> bool:
        """Tell whether the fact itself needs an edge that is not promised, so that it cannot be proven."""
        return fact.rests_on is not EdgeClass.CONTRACT

    def decided_by_caller(self, fact: Fact) -> bool:
        """Tell whether an unknown caller, or two parameters that may be equal, decide if the fact holds."""
        return fact.assumed or fact.may_be_equal

    def finding(self, case: Case) -> Finding:
        """Return the finding of a case: doubt makes it a warning at most, and a note where a caller decides."""
        fact = case.fact
        severity, confidence = self.severity(fact), Confidence.PROVEN
        if self.weak(fact):
            severity, confidence = severity.at_most(Severity.WARNING), Confidence.POSSIBLE
        if self.decided_by_caller(fact):
            severity, confidence = severity.at_most(Severity.NOTE), Confidence.POSSIBLE
        wording = self._worded(case)
        doubt = self._doubt(case)
        says = case.driver_says()
        said = (case.related(RelatedRole.OTHER, case.operation, f"the driver says: {says}"),) if says else ()
        return Finding(
            code=self.code,
            name=self.name,
            severity=severity,
            confidence=confidence,
            message=f"{wording.message} ({doubt})" if doubt else wording.message,
            location=self.location(case),
            related=unique((*wording.related, *said, *callers(case))),
            contract=wording.contract,
            observed=wording.observed,
            # Without a line there is no place for what is said of the call.
            witness=wording.witness if not said or said[0].line else (*wording.witness, said[0].message),
            fix=Fix(wording.fix) if wording.fix else None,
            properties=self.properties(case),
            basis=Basis(
                operations=case.operation_places(),
                causes=case.cause_places(),
                memory=case.memory_places(),
                status=fact.operation.status,
                case=case,
            ),
        )

    def _worded(self, case: Case) -> Wording:
        """Return the wording, with the driver's functions where the program calls no others."""
        wording = self.wording(case)
        if not calls_the_driver(case):
            return wording
        contract = wording.contract and of_driver(wording.contract)
        return replace(wording, contract=contract, fix=in_driver_names(wording.fix))

    def _doubt(self, case: Case) -> str:
        """Return what has to be known to be sure, "" where the finding stands on its own."""
        fact = case.fact
        if not self.decided_by_caller(fact):
            return ""
        if case.names.origin == RECORDING and not fact.unseen:
            return "unless the address in its arguments is a leftover" if _rests_on_a_word(fact) else ""
        if fact.unseen:
            return "unless code that is not visible orders it"
        return "unless the two streams are one and the same" if fact.may_be_equal else "unless the caller sees to it"

    def properties(self, case: Case) -> dict[str, int | str]:
        """Return what a program that reads the JSON may want: how many instances, how long they took."""
        properties: dict[str, int | str] = {"instances": max(1, case.fact.count)}
        if case.fact.cost_ns > 0:
            properties["cost_ns"] = case.fact.cost_ns
        if case.fact.explained:
            properties["driver_says"] = case.fact.explained
        return properties


def _rests_on_a_word(fact: Fact) -> bool:
    """Tell whether a fact rests on an argument that may hold what was in memory before: recorders mark such words."""
    operations = (fact.operation, *(operation for _, operation in fact.related))
    return any(
        each.kind in _TAKES_ARGUMENTS and each.flags & SlotFlag.ASSUMED and each.status <= 0 for each in operations
    )


def unique(related: tuple[Related, ...]) -> tuple[Related, ...]:
    """Return related lines without those that have no line, or that say the same again."""
    return tuple(dict.fromkeys(r for r in related if r.line > 0))
