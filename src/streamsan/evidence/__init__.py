"""The second pass: each finding proves itself, by an execution that goes wrong and an edit that makes it right.

It runs behind the rules and before the report, on findings that are merged: `rules.case.case_of` leads from a finding
to its fact and its trace. Nothing here decides whether there is a finding. Look first at `second_pass.prove`; what is
asked of it, `proofs`, loads nothing else.
"""
