"""From an input to its findings: a source through the source reader, a trace from its file, both through one engine.

`inputs.analyse_path` takes any file. `source_files` checks every world of a source, `worlds` makes one verdict of them;
`traces` checks a recording or a simulation. Behind the rules, `streamsan.evidence` proves the findings. What comes out
is a `checked.Checked` for each input.
"""
