"""An execution that goes wrong, for a finding about order.

In come findings, out go `Witness`es, or clauses that say why there is none (`witness.witnesses`). The rule says which
two operations come in the wrong order (`rules.wrong_execution`), `known_order` asks the engine what is before them, and
`account` tells it step by step, in the words of `narration`; `gap` says why nothing orders the two.
"""
