"""The rules: facts of the order engine become findings.

In comes a `Fact` with the names of its trace (`case.Names`), out goes a `Finding` (`pipeline.findings_of`, pure).
`catalogue/` holds the rules: each knows its code, severity, contract, what was observed and what it says (`rule.Rule`),
and also what it outranks (`precedence`), which execution it warns of (`wrong_execution`) and what may mend it
(`fix_steps`). `streamsan.evidence` asks it for the last two. A rule knows nothing of where a trace came from, but for
SS601, which is milder where the program itself ran. `case.Case` gives a fact's parts their names in the program.

Where a finding is reported: at the use (SS101, SS103, SS205), at the later of two uses (SS109), at the free, unmap or
unregister (SS102, SS104, SS107, SS201, SS202, SS203, SS206, SS501), at what the host does with the buffer (SS108), at
the reset, destruction or exit (SS106), at the child's first call (SS204), at the allocation (SS305, SS401, SS402,
SS502), at the graph's launch (SS301, SS303), at the use or free of a graph's own memory (SS304), at the wait (SS503,
SS504), at the call itself (SS207, SS302, SS306, SS601, SS602, SS603).
"""
