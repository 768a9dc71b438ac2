"""How findings name the rules."""

from __future__ import annotations

from streamsan.vocabulary import RuleCode

RULE_IDS = tuple(f"SS{int(code)}" for code in sorted(RuleCode))
"""of every rule ("SS102"), in the order of the codes: who only asks which there are needs no rule itself"""
