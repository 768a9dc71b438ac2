"""From CUDA C++ source to traces: an abstract interpreter of host code, concrete values where known, symbols where not.

In come the declarations of one translation unit, out go its worlds: the operations of every path through every entry.
Start with `explore` (entries, paths, budgets), then `paths` (one path: `wire` gives a machine its parts). `machine` is
the state of one path; it knows its parts by the narrow `faces` only, and so do the parts each other. The parts live in
the rooms `language`, `calls`, `objects` and `device`, on `values` and `program`. `library` models the libraries.
"""

from streamsan.cuda_source.explore import read as read
from streamsan.cuda_source.explore import read_program as read_program
from streamsan.cuda_source.limits import Limits as Limits
from streamsan.cuda_source.program.linker_symbols import symbols_of as symbols_of
from streamsan.cuda_source.world import Reading as Reading
from streamsan.cuda_source.world import World as World
