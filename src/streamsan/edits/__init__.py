"""From a fix that was verified on a trace to edits of the program's text.

A finding comes in, with its trace and the bytes of the source; `Edit`s go out with which the text, checked again, has
neither the finding nor a new one. The way, from the outside in:

- `fixes`: all findings of a source, the gravest first; several in one text where that goes.
- `trial`: one finding. Each step that does on the trace is written in all ways; each way is made and checked, and the
  first that does is taken. One that brings up another missing order is built upon. `comparison` says what is new,
  `line_map` which line it was. What a check is, the caller says (`source`): a source is read, a program is run again.
- `step_writer`: one step as text: which calls, at which of the places that lead to the operation, under which names;
  `moves` of statements and their removal; `kernels` for waits inside them.
- `layout`, `source_text`: edits of lines, and of the bytes below them; what no edit touches keeps its bytes.

All this knows no language. `language` is what it asks of one: the places of a chain of calls (`code_place`), the names
that are visible there, how a call is written and checked there (`Phrases`), what may be moved. `cpp` answers from the
syntax tree, `python` from the tree and from what the run has shown of its variables.
"""
