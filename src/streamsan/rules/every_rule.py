"""All rules of the catalogue, found by its modules."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from streamsan.order.facts import Fact
from streamsan.rules import catalogue
from streamsan.rules.rule import Rule


def _rules_of(module: str) -> list[Rule]:
    found = vars(import_module(f"{catalogue.__name__}.{module}")).values()
    # `issubclass` with an abstract class takes longer than all else here.
    return [each() for each in found if isinstance(each, type) and Rule in each.__mro__ and "code" in vars(each)]


_MODULES = sorted(file.stem for folder in catalogue.__path__ for file in Path(folder).glob("[!_]*.py"))
RULES: dict[str, Rule] = {
    rule.id: rule
    for rule in sorted((rule for module in _MODULES for rule in _rules_of(module)), key=lambda rule: rule.code)
}
"""Every rule by its id ("SS102"), in the order of the codes."""
_BY_CODE = {rule.code: rule for rule in RULES.values()}


def rule_of(fact: Fact) -> Rule:
    """Return the rule that a fact speaks of."""
    return _BY_CODE[fact.code]
