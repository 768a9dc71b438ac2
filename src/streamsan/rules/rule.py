"""What every rule is: a code, a definition, what its findings say, how they go wrong, and what may mend them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from streamsan.findings.finding import Confidence, Contract, Finding, Fix, Location, Observed, Related, Severity
from streamsan.order.facts import Fact
from streamsan.rules.callers import callers
from streamsan.rules.case import Case, CaseBasis
from streamsan.rules.fix_steps import FixStep
from streamsan.rules.interfaces import calls_low_level, of_low_level
from streamsan.rules.race_sides import RaceSides
from streamsan.rules.wrong_execution import WrongExecution
from streamsan.trace.trace import RECORDING
from streamsan.vocabulary import EdgeClass, FactVariant, OperationKind, RelatedRole, RuleCode, SlotFlag

_TAKES_ARGUMENTS = (OperationKind.LAUNCH, OperationKind.GRAPH_LAUNCH, OperationKind.GRAPH_NODE)


class Wording(Struct, frozen=True):
    """What a rule says of one case."""

    message: str
    related: tuple[Related, ...] = ()
    contract: Contract | None = None
    observed: Observed | None = None
    witness: tuple[str, ...] = ()
    fix: str = ""
    sides: RaceSides | None = None


class Rule(ABC):
    """One rule. Subclasses set the class variables, and say what they say of a case."""

    code: ClassVar[RuleCode]
    definition: ClassVar[str]
    """one line, for `streamsan rule`"""
    severity: ClassVar[Severity]
    """of a finding that nothing weakens"""
    notes: ClassVar[Collection[FactVariant]] = ()
    """variants that are a note only"""
    varies: ClassVar[str] = ""
    """the severity in words, where it varies: "warning; note at process exit" """

    without_witness: ClassVar[str] = ""
    """why a finding has no witness, in a clause; "" where it has one: it is about the order of two operations"""
    without_fix: ClassVar[str] = ""
    """why findings of this rule have no verified fix, "" where edits are tried"""
    without_fix_of: ClassVar[Mapping[FactVariant, str]] = MappingProxyType({})
    """why findings of single variants have none"""
    comes_with_edits: ClassVar[bool] = False
    """an edit for another finding may bring this one up, and a second edit mend it: an order is missing"""
    after_edits: ClassVar[str] = ""
    """of notes on cost: what to say of {lines} where an edit for another finding brings them up"""

    outranks: ClassVar[Collection[RuleCode]] = ()
    """rules whose findings at the same operations merely follow from this one's"""
    outranks_for_memory: ClassVar[Collection[RuleCode]] = ()
    """... for the same memory, wherever they are reported"""
    outranks_for_use: ClassVar[Collection[RuleCode]] = ()
    """... for the same memory and a use in common: one order is missing"""
    explains_failure: ClassVar[bool] = True
    """a finding says why the call at its place fails"""
    is_failure: ClassVar[bool] = False
    """a finding only says that a call fails: any other that says why explains it"""

    is_textual: ClassVar[bool] = False
    """the text of one call decides it, no branch and no caller"""
    finds_needless: ClassVar[bool] = False
    """A finding says that a call can go: whatever the reason is, and only if it can in every world that executes it."""
    is_on_cost: ClassVar[bool] = False
    """nothing goes wrong, it only costs time"""

    @property
    def id(self) -> str:
        """How findings name the rule: "SS102"."""
        return f"SS{int(self.code)}"

    @property
    def name(self) -> str:
        """The rule in words: "use-races-free"."""
        return self.code.name.lower().replace("_", "-")

    @property
    def severities(self) -> str:
        """The default severity in words, for `streamsan rule`."""
        return self.varies or self.severity.value

    @property
    def is_about_order(self) -> bool:
        """Whether its findings are about the order of two operations."""
        return not self.without_witness

    @abstractmethod
    def wording(self, case: Case) -> Wording:
        """Return what to say of a case."""

    def location(self, case: Case) -> Location:
        """Return where the finding is reported: at the fact's operation, unless a rule knows better."""
        return case.location(case.operation)

    def severity_of(self, case: Case) -> Severity:
        """Return the severity of a case that nothing weakens."""
        return Severity.NOTE if case.fact.variant in self.notes else self.severity

    def weak(self, fact: Fact) -> bool:
        """Tell whether the fact itself needs an edge that is not promised, so that it cannot be proven."""
        return fact.rests_on is not EdgeClass.CONTRACT

    def is_weak(self, case: Case) -> bool:
        """Tell the same of a case, where the platform's promises count."""
        return self.weak(case.fact)

    def holds(self, case: Case) -> bool:
        """Tell whether the trace's names leave a fact a finding: they know what the facts do not."""
        return True

    def decided_by_caller(self, fact: Fact) -> bool:
        """Tell whether an unknown caller, or two parameters that may be equal, decide if the fact holds."""
        return not self.is_textual and (fact.assumed or fact.may_be_equal)

    def cause(self, fact: Fact) -> tuple[object, ...] | None:
        """Return what makes other facts repetitions of this one further down; None where each is one of its own."""
        return None

    def breaks(self, status: int) -> bool:
        """Tell whether a mistake of this sort makes calls elsewhere return a status."""
        return False

    def wrong_execution(self, case: Case) -> WrongExecution | str:
        """Return the execution that the case warns of; where there is none, the reason in a clause."""
        return self.without_witness

    def no_fix(self, fact: Fact) -> str:
        """Return why there is no edit to try for a fact, "" where nothing speaks against one."""
        return self.without_fix or self.without_fix_of.get(fact.variant, "")

    def fix_steps(self, case: Case) -> tuple[FixStep, ...]:
        """Return what may mend a case that has a fix, the best first."""
        return ()

    def finding(self, case: Case) -> Finding:
        """Return the finding of a case: doubt makes it a warning at most, and a note where a caller decides."""
        fact = case.fact
        severity, confidence = self.severity_of(case), Confidence.PROVEN
        if self.is_weak(case):
            severity, confidence = severity.at_most(Severity.WARNING), Confidence.POSSIBLE
        if self.decided_by_caller(fact):
            severity, confidence = severity.at_most(Severity.NOTE), Confidence.POSSIBLE
        wording = self._worded(case)
        doubt = self.doubt(case)
        says = case.driver_says()
        answer = (case.related(RelatedRole.OTHER, case.operation, f"the driver says: {says}"),) if says else ()
        location = self.location(case)
        return Finding(
            code=self.id,
            name=self.name,
            severity=severity,
            confidence=confidence,
            message=f"{wording.message} ({doubt})" if doubt else wording.message,
            location=location,
            related=unique((*wording.related, *answer, *_callers(case))),
            accesses=wording.sides.both if wording.sides is not None else (),
            overlap=wording.sides.overlap() if wording.sides is not None else None,
            contract=wording.contract,
            observed=wording.observed,
            # Without a line there is no place for what is said of the call.
            witness=wording.witness if not answer or answer[0].line else (*wording.witness, answer[0].message),
            fix=Fix(wording.fix) if wording.fix else None,
            properties=self.properties(case),
            ranks=case.ranks(),
            basis=CaseBasis(
                operations=case.operation_places(),
                causes=frozenset({location.place}) if self.finds_needless else case.cause_places(),
                memory=case.memory_places(),
                status=fact.operation.status,
                case=case,
            ),
        )

    def _worded(self, case: Case) -> Wording:
        """Return the wording, with the low-level interface's functions where the program calls no others."""
        wording = self.wording(case)
        if not calls_low_level(case):
            return _in_words_of(case, wording)
        contract = wording.contract and of_low_level(wording.contract, case.platform)
        return replace(wording, contract=contract, fix=case.platform.in_low_level_names(wording.fix))

    def doubt(self, case: Case) -> str:
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


