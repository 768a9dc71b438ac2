"""A program that calls a platform's low-level interface, as CUDA's driver, is told of that one's functions."""

from __future__ import annotations

from msgspec.structs import replace

from streamsan.findings.finding import Contract
from streamsan.platforms import Platform
from streamsan.rules.case import Case


def calls_low_level(case: Case) -> bool:
    """Tell whether all calls of a case that have a name are the low-level interface's."""
    operations = (case.operation, *(operation for _, operation in case.fact.related))
    names = [name for name in map(case.api, operations) if name]
    return bool(names) and all(map(case.platform.is_low_level, names))


def of_low_level(contract: Contract, platform: Platform) -> Contract:
    """Return what the low-level interface's manual says of its function, where there is a counterpart."""
    low = next((each for each in platform.interfaces if each.low_level), None)
    document, _, function = contract.source.partition(", ")
    manuals = [each.document for each in platform.interfaces if not each.low_level]
    if low is None or document not in manuals:
        return contract
    if any(platform.low_level_name(name) is None for name in platform.high_level_word.findall(function)):
        return contract
    source = f"{low.document}, {platform.in_low_level_names(function)}"
    return replace(contract, text=platform.in_low_level_names(contract.text), source=source)
