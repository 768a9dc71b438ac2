"""An edit that makes a trace right, found by trying.

In come findings, out go the same with fixes that were tried out, or with the reasons why there are none
(`verified_fixes`, `reasons`). The rule says what may mend a finding (`rules.fix_steps`), `candidates` turns that into
steps (`steps`: what a step is; `order_steps`, `event_steps`, `change_steps`), `search` tries them on an `edited_trace`,
and `verification` analyses that again.
"""