class CostRule(Rule):
    """A rule of what something costs: its findings are notes."""

    severity = Severity.NOTE
    without_witness = "nothing goes wrong: the finding is about time"
    explains_failure = False
    is_on_cost = True


def _callers(case: Case) -> list[Related]:
    return [replace(each, message=case.in_own_words(each.message)) for each in callers(case)]


def _in_words_of(case: Case, wording: Wording) -> Wording:
    """Return a wording in the words of the case's platform."""
    own = case.in_own_words
    return replace(
        wording,
        message=own(wording.message),
        related=tuple(replace(each, message=own(each.message)) for each in wording.related),
        witness=tuple(map(own, wording.witness)),
        fix=own(wording.fix),
    )


def _rests_on_a_word(fact: Fact) -> bool:
    """Tell whether a fact rests on an argument that may hold what was in memory before: recorders mark such words."""
    operations = (fact.operation, *(operation for _, operation in fact.related))
    return any(
        each.kind in _TAKES_ARGUMENTS and each.flags & SlotFlag.ASSUMED and not each.failed for each in operations
    )


def unique(related: tuple[Related, ...]) -> tuple[Related, ...]:
    """Return related lines without those that have no line, or that say the same again."""
    return tuple(dict.fromkeys(r for r in related if r.line > 0))
