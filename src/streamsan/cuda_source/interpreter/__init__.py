"""An abstract interpreter of C++ host code: concrete values where known, symbols where not.

In come the declarations of one translation unit, out go its worlds: the operations of every path through every entry.
Start with `explore` (entries, paths, budgets), then `paths` (one path: `wire` gives a machine its parts).

- What there is: `values`, `types`, `frame`, `terms`, `bounds`; `program` finds declarations (`classes`), `relevance`
  says what of them can issue operations at all.
- `machine` is the state of one path. It knows its parts by the narrow `faces` only, and so do the parts each other.
- C++: `statements` (with `declarations`, `returns`, `loops`, `summaries`), `expressions` (on `access`, with
  `creations`), `names`, `calls`, `functions` (with `overloads`, `constructors`), `macros`, `operators`,
  `class_operators`, `unseen`, and `objects` (on `copies`, `storage`, `layout`).
- Towards the model: `api_calls` (with `structures`, `kernels`), `device`, `host_memory`, `places`, `made_names`,
  `failures`; `reach` finds lost pointers.
- `library` models the libraries; its models see no more than `library.face`.
"""
